"""OpenAI's models: Chat Completions, or Responses where the roster says a model needs them."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import UnknownName
from ..experiments.messages import Completion, Request
from .base import DEFAULT_WIRE, Call, Endpoint, Provider, ProviderContext, api_key
from .client import Client, base_url
from .openai_chat import OPENAI, OpenAIChat
from .openai_responses import OpenAIResponses

_KEY = "OPENAI_API_KEY"
_PREFIX = f"{OPENAI.name}/"


def open_openai(context: ProviderContext) -> Provider:
    """Models of OpenAI; the key comes from OPENAI_API_KEY.

    Raises UnknownName when the roster gives a model a wire format that OpenAI does not speak.
    """
    key = api_key(context.environ, OPENAI.name, _KEY)
    wires = {
        model.removeprefix(_PREFIX): wire
        for model, wire in context.wires.items()
        if model.startswith(_PREFIX)
    }
    endpoint = Endpoint(OPENAI.name, key, base_url(context.environ, OPENAI))
    return _OpenAI(endpoint, wires)


class _OpenAI:
    """Both APIs over one client: making one takes tens of milliseconds."""

    def __init__(self, endpoint: Endpoint, wires: Mapping[str, str]) -> None:
        known = (DEFAULT_WIRE, "openai-responses")
        for wire in wires.values():
            if wire not in known:
                raise UnknownName(kind="wire format of OpenAI", name=wire, known=known)
        self._wires = dict(wires)
        self._client = client = Client(OPENAI, endpoint)
        self._apis: dict[str, Provider] = {
            DEFAULT_WIRE: OpenAIChat(endpoint, client),
            "openai-responses": OpenAIResponses(endpoint, client),
        }

    def wire(self, model: str) -> str:
        """SDK, version and API, and the host where it is not OpenAI's."""
        return self._api(model).wire(model)

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        """See :class:`~pytest_bias.providers.base.Provider`."""
        return await self._api(model).complete(model, request, call)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()

    def _api(self, model: str) -> Provider:
        return self._apis[self._wires.get(model, DEFAULT_WIRE)]
