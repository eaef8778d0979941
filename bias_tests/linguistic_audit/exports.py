"""What a run publishes under CC-BY-4.0: all effects and interactions, described, and their plots.

The hypotheses ask for what the document expects. Here stands the rest of its analysis: every term
of the three factors for every measure. Nothing of it gates.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_bias import BiasError, Records, csv_text
from pytest_bias.stats import chi_square, factorial_anova, one_sample

from ..charts import Drawn, Panel, Shades, Tile, VegaChart, tile_chart
from .hypotheses import MANIPULATED
from .prompts import SEEDS

LICENCE = "CC-BY-4.0"
TERMS = "terms.csv"

MEASURES = {
    "response_length": ("characters", ",.0f"),
    "log_length": ("log characters", ".2f"),
    "sentiment": ("compound score", "+z.2f"),
    "is_refusal": ("share", ".1%"),
    "latency": ("seconds", ".3f"),
}
"""Measure → its unit, and how its means are printed."""

FACTORS = {each["factor"]: (each["low"], each["high"]) for each in MANIPULATED.values()}
"""Factor → the level that is subtracted, and the one it is subtracted from."""

_TERMS = [term for size in (1, 2, 3) for term in itertools.combinations(FACTORS, size)]
_BLUES = ["#f7fbff", "#6baed6", "#08306b"]
_LINES = (
    "Of one factor a difference, of two the difference of two such: learner − perfect,",
    "non-Anglo − Anglo, omitted − present. Mean over prompt seeds, Student's 95 % interval.",
    "Described: nothing gates, and nothing is adjusted for how many there are.",
)

Condition = tuple[str, ...]
Replies = Mapping[str, Mapping[Condition, Sequence[float]]]
"""Seed → condition, in the order of the factors → its valid replies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermEffect:
    """One term of the three factors, of one measure.

    ``estimate`` and its 95 % interval (``low``, ``high``) are means over ``seeds``; ``left_out``
    counts those that lack a valid reply in some condition. ``statistic`` and ``p`` are the
    document's, on all replies: F of a three-way analysis of variance, chi-square of a flag's main
    effects. None is what cannot be computed.
    """

    term: tuple[str, ...]
    estimate: float | None
    low: float | None
    high: float | None
    seeds: int
    left_out: int
    method: str
    statistic: float | None
    p: float | None


def export_files(records: Mapping[str, Records]) -> Drawn:
    """The files of a run: texts and charts by their names."""
    found = {
        (model, measure): term_effects(measure, replies)
        for model, rows in records.items()
        for measure, replies in ((name, replies_of(rows, name)) for name in MEASURES)
    }
    header = ["model", "measure", "term", "estimate", "low", "high", "seeds", "left_out"]
    lines: list[list[str | int | float | None]] = [[*header, "published_method", "statistic", "p"]]
    for (model, measure), effects in found.items():
        for each in effects:
            numbers = (each.estimate, each.low, each.high, each.seeds, each.left_out)
            words = (model, measure, " x ".join(each.term))
            lines.append([*words, *numbers, each.method, each.statistic, each.p])
    files: dict[str, str | VegaChart] = {
        "LICENCE.txt": f"The files of this folder are released under {LICENCE}.\n",
        TERMS: csv_text(lines),
        "figures/means_by_condition": _means(records),
        "figures/terms": _effects(found),
    }
    return Drawn(files, records)


