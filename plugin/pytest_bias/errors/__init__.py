"""Exceptions of pytest-bias: each takes fields and words itself.

``BiasError`` is the base of everything raised for a user to read. The three gate outcomes
(``BiasFound``, ``Inconclusive``, ``ControlNotSeen``) are also ``AssertionError``: a verdict that
does not pass is a failed expectation, so pytest reports it as a failure and an ``xfail`` with
``raises=AssertionError`` matches it and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import groupby, islice
from pathlib import Path
from typing import ClassVar, Literal


class BiasError(Exception):
    """Base class of every error pytest-bias raises on purpose.

    ``short`` says it in a few words; empty where its first line does.
    """

    short: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it as it stands, since its fields are not its arguments."""
        return _as_it_stood, (type(self), self.args, dict(vars(self)))


def _as_it_stood(
    kind: type[BiasError], arguments: tuple[object, ...], fields: Mapping[str, object]
) -> BiasError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(fields)
    return error


# --- declarations, and numbers that cannot be computed ------------------------------------------


class BadDesign(BiasError):
    """An experiment, factor or hypothesis is declared in a way that cannot be run or analysed."""

    def __init__(self, *, what: str, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{what}: {problem}")


class NoControl(BiasError):
    """Hypotheses claim to be clear of measures of which there is no positive control."""

    def __init__(
        self, *, experiment: str, hypotheses: Iterable[str], measures: Iterable[str]
    ) -> None:
        self.hypotheses = tuple(hypotheses)
        self.measures = tuple(measures)
        first, *others = self.hypotheses
        which = f"{first} and {len(others)} more claim" if others else f"{first} claims"
        of = f" of {', '.join(self.measures)}" if self.measures else ""
        super().__init__(
            f"{experiment}: {which} to be clear, and without a positive control{of} nothing can "
            "be CLEAR there: declare one (@positive_control), or claim='detect'"
        )


class BadStimuli(BiasError):
    """A file of stimuli, or of somebody's own data in their place, is not what it must be.

    ``line`` counts from 1; it and ``column`` are there where a single one is at fault.
    """

    def __init__(
        self, *, source: str, problem: str, line: int | None = None, column: str | None = None
    ) -> None:
        where = [source]
        where += [f"line {line}"] if line is not None else []
        where += [f"column {column!r}"] if column is not None else []
        super().__init__(f"{', '.join(where)}: {problem}")


class Unserialisable(BiasError):
    """A value that has to travel or be stored as JSON is of a type JSON does not have."""

    def __init__(self, *, where: str, kind: str) -> None:
        super().__init__(
            f"{where} is a {kind}, which cannot be written as JSON; "
            "give a str, int, finite float, bool, None, list, dict or dataclass of these"
        )


class NotAsWritten(BiasError):
    """JSON is not that of the value it should be; names the first place where it is none."""

    def __init__(self, *, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}" if place else problem)


class NoFinding(BiasError):
    """A contrast cannot be computed from the replies there are.

    ``published`` is the method its source names with the statistics it gives of them all the same;
    None where none is named.
    """

    published: tuple[str, Mapping[str, float | str]] | None = None


class TooFewUnits(NoFinding):
    """A statistic was asked of fewer units than it can be computed from.

    ``units`` says what they are, in the plural.
    """

    def __init__(self, *, group: str, found: int, needed: int, units: str = "units") -> None:
        few = f"too few {units}, {found}, and at least {needed} are needed"
        super().__init__(f"{group}: {few if found else 'no valid reply'}")


class IncompleteDesign(NoFinding):
    """Cells a contrast pools over have no valid reply at all."""

    def __init__(self, *, cells: Iterable[str]) -> None:
        first, rest = (every := list(cells))[:3], every[3:]
        more = f" and {len(rest)} more" if rest else ""
        shown = ", ".join(first)
        super().__init__(
            f"incomplete design: no valid reply in {shown}{more}, so nothing is pooled over it"
        )


class NoVariance(NoFinding):
    """A statistic that divides by a standard deviation was asked of constant data."""

    def __init__(self, *, statistic: str = "the statistic") -> None:
        super().__init__(
            f"every value within each group is the same, so {statistic} is not defined"
        )


class BadTable(BiasError):
    """A table of data is not what a published analysis needs.

    ``row`` counts from 1 without the header; None where no single row is at fault.
    """

    def __init__(self, *, table: str, column: str, problem: str, row: int | None = None) -> None:
        self.column = column
        self.row = row
        self.problem = problem
        where = f"column {column!r}" if row is None else f"row {row}, column {column!r}"
        super().__init__(f"{table}, {where}: {problem}")


class BadStatisticInput(BiasError):
    """An argument of a statistical function is outside its domain."""

    def __init__(self, *, argument: str, problem: str) -> None:
        self.argument = argument
        self.problem = problem
        super().__init__(f"{argument}: {problem}")


# --- trials, prompts, replies and labels --------------------------------------------------------


_LONGEST = 60


class InvalidReply(BiasError):
    """A reply that cannot be measured; ``reason`` is the word under which the trial is missing."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


class ForeignAwait(BiasError):
    """A protocol awaited something else than ``ask()`` and ``together()``."""

    def __init__(self, *, protocol: str, where: str, what: str) -> None:
        super().__init__(
            f"the protocol {protocol}() awaits {what} at {where}; a protocol may await only "
            "subject.ask() and together(), because nothing else can be replayed"
        )


class ReplayDiffers(BiasError):
    """A trial replayed straight after it was carried out did not give the same outcome."""

    def __init__(self, *, experiment: str, trial: str, problem: str) -> None:
        super().__init__(
            f"{experiment}, trial {trial}: replaying it straight away differs "
            f"({problem}). The protocol depends on something that is not recorded (a clock, "
            "randomness, state kept between trials, an await other than ask() and together()). "
            "Nothing more is called; what was recorded is kept."
        )


class JudgeNotBlind(BiasError):
    """The judge would be sent a name, or a level, that it must not know.

    ``factor`` and ``level`` say whose name it is, ``name`` has the words that are told (None where
    no text may be kept), ``place`` says where: ``message 2 (user)``, ``the reply's schema``.
    """

    def __init__(
        self, *, experiment: str, trial: str, factor: str, level: str, name: str | None, place: str
    ) -> None:
        self.trial = trial
        self.factor = factor
        self.level = level
        self.name = name
        self.place = place
        quoted = "" if name is None else f" {name if len(name) <= _LONGEST else name[:_LONGEST]!r}"
        super().__init__(
            f"{experiment}, trial {trial}: the judge would be told{quoted} (factor {factor!r}, "
            f"level {level!r}; in {place}), to which it must be blind; nothing is sent. Give it "
            "masked(text, [name]), or take the factor out of the experiment's blind="
        )


class SamePrompt(BiasError):
    """Two conditions, or two exemplars of one, put the same prompt before the subject.

    ``conditions`` are the ids of both, twice the same where it is the exemplars that do not
    differ; ``item`` and ``exemplars`` are those of the first such pair of trials, ``more`` counts
    the others.
    """

    def __init__(
        self,
        *,
        experiment: str,
        conditions: tuple[str, str],
        item: str | None,
        exemplars: tuple[tuple[str, ...], tuple[str, ...]],
        more: int = 0,
    ) -> None:
        self.conditions = conditions
        self.item = item
        self.more = more
        first, second = conditions
        one, two = (", ".join(map(repr, members)) for members in exemplars)
        members = f"exemplars {one} and {two}" if one != two else f"exemplars {one}"
        among = [f"item {item!r}"] if item is not None else []
        who, so = f"conditions {first!r} and {second!r}", "nothing is manipulated between them"
        if first == second:
            who, so = f"in condition {first!r} the {members}", "they are no two units"
        elif one:
            among.append(members)
        where = f" ({'; '.join(among)})" if among else ""
        others = f"; {more} more of their trials are alike" if more else ""
        super().__init__(
            f"{experiment}: {who} put the same prompt before the subject{where}, so {so}{others}"
        )


class LabelShown(BiasError):
    """A prompt shows a label or an id, which tells the subject what is being tested.

    ``of`` is what is called so: ``factor 'name'``, ``items 'vignette'``, ``condition``, ``trial``.
    ``condition`` and ``item`` are those of the first trial in which it shows, ``excerpt`` the
    words around it, None where no text may be kept.
    """

    def __init__(
        self,
        *,
        experiment: str,
        label: str,
        of: str,
        condition: str,
        item: str | None,
        excerpt: str | None,
    ) -> None:
        self.label = label
        self.of = of
        self.item = item
        where = f"condition {condition!r}" + (f" (item {item!r})" if item is not None else "")
        what = f"the id of the {of}" if of in ("condition", "trial") else f"a label of {of}"
        around = f": {excerpt!r}" if excerpt is not None else ""
        super().__init__(
            f"{experiment}: {where} shows the subject {label!r}, {what}{around}. It tells what is "
            "being tested: take it out of the prompt; words meant to be read belong into the "
            "level's value"
        )


# --- recordings, reports and verdicts -----------------------------------------------------------


NEWER = "A newer pytest-bias wrote it: upgrade this one, which reads it then"

_MARKER = re.compile(r"^(?:<{7}|={7}|>{7})(?=\s|$)", re.MULTILINE)


def conflict_words(text: str, path: object) -> str:
    """Say how to take one side of the conflict that Git left in a text; '' where it left none."""
    if not _MARKER.search(text):
        return ""
    return (
        f"Git left a conflict in it: git checkout --ours {path} takes one side, --theirs the "
        f"other; once the merge is committed, git checkout COMMIT^1 -- {path} does, or COMMIT^2"
    )


class FileProblem(BiasError):
    """A file or folder cannot be used as it is: ``problem`` says why, ``hint`` what to do."""

    says: ClassVar[str] = ""

    def __init__(self, *, path: Path | str, problem: str, hint: str = "") -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{path}{self.says} {problem}{f'. {hint}' if hint else ''}")


class NotReadable(FileProblem):
    """What stands in a file's place cannot be read as one; it may be whole elsewhere."""

    says = ":"


class NotWritten(FileProblem):
    """A reply, a report or what processes share could not be written."""

    says = " was not written:"


class DamagedCassette(BiasError):
    """A cassette file is not what was written: truncated, edited or of another format.

    ``whole`` is whether nothing of it can be kept; ``mend`` says how to have it back where more is
    known than that version control may have it.
    """

    def __init__(
        self, *, path: Path | str, line: int, problem: str, mend: str = "", whole: bool = False
    ) -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        self.mend = mend
        record = f"--bias-record={'all' if self.path.endswith('.rerecording') else 'missing'}"
        again = f"{record} skips damaged lines and records again what stood there"
        if whole:
            again = f"move it away and record again ({record})"
        restore = (
            f"Restore the file from version control or a copy (git checkout -- {path}), which "
            f"costs nothing. Where there is none, {again}"
        )
        super().__init__(f"{path}, line {line}: {problem}. {mend or restore}")


class StaleRecordings(BiasError):
    """Recordings are not, or no longer, what the model under this name would answer.

    ``cassette`` says where they stand, ``again`` whether recording it anew would mend it, and
    ``published`` that they stand in a table.
    """

    def __init__(
        self,
        *,
        experiment: str,
        model: str,
        cassette: str,
        reasons: Iterable[str],
        again: bool = True,
        published: bool = False,
    ) -> None:
        self.reasons = tuple(reasons)
        self.summary = (
            f"the replies of {model} to {experiment}, as their table has them, no longer "
            "represent this model"
            if published
            else f"recordings of {experiment} no longer represent this model, {model}"
        )
        lines = [f"{self.summary}:", *(f"  {reason}." for reason in self.reasons)]
        lines.append(f"  {cassette[:1].upper()}{cassette[1:]}")
        if again:
            command = f"pytest <the same arguments> --bias-model {model} --bias-record=all"
            lines.append(f"  To record it anew: {command}")
        self.explanation = "\n".join(lines)
        super().__init__(self.explanation)


class OtherModel(BiasError):
    """Another model answered than the one that was asked for, and the roster does not allow it.

    ``served`` are the names that are not allowed, ``allowed`` those that the roster names already;
    ``line`` is what it would have to say.
    """

    def __init__(self, *, model: str, served: Iterable[str], allowed: Iterable[str]) -> None:
        self.served = tuple(served)
        names = sorted({*self.served, *allowed})
        self.line = f"served = [{', '.join(json.dumps(n, ensure_ascii=False) for n in names)}]"
        table = f"[models.{json.dumps(model, ensure_ascii=False)}]"
        self.reason = (
            f"{' and '.join(self.served)} answered where {model} was asked for. Where that is the "
            f"model you mean, ask for it by its own name, or add {self.line} under {table} in the "
            "roster (bias_models.toml)"
        )
        super().__init__(f"{self.reason}. What it answered is kept, and nothing more is called")


class CopiedReply(BiasError):
    """A cache on the way to the model gave a reply again that it had given before.

    ``wire`` says through what the model is called, ``trial`` whose reply is a copy, ``sign`` what
    shows it.
    """

    def __init__(self, *, model: str, wire: str, trial: str, sign: str) -> None:
        super().__init__(
            f"{model} ({wire}) is answered from a cache: the reply in trial {trial} is a copy, as "
            f"{sign}. Copies are no replies of the model's, so nothing more is called. Switch the "
            "cache of responses off for these calls (in LiteLLM's proxy: cache: false under "
            "litellm_settings), then run the same command again: it records the copies again, and "
            "keeps the other replies"
        )


class NotRecorded(BiasError):
    """Interactions that an offline run needs are not in the cassette."""

    def __init__(self, summary: str, explanation: str) -> None:
        self.summary = summary
        self.explanation = explanation
        super().__init__(summary)


class DamagedReport(BiasError):
    """What a case found did not arrive as it was sent, or was sent by another version."""

    def __init__(self, *, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"what it found cannot be read: {problem}. All processes of a run need the same "
            "pytest-bias, and no other plugin may change what its reports say."
        )


class NotExported(BiasError):
    """The files an experiment declares could not be made."""

    def __init__(self, *, experiment: str, problem: str) -> None:
        self.problem = problem
        super().__init__(f"no exports of {experiment} were written: {problem}")


class BiasFound(BiasError, AssertionError):
    """The gate stops a BIASED verdict."""


class Inconclusive(BiasError, AssertionError):
    """The gate stops an INCONCLUSIVE verdict of a hypothesis that claims to be clear."""


class ControlNotSeen(BiasError, AssertionError):
    """A positive control was not seen, so the instrument may be unable to show any bias."""


class NotJudged(BiasError):
    """A decorated function was called, and nobody is going to judge what it found."""

    def __init__(self, *, function: str) -> None:
        super().__init__(
            f"{function} was called without the pytest-bias plugin judging it, so a bias would "
            "pass unseen. Enable the plugin (-p pytest-bias, and no -p no:pytest-bias); give "
            "every decorator above it functools.wraps; keep it out of a unittest.TestCase, and "
            "run it in pytest's own thread (pytest-run-parallel: --parallel-threads=1)."
        )


# --- settings, and calls that failed ------------------------------------------------------------


class UnknownName(BiasError):
    """A name given by the user is not one of those that exist."""

    def __init__(self, *, kind: str, name: object, known: Iterable[str], mend: str = "") -> None:
        self.known = tuple(sorted(known))
        close = get_close_matches(name, self.known, 1) if isinstance(name, str) else []
        mend = f"did you mean {close[0]!r}?" if close else mend
        words = f"unknown {kind} {name!r}; known: {', '.join(self.known) or 'none'}"
        super().__init__(f"{words}; {mend}" if mend else words)


class BadSetting(BiasError):
    """An option or ini value is outside its domain."""

    def __init__(self, *, option: str, value: object, problem: str) -> None:
        self.option = option
        self.problem = problem
        given = option if value is None else f"{option}={value}"
        super().__init__(f"{given}: {problem}")


class NoJudge(BadSetting):
    """The replies of a model have to be graded, and nobody is named but that model itself."""

    def __init__(self, *, subject: str) -> None:
        super().__init__(
            option="--bias-judge",
            value=None,
            problem=(
                f"the replies of {subject} are graded by a model, and no other one is named; give "
                "PROVIDER/MODEL here or in order under [judges] of the roster, or say same"
            ),
        )


class MissingPackage(BiasError):
    """An optional dependency is needed now and not installed, or older than what is understood.

    ``found`` is the version that is installed, ``least`` the major version that is needed.
    """

    def __init__(
        self, *, package: str, extra: str, found: str | None = None, least: int | None = None
    ) -> None:
        what = f"{package} is not installed"
        if found is not None:
            what = f"{package} {found} is installed, {least} or later is needed"
        super().__init__(f"{what}; install it with: pip install 'pytest-bias[{extra}]'")


FailureKind = Literal["rate_limit", "transient", "reply", "parameter", "fatal"]
"""Why a call failed: HTTP 429; a server's error, time-out or lost connection; a reply that is
none; a parameter the model refuses; or what no later call can mend. The first three are tried
again."""


class CallFailed(BiasError):
    """A provider did not answer a call; ``problem`` says what happened, without credentials.

    ``kind`` decides what happens next. ``retry_after`` is the seconds the provider asks to wait,
    ``parameter`` the name of the refused one (``temperature``, ``max_output_tokens``, ``seeded``).
    ``answered`` is whether an answer came back that says nothing was done: after a time-out or a
    lost connection that is not known, and the call may have to be paid.
    """

    def __init__(
        self,
        *,
        model: str,
        problem: str,
        kind: FailureKind,
        retry_after: float | None = None,
        parameter: str | None = None,
        answered: bool = True,
    ) -> None:
        self.model = model
        self.problem = problem
        self.kind = kind
        self.retry_after = retry_after
        self.parameter = parameter
        self.answered = answered
        super().__init__(f"{model}: {problem}")

    @property
    def fatal(self) -> bool:
        """Return whether no later call of this model can succeed either."""
        return self.kind in ("parameter", "fatal")


class RecordingRefused(BiasError):
    """Recording was asked for where it is not allowed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"recording refused: {why}")


# --- tables of replies that others recorded -----------------------------------------------------


_SHOWN = 20
"""Kinds of problems of a table that are worded, and runs of lines of one."""


class WrongTable(BadSetting):
    """A table holds what its experiment does not have; all of it is told, and no row is used.

    ``declared`` is where the table is named, ``cells`` are its problems: line (0 where it is the
    file's), column, what it is, and which file of a folder. The first of them are worded, each
    once for all of its lines (or what else ``unit`` says), which ``labels`` may name.
    """

    def __init__(
        self,
        *,
        declared: str,
        path: str,
        cells: Iterable[tuple[int, str, str, str]],
        unit: str = "line",
        labels: Sequence[str] = (),
    ) -> None:
        self.cells = tuple(cells)
        where: dict[tuple[str, str, str], list[int]] = {}
        for line, column, problem, file in sorted(self.cells):
            where.setdefault((file, column, problem), []).append(line)
        words = [
            f"  {_place(unit, lines, column, file, labels)}{problem}"
            for (file, column, problem), lines in islice(where.items(), _SHOWN)
        ]
        if more := sum(map(len, islice(where.values(), _SHOWN, None))):
            words.append(f"  and {more} more")
        count = f"{len(self.cells)} problem{'s' * (len(self.cells) != 1)}"
        super().__init__(
            option=declared,
            value=path,
            problem="\n".join([f"{count}, and no row is used before they are mended:", *words]),
        )


class NotCovered(NotRecorded):
    """A subject of a table is asked what it does not hold; nobody can be asked for more."""

    def __init__(self, *, model: str, lacking: str, held: Iterable[str]) -> None:
        words = f"{model} has no replies to {lacking}: its table has those to {', '.join(held)}"
        super().__init__(words, f"{words}. Nobody can be asked again, and no row is made up.")


def _place(unit: str, lines: Iterable[int], column: str, file: str, labels: Sequence[str]) -> str:
    """``lines 3, 7-9, column "x": ``, in a folder after the file's name; or by ``labels``.

    Empty for what is wrong with the one file itself.
    """
    numbers = sorted({*lines} - {0})
    by_run = groupby(enumerate(numbers), lambda at: at[1] - at[0])
    runs = [[line for _, line in run] for _, run in by_run]
    shown = ", ".join(
        "-".join(dict.fromkeys(labels[n - 1] if labels else str(n) for n in (run[0], run[-1])))
        for run in runs[:_SHOWN]
    )
    if more := sum(map(len, runs[_SHOWN:])):
        shown += f" and {more} more"
    parts = [file] if file else []
    parts += [f"{unit}{'s' * (len(numbers) > 1)} {shown}"] if runs else []
    parts += [f"column {column!r}"] if column else []
    return f"{', '.join(parts)}: " if parts else ""
