"""A line to one vendor: its provider over the real SDK, and what stands in for the vendor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import respx

from pytest_bias.errors import CallFailed
from pytest_bias.experiments.messages import Completion, Request
from pytest_bias.providers.base import Call, Provider

from . import mocker
from .mocker import REQUEST, SECRET, SEED
from .vendors.vendor import Vendor


@dataclass
class Line:
    """Calls of one provider, which ``router`` answers."""

    vendor: Vendor
    provider: Provider
    runner: asyncio.Runner
    router: respx.MockRouter

    def answers(self, status: int = 200, **reply: Any) -> respx.Route:
        """Answer every call of the vendor's own endpoint so."""
        return self.router.post(self.vendor.url).respond(status, **reply)

    def refuses(self, status: int, message: object = "no", **reply: Any) -> respx.Route:
        """Answer every call with an error."""
        return self.answers(status, json=self.vendor.refusing(message), **reply)

    def ask(self, request: Request = REQUEST, *, dropped: tuple[str, ...] = ()) -> Completion:
        """One call."""
        call = Call(SEED, dropped=frozenset(dropped))
        return self.runner.run(self.provider.complete(self.vendor.model, request, call))

    def failed(self, request: Request = REQUEST, **how: Any) -> CallFailed:
        """The failure of one call, which tells no secret and holds nothing that does."""
        with pytest.raises(CallFailed) as caught:
            self.ask(request, **how)
        failure = caught.value
        assert str(failure).startswith(f"{self.vendor.provider}/{self.vendor.model}: ")
        assert SECRET not in str(failure)
        # The SDK's own error holds the request with its headers.
        assert failure.__cause__ is failure.__context__ is None
        return failure

    def sent(self, request: Request = REQUEST, **how: Any) -> dict[str, Any]:
        """The body of one call."""
        route = self.answers(json=self.vendor.five)
        self.ask(request, **how)
        return body_of(route)

    def once(self, opened: Callable[[], Provider], request: Request = REQUEST) -> Completion:
        """One call through a provider of its own."""
        return mocker.ask(opened, request, model=self.vendor.model)

    def elsewhere(self, base: str) -> respx.Route:
        """What is called where the base URL is ``base``."""
        return self.router.post(base + self.vendor.own_base + self.vendor.path)


def body_of(route: respx.Route) -> dict[str, Any]:
    """The body of the last call."""
    found: dict[str, Any] = json.loads(route.calls.last.request.content)
    return found


@contextmanager
def line_to(vendor: Vendor) -> Iterator[tuple[Provider, asyncio.Runner]]:
    """A provider and its event loop, to share: making one takes 50 ms."""
    with mocker.nothing_left(), asyncio.Runner() as runner:

        async def made() -> Provider:
            return vendor.opened()

        provider = runner.run(made())
        yield provider, runner
        runner.run(provider.aclose())
