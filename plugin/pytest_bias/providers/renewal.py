"""Keys that expire: the user's file of keys is read again where a key is suddenly refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import BiasError, CallFailed
from ..experiments.messages import Completion, Request
from .base import Call, Provider, ProviderContext, open_provider


class Renewing:
    """A provider that is opened again with the keys of today.

    ``name`` is the provider's, whose ``context`` reads the environment again. Only a key that was
    taken before can have expired: a wrong one costs one call.
    """

    def __init__(
        self, name: str, context: ProviderContext, reread: Callable[[], Mapping[str, str]]
    ) -> None:
        self._name, self._context, self._reread = name, context, reread
        self._provider = open_provider(name, context)
        self._old: list[Provider] = []
        self._accepted = False
        self._renewing = asyncio.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`."""
        provider = self._provider
        try:
            completion = await provider.complete(model, request, call)
        except CallFailed as failed:
            if not (failed.refused_key and self._accepted and await self._renewed(provider)):
                raise
        else:
            self._accepted = True
            return completion
        return await self._provider.complete(model, request, call)

    async def _renewed(self, refused: Provider) -> bool:
        """True if there are other keys than those of the ``refused`` provider."""
        async with self._renewing:
            if self._provider is refused:
                try:
                    environ = await asyncio.to_thread(self._reread)
                    if environ == self._context.environ:
                        return False
                    context = replace(self._context, environ=environ)
                    self._provider = open_provider(self._name, context)
                except BiasError:  # the refusal says more than a file that cannot be read
                    return False
                self._context = context
                self._old.append(refused)  # other calls of it may be under way
            return True

    async def aclose(self) -> None:
        """Close every connection."""
        for provider in (*self._old, self._provider):
            await provider.aclose()
