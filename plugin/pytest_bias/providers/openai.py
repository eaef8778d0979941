"""OpenAI's models: Chat Completions, or Responses where the roster says a model needs them."""

from __future__ import annotations

from ..errors import BadSetting, MissingKey
from .base import Endpoint, Provider, ProviderContext
from .openai_chat import OpenAIChat

_KEY = "OPENAI_API_KEY"


def open_openai(context: ProviderContext) -> Provider:
    """Models of OpenAI; the key comes from OPENAI_API_KEY."""
    key = context.environ.get(_KEY, "")
    if not key:
        raise MissingKey(provider="openai", variable=_KEY)
    try:
        return OpenAIChat(Endpoint("openai", key))
    except Exception as error:
        # The transport's own, which is not imported here; its words may quote a password.
        if type(error).__name__ != "InvalidURL":
            raise
        raise BadSetting(option="OPENAI_BASE_URL", value="…", problem="it is not a URL") from None
