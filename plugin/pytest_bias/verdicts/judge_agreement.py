"""Agreement of a judge with itself, and with people: from records to α and what rests on it."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import BadData, BadDesign, NoVariance
from ..experiments.experiment import Experiment
from ..experiments.judges import FEWEST_TWICE, NOT_SCORED, Agreement, Level
from ..experiments.measures import Measure, MeasureValue
from ..experiments.records import Record, Records
from ..stats.results import Interval, Reliability
from .wording import number_text

Rater = Literal["the judge again", "people"]
Pairs = list[tuple[MeasureValue, MeasureValue]]

_RESAMPLES = 1000
_SEED = 20240229
_SLIGHT = 0.2
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_EXPECTED = {float: "a number", bool: "yes or no", str: "a category"}
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Label:
    """A cell of a file of labels: the line it stands on, trial id, measure, and what it says."""

    line: int
    trial: str
    measure: str
    text: str


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels people gave to trials of one experiment with one model.

    ``path`` is the file as errors name it, ``source`` its name, the same on every machine;
    ``measures`` are the columns, in the file's order.
    """

    path: str
    source: str
    measures: tuple[str, ...]
    cells: tuple[Label, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementResult:
    """Agreement of two ratings of the same trials: Krippendorff's α, and what rests on it.

    ``alpha`` is None where it is not defined, ``why`` says then why, or why the verdicts that rest
    on it are held back; ``interval`` is a percentile bootstrap over trials (95 %). ``trials`` have
    both ratings, ``same`` of them twice the same. α itself holds nothing back: it takes 20 trials
    rated twice to know the judge's error. ``governs`` are the measures of which nothing is decided
    where it does not hold; ``source`` is the file of people's labels.
    """

    measure: str
    against: Rater
    level: Level
    alpha: float | None
    interval: Interval | None
    trials: int
    same: int
    holds: bool
    why: str = ""
    governs: tuple[str, ...] = ()
    source: str = ""

    @property
    def slight(self) -> bool:
        """True if ratings and labels of people hardly agree: α up to .20, from 20 labels on.

        Landis & Koch (1977, page 165) call agreement slight up to there.
        """
        beside_people = self.against == "people" and self.trials >= FEWEST_TWICE
        return beside_people and self.alpha is not None and self.alpha <= _SLIGHT


def agreement_with_itself(experiment: Experiment, records: Records) -> tuple[AgreementResult, ...]:
    """Return the judge's agreement with itself, for each agreement that is declared.

    Raises BadDesign when a measure does not hold what its agreement needs.
    """
    agreed = []
    for each in experiment.agreements:
        name = each.measure
        pairs: Pairs = [(row.values[name], again) for row, again in _rated_twice(each, records)]
        found, why = _agreement(name, "the judge again", each.level, pairs), ""
        if len(pairs) < FEWEST_TWICE:
            twice = "1 trial was" if len(pairs) == 1 else f"{len(pairs)} trials were"
            why = f"the judge's error on {name} is not known: {twice} scored twice, and it takes"
            why += f" {FEWEST_TWICE}"
        agreed.append(replace(found, holds=not why, why=why, governs=tuple(each.governs)))
    return tuple(agreed)


def agreement_with_people(
    experiment: Experiment, records: Records, labels: Labels | None
) -> tuple[AgreementResult, ...]:
    """Return the judge's agreement with people, for each measure they labelled.

    Labels of trials that are missing, or no part of this design, are left aside. Raises BadData
    for a label that cannot be one of its measure.
    """
    if labels is None:
        return ()
    levels = {each.measure: each.level for each in experiment.agreements}
    return tuple(
        _agreement_with_people(labels, experiment.measure(name), records, levels.get(name))
        for name in labels.measures
    )


def with_errors(
    experiment: Experiment,
    records: Records,
    labels: Labels | None,
    every: Records | None = None,
    agreed: Sequence[AgreementResult] = (),
) -> Experiment:
    """Return ``experiment`` with what its judge's error leaves of what rests on a rating.

    Of a flag it is Youden's index at the lower limits of what labels of people show, where at
    least 20 trials have one, among them a yes and a no, and of what the pairs of ratings do, in
    which what the judge gets wrong twice is not seen; the least counts. Of a number it is the
    lower limit of the judge's agreement with itself; where α has no interval, as all pairs are
    alike, it is that of a flag. What a rating stands for is learnt from ``every`` trial, also
    those that do not count: at a control level alone the judge may have given what people do
    elsewhere.
    """
    if not experiment.agreements:
        return experiment
    from ..stats.agreement import retest_youden  # noqa: PLC0415  (scipy)

    left: dict[str, float] = {}
    every = every or records
    for flag, agreements in _flags(experiment, records).items():
        pairs = [_differing_pairs(flag, each, records, every) for each in agreements]
        found = [retest_youden(differ=differ, pairs=of) for differ, of in pairs if of]
        beside = _left_by_labels(flag, agreements, records, labels, every)
        left[flag] = min([*found, *([] if beside is None else [beside])], default=0.0)
    for each in agreed:
        if each.against != "the judge again" or not each.trials:
            continue
        alike = retest_youden(differ=each.trials - each.same, pairs=each.trials)
        low = alike if each.interval is None else max(each.interval.low, 0.0)
        for name in each.governs:
            if type_of(name, records) is float:
                left[name] = min(low, left.get(name, 1.0))
    measures = [
        replace(m, error=Reliability(lowest=left[m.name])) if m.name in left else m
        for m in experiment.measures
    ]
    return replace(experiment, measures=measures)


def _flags(experiment: Experiment, records: Records) -> Mapping[str, list[Agreement]]:
    """Flags that rest on a rating and say of no error of their own → the agreements of it."""
    found: dict[str, list[Agreement]] = {}
    for agreement in experiment.agreements:
        for flag in agreement.governs:
            if experiment.measure(flag).error is None and type_of(flag, records) is bool:
                found.setdefault(flag, []).append(agreement)
    return found


def _reader(
    flag: str, measure: str, records: Records
) -> Callable[[Record, MeasureValue | None], bool]:
    """Return what reads the flag of a trial from another rating of it.

    The judge's own rating says what its flag does; another says what all those flags do that the
    judge gives with it. One that it gives nowhere, or with both flags, counts against the judge:
    what it never sees, and people do, would else look as if it never erred.
    """
    seen: dict[MeasureValue | None, set[bool]] = defaultdict(set)
    for row in records.rows:
        if row.missing is None:
            seen[row.values[measure]].add(bool(row.values[flag]))

    def read(row: Record, rating: MeasureValue | None) -> bool:
        own = bool(row.values[flag])
        alike = rating == row.values[measure] or seen.get(rating) == {own}
        return own if alike else not own

    return read


def _differing_pairs(
    flag: str, agreement: Agreement, records: Records, every: Records
) -> tuple[int, int]:
    """Of how many trials rated twice the second rating says another flag, and of how many."""
    read = _reader(flag, agreement.measure, every)
    differ = [
        read(row, again) != row.values[flag] for row, again in _rated_twice(agreement, records)
    ]
    return sum(differ), len(differ)


def _left_by_labels(
    flag: str,
    agreements: Sequence[Agreement],
    records: Records,
    labels: Labels | None,
    every: Records,
) -> float | None:
    """What people's labels of a flag, or of its rating, leave of a difference; None of too few."""
    from ..stats.agreement import labelled_youden  # noqa: PLC0415  (scipy)

    rated = {row.trial.id: row for row in records.rows if row.missing is None}
    if labels is None:
        return None
    for column in dict.fromkeys((flag, *(each.measure for each in agreements))):
        kind, read = type_of(column, records), _reader(flag, column, every)
        counts = Counter(
            (read(row, _rating(cell.text, kind)), row.values[flag])
            for cell in labels.cells
            if cell.measure == column and (row := rated.get(cell.trial)) is not None
        )
        found, passed = counts[True, True], counts[False, False]
        events, others = found + counts[True, False], passed + counts[False, True]
        if events + others >= FEWEST_TWICE and events > 0 and others > 0:
            return labelled_youden(found=found, events=events, passed=passed, others=others)
    return None


def withheld(found: Sequence[AgreementResult]) -> Mapping[str, str]:
    """Measure → why nothing that rests on it is decided; measures that are not named may be."""
    held: dict[str, str] = {}
    for each in found:
        for measure in () if each.holds else each.governs:
            held.setdefault(measure, each.why)
    return held


def _rated_twice(agreement: Agreement, records: Records) -> list[tuple[Record, MeasureValue]]:
    """Return the trials rated twice, each with its second rating."""
    what = f"Agreement({agreement.measure!r})"
    kind = type_of(agreement.measure, records)
    pairs = []
    for row in records.rows:
        if row.missing is not None:
            continue
        said = row.values[agreement.again]
        if not isinstance(said, str):
            problem = f"again is {agreement.again!r}, which must be a text measure"
            raise BadDesign(what=what, problem=f"{problem}; it gave a {type(said).__name__}")
        if said == NOT_SCORED:
            continue
        again = _rating(said, kind)
        if again is None:
            problem = f"of trial {row.trial.id} {agreement.again!r} holds no such rating"
            raise BadDesign(what=what, problem=f"{problem} as {agreement.measure!r} does")
        pairs.append((row, again))
    if kind is str and agreement.level != "nominal":
        problem = f"level={agreement.level!r} takes numbers, and the measure holds categories"
        raise BadDesign(what=what, problem=problem)
    return pairs


def _agreement_with_people(
    labels: Labels, measure: Measure, records: Records, level: Level | None
) -> AgreementResult:
    kind = type_of(measure.name, records)
    rated = {row.trial.id: row.values for row in records.rows if row.missing is None}
    judged = frozenset(str(value).strip() for value in records.column(measure.name))
    pairs: Pairs = []
    for cell in labels.cells:
        if cell.measure != measure.name or kind is None:
            continue
        said = _rating(cell.text, kind)
        wanted = _problem(said, measure, kind, judged)
        if said is None or wanted:
            problem = f"{cell.text!r} is no rating of this measure: {wanted}"
            raise BadData(source=labels.path, line=cell.line, column=cell.measure, problem=problem)
        if cell.trial in rated:
            pairs.append((rated[cell.trial][measure.name], said))
    scale: Level = level or ("interval" if kind is float else "nominal")
    found = _agreement(measure.name, "people", scale, pairs)
    aside = sum(cell.measure == measure.name for cell in labels.cells) - len(pairs)
    why = found.why
    if why and aside:
        why += f"; {number_text(aside, 'label')} left aside, of trials that do not count"
    return replace(found, why=why, source=labels.source)


def _problem(
    said: MeasureValue | None,
    measure: Measure,
    kind: type[MeasureValue],
    judged: frozenset[str],
) -> str:
    """Return what a label should have been; '' where it is a rating.

    People may name a category that the judge never did, but not one of its own in other letters,
    and none but those the measure declares where it declares any.
    """
    low, high = measure.bounds or (-math.inf, math.inf)
    if said is None or (isinstance(said, float) and not low <= said <= high):
        within = f" from {low:g} to {high:g}" if measure.bounds and kind is float else ""
        return f"{_EXPECTED[kind]}{within}"
    if not isinstance(said, str) or said in judged:
        return ""
    alike = sorted(each for each in judged if each.casefold() == said.casefold())
    if alike:
        return f"{alike[0]!r}, as the judge writes it"
    if not measure.categories or measure.declares(said):
        return ""
    return f"one of {', '.join(map(repr, measure.listed))}"


def type_of(measure: str, records: Records) -> type[MeasureValue] | None:
    """Return the type of a measure's values; None where no trial has one."""
    kinds = {type(value) for value in records.column(measure)}
    if len(kinds) > 1:
        raise BadDesign(what=f"measure {measure!r}", problem="gives values of several types")
    return next(iter(kinds), None)


def _rating(text: str, kind: type[MeasureValue] | None) -> MeasureValue | None:
    """``text`` as a value of ``kind``; None where it is none."""
    word = text.strip()
    if kind is float:
        number = float(word) if _NUMBER.fullmatch(word) else math.inf
        return number if math.isfinite(number) else None
    if kind is bool:
        return _FLAGS.get(word.lower())
    return (word or None) if kind is str else None


def _agreement(measure: str, against: Rater, level: Level, pairs: Pairs) -> AgreementResult:
    """Return the agreement of pairs of ratings; ``why`` says where α is not defined."""
    from ..stats.agreement import krippendorff_alpha  # noqa: PLC0415  (numpy)

    alpha = interval = None
    why = "fewer than two trials have both ratings, so α is undefined"
    if len(pairs) >= _PAIR:
        ratings = list(zip(*pairs, strict=True))
        if level != "nominal":
            ratings = [tuple(float(rating) for rating in each) for each in ratings]
        try:
            found = krippendorff_alpha(ratings, level=level, iterations=_RESAMPLES, seed=_SEED)
        except NoVariance:
            why = "all ratings are the same, so α is undefined"
        else:
            alpha, interval, why = found.alpha, found.interval, ""
    return AgreementResult(
        measure=measure,
        against=against,
        level=level,
        alpha=alpha,
        interval=interval,
        trials=len(pairs),
        same=sum(one == two for one, two in pairs),
        holds=True,  # of a second judge or people; a caller sets it for the judge itself
        why=why,
    )
