"""Names under which models answer, and file names of models.

A verdict is about the model that answered. Of a name other than the requested one only the user
knows what it stands for, so the roster lists which may answer:

- capitals are no difference, since no vendor tells models apart by them;
- ``models/`` before a name is how Google writes a model's address, and is none of its name;
- another owner or provider before a name (``meta-llama/…``, ``azure/…``) is a difference: who
  fine-tunes a model often leaves its name, and a gateway's route is not the model's maker;
- a date after a name is its snapshot where the name may move (an alias), and only in the forms in
  which vendors write dates; else another date is another model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

from .model_entry import ModelEntry
from .roster import is_unpinned

_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|\d{3})", re.ASCII)
"""-2025-11-13 and -0613 (OpenAI), -20250514 (Anthropic), -001 (Google)."""
_ADDRESS = "models/"


def other_model(model: str, served: Iterable[str], entry: ModelEntry) -> str:
    """Why replies of other models than the requested one do not count; '' where there are none.

    ``model`` is ``provider/model``, ``entry`` its entry in the roster, and ``served`` the names in
    the replies; an empty name is that of a provider that gives none, and is no other model.
    """
    others = sorted({name for name in served if name and not _is_same_model(model, name, entry)})
    if not others:
        return ""
    names = sorted({*others, *entry.served})
    line = f"served = [{', '.join(json.dumps(name, ensure_ascii=False) for name in names)}]"
    table = f"[models.{json.dumps(model, ensure_ascii=False)}]"
    return (
        f"{' and '.join(others)} answered where {model} was asked for. Where that is the "
        f"model you mean, ask for it by its own name, or add {line} under {table} in the "
        "roster (bias_models.toml)"
    )


def answered_by(model: str, served: Iterable[str]) -> tuple[str, ...]:
    """All names that answered, where any of them is not the one of ``provider/model``."""
    names = tuple(served)
    return names if {*names} - {_requested(model)} else ()


def answered_text(answered: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """A sentence for each model that answered under another name than its own.

    ``answered`` are pairs of the requested model and a name that answered.
    """
    by_model: dict[str, set[str]] = {}
    for model, served in answered:
        by_model.setdefault(model, set()).add(served)
    named = {model: answered_by(model, sorted(names)) for model, names in by_model.items()}
    return tuple(f"{model} was answered by {', '.join(n)}" for model, n in named.items() if n)


def _requested(model: str) -> str:
    return model.partition("/")[2]


def _is_same_model(model: str, served: str, entry: ModelEntry) -> bool:
    """True if ``served``, the name that an endpoint reports, is ``model`` or a snapshot of it.

    ``entry`` is the roster's for ``model``; other names that it allows (``served``) count as well.
    """
    requested = entry.requested(model).casefold().removeprefix(_ADDRESS)
    name = served.casefold().removeprefix(_ADDRESS)
    if name == requested or served.casefold() in {each.casefold() for each in entry.served}:
        return True
    if not is_unpinned(model, entry):
        return False
    stem = requested.removesuffix("-latest")
    return name.startswith(stem) and _SNAPSHOT.fullmatch(name, len(stem)) is not None


SERVED_BY = " over loopback HTTP by "
"""Stands in the wire of a local model before what serves which weights."""


def file_stem(model: str) -> str:
    """``provider--model`` for a file name: one for each model.

    Characters that file systems dislike stand as in a URL (``a:b`` is ``a%3Ab``).
    """
    provider, _, name = model.partition("/")
    return f"{provider}--{quote(name, safe='', errors='surrogatepass')}"


def model_of(stem: str) -> str:
    """``provider/model`` of a :func:`file_stem`."""
    provider, _, name = stem.partition("--")
    return f"{provider}/{unquote(name, errors='surrogatepass')}"
