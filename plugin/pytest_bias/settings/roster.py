"""The roster: models, endpoints, judges and tables of replies, by their names.

One TOML file without secrets: a key in it is refused, and no message repeats a value of the file.
Tables are others' (``[published.NAME]``) or the user's (``[table.NAME]``).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, TypeVar

from pydantic import (
    AfterValidator,
    TypeAdapter,
    ValidationError,
)

from ..errors import BadSetting, UnknownName
from ..experiments.messages import Parameters
from .model_entry import FREE, EndpointEntry, LocalEntry, ModelEntry
from .table_entry import CLOSED, TableEntry

PUBLISHED: Final = "published"
"""Stands before the slash in the names of subjects whose replies others published."""

TABLE: Final = "table"
"""Stands before the slash in the names of subjects whose replies the user holds as a table."""

Section = Literal["published", "table"]

NEEDED: Mapping[str, tuple[str, ...]] = {
    PUBLISHED: ("source", "licence"),
    TABLE: ("collected_by",),
}
"""Keys that a table needs, by its section."""

LOCAL = "local"
"""The provider of models that are served on this machine."""

BUILT_IN = ("anthropic", "codex", "google", "local", "openai", "simulated")
"""Providers that no endpoint may be called by."""

_KEY_WORDS = {"key", "apikey", "token", "secret", "password", "authorization", "credentials"}
_OF_SOURCES = {"columns", "parts", "values"}
"""Parts of a declared table whose keys are words of a source, which may well be "key"."""
_LATEST = re.compile(r"(?:^|[^a-z0-9])latest(?:[^a-z0-9]|$)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PROBLEMS = {
    "unexpected_keyword_argument": "is not known here",
    "missing": "is needed",
    "dataclass_type": "must be a table",
    "frozen_set_type": "must be a list",
}
"""Problems by the type of pydantic's error, where its words are not those of a TOML file."""


_Read = TypeVar("_Read")


def _model_name(name: str) -> str:
    provider, _, model = name.partition("/")
    if not provider or not model or name != name.strip():
        message = "write models as provider/model, as openai/gpt-5.1-2025-11-13"
        raise ValueError(message)
    return name


def _bare_name(name: str) -> str:
    if not _BARE.fullmatch(name):
        message = "its name must be letters, digits, - and _"
        raise ValueError(message)
    return name


def _endpoint_name(name: str) -> str:
    if name in (*BUILT_IN, PUBLISHED, TABLE):
        message = f"{name} is a provider already; give the endpoint another name"
        raise ValueError(message)
    if blurs_models(name):
        message = (
            "its name must neither hold -- nor end in -, which part it from a model's in files"
        )
        raise ValueError(message)
    return _bare_name(name)


def blurs_models(provider: str) -> bool:
    """True if models of ``provider`` and of another one may have one name of a file."""
    return "--" in provider or provider.endswith("-")


_WITHOUT_FIELDS = ("codex/", "simulated/", f"{PUBLISHED}/", f"{TABLE}/")


def is_tabled(model: str) -> bool:
    """True if ``provider/model`` names rows of a table, and no model that can be called."""
    return model.startswith((f"{PUBLISHED}/", f"{TABLE}/"))


_NOTHING = ModelEntry()


@dataclass(frozen=True, slots=True)
class Roster:
    """Models by ``provider/model``, endpoints and local models by name, and judges, best first.

    ``tables`` are those of published replies by name, ``own_tables`` those that the user holds;
    their paths are relative to ``folder``.
    """

    models: Mapping[str, ModelEntry] = field(default_factory=dict)
    endpoints: Mapping[str, EndpointEntry] = field(default_factory=dict)
    judges: tuple[str, ...] = ()
    local: Mapping[str, LocalEntry] = field(default_factory=dict)
    tables: Mapping[str, TableEntry] = field(default_factory=dict)
    own_tables: Mapping[str, TableEntry] = field(default_factory=dict)
    folder: Path = field(default_factory=Path, compare=False)

    def entry(self, model: str) -> ModelEntry:
        """The entry of ``model``; an empty one where the roster has none.

        A local model costs nothing, and is sent seeds: with them its replies are reproducible.
        """
        entry = self.models.get(model, _NOTHING)
        endpoint = self.endpoints.get(model.partition("/")[0])
        if endpoint is not None and entry.replies is None:
            entry = replace(entry, replies=endpoint.replies)
        if not model.startswith(f"{LOCAL}/"):
            return entry
        return replace(entry, seeded=True, price=entry.price or FREE)

    def judge_of(self, model: str) -> str | None:
        """The first judge that is not ``model`` itself; None when there is none."""
        return next((judge for judge in self.judges if judge != model), None)

    def defaults(self, model: str) -> Parameters:
        """Parameters of ``model`` for what an experiment leaves open, and what else it is sent."""
        entry, endpoint = self.entry(model), self.endpoints.get(model.partition("/")[0])
        more: dict[str, object] = {"request": entry.request}
        if endpoint is not None:
            more |= {"headers": sorted(endpoint.headers_env), "query": endpoint.query}
        extra = {name: value for name, value in more.items() if value}
        return Parameters(
            entry.temperature,
            entry.max_output_tokens,
            entry.seeded,
            json.dumps(extra, sort_keys=True) if extra else "",
        )


def is_unpinned(model: str, entry: ModelEntry) -> bool:
    """True for names that may move: with a component ``latest``, or an alias of the roster."""
    return entry.alias or _LATEST.search(entry.requested(model).lower()) is not None


