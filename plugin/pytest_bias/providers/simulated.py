"""Simulated subjects: programs that stand in for models, reached over HTTP like a model.

The calls go through the official OpenAI SDK to a loopback server, so that recording a simulated
subject exercises everything that recording a real one does.
"""

from __future__ import annotations

from ..messages import Completion, Request
from ..simulator.server import SimulatorServer
from .base import Provider, ProviderContext
from .openai_chat import OpenAIChat


def open_simulated(context: ProviderContext) -> Provider:
    """Subjects behind ``bias_simulated_url``, or else behind a server started here."""
    if context.simulated_url is not None:
        return _Simulated(None, context.simulated_url)
    server = SimulatorServer(context.answers)
    server.start()
    try:
        return _Simulated(server, server.url)
    except BaseException:
        server.stop()
        raise


class _Simulated:
    def __init__(self, server: SimulatorServer | None, url: str) -> None:
        self._server = server
        self._chat = OpenAIChat(
            name="simulated", api_key="none-needed", base_url=f"{url}/v1", send_seed=True
        )

    @property
    def wire(self) -> str:
        """SDK, version, API, and that it was a loopback server."""
        return f"{self._chat.wire} over loopback HTTP"

    async def complete(self, model: str, request: Request, seed: int) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`."""
        return await self._chat.complete(model, request, seed)

    async def aclose(self) -> None:
        """Close the connections, then stop the server if it was started here."""
        await self._chat.aclose()
        if self._server is not None:
            self._server.stop()
