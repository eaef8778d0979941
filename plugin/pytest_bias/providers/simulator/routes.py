"""Paths and the wire format that is spoken at each. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from urllib.parse import unquote

from .exchange import Body, WireFormat
from .subjects import PROGRAMS
from .wire_chat import CHAT
from .wire_contents import CONTENTS
from .wire_messages import MESSAGES
from .wire_responses import RESPONSES

_PATHS: Mapping[str, WireFormat] = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
    "/v1/messages": MESSAGES,
}
_GENERATE = re.compile(r"/v1(?:beta)?/models/([^/:]+):generateContent")
_GOOGLE = re.compile(r"/v1beta/|/v1/models/[^/]+:")

_CREATED = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Route:
    """The format and action a path leads to.

    ``wire`` is the format in which to answer, even where nothing is ``served``; ``model`` the
    model where the path names it.
    """

    wire: WireFormat
    served: bool
    model: str | None = None


def route_of(path: str) -> Route:
    """Return the route of a request for completions to ``path`` (without its query)."""
    if path in _PATHS:
        return Route(_PATHS[path], served=True)
    if found := _GENERATE.fullmatch(path):
        return Route(CONTENTS, served=True, model=unquote(found.group(1)))
    if _GOOGLE.match(path):
        return Route(CONTENTS, served=False)
    return Route(MESSAGES if path.startswith("/v1/messages/") else CHAT, served=False)


def models_at(path: str, headers: AbstractSet[str]) -> Body | None:
    """The list of models at ``path``; None where there is none.

    The vendors have theirs at one path; the names of the ``headers``, in small
    letters, tell whose client asks.
    """
    if path == "/v1beta/models" or (path == "/v1/models" and "x-goog-api-key" in headers):
        return {"models": [_google_model(name) for name in PROGRAMS]}
    if path != "/v1/models":
        return None
    if "anthropic-version" in headers:
        models = [_anthropic_model(name) for name in PROGRAMS]
        ends = {"first_id": PROGRAMS[0], "last_id": PROGRAMS[-1]}
        return {"data": models, "has_more": False, **ends}
    listed = [{"id": s, "object": "model", "owned_by": "simulated"} for s in PROGRAMS]
    return {"object": "list", "data": listed}


def _google_model(subject: str) -> Body:
    return {
        "name": f"models/{subject}",
        "displayName": subject,
        "description": "a program that stands in for a model",
        "supportedGenerationMethods": ["generateContent"],
    }


def _anthropic_model(subject: str) -> Body:
    return {
        "id": subject,
        "type": "model",
        "display_name": subject,
        "created_at": _CREATED,
        "lifecycle": "active",
    }
