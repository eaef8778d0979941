"""The declaration that a file of another program's results is likely to need, to be agreed to."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..settings.table_entry import Tool, cell_text

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from .reader import RawTable

_OURS = ("reply", "finish", "missing", "model", "served", "collected_at", "replicate")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 6  # labels of what no column holds

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
    taken, values, unknown = dict[_Place, str](), dict[str, object](), list[str]()
    for ours, labels in _labels(experiment):
        free = {place: {*words} for place, words in cells.items() if place not in taken}
        if (place := _place(ours, labels, free)) is None:
            words = ", ".join([*dict.fromkeys(labels.values())][:_SHOWN])
            unknown.append(f"{ours}: no one column holds its labels ({words}) or their values")
            continue
        taken[place] = ours
        if others := {word: labels[word] for word in sorted(free[place]) if labels[word] != word}:
            values[place[0] if place[1] is None else ours] = others
    split = dict.fromkeys(column for column, part in taken if part is not None)
    entry: dict[str, object] = {
        "path": path,
        "experiment": experiment.id,
        "collected_by": tool,
        "tool": tool,
        "parts": {column: _form(column, cells, taken) for column in split},
        "columns": {n: c for (c, part), n in taken.items() if part is None and n != c},
        "values": values,
    }
    lines = [f"[table.{_key(name)}]"]
    lines += [f"{key} = {_toml(value)}" for key, value in entry.items() if value]
    return Proposal((*lines, *_served(table, name, known)), unknown)


def _labels(experiment: Experiment) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield our columns with their labels, by these and by the values that one label has."""
    wanted: dict[str, Mapping[str, object]] = {}
    for factor in experiment.factors:
        wanted[factor.name] = {**factor.levels, **factor.controls}
        if factor.exemplars:
            members = [each for level in factor.levels for each in factor.exemplars[level]]
            wanted[f"{factor.name}_exemplar"] = dict(zip(members, members, strict=True))
    if (items := experiment.items) is not None:
        wanted["item"] = {**items.items, **items.controls}
    for ours, of in wanted.items():
        words = {
            label: cell_text(v) for label, v in of.items() if isinstance(v, str | int | float)
        }
        counts = Counter(words.values())
        told = {word: label for label, word in words.items() if counts[word] == 1}
        yield ours, {**told, **{label: label for label in of}}


def _cells(table: RawTable) -> Iterator[tuple[_Place, Sequence[str]]]:
    """Yield the words of each column, and of its parts where the same stands between them."""
    for column in (each for each in table.columns if each not in _OURS):
        texts = [cell_text(row.cells.get(column)) for row in table.rows]
        yield (column, None), texts
        for between in (r"(\W+)", r"([\W_]+)"):
            split = [re.split(between, text) for text in texts]
            if len(split[0]) > 1 and len({tuple(each[1::2]) for each in split}) == 1:
                yield from (((column, n), p) for n, p in enumerate(zip(*split, strict=True)))
                break


def _place(
    ours: str, labels: Mapping[str, str], cells: Mapping[_Place, set[str]]
) -> _Place | None:
    """The column of a factor or of the items; None where there is none, or more than one."""
    fitting = [place for place, words in cells.items() if words and words <= labels.keys()]
    named = [each for each in fitting if each[0].rpartition(".")[2].casefold() == ours.casefold()]
    ready = [place for place in fitting if all(labels[word] == word for word in cells[place])]
    return next((each[0] for each in (named, ready, fitting) if len(each) == 1), None)


def _form(column: str, cells: Mapping[_Place, Sequence[str]], taken: Mapping[_Place, str]) -> str:
    """The form of a split column: what is the same in all cells stands as it is."""
    form = ""
    for place, texts in cells.items():
        if place[0] == column and place[1] is not None:
            same = len({*texts}) == 1 and not {*"{}"} & {*texts[0]}
            form += f"{{{taken[place]}}}" if place in taken else texts[0] if same else "{}"
    return form


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
