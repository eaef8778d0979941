"""Plants in a simulated subject, beside what it has: effects, missing replies, noise.

A subject is written ``even+rating-white-black=2+missing=0.03``: the name of a shipped one, and
what is planted, each as what=how much; ``docs/calibration.md`` has all that there is.
Units, and what is missing, are chosen anew in every draw.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from random import Random
from typing import TYPE_CHECKING, Any, cast

from ..contrasts.declared import has_exemplars, levels_of, outcomes_of
from ..contrasts.groups import GroupContrast, TotalGap
from ..contrasts.interactions import Interaction
from ..contrasts.pairs import PairContrast, RateRatio
from ..contrasts.power import compared_by
from ..contrasts.selection import Selection
from ..errors import BadSetting, UnknownName
from ..experiments.canonical import digest
from ..experiments.design import is_control
from ..experiments.measures import MISSING, MeasureValue
from ..experiments.records import Outcome, record_of
from ..providers.simulated import SUBJECTS

if TYPE_CHECKING:
    from ..contrasts.cases import Registered
    from ..contrasts.declared import Declared, Hypothesis
    from ..experiments.design import Trial
    from ..experiments.experiment import Experiment

_PLANTED = re.compile(r"(.+?)=(-?[0-9.]+)(?:\+|$)")
_WHAT = re.compile(
    r"(?:(?P<how>vary|step|informative|noise|rare(?P<share>0?\.\d+)):)?(?P<name>[^@]+)(?:@(?P<at>.+))?"
)
_ALONE = ("missing", "judge")
JUDGE_ERROR = "judge"
"""Key under which a judge is told the share of grades it is to get wrong."""


@dataclass(frozen=True, slots=True)
class Plant:
    """One thing that is planted: how, in what, at which level, and how much of it."""

    how: str
    name: str
    at: str
    amount: float
    share: float = 1.0


@dataclass(frozen=True)
class PlantedSubject:
    """A simulated subject by its name, with what is planted in it; ``text`` is how it is written.

    Raises UnknownName, with what there is, where the name is none of these; BadSetting for what
    cannot be read.
    """

    text: str

    def __post_init__(self) -> None:
        if self.name not in SUBJECTS:
            raise UnknownName(kind="simulated subject", name=self.name, known=SUBJECTS)
        _ = self.plants

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """The name of the shipped subject."""
        return self.text.partition("+")[0]

    @cached_property
    def plants(self) -> tuple[Plant, ...]:
        """The things that are planted in it."""
        _, plus, rest = self.text.partition("+")
        found = list(_PLANTED.finditer(rest))
        if plus and (not found or found[-1].end() != len(rest) or rest.endswith("+")):
            problem = "write it as even+HYPOTHESIS=MARGINS+…"
            raise BadSetting(option="--subject", value=self.text, problem=problem)
        return tuple(self._plant(each[1], each[2]) for each in found)

    def _plant(self, what: str, amount: str) -> Plant:
        read = _WHAT.fullmatch(what)
        number = float(amount) if amount.lstrip("-").replace(".", "", 1).isdigit() else None
        if read is None or number is None:
            problem = f"{what}={amount} is no NAME=NUMBER"
            raise BadSetting(option="--subject", value=self.text, problem=problem)
        how = read["how"] or (read["name"] if read["name"] in _ALONE else "")
        share = float(read["share"]) if read["share"] else 1.0
        return Plant(
            "rare" if read["share"] else how, read["name"], read["at"] or "", number, share
        )

    def check(self, declared: Iterable[Registered]) -> None:
        """Raise UnknownName unless each thing that is planted is there in one experiment."""
        every = list(declared)
        for plant in self.plants:
            known = {name for each in every for name in _known(each, plant.how)}
            if plant.how not in _ALONE and plant.name not in known:
                kind = "measure" if plant.how == "noise" else "hypothesis with a margin"
                raise UnknownName(kind=kind, name=plant.name, known=known)
            if plant.at:
                levels = {
                    level
                    for each in every
                    if plant.name in each.hypotheses
                    for names in _crossed(each.experiment).values()
                    for level in names
                }
                if plant.at not in levels:
                    raise UnknownName(kind="level", name=plant.at, known=levels)


def _known(registered: Registered, how: str) -> Iterator[str]:
    """Yield what can be planted so in an experiment, by name."""
    if how == "noise":
        yield from (measure.name for measure in registered.experiment.measures)
        return
    for name, hypothesis in registered.hypotheses.items():
        if getattr(hypothesis, "margin", None) is not None:
            yield name


def _crossed(experiment: Experiment) -> Mapping[str, Sequence[str]]:
    """Factor, or name of the items → its levels."""
    names = [factor.name for factor in experiment.factors]
    names += [experiment.items.name] if experiment.items is not None else []
    return {name: experiment.levels(name) for name in names}


@dataclass(frozen=True, slots=True)
class Instructions:
    """Effects planted in one trial: measure → how much, and whether its replies are empty."""

    planted: Mapping[str, float]
    lost: bool


Shift = Callable[["Trial"], float]
"""How much is planted in a trial; 0 where nothing is."""


class Planting:
    """Plants in the trials of one experiment in one draw; ``draw`` decides all chance."""

    def __init__(
        self, registered: Registered, subject: PlantedSubject, draw: str, place: int = 0
    ) -> None:
        self._registered = registered
        self._draw = draw
        self._place = place
        self._shifts: list[tuple[str, Shift]] = []
        self._missing: list[Shift] = []
        self._judge = 0.0
        self._after: list[Plant] = []
        for plant in subject.plants:
            if plant.how == "missing":
                self._missing.append(partial(_shifted, plant.amount, {}))
            elif plant.how == JUDGE_ERROR:
                self._judge = plant.amount
            elif plant.how == "noise":
                if any(plant.name == each.name for each in registered.experiment.measures):
                    self._after.append(plant)
            elif plant.name in registered.hypotheses:
                if plant.how == "informative":
                    self._after.append(plant)
                else:
                    self._add(plant, registered.hypotheses[plant.name])

    def _add(self, plant: Plant, hypothesis: Hypothesis) -> None:
        declared = cast("Declared", hypothesis)
        times = self._place if plant.how == "step" else 1
        measure, amount = planted_in(hypothesis, times * plant.amount)
        side, *other = _sides(hypothesis, self._registered.experiment, plant.at)
        if getattr(hypothesis, "measure", "") == MISSING:
            self._missing.append(partial(_shifted, amount, side))
            return
        if plant.how in ("", "step"):
            # Half of an interaction in each of two cells: then no factor alone has an effect.
            part = amount / (1 + len(other))
            for each in (side, *other):
                self._shifts.append((measure, partial(_shifted, part, each)))
            return
        experiment = self._registered.experiment
        compared = compared_by(hypothesis)
        units = (
            declared.units_of(experiment, compared)
            if declared.target == "population"
            else [name for name in compared if has_exemplars(experiment, name)] or compared
        )
        nested = any(name in compared for name in units)
        if nested and plant.how == "vary":  # the exemplars of every side vary
            side = {name: levels_of(levels) for name, levels in declared.at.items()}
        known: dict[tuple[str, ...], float] = {}

        def shift(trial: Trial) -> float:
            if not _stands(trial, side):
                return 0.0
            unit = tuple(_of_unit(trial, name) for name in units)
            if unit not in known:
                dice = self._dice(f"{plant}:{unit}")
                if plant.how == "vary":
                    known[unit] = dice.gauss(0.0, abs(amount))
                else:
                    known[unit] = amount / plant.share if dice.random() < plant.share else 0.0
            return known[unit]

        self._shifts.append((measure, shift))

    def _dice(self, what: str) -> Random:
        return Random(int(digest(f"{self._draw}:{what}"), 16))  # noqa: S311  (no secret)

    def of(self, trial: Trial) -> Instructions:
        """Return what is planted in a trial."""
        planted: dict[str, float] = {}
        for measure, shift in () if self._is_control(trial) else self._shifts:
            if amount := shift(trial):
                planted[measure] = planted.get(measure, 0.0) + amount
        if self._judge:
            planted[JUDGE_ERROR] = self._judge
        share = math.fsum(shift(trial) for shift in self._missing)
        return Instructions(
            planted, bool(share) and self._dice(f"lost:{trial.id}").random() < share
        )

    def _is_control(self, trial: Trial) -> bool:
        """Return whether a trial serves a positive control alone: nothing is planted there."""
        experiment = self._registered.experiment
        items = experiment.items
        beside = items is not None and trial.item in items.controls
        return beside or is_control(trial.condition, experiment.factors)

    def afterwards(
        self, outcomes: Sequence[Outcome], emptied: Callable[[Trial], Outcome]
    ) -> Sequence[Outcome]:
        """The outcomes once noise has taken a measure's place, or the highest values are lost.

        ``emptied`` carries a trial out with empty replies.
        """
        for plant in self._after:
            if plant.how == "noise":
                outcomes = self._with_noise(outcomes, plant.name)
            else:
                outcomes = self._without_highest(outcomes, plant, emptied)
        return outcomes

    def _with_noise(self, outcomes: Sequence[Outcome], measure: str) -> Sequence[Outcome]:
        registered = self._registered
        rows = [record_of(each, registered.experiment.measures) for each in outcomes]
        there = [place for place, row in enumerate(rows) if row.missing is None]
        values = [rows[place].values[measure] for place in there]
        dice = self._dice(f"noise:{measure}")
        pools = {
            each.selected: each.shown
            for each in registered.hypotheses.values()
            if isinstance(each, Selection)
        }
        if measure in pools:
            shown = [str(rows[place].values[pools[measure]]).split() for place in there]
            drawn: list[MeasureValue] = [
                " ".join(dice.sample(pool, len(str(value).split())))
                for pool, value in zip(shown, values, strict=True)
            ]
        else:
            drawn = dice.sample(values, len(values))
        found = list(outcomes)
        for place, value in zip(there, drawn, strict=True):
            new = {**rows[place].values, measure: value}
            found[place] = replace(found[place], values=new)
        return found

    def _without_highest(
        self, outcomes: Sequence[Outcome], plant: Plant, emptied: Callable[[Trial], Outcome]
    ) -> Sequence[Outcome]:
        registered = self._registered
        hypothesis = registered.hypotheses[plant.name]
        side = _sides(hypothesis, registered.experiment, plant.at)[0]
        measure: str = getattr(hypothesis, "measure", "")
        rows = [record_of(each, registered.experiment.measures) for each in outcomes]
        among = [place for place, row in enumerate(rows) if _stands(row.trial, side)]
        valid = [place for place in among if rows[place].missing is None]
        ranked = sorted(valid, key=lambda place: cast("Any", rows[place].values[measure]))
        lost = set(ranked[len(ranked) - round(plant.amount * len(among)) :])
        return [
            emptied(each.trial) if place in lost else each for place, each in enumerate(outcomes)
        ]


def planted_in(hypothesis: Hypothesis, margins: float) -> tuple[str, float]:
    """The key of a measure in :attr:`SimulatedPrompt.planted`, and so many margins of it.

    Of ratios the key ends in ``*``, and the amount is the logarithm of a factor; of selections the
    group's name follows it.
    """
    declared = cast("Declared", hypothesis)
    assert declared.margin is not None  # noqa: S101  (checked with the subject)
    measure = getattr(hypothesis, "measure", "")
    upward = declared.direction == "positive" or measure == MISSING
    sign = 1.0 if upward else -1.0
    if isinstance(hypothesis, Selection):
        group = "+".join(levels_of(hypothesis.group))
        return f"{hypothesis.selected}*{group}", sign * margins * math.log(declared.margin)
    if isinstance(hypothesis, RateRatio):
        return f"{measure}*", sign * margins * math.log(declared.margin)
    return measure, sign * margins * declared.margin


def truth_of(
    registered: Registered, hypothesis: Hypothesis, subject: PlantedSubject
) -> float | None:
    """The value of an estimand in a subject; None where it is not known, or has no sign.

    Known it is of the unbiased one, and of what is planted in this hypothesis alone.
    """
    if subject.name != "even" or isinstance(hypothesis, TotalGap) or _spreads(hypothesis):
        return None
    ratio = isinstance(hypothesis, RateRatio | Selection)
    planted = 0.0
    for plant in subject.plants:
        if plant.how == "missing" or (plant.how in _ALONE and not registered.experiment.judge):
            continue
        if plant.name not in registered.hypotheses and plant.how != "noise":
            continue
        other = registered.hypotheses.get(plant.name)
        population = plant.how == "vary" and cast("Declared", hypothesis).target == "population"
        if plant.name == hypothesis.id and population:
            continue  # units differ, and on average nothing is added
        if plant.name == hypothesis.id and plant.how in ("", "rare") and not plant.at:
            planted += planted_in(hypothesis, plant.amount)[1]
        elif other is None or plant.name == hypothesis.id or touches(other, hypothesis, plant.at):
            return None
    return math.exp(planted) if ratio else planted


def touches(one: Hypothesis, other: Hypothesis, at: str = "") -> bool:
    """Return whether what is planted in one (``at`` one level) may move the other's estimate.

    It does not where they are about different measures, or differences between the levels of
    different factors: conditions are crossed, so that it stands on both sides alike.
    """
    first, second = outcomes_of(one), outcomes_of(other)
    if MISSING in first | second:
        return True
    multiplied = any(isinstance(each, RateRatio | Selection) for each in (one, other))
    factors = [{*compared_by(each), *cast("Declared", each).at} for each in (one, other)]
    return bool(first & second) and (bool(at) or multiplied or bool(factors[0] & factors[1]))


def _spreads(hypothesis: Hypothesis) -> bool:
    """Return whether it asks for the spread of many, which is never below 0."""
    if isinstance(hypothesis, GroupContrast):
        return hypothesis.group is None
    return isinstance(hypothesis, Interaction) and None in hypothesis.factors.values()


_Side = Mapping[str, Sequence[str]]


def _sides(hypothesis: Hypothesis, experiment: Experiment, at: str) -> list[_Side]:
    """Factor (or items) → the levels an effect is planted at; of an interaction two cells."""
    declared = cast("Declared", hypothesis)
    side: dict[str, Sequence[str]] = {}
    opposite: dict[str, Sequence[str]] = {}
    if isinstance(hypothesis, PairContrast):
        side[hypothesis.factor] = hypothesis.levels[0]
    elif isinstance(hypothesis, GroupContrast):
        among = hypothesis.among or experiment.levels(hypothesis.factor)
        side[hypothesis.factor] = (hypothesis.group or among[0],)
    elif isinstance(hypothesis, TotalGap):
        side[hypothesis.factor] = levels_of(hypothesis.gaps[0][0])
    elif isinstance(hypothesis, Interaction):
        for name, pair in hypothesis.factors.items():
            side[name] = (experiment.levels(name)[0],) if pair is None else levels_of(pair[0])
            opposite[name] = () if pair is None else levels_of(pair[1])
    shared = {name: levels_of(levels) for name, levels in declared.at.items()}
    if at:
        crossed = _crossed(experiment)
        shared[next(name for name, levels in crossed.items() if at in levels)] = (at,)
    return [each | shared for each in (side, opposite) if each and all(each.values())] or [shared]


def _shifted(amount: float, side: _Side, trial: Trial) -> float:
    return amount * _stands(trial, side)


def _stands(trial: Trial, side: _Side) -> bool:
    return all(_level(trial, name) in levels for name, levels in side.items())


def _level(trial: Trial, name: str) -> str:
    levels = trial.condition.levels
    return levels[name] if name in levels else str(trial.item)


def _of_unit(trial: Trial, name: str) -> str:
    """The exemplar where there is one, with its level, else the level or item."""
    return f"{_level(trial, name)}/{trial.exemplars.get(name, '')}"
