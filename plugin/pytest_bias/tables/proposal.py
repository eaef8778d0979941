"""The declaration that a file of another program's results is likely to need, to be agreed to."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..settings.table_entry import Tool, cell_text

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from .reader import RawTable

_OURS = ("reply", "finish", "missing", "model", "served", "collected_at", "replicate")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


_Place = tuple[str, int | None]
"""A column, or a part of one."""


class Proposal(NamedTuple):
    """The ``lines`` of a table in a roster, and what no column was found for."""

    lines: Sequence[str]
    unknown: Sequence[str]


def proposed(
    path: str,
    table: RawTable,
    tool: Tool,
    experiment: Experiment,
    name: str,
    known: Collection[str],
) -> Proposal:
    """Propose the declaration of a ``table`` of a tool, by its ``name`` and ``path`` in a roster.

    A column stands for a factor or the items where all its cells are labels of it, or the values
    that these have. Of several one that is called alike is taken, or else none. ``known`` are the
    models that the roster has already.
    """
    cells = dict(_cells(table))
    columns, parts, values = dict[str, str](), dict[str, dict[int, str]](), dict[str, object]()
    unknown = []
    for ours, labels in _labels(experiment):
        if (place := _place(ours, labels, cells)) is None:
            words = ", ".join([*dict.fromkeys(labels.values())][:_SHOWN])
            unknown.append(f"{ours}: no one column holds its labels ({words}) or their values")
            continue
        column, part = place
        others = {word: labels[word] for word in sorted(cells.pop(place)) if labels[word] != word}
        if part is not None:
            parts.setdefault(column, {})[part] = ours
        elif column != ours:
            columns[ours] = column
        if others:
            values[column if part is None else ours] = others
    entry: dict[str, object] = {
        "path": path,
        "experiment": experiment.id,
        "collected_by": tool,
        "tool": tool,
        "parts": {column: _form(table, column, of) for column, of in parts.items()},
        "columns": columns,
        "values": values,
    }
    lines = [f"[table.{_key(name)}]"]
    lines += [f"{key} = {_toml(value)}" for key, value in entry.items() if value]
    return Proposal((*lines, *_served(table, name, known)), unknown)


_SHOWN = 6


def _labels(experiment: Experiment) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield our columns, each with its words and their labels."""
    for factor in experiment.factors:
        levels = {**factor.levels, **factor.controls}
        yield factor.name, _words(levels)
        if factor.exemplars:
            members = [each for level in factor.levels for each in factor.exemplars[level]]
            yield f"{factor.name}_exemplar", {each: each for each in members}
    if (items := experiment.items) is not None:
        yield "item", _words({**items.items, **items.controls})


def _words(values: Mapping[str, object]) -> Mapping[str, str]:
    """The labels, and those of their values that are words of one label."""
    texts = [cell_text(value) for value in values.values() if isinstance(value, str | int | float)]
    told = {cell_text(value): label for label, value in values.items()}
    known = {text: told[text] for text in texts if texts.count(text) == 1}
    return {**known, **{label: label for label in values}}


def _cells(table: RawTable) -> Iterator[tuple[_Place, set[str]]]:
    """Yield each column, and each part of a column, with its words."""
    for column in table.columns:
        if column in _OURS:
            continue
        texts = [cell_text(row.cells.get(column)) for row in table.rows]
        yield (column, None), {*texts}
        for number, part in enumerate(zip(*_split(texts), strict=False)):
            if number % 2 == 0:
                yield (column, number), {*part}


def _split(texts: Sequence[str]) -> list[list[str]]:
    """Texts as words and what stands between them, which is the same in all of them; or none."""
    for between in (r"(\W+)", r"([\W_]+)"):
        split = [re.split(between, text) for text in texts]
        if len(split[0]) > 1 and len({tuple(each[1::2]) for each in split}) == 1:
            return split
    return []


def _place(
    ours: str, labels: Mapping[str, str], cells: Mapping[_Place, set[str]]
) -> _Place | None:
    """The column of a factor or of the items; None where there is none, or more than one."""
    fitting = [place for place, words in cells.items() if words and words <= labels.keys()]
    named = [each for each in fitting if each[0].rpartition(".")[2].casefold() == ours.casefold()]
    ready = [place for place in fitting if all(labels[word] == word for word in cells[place])]
    return next((each[0] for each in (named, ready, fitting) if len(each) == 1), None)


def _form(table: RawTable, column: str, named: Mapping[int, str]) -> str:
    """The pattern of a split column: what is the same in all cells stands as it is."""
    split = _split([cell_text(row.cells.get(column)) for row in table.rows])
    form = []
    for number, texts in enumerate(zip(*split, strict=True)):
        same = len({*texts}) == 1 and not {*"{}"} & {*texts[0]}
        form.append(f"{{{named[number]}}}" if number in named else texts[0] if same else "{}")
    return "".join(form)


def _served(table: RawTable, name: str, known: Collection[str]) -> Iterator[str]:
    """Yield the lines that let a model answer under the one other name that the file has."""
    served: dict[str, set[str]] = {}
    for row in table.rows:
        model = cell_text(row.cells.get("model")) or name
        served.setdefault(model, set()).update({cell_text(row.cells.get("served"))} - {""})
    for model, names in served.items():
        if len(names) == 1 and (subject := f"table/{model}") not in known:
            yield from ("", f"[models.{_key(subject)}]", f"served = {_toml(sorted(names))}")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
