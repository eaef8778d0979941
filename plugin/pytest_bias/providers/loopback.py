"""The HTTP client of simulated endpoints, under the vendors' SDKs."""

from __future__ import annotations

from itertools import cycle
from types import ModuleType
from typing import Any

from .sdk import LIMITS

_POOLS = 10


def loopback_client(transport: ModuleType, **options: Any) -> Any:
    """An async client of ``transport`` (httpx2), made with ``options``, that no proxy sees.

    A proxy from the environment could not reach an endpoint on loopback; and the client that
    Anthropic's SDK makes turns to one whatever it is told.
    """
    verify = transport.create_ssl_context(trust_env=False)  # one for all: it loads certificates
    limits = transport.Limits(**LIMITS)
    pools = [
        transport.AsyncHTTPTransport(verify=verify, limits=limits, trust_env=False)
        for _ in range(_POOLS)
    ]
    return transport.AsyncClient(transport=_Spread(pools), trust_env=False, **options)


class _Spread:
    """A transport of several pools that take turns.

    A pool looks at every connection whenever one is taken or given back. Simulated subjects
    answer in waves, and behind a hundred answers at once a hundred calls wait for that.
    """

    def __init__(self, pools: list[Any]) -> None:
        self._pools = pools
        self._turns = cycle(pools)

    async def handle_async_request(self, request: Any) -> Any:
        """Send ``request`` through the next pool."""
        return await next(self._turns).handle_async_request(request)

    async def aclose(self) -> None:
        """Close every connection."""
        for pool in self._pools:
            await pool.aclose()
