"""The document's post-level CSV, a row per post and trial, as a table of trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pytest_bias import BadData, TableLayout, TableRow

from .corpus import Corpus
from .task import Task

STYLE, TRIAL, SELECTED, DATASET = "prompt_style", "trial", "selected", "dataset"
SUMMARY = (
    *("feature", "dataset", "provider", "prompt_style"),
    *("bias", "p_value", "metric", "significant"),
)
"""Columns of the document's summary."""

_NAME = "table of posts"
_FLAGS = {"true": 1.0, "false": 0.0}
_OWN = (
    "posts of your own are judged by a task of your own, whose corpus they are (README of "
    "recommendation, Your own corpus)"
)

Rows = Sequence[TableRow]


@dataclass(slots=True)
class _Pool:
    """A trial's posts in the file's order, and those picked."""

    first: TableRow
    shown: list[str] = field(default_factory=list)
    picked: list[str] = field(default_factory=list)


def layouts(task: Task) -> Mapping[str, TableLayout]:
    """The layout of the document's post-level file, and its summary, which is refused."""
    first = next(iter(task.corpora.values()))
    dataset = [DATASET] if len(task.corpora) > 1 else []
    columns = [*dataset, STYLE, TRIAL, SELECTED, *first.features]
    return {
        "documented": TableLayout(partial(posts, task), columns=columns),
        "summary": TableLayout(summary, columns=SUMMARY),
    }


def posts(task: Task, rows: Rows) -> tuple[Rows, str]:
    """One row per trial: its pool in the file's order, and what is selected of it.

    Posts are told by their features, and by ``id`` where there is one. A trial without a pick is
    missing. Raises a group of BadData for rows that are no post of a corpus, or stand there
    twice, or are neither selected nor not, and for trials without their whole pool.
    """
    corpora = {corpus.name: corpus for corpus in task.corpora.values()}
    known = {name: _by_features(corpus) for name, corpus in corpora.items()}
    pools: dict[tuple[str, ...], _Pool] = {}
    wrong: list[BadData] = []
    for row in rows:
        cells = row.cells
        dataset = str(cells.get(DATASET) or next(iter(corpora)))
        key = (_model(cells), dataset, str(cells[STYLE]), str(cells[TRIAL]))
        pool = pools.setdefault(key, _Pool(row))
        selected = _plain(cells[SELECTED])
        found = known.get(dataset, {}).get(_features(cells, next(iter(corpora.values()))), [])
        ids = [each for each in found if cells.get("id") in (None, "", each)]
        if dataset not in corpora:
            wrong.append(_bad(row, DATASET, f"{dataset!r} is none of {', '.join(corpora)}"))
        elif len(ids) != 1:
            several = "several posts have these features: give their id" if ids else ""
            problem = several or f"no post of {dataset} has these features; {_OWN}"
            wrong.append(_bad(row, "id", problem))
        elif ids[0] in pool.shown:
            wrong.append(_bad(row, "id", f"{ids[0]} stands twice in its trial"))
        else:
            pool.shown += ids
            pool.picked += ids if selected else []
        if selected not in (0.0, 1.0):
            wrong.append(_bad(row, SELECTED, f"{cells[SELECTED]!r} is neither 0 nor 1"))
    wrong = wrong or [*_unlike(task, pools.values())]
    if wrong:
        raise ExceptionGroup(_NAME, wrong)
    trials, measures = [], task.measures
    for place, each in pools.items():
        names = ("model", DATASET, "style", "replicate")
        trial: dict[str, object] = {n: word for n, word in zip(names, place, strict=True) if word}
        if each.picked:
            result = task.recommended(each.shown, each.picked)
            trial |= {measure.name: measure.of(result) for measure in measures}
        missing = "" if each.picked else "no_picks"
        trials.append(each.first._replace(cells=trial | {"missing": missing}))
    return trials, _noted(task, [*pools.values()])


def _unlike(task: Task, pools: Iterable[_Pool]) -> Iterator[BadData]:
    """Trials of which not the whole pool is there: of what is selected alone, all shares are 1."""
    for each in pools:
        shown = len(each.shown)
        if shown != task.pool:
            problem = (
                f"this trial shows {shown} posts, and a pool has {task.pool}: give every post "
            )
            yield _bad(each.first, TRIAL, f"{problem}shown, selected or not")
        elif len(each.picked) == shown:
            yield _bad(each.first, SELECTED, f"all {shown} posts of this trial are selected")


def _noted(task: Task, pools: Sequence[_Pool]) -> str:
    notes = ["places are those of the file's order"]
    if other := sum(len(each.picked) not in (0, task.picks) for each in pools):
        notes.append(f"{other} of {len(pools)} trials picked another number than {task.picks}")
    return "; ".join(notes)


def summary(rows: Rows) -> tuple[Rows, str]:
    """Refuse the document's summary, of which no verdict can be given."""
    problem = (
        f"holds {len(rows)} results (feature × dataset × provider × style) and no trial, so no "
        "verdict can be given of it: that takes every pool and what was picked of it. Give the "
        f"post-level file, a row per post and trial with {STYLE}, {TRIAL}, {SELECTED} and the "
        "features"
    )
    raise BadData(source="the document's summary", column="p_value", problem=problem)


def _model(cells: Mapping[str, object]) -> str:
    return "/".join(str(cells[name]) for name in ("provider", "model") if cells.get(name))


def _by_features(corpus: Corpus) -> dict[tuple[object, ...], list[str]]:
    found: dict[tuple[object, ...], list[str]] = {}
    for post in corpus.posts.values():
        found.setdefault(_features(post.features, corpus), []).append(post.id)
    return found


def _features(cells: Mapping[str, object], corpus: Corpus) -> tuple[object, ...]:
    return tuple(_plain(cells[name]) for name in corpus.features)


def _plain(cell: object) -> object:
    """A cell, whether it is text or typed: 1, 1.0, "1" and true are one."""
    text = str(cell).lower()
    try:
        return _FLAGS[text] if text in _FLAGS else float(text)
    except ValueError:
        return text


def _bad(row: TableRow, column: str, problem: str) -> BadData:
    return BadData(source=_NAME, column=column, problem=problem, row=row.line)