def replies_of(records: Records, measure: str) -> Replies:
    """The valid replies of a measure, without those to prompts of controls."""
    found: defaultdict[str, defaultdict[Condition, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in records.rows:
        value = row.values.get(measure)
        if value is not None and row.trial.item in SEEDS:
            condition = tuple(row.trial.condition.levels[factor] for factor in FACTORS)
            found[str(row.trial.item)][condition].append(float(value))
    return found


def term_effects(measure: str, replies: Replies) -> list[TermEffect]:
    """All seven terms of a measure."""
    conditions = list(itertools.product(*FACTORS.values()))
    means = [
        {condition: sum(given[condition]) / len(given[condition]) for condition in conditions}
        for given in replies.values()
        if all(given.get(condition) for condition in conditions)
    ]
    tested = _chi_squares(replies) if measure == "is_refusal" else _anova(replies)
    method = "chi-square on all replies" if measure == "is_refusal" else "ANOVA on all replies"
    effects = []
    for term in _TERMS:
        values = [_contrast(each, term) for each in means]
        estimate = sum(values) / len(values) if values else None
        try:
            interval = one_sample(values).interval
        except BiasError:  # too few seeds, or all the same
            interval = None
        statistic, p = tested.get(term, (None, None))
        effects.append(
            TermEffect(
                term=term,
                estimate=estimate,
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                seeds=len(means),
                left_out=len(SEEDS) - len(means),
                method=method if term in tested else "",
                statistic=statistic,
                p=p,
            )
        )
    return effects


def _contrast(means: Mapping[Condition, float], term: tuple[str, ...]) -> float:
    """The difference that a term stands for, or difference of differences; others averaged."""
    total = 0.0
    for condition, mean in means.items():
        subtracted = [
            level == FACTORS[factor][0]
            for factor, level in zip(FACTORS, condition, strict=True)
            if factor in term
        ]
        total += -mean if sum(subtracted) % 2 else mean
    return total / (len(means) >> len(term))


Tested = dict[tuple[str, ...], tuple[float | None, float | None]]


def _anova(replies: Replies) -> Tested:
    all_of = [
        (condition, value)
        for given in replies.values()
        for condition, values in given.items()
        for value in values
    ]
    levels = {
        factor: [condition[place] for condition, _ in all_of]
        for place, factor in enumerate(FACTORS)
    }
    try:
        rows = factorial_anova([value for _, value in all_of], levels)
    except BiasError:  # not defined: nothing varies, or a condition has no reply
        return {}
    return {row.term: (row.f, row.p) for row in rows}


def _chi_squares(replies: Replies) -> Tested:
    found: Tested = {}
    for place, (factor, levels) in enumerate(FACTORS.items()):
        counts = [[0, 0], [0, 0]]
        for given in replies.values():
            for condition, values in given.items():
                counts[levels.index(condition[place])][0] += int(sum(values))
                counts[levels.index(condition[place])][1] += len(values) - int(sum(values))
        try:
            tested = chi_square(counts)
        except BiasError:  # nothing, or everything, is refused
            continue
        found[factor,] = (tested.chi2, tested.p)
    return found


def _means(records: Mapping[str, Records]) -> VegaChart:
    panels = []
    for measure, (unit, form) in MEASURES.items():
        tiles = []
        for model, rows in records.items():
            replies = replies_of(rows, measure)
            for condition in itertools.product(*FACTORS.values()):
                values = [v for given in replies.values() for v in given.get(condition, ())]
                mean = sum(values) / len(values) if values else None
                said = "none" if mean is None else f"{mean:{form}}".replace("-", "−")
                column = "\n".join(word.replace("_", " ") for word in condition)
                tiles.append(Tile(row=model, column=column, value=mean, said=said))
        shown = [tile.value for tile in tiles if tile.value is not None] or [0]
        low, high = min(shown), max(shown)
        high = high if low < high else low + 1
        shades = Shades(low=low, high=high, colours=_BLUES, meaning=[unit])
        panels.append(Panel(title=measure, tiles=tiles, shades=shades))
    lines = ["Means of all valid replies of a condition, prompts of controls left out."]
    return tile_chart("Replies by condition", panels, lines=lines, licence=LICENCE)


def _effects(found: Mapping[tuple[str, str], Sequence[TermEffect]]) -> VegaChart:
    charts = []
    for measure, (unit, _) in MEASURES.items():
        values = [
            {
                "model": model,
                "term": " × ".join(each.term),
                "estimate": each.estimate,
                "low": each.low,
                "high": each.high,
            }
            for (model, of), effects in found.items()
            for each in effects
            if of == measure and each.estimate is not None
        ]
        y = {
            "field": "term",
            "type": "nominal",
            "sort": [" × ".join(term) for term in _TERMS],
            "axis": {"title": None, "labelLimit": 0},
        }
        colour = {"field": "model", "type": "nominal"}
        axis = {"title": f"{measure}: {unit}", "grid": True}
        x = {"field": "estimate", "type": "quantitative", "axis": axis}
        by = {"y": y, "yOffset": {"field": "model"}, "color": colour}
        charts.append(
            {
                "width": 300,
                "height": {"step": 12},
                "data": {"values": values},
                "layer": [
                    {
                        "mark": {"type": "rule", "color": "#777777"},
                        "encoding": {"x": {"datum": 0}},
                    },
                    {
                        "mark": {"type": "rule", "strokeWidth": 2},
                        "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}, **by},
                    },
                    {
                        "mark": {"type": "point", "filled": True, "size": 45},
                        "encoding": {"x": x, **by},
                    },
                ],
            }
        )
    body = {"concat": charts, "columns": 2, "spacing": 30}
    return VegaChart(
        title="Every term of English, articles and names",
        body=body,
        lines=_LINES,
        licence=LICENCE,
    )
