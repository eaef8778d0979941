"""The tidy table of an experiment with one model, and where its replies came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..errors import BadDesign, InvalidReply
from .canonical import compact, digest
from .design import Trial, frozen_mapping
from .measures import FORMAT_KEPT, Measure, MeasureValue
from .messages import TRUNCATED, Message, ModelRole, Parameters, Place

Retention = Literal["raw", "measures"]

_KEY_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A prompt and its reply, as far as the recording knows them.

    ``place`` is None, and ``prompt`` and ``reply`` empty, where no text is kept. ``prompt`` holds
    the new messages alone, and is empty where the same question is put again. ``invalid`` is why
    the reply does not count, ``recorded_at`` a time in ISO 8601, ``latency`` is in seconds,
    ``key`` that of the interaction. ``id`` and ``created`` identify the reply
    (:func:`.identity_of`); ``cached`` is the header by which a cache says that it gave it.
    ``size`` is the number of characters that were sent, ``counted`` that of the tokens which the
    provider counted in them. ``host`` and ``build`` are what a reply says of the server that gave
    it (``provider``, or the model a gateway passed it to; ``system_fingerprint``). Empty, 0 or
    None means unknown.
    """

    to: ModelRole
    place: Place | None = None
    prompt: tuple[Message, ...] = field(default=(), repr=False)
    reply: str = field(default="", repr=False)
    finish: str = "stop"
    served_model: str = ""
    recorded_at: str | None = None
    latency: float | None = None
    invalid: str = ""
    key: str = ""
    id: str = ""
    created: str = ""
    cached: str = ""
    size: int = 0
    counted: int = 0
    host: str = ""
    build: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """The table that replies stand in, as the roster declares it in a ``section``, and their rows.

    ``table`` is empty where no roster declares it.

    ``checksum`` is the SHA-256 of the whole file, which may hold other models' rows as well. What
    is not in such a table is not known: prompts, attempts, mostly the model that was served.
    ``note`` is what the roster says must be known of them, ``coverage`` how many of the design's
    trials they are. Of ``published`` replies there is a source and a licence, of those that the
    user holds as a ``table`` who collected them.
    """

    table: str
    source: str
    licence: str
    checksum: str
    rows: int
    note: str = ""
    section: Literal["published", "table"] = "published"
    collected_by: str = ""
    coverage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The terms on which a role was asked.

    Of ``parameters`` None is what was left to the provider. ``attempts`` is how often a question
    was put before an invalid reply made the trial missing, at most; None where nobody knows, as of
    questions after the first where only measures are kept. Calls that failed were no attempts.
    """

    parameters: Parameters
    attempts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The origin of all replies; no path and no clock, so that results compare.

    ``judge`` is the model that graded them, ``parameters`` are those of the subject in print
    (empty where unknown), ``dropped`` names those that were not sent because the model refuses
    them.

    ``interrupted`` is the number of interactions that stand only in the journal of a recording
    that has not ended; ``checksum`` covers them.

    ``served`` are the models that the provider said answered, sorted, ``judge_served`` the same of
    the judge; ``oldest`` is when the oldest reply was recorded (ISO 8601; empty where none says,
    and for a program, whose replies do not age), ``newest`` the latest of those of a table,
    ``undated`` how many do not say. ``copied`` says which replies are copies that a cache gave
    (:func:`.copied_text`), ``cut`` which prompts the server has cut (:func:`.cut_text`); both are
    empty where there is none. ``servers`` counts hosts and builds by condition, ``mixture`` says
    why they give no verdict (:mod:`.cassettes.servers`). ``long_replies`` counts the subject's
    valid replies of 30 words and more, ``distinct`` how many different ones they are; both are 0
    where no text is kept.

    ``config`` is on what terms subject and judge were asked, empty where nobody knows.

    Of replies that others ``published``, ``cassette`` is the file of their table, ``checksum``
    that of their trials, and ``interactions`` None, because nobody knows.
    """

    cassette: str
    checksum: str
    simulated: bool
    wire: str
    recorded_with: str
    interactions: int | None
    judge: str | None = None
    parameters: str = ""
    dropped: tuple[str, ...] = ()
    retention: Retention = "raw"
    interrupted: int = 0
    served: tuple[str, ...] = ()
    judge_served: tuple[str, ...] = ()
    oldest: str = ""
    newest: str = ""
    undated: int = 0
    copied: str = ""
    cut: str = ""
    servers: tuple[str, ...] = ()
    mixture: str = ""
    long_replies: int = 0
    distinct: int = 0
    published: Published | None = None
    config: Mapping[ModelRole, Config] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", frozen_mapping(self.config))

    def attempted(self, outcomes: Iterable[Outcome]) -> Recording:
        """The same with the attempts that questions were allowed, as far as outcomes know."""
        said = (each for outcome in outcomes for each in outcome.exchanges)
        allowed = {(each.to, each.place.of) for each in said if each.place}
        config = {
            role: replace(
                config, attempts=max((n for who, n in allowed if who == role), default=None)
            )
            for role, config in self.config.items()
        }
        return replace(self, config=config)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One trial on replay: its result, or the reason why it has none.

    Exactly one of ``result`` (the protocol's) and ``missing`` (a reason) is there.
    ``invalid`` lists the reasons of replies that were tried again; ``interactions`` counts all
    calls; ``prompts`` are the subject's, message by message, without its own replies.
    ``exchanges`` are all prompts and replies in reading order, empty while it is recorded.
    Where a recording keeps only measures, ``values`` holds them, ``result`` is None, and
    ``prompts`` are digests. Of a trial that others recorded and ``published`` only the measures
    are known: no prompt, reply or number of calls. ``format_kept`` is whether every reply that
    counts came bare; read strictly, None stands for True.
    """

    trial: Trial
    result: object = field(repr=False)
    missing: str | None
    invalid: tuple[str, ...]
    interactions: int
    prompts: tuple[str, ...] = field(repr=False)
    values: Mapping[str, MeasureValue] | None = None
    published: bool = False
    format_kept: bool | None = None
    exchanges: tuple[Exchange, ...] = field(default=(), repr=False, compare=False)

    @property
    def reply_key(self) -> str:
        """A key of what the subject was asked and replied, word for word.

        That is r and 12 hexadecimal digits, which no spreadsheet takes for a number.

        A trial recorded anew has another one, even where it is asked the same. '' where no text
        is kept. What a judge said has no part in it.
        """
        said = [(e.key, e.reply) for e in self.exchanges if e.to == "subject" and e.place]
        return f"r{digest(compact(said))[:_KEY_DIGITS]}" if said else ""

    @property
    def cut(self) -> bool:
        """True if the limit on tokens ended a reply that what is measured rests on."""
        cut = sum(each.to == "subject" and each.finish == "length" for each in self.exchanges)
        return self.missing is None and cut > self.invalid.count(TRUNCATED)


CAP = "cap"
"""Reason under which trials are missing that a cap kept from being recorded."""


def missing_by_cap(trial: Trial) -> Outcome:
    """The outcome of a trial that a cap on calls or money kept from being recorded."""
    return Outcome(trial, None, CAP, invalid=(), interactions=0, prompts=())


def carried_out(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """``outcomes`` without those of trials that a cap kept from being carried out."""
    return tuple(outcome for outcome in outcomes if outcome.missing != CAP)


@dataclass(frozen=True, slots=True)
class Record:
    """One row: a trial with its measures, or with the reason why they are missing."""

    trial: Trial
    values: Mapping[str, MeasureValue]
    missing: str | None
    invalid: tuple[str, ...] = ()
    interactions: int | None = 1
    cut: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen_mapping(self.values))


@dataclass(frozen=True, slots=True)
class CellCount:
    """Completeness of one condition: planned = ok + the sum of ``missing`` (reason → count).

    ``invalid`` counts replies that were not valid, by reason, whether or not a later attempt of
    the same trial was; ``interactions`` counts all calls, None where that is not known; ``cut``
    the valid trials of which the limit on tokens ended a reply.
    """

    condition: str
    planned: int
    ok: int
    missing: Mapping[str, int]
    invalid: Mapping[str, int]
    interactions: int | None
    cut: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", frozen_mapping(dict(sorted(self.missing.items()))))
        object.__setattr__(self, "invalid", frozen_mapping(dict(sorted(self.invalid.items()))))

    @property
    def errors(self) -> int:
        """Number of missing trials."""
        return self.planned - self.ok


def record_of(outcome: Outcome, measures: Sequence[Measure]) -> Record:
    """The row of one outcome; missing, too, where the reply is none that can be measured."""
    values: Mapping[str, MeasureValue] = {}
    missing = outcome.missing
    try:
        if outcome.values is not None:
            given = outcome.values
            if any(measure.name == FORMAT_KEPT for measure in measures):
                # A table has no such column.
                given = {FORMAT_KEPT: outcome.format_kept is not False, **given}
            for measure in measures:
                measure.check_range(given.get(measure.name))
            values = given  # a value that is none leaves none
        elif missing is None:
            values = {
                measure.name: measure.of(
                    outcome if measure.name == FORMAT_KEPT else outcome.result
                )
                for measure in measures
            }
    except InvalidReply as invalid:
        missing = invalid.reason
    calls = None if outcome.published else outcome.interactions
    cut = outcome.cut and missing is None
    return Record(outcome.trial, values, missing, outcome.invalid, calls, cut)


def records_of(outcomes: Sequence[Outcome], measures: Sequence[Measure]) -> Records:
    """The rows of all outcomes of an experiment."""
    return Records(tuple(record_of(outcome, measures) for outcome in outcomes))


def known_sum(counts: Iterable[int | None]) -> int | None:
    """Return the sum of ``counts``; None where one of them is not known."""
    known = tuple(counts)
    numbers = [count for count in known if count is not None]
    return sum(numbers) if len(numbers) == len(known) else None


@dataclass(frozen=True, slots=True)
class Records:
    """All rows of an experiment with one model, one per planned trial."""

    rows: tuple[Record, ...] = field(repr=False)
    lean: bool = field(default=False, kw_only=True)
    """Whether only what verdicts rest on is worked out: not how many units would settle a
    question."""
    contrasts: Sequence[object] = field(default=(), kw_only=True, repr=False, compare=False)
    """All contrasts that are tested on them: what several need is worked out once."""
    memo: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was worked out of these rows once, for whoever asks again."""

    @property
    def for_verdicts(self) -> Records:
        """The same rows, ``lean``; what was worked out of either is known to both."""
        lean = replace(self, lean=True)
        object.__setattr__(lean, "memo", self.memo)
        return lean

    def where(self, factor: str, level: str) -> Records:
        """The rows of one level of a factor."""
        return self.at({factor: (level,)})

    def at(self, levels: Mapping[str, Sequence[str]]) -> Records:
        """The rows at any of the given levels of every factor that is named."""
        if not levels:
            return self
        conditions = {row.trial.condition.id: row.trial.condition for row in self.rows}
        met = {
            name
            for name, condition in conditions.items()
            if all(condition.levels[factor] in at for factor, at in levels.items())
        }
        return replace(self, rows=tuple(r for r in self.rows if r.trial.condition.id in met))

    def by_condition(self) -> Mapping[str, Records]:
        """The rows of each condition, by its id; sorted out in one pass."""
        rows: dict[str, list[Record]] = {}
        for row in self.rows:
            rows.setdefault(row.trial.condition.id, []).append(row)
        return {name: Records(tuple(found)) for name, found in rows.items()}

    def column(self, measure: str) -> list[MeasureValue]:
        """Values of a measure over the rows that have it, in the plan's order."""
        return [row.values[measure] for row in self.rows if row.missing is None]

    def about(self, measure: Measure) -> Records:
        """The rows without those of valid trials that ``measure`` is not about."""
        if not measure.unless:
            return self
        rows = (row for row in self.rows if row.missing or measure.has_value(row.values))
        return replace(self, rows=tuple(rows))

    def numbers(self, measure: str) -> list[float]:
        """Like :meth:`column` for a numeric measure; BadDesign when it holds anything else."""
        numbers: list[float] = []
        for value in self.column(measure):
            if not isinstance(value, float):
                raise BadDesign(
                    what=f"measure {measure!r}",
                    problem=f"holds {type(value).__name__} values where numbers are needed",
                )
            numbers.append(value)
        return numbers

    @property
    def missing(self) -> Counter[str]:
        """Number of missing trials by reason."""
        return Counter(row.missing for row in self.rows if row.missing is not None)

    def count(self, condition: str) -> CellCount:
        """Completeness of these rows, under the name ``condition``."""
        invalid = Counter(reason for row in self.rows for reason in row.invalid)
        return CellCount(
            condition=condition,
            planned=len(self.rows),
            ok=sum(row.missing is None for row in self.rows),
            missing=self.missing,
            invalid=invalid,
            interactions=known_sum(row.interactions for row in self.rows),
            cut=sum(row.cut for row in self.rows),
        )
