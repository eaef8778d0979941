"""What differs from vendor to vendor, where the same is asked of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_bias.experiments.messages import Message, Parameters, Request
from pytest_bias.experiments.replies import reply_schema
from pytest_bias.providers.base import (
    Endpoint,
    Provider,
    ProviderContext,
    open_provider,
    open_wire,
)

from ...core.factories import Score
from ..mocker import SECRET

Body = dict[str, Any]

TURNS = Request(
    (Message("user", "a"), Message("assistant", "b"), Message("user", "c")), Parameters()
)
SENT_TURNS = [{"role": message.role, "content": message.text} for message in TURNS.messages]
"""The same as most APIs are sent it."""
SCHEMA = reply_schema(Score)


@dataclass(frozen=True, kw_only=True)
class Vendor:
    """One API; each table is row's name → the row."""

    wire: str
    provider: str
    model: str
    key: str
    """The variable of the environment that holds its key."""
    base_url: str
    """The variable of the environment that leads elsewhere."""
    home: str
    """The base URL of the vendor's own endpoint."""
    path: str
    """Where calls go, behind the base URL."""
    own_base: str = ""
    """The path that base URLs of the user's own end in."""
    extra: str
    """The extra that installs the SDK, which is also the package to import."""
    package: str
    api: str
    """How the wire is named for cassettes: SDK, version, API."""
    what: str
    """How a reply is called that should be one."""
    header: tuple[str, str]
    """Name and value of the header with the key."""
    own_header: tuple[str, str]
    """The same at an endpoint of the user's own."""
    says: Callable[[Any], Body]
    """A whole reply with this text."""
    read_by_sdk: Callable[[object], str]
    """The text of a stored body, as the SDK's own type reads it."""
    refusing: Callable[..., Body]
    """The body of an error: message, and fields of it."""
    wires: Mapping[str, str] = field(default_factory=dict)
    foreign: Mapping[str, str] = field(default_factory=dict)
    """Variables of the environment that hold credentials for the vendor alone."""
    seeds: bool = True

    finishes: Mapping[str, tuple[Body, str, str]]
    filters: Mapping[str, Body] = field(default_factory=dict)
    """Bodies of errors that are an answer: a filter stopped the prompt or the reply."""
    usage: str = "usage"
    """The field of a reply that counts tokens."""
    usages: tuple[tuple[object, dict[str, int]], ...]
    malformed: Mapping[str, object]
    """Replies of HTTP 200 that are none."""
    refused: Mapping[str, tuple[Body, str | None]]
    """Bodies of HTTP 400 → the parameter that is refused, if it is one."""
    refused_schema: Mapping[str, bool]
    """Messages of HTTP 400 → is it schemas that are refused, and not this one?"""

    sent: Body
    """The body of the request of the tests."""
    sent_turns: Body
    sent_whole: Body
    """The body where everything is set that can be."""

    @property
    def five(self) -> Body:
        """The reply of the tests."""
        return self.says("Five.")

    @property
    def url(self) -> str:
        """Where the vendor's own endpoint is called."""
        return self.home + self.path

    @property
    def whole(self) -> Parameters:
        """Everything set that can be."""
        return Parameters(0.5, 400, seeded=self.seeds)

    def opened(self, **environ: str) -> Provider:
        """A provider of the vendor's own endpoint."""
        context = ProviderContext({self.key: SECRET} | environ, wires=self.wires)
        return open_provider(self.provider, context)

    def at(self, base: str, key: str = SECRET) -> Provider:
        """A provider of another endpoint, of the user's own."""
        return open_wire(self.wire, Endpoint("gateway", key, base + self.own_base))


LITELLM = {
    "message": "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException",
    "type": "invalid_request_error",
    "param": None,
    "code": "400",
}
"""What LiteLLM says on every wire where a filter behind it stopped a prompt."""


def without(body: Body, *names: str) -> Body:
    """``body`` without these fields."""
    return {name: value for name, value in body.items() if name not in names}