def read_roster(path: Path | None) -> Roster:
    """The roster in the file ``path``; an empty one for None.

    Raises BadSetting when the file cannot be read, or is no roster.
    """
    if path is None:
        return Roster()
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _bad(path, "the file", "is not UTF-8 text") from None
    except OSError as error:
        raise _bad(path, "the file", f"cannot be read: {error.strerror or error}") from error
    return parse_roster(text, path)


def parse_roster(text: str, path: Path) -> Roster:
    """The roster of a TOML ``text``; ``path`` is for messages.

    Raises BadSetting when it is not TOML, or no roster: it names file, table and key, no value.
    """
    try:
        raw = tomllib.loads(text)
        _refuse_keys(raw, (), path)
    except RecursionError:
        raise _bad(path, "not TOML", "it is nested too deeply") from None
    except ValueError as error:  # no TOML, or a number of thousands of digits
        raise _bad(path, "not TOML", str(error)) from None
    file = _valid(_File, raw, lambda where, problem: _bad(path, _place(where), problem))
    order = tuple(file.judges.order)
    if len(set(order)) != len(order):
        raise _bad(path, "[judges] order", "names one twice")
    _check_sent(file, path)
    for section, tables in ((PUBLISHED, file.published), (TABLE, file.table)):
        for name, entry in tables.items():
            for key in NEEDED[section]:
                if getattr(entry, key) is None:
                    raise _bad(path, _place((section, name, key)), "is needed")
    local = {
        name: replace(entry, path=entry.path and path.parent / entry.path)
        for name, entry in file.local.items()
    }
    return Roster(
        file.models, file.endpoints, order, local, file.published, file.table, path.parent
    )


@dataclass(frozen=True, slots=True)
class _Judges:
    order: list[Annotated[str, AfterValidator(_model_name)]] = field(default_factory=list)
    __pydantic_config__: ClassVar = CLOSED


@dataclass(frozen=True, slots=True)
class _File:
    models: dict[Annotated[str, AfterValidator(_model_name)], ModelEntry] = field(
        default_factory=dict
    )
    endpoints: dict[Annotated[str, AfterValidator(_endpoint_name)], EndpointEntry] = field(
        default_factory=dict
    )
    judges: _Judges = field(default_factory=_Judges)
    local: dict[Annotated[str, AfterValidator(_bare_name)], LocalEntry] = field(
        default_factory=dict
    )
    published: dict[str, TableEntry] = field(default_factory=dict)
    table: dict[str, TableEntry] = field(default_factory=dict)
    __pydantic_config__: ClassVar = CLOSED


def _check_sent(file: _File, path: Path) -> None:
    """Refuse what an endpoint or a provider cannot be sent."""
    for name, endpoint in file.endpoints.items():
        if endpoint.stream and endpoint.wire != "openai-chat":
            problem = "only openai-chat has event streams here"
            raise _bad(path, _place(("endpoints", name, "stream")), problem)
    for name, model in file.models.items():
        if model.request and name.startswith(_WITHOUT_FIELDS):
            raise _bad(
                path, _place(("models", name, "request")), "no further fields can be sent to it"
            )


def table_entry(path: str, experiment: str, keys: Mapping[str, object]) -> TableEntry:
    """The declaration of a table that no roster has, whose ``path`` is only shown.

    Raises UnknownName or BadSetting for a key that a roster would not take either.
    """
    known = {each.name for each in fields(TableEntry)} - {"path", "experiment"}
    if unknown := sorted(keys.keys() - known):
        raise UnknownName(kind="key of table", name=unknown[0], known=known)
    return _valid(
        TableEntry,
        {**keys, "path": path, "experiment": experiment},
        lambda where, problem: BadSetting(
            option="table", value=None, problem=f"{'.'.join(map(str, where))}: {problem}"
        ),
    )


# --- what is wrong with it -----------------------------------------------------------------------


def _valid(
    kind: type[_Read], raw: object, refused: Callable[[tuple[str | int, ...], str], BadSetting]
) -> _Read:
    try:
        return TypeAdapter(kind).validate_python(raw)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        plain = f"{message[:1].lower()}{message[1:]}"
        where = tuple(part for part in first["loc"] if part != "[key]")
        raise refused(where, _PROBLEMS.get(first["type"], plain)) from None


def _refuse_keys(value: object, place: tuple[str, ...], path: Path) -> None:
    """Refuse a table that holds a credential, whatever else is wrong with the file."""
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if place[:-1] in {(PUBLISHED,), (TABLE,)} and name in _OF_SOURCES:
            continue
        # A table's own name ([endpoints.token]) is a name, and no key.
        words = set(re.split(r"[^a-z]+", name.lower()))
        if place[2:3] == ("headers_env",) or name == "api_key_env":
            continue
        if isinstance(inner, str) and words & _KEY_WORDS:
            problem = (
                "keys belong in the environment, never in this file; name the variable with "
                "api_key_env or headers_env in an [endpoints.…] table, and treat a key that was "
                "written here as disclosed"
            )
            raise _bad(path, _place((*place, name)), problem)
        _refuse_keys(inner, (*place, name), path)


def _place(location: Iterable[str | int]) -> str:
    """``[models."openai/gpt"] price.input``."""
    parts = [part if isinstance(part, str) else f"{part + 1}" for part in location]
    depth = 2 if parts[0] in {"models", "endpoints", LOCAL, PUBLISHED, TABLE} else 1
    table = ".".join(part if _BARE.fullmatch(part) else f'"{part}"' for part in parts[:depth])
    return f"[{table}] {'.'.join(parts[depth:])}".rstrip()


def _bad(path: Path, where: str, problem: str) -> BadSetting:
    return BadSetting(option="bias_roster", value=str(path), problem=f"{where}: {problem}")
