"""Providers as a protocol, and the names of those that exist."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, cast

from ..errors import BadSetting, BiasError, UnknownName
from ..experiments.messages import Completion, Request
from ..experiments.simulated import SimulatedAnswer
from ..settings.model_entry import EndpointEntry, LocalEntry
from ..settings.roster import LOCAL, blurs_models
from .destinations import check_sent, variables_of

SIMULATED = "simulated"
"""The provider whose subjects are programs that stand in for models."""

_FACTORIES = {
    "anthropic": "pytest_bias.providers.anthropic_messages:open_anthropic",
    "codex": "pytest_bias.providers.codex:open_codex",
    "google": "pytest_bias.providers.google_contents:open_google",
    LOCAL: "pytest_bias.providers.local:open_local",
    "openai": "pytest_bias.providers.openai:open_openai",
    SIMULATED: "pytest_bias.providers.simulated:open_simulated",
}

WIRES = {
    "anthropic": "pytest_bias.providers.anthropic_messages:AnthropicMessages",
    "google": "pytest_bias.providers.google_contents:GoogleContents",
    "openai-chat": "pytest_bias.providers.openai:OpenAIChat",
    "openai-responses": "pytest_bias.providers.openai:OpenAIResponses",
}
"""Wire format → the class that speaks it, made with an :class:`Endpoint`."""

DEFAULT_WIRE = "openai-chat"

NO_KEY = "none-needed"
"""Stands for a key where the endpoint takes none; SDKs insist on one."""


@dataclass(frozen=True, slots=True)
class Call:
    """The terms of a call besides its request.

    ``seed`` is the per-trial seed: simulated subjects always draw by it, models are sent it where
    the request's parameters are ``seeded``. ``timeout`` is in seconds. ``dropped`` names what of
    :data:`~..experiments.messages.DROPPABLE` is not to be sent, because the model refuses it.
    ``trial`` is a seed that all calls of a trial share; simulated subjects refuse by it.
    """

    seed: int
    timeout: float = 120.0
    dropped: frozenset[str] = frozenset()
    trial: int | None = None


class Provider(Protocol):
    """Calls the models of one vendor. Opened inside the event loop that uses it.

    A provider makes one attempt per call: the collector waits and tries again, because only it
    knows the limits, the budget and who else is waiting.

    Attributes
    ----------
    concurrency : int, optional
        Most calls at once; without it only the user's own limit holds.
    adds_to_prompts : bool, optional
        True where more than the prompt is sent, so that no budget can bound what a call costs.
    keeps_text : bool, optional
        True where prompts and replies touch the disk on their way, so that experiments that keep
        no text refuse this provider.
    prepare : coroutine function, optional
        Called with the model before its ``wire`` is read and before its first call.
    """

    def wire(self, model: str) -> str:
        """SDK, its version and the API through which ``model`` is called, for the cassette."""

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """Send ``request`` to ``model`` (the name without the provider), once.

        Raises CallFailed when no completion came back.
        """

    async def aclose(self) -> None:
        """Close every connection."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address at which a wire format is spoken, and as whom.

    ``provider`` is its name in ``provider/model``; ``base_url`` is None for the vendor's own;
    ``started`` is one that was started for this recording alone. ``headers`` go with each request,
    and their values are secrets; ``query`` goes with each URL. ``stream`` asks for event streams.
    """

    provider: str
    api_key: str = field(repr=False)
    base_url: str | None = None
    started: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    stream: bool = False


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """All that providers are opened with.

    ``environ`` holds the environment and what a named ``.env`` adds; ``answers`` are those of
    simulated subjects; ``endpoints`` are the user's own by provider name, ``local`` models on this
    machine; ``wires`` says for ``provider/model`` which wire format it needs, where its provider
    has several. ``providers`` are those that plugins add, by name. ``reread`` reads ``environ``
    again, where the user names a file of keys.
    """

    environ: Mapping[str, str] = field(repr=False)
    answers: Sequence[SimulatedAnswer] = ()
    endpoints: Mapping[str, EndpointEntry] = field(default_factory=dict)
    local: Mapping[str, LocalEntry] = field(default_factory=dict)
    wires: Mapping[str, str] = field(default_factory=dict)
    providers: Mapping[str, object] = field(default_factory=dict)
    reread: Callable[[], Mapping[str, str]] | None = None

    @property
    def own(self) -> frozenset[str]:
        """The names of providers that are not part of this package."""
        return frozenset((*self.endpoints, *self.providers))


def split_model(name: str, own: Iterable[str] = ()) -> tuple[str, str]:
    """``provider/model`` as a pair; ``own`` are the names of the user's endpoints and plugins.

    Raises BadSetting when ``name`` has no provider or no model. Raises UnknownName when there is
    no such provider.
    """
    provider, separator, model = name.partition("/")
    if not separator or not provider or not model or name != name.strip():
        raise BadSetting(
            option="--bias-model",
            value=name,
            problem="write it as provider/model, as openai/gpt-5.1-2025-11-13",
        )
    if provider not in (known := {*_FACTORIES, *own}):
        hint = f"a server of your own is named in the roster, as [endpoints.{provider}]"
        raise UnknownName(kind="provider", name=provider, known=known, hint=hint)
    return provider, model


def check_added(names: Iterable[str]) -> None:
    """Refuse providers of plugins under the name of one of ours, or under none."""
    for name in names:
        if name in _FACTORIES or "/" in name or not name or blurs_models(name):
            problem = (
                "a plugin cannot provide it: the name is taken, or no name before a slash, which "
                "neither holds -- nor ends in -"
            )
            raise BadSetting(option="pytest_bias_providers", value=name, problem=problem)


def is_simulated(model: str) -> bool:
    """True if ``provider/model`` names a program that stands in for a model."""
    return model.startswith(f"{SIMULATED}/")


def open_provider(name: str, context: ProviderContext) -> Provider:
    """Open the provider called ``name``; its SDK is imported here and not before.

    Raises BiasError when it cannot be opened, whatever the reason: only its own jobs fail then.
    """
    return _opened(name, partial(_open, name, context), context.environ)


Factory = Callable[[ProviderContext], Provider]
"""Opens a provider; raises MissingPackage or BadSetting where it cannot."""


def open_wire(wire: str, endpoint: Endpoint) -> Provider:
    """A provider that speaks ``wire`` at ``endpoint``; BiasError where there can be none."""
    if wire not in WIRES:
        raise UnknownName(kind="wire format", name=wire, known=WIRES)

    def made() -> Provider:
        return cast("Callable[[Endpoint], Provider]", _loaded(WIRES[wire]))(endpoint)

    return _opened(endpoint.provider, made, {"API_KEY": endpoint.api_key})


def api_key(environ: Mapping[str, str], provider: str, variable: str) -> str:
    """The key in ``variable``, without the white space around it.

    Raises BiasError when it is not set, or empty, and BadSetting when no header can hold it: the
    transport's own error would quote it.
    """
    key = environ.get(variable, "").strip()
    if not key:
        problem = f"{provider} needs the environment variable {variable}, which is not set"
        raise BiasError(problem)
    if not key.isascii() or not key.isprintable():
        raise BadSetting(option=variable, value="…", problem="it holds characters no key has")
    return key


def _open(name: str, context: ProviderContext) -> Provider:
    if name in context.endpoints:
        own = context.endpoints[name]
        for place, needed in variables_of(name, own):
            check_sent(context.environ, place, needed, own.base_url)
        variable = own.api_key_env
        key = NO_KEY if variable is None else api_key(context.environ, name, variable)
        headers = {h: api_key(context.environ, name, v) for h, v in own.headers_env.items()}
        endpoint = Endpoint(
            name, key, own.base_url, headers=headers, query=own.query, stream=own.stream
        )
        return open_wire(own.wire, endpoint)
    if name in context.providers:
        return cast("Factory", context.providers[name])(context)
    return cast("Factory", _loaded(_FACTORIES[name]))(context)


def _opened(name: str, make: Callable[[], Provider], environ: Mapping[str, str]) -> Provider:
    try:
        return make()
    except BiasError:
        raise
    except Exception as error:  # noqa: BLE001  (an SDK, a transport or another package: anything)
        from .sdk import redacted_by_environment  # noqa: PLC0415  (where all is well, not needed)

        message = redacted_by_environment(environ, str(error))
        problem = f"the provider cannot be opened ({type(error).__name__}: {message})"
    # Raised here, where the other error, which may quote a credential, is no longer its context.
    raise BadSetting(option="--bias-model", value=f"{name}/…", problem=problem)


def _loaded(target: str) -> object:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)
