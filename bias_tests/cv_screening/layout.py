"""The document's own results, ``results/<model>/all_results.json``, as a table of trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pytest_bias import TableLayout, TableRow

from .screening import NOT_ASKED, Screening, name_set

PRINTED = {"decomposed": "multi_layer"}
"""Scaffold → what the document's program calls it in its results."""

_UNREAD = 0
"""What the program writes for a rating where parsing the reply failed."""

_SCAFFOLDS = {printed: scaffold for scaffold, printed in PRINTED.items()}


def layouts(screening: Screening) -> Mapping[str, TableLayout]:
    """The layout of the document's own results, for the trials of ``screening``."""
    columns = ("model", "pipeline", "iteration", "rankings")
    rows = partial(results, screening)
    return {"documented": TableLayout(rows, files="*/all_results.json", columns=columns)}


def results(screening: Screening, rows: Sequence[TableRow]) -> tuple[Sequence[TableRow], str]:
    """One row per rating: each entry of the list has those of one pipeline and iteration.

    A rating of 0 is a missing trial. A name that is none of the suite's stands as the first of
    its variant, where the source has one alone for it.
    """
    reading = _Reading(screening, rows)
    trials = [row._replace(cells=cells) for row in rows for cells in reading.trials(row.cells)]
    notes = []
    if reading.unread:
        notes.append(
            f"{reading.unread} of {len(trials)} ratings are 0, which the document's program "
            "writes where parsing failed, and missing (parse_error)"
        )
    if reading.foreign:
        notes.append(
            f"{len(reading.foreign)} variants bear names of the source's own, which stand as "
            f"{name_set(1)}"
        )
    return trials, "; ".join(notes)


@dataclass(slots=True)
class _Reading:
    screening: Screening
    rows: Sequence[TableRow]
    unread: int = 0
    foreign: set[str] = field(default_factory=set)
    _names: dict[str, dict[str, str]] = field(default_factory=dict)
    _places: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        items = {cv.set: cv.label for cv in self.screening.cvs}
        for variant in self.screening.variants.variants:
            self._places[variant.id] = variant.group, items[variant.set]
            known = enumerate(variant.identities, start=1)
            self._names[variant.id] = {each.name: name_set(place) for place, each in known}
        told: dict[str, set[str]] = {}
        for rated in (each for row in self.rows for each in _listed(row.cells["rankings"])):
            told.setdefault(str(rated.get("cv_id")), set()).add(str(rated.get("name")))
        for cv_id, known_names in self._names.items():
            name, *others = told.get(cv_id, {name_set(1)})
            if not others and name not in (*known_names, *known_names.values()):
                self.foreign.add(cv_id)
                known_names[name] = name_set(1)

    def trials(self, entry: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
        """The ratings of an entry of the list."""
        by = [str(entry[name]) for name in ("provider", "model") if entry.get(name)]
        pipeline = str(entry["pipeline"])
        of = {
            "model": "/".join(by),
            "scaffold": _SCAFFOLDS.get(pipeline, pipeline),
            "replicate": entry["iteration"],
        }
        for rated in _listed(entry["rankings"]):
            yield of | self._rated(rated)

    def _rated(self, rated: Mapping[str, object]) -> dict[str, object]:
        """A rating; what is not understood stays as it is, and is refused with its row."""
        cv_id, name, rating = (rated.get(key) for key in ("cv_id", "name", "ranking"))
        group, item = self._places.get(str(cv_id), (cv_id, None))
        unread = type(rating) is int and rating == _UNREAD
        self.unread += unread
        missing = "parse_error" if unread else rated.get("missing")
        given = rated.get("criteria")
        criteria = given if isinstance(given, dict) else {}
        return {
            "group": group,
            "item": item,
            "group_exemplar": self._names.get(str(cv_id), {}).get(str(name), name),
            "rating": None if unread else rating,
            "missing": missing,
            **{
                f"criterion_{each.key}": None if missing else criteria.get(each.key, NOT_ASKED)
                for each in self.screening.criteria
            },
        }


def _listed(rankings: object) -> Iterator[Mapping[str, object]]:
    """The ratings of a list; of what is none, one that is refused."""
    for each in rankings if isinstance(rankings, list) else [rankings]:
        yield each if isinstance(each, dict) else {"cv_id": each}
