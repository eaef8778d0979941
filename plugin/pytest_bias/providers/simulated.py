"""Simulated subjects: programs that stand in for models, reached over HTTP like a model.

The calls go through a vendor's official SDK to a loopback server, so that recording a simulated
subject exercises everything that recording a real one does.
"""

from __future__ import annotations

from ..errors import UnknownName
from ..experiments.messages import Completion, Request
from .base import NO_KEY, SIMULATED, Call, Endpoint, Provider, ProviderContext, open_wire
from .simulator.server import SimulatorServer

# The SDKs of Anthropic and Google add the version to the base URL themselves.
_PATHS = {"anthropic": "", "google": "", "openai-chat": "/v1", "openai-responses": "/v1"}


def open_simulated(context: ProviderContext) -> Provider:
    """Subjects behind ``bias_simulated_url``, or else behind a server started here."""
    wire = context.simulated_wire
    if wire not in _PATHS:
        raise UnknownName(kind="wire format", name=wire, known=_PATHS)
    if context.simulated_url is not None:
        return _Simulated(None, context.simulated_url, wire)
    server = SimulatorServer(context.answers)
    server.start()
    try:
        return _Simulated(server, server.url, wire)
    except BaseException:
        server.stop()
        raise


class _Simulated:
    def __init__(self, server: SimulatorServer | None, url: str, wire: str) -> None:
        self._server = server
        endpoint = Endpoint(SIMULATED, NO_KEY, f"{url}{_PATHS[wire]}", simulated=True)
        self._inner = open_wire(wire, endpoint)

    def wire(self, model: str) -> str:
        return f"{self._inner.wire(model)} over loopback HTTP"

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        return await self._inner.complete(model, request, call)

    async def aclose(self) -> None:
        """Close the connections, then stop the server if it was started here."""
        await self._inner.aclose()
        if self._server is not None:
            self._server.stop()
