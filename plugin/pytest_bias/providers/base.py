"""What a provider is, and the names of those that exist."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from ..errors import BadSetting, UnknownName
from ..experiment import SimulatedAnswer
from ..messages import Completion, Request

_FACTORIES = {
    "openai": "pytest_bias.providers.openai_chat:open_openai",
    "simulated": "pytest_bias.providers.simulated:open_simulated",
}

SIMULATED = "simulated"
"""The provider whose subjects are programs that stand in for models."""


class Provider(Protocol):
    """Calls the models of one vendor. Opened inside the event loop that uses it."""

    @property
    def wire(self) -> str:
        """SDK, its version and the API, for the cassette's header."""

    async def complete(self, model: str, request: Request, seed: int) -> Completion:
        """Send ``request`` to ``model`` (the name without the provider).

        ``seed`` is the per-trial seed; only simulated endpoints are sent it.

        Raises
        ------
        CallFailed
            When no completion came back.
        """

    async def aclose(self) -> None:
        """Close every connection."""


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """What providers are opened with: the environment, and answers for simulated subjects."""

    environ: Mapping[str, str] = field(repr=False)
    answers: Sequence[SimulatedAnswer] = ()
    simulated_url: str | None = None


def split_model(name: str) -> tuple[str, str]:
    """``provider/model`` as a pair.

    Raises
    ------
    BadSetting
        When ``name`` has no provider or no model.
    UnknownName
        When there is no such provider.
    """
    provider, separator, model = name.partition("/")
    if not separator or not provider or not model or name != name.strip():
        raise BadSetting(
            option="--bias-model",
            value=name,
            problem="write it as provider/model, as openai/gpt-5.1",
        )
    if provider not in _FACTORIES:
        raise UnknownName(kind="provider", name=provider, known=_FACTORIES)
    return provider, model


def is_simulated(model: str) -> bool:
    """Whether ``provider/model`` names a program that stands in for a model."""
    return model.startswith(f"{SIMULATED}/")


def open_provider(name: str, context: ProviderContext) -> Provider:
    """Open the provider called ``name``; its SDK is imported here and not before."""
    module, _, attribute = _FACTORIES[name].partition(":")
    factory = cast(
        "Callable[[ProviderContext], Provider]",
        getattr(importlib.import_module(module), attribute),
    )
    return factory(context)
