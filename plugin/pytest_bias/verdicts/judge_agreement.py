"""Agreement of a judge with itself, and with people: from records to α and what rests on it."""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from ..errors import BadDesign, BadLabels, NoVariance
from ..experiments.experiment import Experiment
from ..experiments.judges import FEWEST_TWICE, NOT_SCORED, Agreement, Level
from ..experiments.measures import Measure, MeasureValue
from ..experiments.records import Records
from ..stats.results import Interval, Misclassified, Reliability
from .wording import number_words

Rater = Literal["the judge again", "people"]
Pairs = list[tuple[MeasureValue, MeasureValue]]

_RESAMPLES = 1000
_SEED = 20240229
_SLIGHT = 0.2
_UNREAD = 0.05
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_WANTED = {float: "a number", bool: "yes or no", str: "a category"}
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
    """The labels people gave to trials of one experiment with one model.

    ``path`` is the file as errors name it, ``source`` its name, the same on every machine;
    ``measures`` are the columns, in the file's order.
    """

    path: str
    source: str
    measures: tuple[str, ...]
    cells: tuple[Label, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementFound:
    """The agreement of two ratings of the same trials: Krippendorff's α, and what rests on it.

    ``alpha`` is None where it is not defined, ``why`` says then why, or why the verdicts that rest
    on it are held back; ``interval`` is a percentile bootstrap over trials (95 %). ``trials`` have
    both ratings, ``same`` of them twice the same. α itself holds nothing back: it takes 20
    trials rated twice to know the judge's error, and a judge that reads flags better than by
    chance. ``held`` are the ids of the hypotheses and the control it holds back, ``kappa`` is
    Cohen's, for categories beside people; ``source`` the file of their labels.
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
    held: tuple[str, ...] = ()
    kappa: float | None = None
    kappa_interval: Interval | None = None
    source: str = ""

    @property
    def slight(self) -> bool:
        """Whether ratings and labels of people hardly agree: α up to .20, from 20 labels on.

        Landis & Koch (1977, page 165) call agreement slight up to there.
        """
        beside_people = self.against == "people" and self.trials >= FEWEST_TWICE
        return beside_people and self.alpha is not None and self.alpha <= _SLIGHT


def with_itself(experiment: Experiment, records: Records) -> tuple[AgreementFound, ...]:
    """Return the judge's agreement with itself, for each agreement that is declared.

    Raises BadDesign when a measure does not hold what its agreement needs.
    """
    return tuple(_with_itself(each, records) for each in experiment.agreements)


def with_people(
    experiment: Experiment, records: Records, labels: Labels | None, every: Records | None = None
) -> tuple[AgreementFound, ...]:
    """Return the judge's agreement with people, for each measure they labelled.

    What a rating stands for is learnt from ``every`` trial, also those that do not count. Labels
    of trials that are missing, or no part of this design, are left aside. Raises BadLabels for a
    label that cannot be one of its measure, or of which nobody knows what flag it stands for.
    """
    if labels is None:
        return ()
    levels = {each.measure: each.level for each in experiment.agreements}
    found = {
        name: _beside(labels, experiment.measure(name), records, levels.get(name))
        for name in labels.measures
    }
    for flag, agreements in _flags(experiment, records).items():
        read = _read_beside(flag, agreements, records, labels, every or records)
        if read is not None and read.youden <= 0:
            before = found[read.column]
            found[read.column] = replace(
                before,
                holds=False,
                why=f"the judge reads {flag} no better than chance beside {read.trials} labels",
                governs=(*before.governs, flag),
            )
    return tuple(found.values())


def with_errors(
    experiment: Experiment,
    records: Records,
    labels: Labels | None,
    every: Records | None = None,
    agreed: Sequence[AgreementFound] = (),
) -> Experiment:
    """Return ``experiment`` with how often its judge errs on each measure that rests on a rating.

    Of a flag, labels of people say it where at least 20 trials have one, among them a yes and a
    no; else the pairs of ratings do, in which what the judge gets wrong twice is not seen. Where
    both say it, or several pairs, the largest error counts. Of a number it is the lower limit of
    the judge's agreement with itself. What a rating stands for is learnt from ``every`` trial,
    also those that do not count: at a control level alone the judge may have given what people do
    elsewhere.
    """
    errors: dict[str, Misclassified | Reliability] = {}
    every = every or records
    for flag, agreements in _flags(experiment, records).items():
        read = _read_beside(flag, agreements, records, labels, every)
        pairs = [_between_ratings(flag, each, records, every) for each in agreements]
        rates = [each for each in pairs if each is not None]
        if read is not None and read.youden > 0:
            rates.append(read.errors)
        if rates:
            errors[flag] = min(rates, key=lambda each: each.lowest)
    for each in agreed:
        if each.against == "the judge again" and each.interval is not None:
            source = f"agreement of the judge with itself on {each.trials} trials"
            lowest = max(each.interval.low, 0.0)
            for name in each.governs:
                if _kind(name, records) is float:
                    errors[name] = Reliability(lowest=lowest, source=source)
    if not errors:
        return experiment
    measures = [replace(m, error=errors.get(m.name, m.error)) for m in experiment.measures]
    return replace(experiment, measures=measures)


def _flags(experiment: Experiment, records: Records) -> Mapping[str, list[Agreement]]:
    """Flags that rest on a rating and say of no error of their own → the agreements of it."""
    found: dict[str, list[Agreement]] = {}
    for agreement in experiment.agreements:
        for flag in agreement.governs:
            if experiment.measure(flag).error is None and _kind(flag, records) is bool:
                found.setdefault(flag, []).append(agreement)
    return found


def _read_as(flag: str, measure: str, records: Records) -> Mapping[MeasureValue | None, bool]:
    """Rating → the flag it stands for; without those that stand for both."""
    if measure == flag:
        return {True: True, False: False}
    seen: dict[MeasureValue | None, set[bool]] = {}
    valid = (row.values for row in records.rows if row.missing is None)
    for rating, flagged in {(values[measure], values[flag]) for values in valid}:
        seen.setdefault(rating, set()).add(bool(flagged))
    return {rating: both.pop() for rating, both in seen.items() if len(both) == 1}


def _reader(
    flag: str, measure: str, level: Level, records: Records
) -> Callable[[MeasureValue | None], bool | None]:
    """Return what gives the flag that a rating stands for; None where that is not known.

    A number that no rating of ``records`` is, of a scale with an order, stands for what the ones
    on both sides of it do, where these agree. Beyond the last of them nobody knows: a flag may say
    that a rating is extreme, and the judge may never see one end.
    """
    reads, given = _read_as(flag, measure, records), {*records.column(measure)}
    steps = sorted(each for each in given if isinstance(each, float) and level != "nominal")

    def flag_at(rating: MeasureValue | None) -> bool | None:
        known = rating in given or not isinstance(rating, float)
        place = 0 if known else bisect(steps, cast("float", rating))
        if not 0 < place < len(steps):
            return reads.get(rating)
        below, above = (reads.get(each) for each in steps[place - 1 : place + 1])
        return below if below == above else None

    return flag_at


def _between_ratings(
    flag: str, agreement: Agreement, records: Records, every: Records
) -> Misclassified | None:
    from ..stats.misclassification import retest_errors  # noqa: PLC0415

    flag_at = _reader(flag, agreement.measure, agreement.level, every)
    kind = _kind(agreement.measure, records)
    pairs = [
        (bool(row.values[flag]), again)
        for row in records.rows
        if row.missing is None
        and (again := flag_at(_rating(str(row.values[agreement.again]), kind))) is not None
    ]
    differ = sum(one != two for one, two in pairs)
    if len(pairs) < FEWEST_TWICE or 2 * differ >= len(pairs):
        return None  # and nothing that rests on it is decided
    source = f"{len(pairs)} rated twice, {differ} otherwise: a lower bound of the judge's error"
    return retest_errors(differ=differ, pairs=len(pairs), source=source)


@dataclass(frozen=True, slots=True)
class _Read:
    """A flag beside labels of ``column``: ``found`` of ``events``, ``passed`` of ``others``."""

    column: str
    found: int
    events: int
    passed: int
    others: int

    @property
    def trials(self) -> int:
        return self.events + self.others

    @property
    def youden(self) -> float:
        """Sensitivity + specificity - 1; with one more right and wrong of each, if smaller."""
        return min(
            (self.found + more) / (self.events + 2 * more)
            + (self.passed + more) / (self.others + 2 * more)
            - 1
            for more in (0, 1)
        )

    @property
    def errors(self) -> Misclassified:
        from ..stats.misclassification import labelled_errors  # noqa: PLC0415

        return labelled_errors(
            found=self.found,
            events=self.events,
            passed=self.passed,
            others=self.others,
            source=f"{self.trials} labelled by people",
        )


def _read_beside(
    flag: str,
    agreements: Sequence[Agreement],
    records: Records,
    labels: Labels | None,
    every: Records,
) -> _Read | None:
    """Hold a flag beside people's labels of it, or of what it is read from; None of too few.

    What else goes with it, such as a number that no two trials share, says nothing of it. Ratings
    that the judge gives nowhere, or with a yes as with a no, count as its errors. Raises BadLabels
    where they are more than 5 % of those that say yes, or no, and no other column will do: without
    them a judge that never sees what people do would look as if it never erred.
    """
    if labels is None:
        return None
    levels: dict[str, Level] = {each.measure: each.level for each in agreements}
    refused = None
    rated = {row.trial.id: bool(row.values[flag]) for row in records.rows if row.missing is None}
    governed = (name for each in agreements for name in each.governs)
    for column in dict.fromkeys((flag, *governed)):
        kind = _kind(column, records)
        flag_at = _reader(flag, column, levels.get(column, "nominal"), every)
        cells = [c for c in labels.cells if c.measure == column and c.trial in rated]
        said = {cell.trial: flag_at(_rating(cell.text, kind)) for cell in cells}
        counts = Counter((flagged, rated[trial]) for trial, flagged in said.items())
        events = counts[True, True] + counts[True, False]
        others = counts[False, True] + counts[False, False]
        enough = events + others >= FEWEST_TWICE and events > 0 and others > 0
        unread = [cell for cell in cells if said[cell.trial] is None and column in levels]
        if len(unread) > _UNREAD * min(events, others) and len(cells) >= FEWEST_TWICE:
            if kind is float and not enough:
                # Those of a flag that has more to it say too little.
                told = {*every.column(column)}
                never = [c for c in unread if _rating(c.text, kind) not in told]
                unread = never if len(never) > _UNREAD * len(unread) else []
            refused = refused or next(iter(unread), None)
        elif enough:
            missed = sum(not rated[cell.trial] for cell in unread)
            events, others = events + missed, others + len(unread) - missed
            return _Read(column, counts[True, True], events, counts[False, False], others)
    own = sum(cell.measure == flag and cell.trial in rated for cell in labels.cells)
    if refused is not None and own < FEWEST_TWICE:
        problem = (
            f"{refused.text!r} says neither yes nor no of {flag}, as the judge gives it "
            f"nowhere, or with both: correct it, or label {FEWEST_TWICE} trials in a column "
            f"{flag!r} as well"
        )
        at, of = refused.line, refused.measure
        raise BadLabels(source=labels.path, line=at, column=of, problem=problem)
    return None


def held_back(found: Sequence[AgreementFound]) -> Mapping[str, str]:
    """Measure → why nothing that rests on it is decided; measures that are not named may be."""
    held: dict[str, str] = {}
    for each in found:
        for measure in () if each.holds else each.governs:
            held.setdefault(measure, each.why)
    return held


def alpha_words(alpha: float) -> str:
    """An α with two decimals, and no sign where these are 0."""
    text = f"{alpha:.2f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _with_itself(agreement: Agreement, records: Records) -> AgreementFound:
    what = f"Agreement({agreement.measure!r})"
    kind = _kind(agreement.measure, records)
    pairs: Pairs = []
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
        pairs.append((row.values[agreement.measure], again))
    if kind is str and agreement.level != "nominal":
        problem = f"level={agreement.level!r} takes numbers, and the measure holds categories"
        raise BadDesign(what=what, problem=problem)
    alpha, interval, _ = _alpha(pairs, agreement.level)
    why = _why_held(agreement, len(pairs))
    return AgreementFound(
        measure=agreement.measure,
        against="the judge again",
        level=agreement.level,
        alpha=alpha,
        interval=interval,
        trials=len(pairs),
        same=sum(one == two for one, two in pairs),
        holds=not why,
        why=why,
        governs=tuple(agreement.governs),
    )


def _why_held(agreement: Agreement, trials: int) -> str:
    """Say why nothing may rest on this rating, whose error is then not known; '' where it may."""
    if trials >= FEWEST_TWICE:
        return ""
    counted = f"{trials} trial{' was' if trials == 1 else 's were'}"
    return (
        f"the judge's error on {agreement.measure} is not known: {counted} scored twice, and it "
        f"takes {FEWEST_TWICE}"
    )


def _beside(
    labels: Labels, measure: Measure, records: Records, level: Level | None
) -> AgreementFound:
    kind = _kind(measure.name, records)
    rated = {row.trial.id: row.values for row in records.rows if row.missing is None}
    judged = frozenset(str(value).strip() for value in records.column(measure.name))
    pairs: Pairs = []
    for cell in labels.cells:
        if cell.measure != measure.name or kind is None:
            continue
        said = _rating(cell.text, kind)
        wanted = _wanted(said, measure, kind, judged)
        if said is None or wanted:
            problem = f"{cell.text!r} is no rating of this measure: {wanted}"
            raise BadLabels(
                source=labels.path, line=cell.line, column=cell.measure, problem=problem
            )
        if cell.trial in rated:
            pairs.append((rated[cell.trial][measure.name], said))
    scale: Level = level or ("interval" if kind is float else "nominal")
    alpha, interval, undefined = _alpha(pairs, scale)
    aside = sum(cell.measure == measure.name for cell in labels.cells) - len(pairs)
    if undefined and aside:
        undefined += f"; {number_words(aside, 'label')} left aside, of trials that do not count"
    kappa, kappa_interval = (None, None) if kind is float else _kappa(pairs)
    return AgreementFound(
        measure=measure.name,
        against="people",
        level=scale,
        alpha=alpha,
        interval=interval,
        trials=len(pairs),
        same=sum(one == two for one, two in pairs),
        holds=True,
        why=undefined,
        kappa=kappa,
        kappa_interval=kappa_interval,
        source=labels.source,
    )


def _wanted(
    said: MeasureValue | None,
    measure: Measure,
    kind: type[MeasureValue],
    judged: frozenset[str],
) -> str:
    """Say what a label should have been; '' where it is a rating.

    People may name a category that the judge never did, but not one of its own in other letters,
    and none but those the measure declares where it declares any.
    """
    low, high = measure.bounds or (-math.inf, math.inf)
    if said is None or (isinstance(said, float) and not low <= said <= high):
        within = f" from {low:g} to {high:g}" if measure.bounds and kind is float else ""
        return f"{_WANTED[kind]}{within}"
    if not isinstance(said, str) or said in judged:
        return ""
    alike = sorted(each for each in judged if each.casefold() == said.casefold())
    if alike:
        return f"{alike[0]!r}, as the judge writes it"
    if not measure.categories or measure.declares(said):
        return ""
    return f"one of {', '.join(map(repr, measure.listed))}"


def _kind(measure: str, records: Records) -> type[MeasureValue] | None:
    """The type of a measure's values; None where no trial has one."""
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


def _alpha(pairs: Pairs, level: Level) -> tuple[float | None, Interval | None, str]:
    """α, its interval, and why it is not defined."""
    if len(pairs) < _PAIR:
        return None, None, "fewer than two trials have both ratings, so α is undefined"
    from ..stats.agreement import krippendorff_alpha  # noqa: PLC0415  (numpy)

    ratings = list(zip(*pairs, strict=True))
    if level != "nominal":
        ratings = [tuple(float(rating) for rating in each) for each in ratings]
    try:
        found = krippendorff_alpha(ratings, level=level, iterations=_RESAMPLES, seed=_SEED)
    except NoVariance:
        return None, None, "all ratings are the same, so α is undefined"
    return found.alpha, found.interval, ""


def _kappa(pairs: Pairs) -> tuple[float | None, Interval | None]:
    """Cohen's κ and its interval; None where it is not defined."""
    if len(pairs) < _PAIR:
        return None, None
    from ..stats.agreement import cohen_kappa  # noqa: PLC0415

    one, two = zip(*pairs, strict=True)
    try:
        found = cohen_kappa(one, two)
    except NoVariance:
        return None, None
    return found.kappa, found.interval
