"""Anthropic's Messages, through the official async SDK."""

from __future__ import annotations

from typing import Any

from ..experiments.canonical import plain
from ..experiments.messages import Completion, Request, end_of
from .adapter import Adapter, counts, parameter_fields, text_of_parts
from .base import Call, Endpoint, Provider, ProviderContext, api_key
from .client import GeneratedClient, Vendor, base_url

ANTHROPIC = Vendor(
    "anthropic",
    "anthropic",
    "AsyncAnthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_BASE_URL",
    personal=("auth_token",),
)

DEFAULT_LIMIT = 4096
"""Tokens a reply may have where the request sets no limit: the API requires one."""

_KEY = "ANTHROPIC_API_KEY"
_NAMES = {"temperature": "temperature", "max_output_tokens": "max_tokens"}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def open_anthropic(context: ProviderContext) -> Provider:
    """Models of Anthropic; the key comes from ANTHROPIC_API_KEY."""
    key = api_key(context.environ, "anthropic", _KEY)
    return AnthropicMessages(Endpoint("anthropic", key, base_url(context.environ, ANTHROPIC)))


class AnthropicMessages(Adapter):
    """Messages at an endpoint."""

    api, path, what = "messages", "/v1/messages", "a message"
    seedless = "Anthropic's Messages API"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(GeneratedClient(ANTHROPIC, endpoint))

    def _body(
        self,
        model: str,  # noqa: ARG002  (one body for all)
        request: Request,
        call: Call,  # noqa: ARG002  (no seed is taken)
    ) -> tuple[dict[str, Any], dict[str, str]]:
        fields, sent = parameter_fields(request, _NAMES, "output_config", "output_format")
        body: dict[str, Any] = {
            "messages": [
                {"role": m.role, "content": m.text} for m in request.messages if m.role != "system"
            ]
        }
        system = [m.text for m in request.messages if m.role == "system"]
        if system:
            body["system"] = "\n\n".join(system)
        if request.schema is not None:
            # Limits of numbers and lengths, which the API does not take, become descriptions.
            schema = self._client.sdk.transform_schema(plain(request.schema, "reply schema"))
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body | {"max_tokens": DEFAULT_LIMIT} | fields, sent

    @staticmethod
    def read(body: dict[str, Any]) -> Completion:
        """Parse a Messages reply body; KeyError, TypeError … where it is not one."""
        return Completion(
            text=text_of_parts(body["content"]),
            finish=end_of(body.get("stop_reason")),
            served_model=str(body["model"]),
            usage=counts(body.get("usage"), input=_INPUT, output=("output_tokens",)),
        )
