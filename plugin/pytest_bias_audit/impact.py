"""Selection and scoring rates by category and their ratios, as New York City's rule has them.

The rule is 6 RCNY § 5-300 to 5-303 (2023, on Local Law 144 of 2021). A selection rate is the share
of a category that is selected, a scoring rate the share with a score above the sample's median. An
impact ratio is either of them divided by that of the category where it is highest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest_bias as bias  # its names load when they are used: every run of pytest imports this

LINE = 0.8
"""Four fifths: below it the Uniform Guidelines (29 CFR § 1607.4 D) see adverse impact."""

FEWEST = 0.02
"""Share of the data below which a category may be left out of impact ratios (§ 5-301 (d))."""

UNEQUAL = "categories were assessed under unequal conditions (see the hypotheses)"
NONE_SELECTED = "nobody of this category was selected"
_SELECTED, _SHOWN = "impact_selected", "impact_shown"
_ULP = 1e-9  # a ratio and a bound that are the same may differ by rounding

Category = tuple[str, ...]
People = list[tuple[str, bool]]
"""Level or id, and whether it was selected."""


@dataclass(frozen=True, slots=True)
class Impact:
    """Rates of being selected, or of a high score, by sex, race and their intersection.

    Parameters
    ----------
    measure
        A flag: the selection. A number: a score, and selected is what lies above the median of the
        sample. With ids of items shown: the measure that holds the ids selected.
    among
        The factor, or the items by their name, whose levels are (the stimuli of) people; or the
        measure that holds the ids shown, as of :class:`pytest_bias.Selection`.
    categories
        Axis ("sex", "race/ethnicity") → level or id → its category on it. What has none on an axis
        is counted as unknown there.
    outcome
        What being selected is, in words ("rated a good fit").
    selected
        The value of a flag that is the favourable one.
    at
        Factor → the levels to which the table is confined.
    """

    measure: str
    among: str
    categories: Mapping[str, Mapping[str, str]] = field(repr=False)
    outcome: str = ""
    selected: bool = field(default=True, kw_only=True)
    at: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)

    def check(self, experiment: bias.Experiment) -> None:
        """Raise BiasError for what ``experiment`` does not have."""
        what = f"Impact({self.measure!r})"
        experiment.measure(self.measure)
        named = [*self.at.items()]
        if not self.pools(experiment):
            named += [(self.among, [*of]) for of in self.categories.values()]
        for name, levels in named:
            if unknown := [level for level in levels if level not in experiment.levels(name)]:
                problem = f"{unknown[0]!r} is no level of {name!r}"
                raise bias.BadDesign(what=what, problem=problem)

    def pools(self, experiment: bias.Experiment) -> bool:
        """Whether items are selected from the pool that a trial shows."""
        return any(measure.name == self.among for measure in experiment.measures)


DECLARED: dict[str, tuple[Impact, ...]] = {}
"""Id of an experiment → the impact ratios that are declared of it."""


def declare_impacts(experiment: bias.Experiment, *impacts: Impact) -> None:
    """Declare what an audit counts of ``experiment``; no verdict depends on it.

    Raises BiasError for what the experiment does not have.
    """
    for impact in impacts:
        impact.check(experiment)
    DECLARED[experiment.id] = impacts


def impact_ratios(
    impact: Impact, experiment: bias.Experiment, records: bias.Records
) -> dict[str, Any]:
    """The tables of an impact, for each axis and for the intersection of all, as JSON.

    ``records`` are without those at control levels; ``docs/audit.md`` says what each key is.
    """
    every = records.at(impact.at)
    rows = [row for row in every.rows if row.missing is None]
    found, middle = _people(impact, experiment, rows)
    people = [*zip(rows, found, strict=True)]
    counts = Counter(person for each in found for person in each)
    axes: list[Category] = [(axis,) for axis in impact.categories]
    axes += [tuple(impact.categories)] * (len(axes) > 1)
    tables = []
    for names in axes:
        of = _category_of(impact, names)
        counted: Counter[tuple[Category | None, bool]] = Counter()
        for (label, chosen), number in counts.items():
            counted[of.get(label), chosen] += number
        sizes = {each: counted[each, True] + counted[each, False] for each in of.values()}
        table = impact_rows({each: (n, counted[each, True]) for each, n in sizes.items()})
        highest = next((row["category"] for row in table if row["ratio"] == 1.0), None)
        for row in table:
            if row["ratio"] is not None and row["category"] != highest:
                sides = [
                    [label for label, category in of.items() if [*category] == side]
                    for side in (row["category"], highest)
                ]
                row.update(_interval(impact, experiment, people, row["ratio"], *sides))
        unknown = counted[None, True] + counted[None, False]
        tables.append({"axes": [*names], "rows": table, "unknown": unknown})
    return {
        "measure": impact.measure,
        "outcome": impact.outcome or impact.measure,
        "median": middle,
        "at": {name: [*levels] for name, levels in impact.at.items()},
        "missing": len(every.rows) - len(rows),
        "tables": tables,
    }


def impact_rows(
    counts: Mapping[Category, tuple[int, int]], fewest: float = FEWEST
) -> list[dict[str, Any]]:
    """Rates and ratios of categories, each with how many were assessed and selected.

    A category below the share ``fewest`` of all has a rate and no ratio, and is not the one that
    others are divided by.
    """
    total = sum(assessed for assessed, _ in counts.values())
    large = {name for name, (n, _) in counts.items() if n and n >= fewest * total}
    rates = {name: selected / n if n else None for name, (n, selected) in counts.items()}
    highest = max((rates[name] or 0.0 for name in large), default=0.0)
    ratios = {name: (rates[name] or 0.0) / highest for name in large if highest}
    return [
        {
            "category": [*name],
            "assessed": assessed,
            "selected": selected,
            "rate": rates[name],
            "ratio": ratios.get(name),
            "left_out": name not in large,
            "interval": None,
            "no_interval": "",
            "below": "estimated" if ratios.get(name, 1.0) < LINE else "",
        }
        for name, (assessed, selected) in counts.items()
    ]


def _category_of(impact: Impact, axes: Sequence[str]) -> Mapping[str, Category]:
    """Level or id → its category on ``axes``, of those that have one on each of them."""
    of = [impact.categories[axis] for axis in axes]
    return {label: tuple(o[label] for o in of) for label in of[0] if all(label in o for o in of)}


def _people(
    impact: Impact, experiment: bias.Experiment, rows: Sequence[bias.Record]
) -> tuple[list[People], float | None]:
    """The people of each trial, and the score that they must exceed; None where it is a flag.

    That is the median of those who have a category on every axis.
    """
    from statistics import median  # noqa: PLC0415  (see above)

    if impact.pools(experiment):
        texts = [(row.values[impact.among], row.values[impact.measure]) for row in rows]
        pairs = [(str(shown).split(), str(selected).split()) for shown, selected in texts]
        return [[(each, each in selected) for each in shown] for shown, selected in pairs], None
    labels = [row.trial.condition.levels.get(impact.among, row.trial.item or "") for row in rows]
    given = [(label, row.values[impact.measure]) for label, row in zip(labels, rows, strict=True)]
    known = _category_of(impact, [*impact.categories])
    scores = [value for label, value in given if label in known and isinstance(value, float)]
    middle = median(scores) if scores else None
    return [
        [(label, value is impact.selected if middle is None else float(value) > middle)]
        for label, value in given
    ], middle


def _interval(
    impact: Impact,
    experiment: bias.Experiment,
    people: Sequence[tuple[bias.Record, People]],
    ratio: float,
    *sides: Sequence[str],
) -> dict[str, object]:
    """The interval of the ``ratio`` of one side's rate to the other's, or why there is none.

    It is that of a hypothesis about these two, over conditions. The ratio is of all people,
    whatever theirs: where conditions differ between categories, it need not hold the ratio.
    """
    if not ratio:  # a hypothesis gives half a selection to a side that has none
        return {"no_interval": NONE_SELECTED}
    low, high = sides
    contrast: bias.RateRatio | bias.Selection
    if impact.pools(experiment):
        of = dict.fromkeys(low, "low") | dict.fromkeys(high, "high")
        contrast = bias.Selection(_SELECTED, _SHOWN, feature=of, group="low")
        kept = [[(label, chosen) for label, chosen in each if label in of] for _, each in people]
        values: list[dict[str, Any]] = [
            {_SHOWN: " ".join(i for i, _ in each), _SELECTED: " ".join(i for i, of in each if of)}
            for each in kept
        ]
    else:
        contrast = bias.RateRatio(_SELECTED, impact.among, high=low, low=high, published=None)
        values = [{_SELECTED: chosen} for _, ((_, chosen),) in people]
        selected = bias.Measure(_SELECTED, kind="flag")
        experiment = replace(experiment, measures=[*experiment.measures, selected])
    pairs = zip(people, values, strict=True)
    rows = tuple(bias.Record(row.trial, value, None) for (row, _), value in pairs)
    try:
        interval = contrast.analyse(experiment, bias.Records(rows)).interval
    except bias.BiasError as error:
        return {"no_interval": str(error)}
    if interval is None:
        return {}
    if not interval.low * (1 - _ULP) <= ratio <= interval.high * (1 + _ULP):
        return {"no_interval": UNEQUAL}
    ends = {"low": interval.low, "high": interval.high, "level": interval.level}
    return {"interval": ends, **({"below": "shown"} if interval.high < LINE else {})}
