"""Exceptions of pytest-bias, and what a step of a run reports besides its result.

``BiasError`` is the base of everything raised for a user to read. The three gate outcomes
(``BiasFound``, ``Inconclusive``, ``ControlNotSeen``) are also ``AssertionError``: a verdict that
does not pass is a failed expectation, so pytest reports it as a failure and an ``xfail`` with
``raises=AssertionError`` matches it and nothing else.
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Files a step wrote, notes for the user, and errors.

    With an error a run gives no verdict; a note changes nothing. Steps return it, and one place
    adds them up.
    """

    written: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def __add__(self, later: Diagnostics) -> Diagnostics:
        """Both, each thing once: reports are written again where an error came after them."""
        return Diagnostics(
            tuple(dict.fromkeys(self.written + later.written)),
            tuple(dict.fromkeys(self.notes + later.notes)),
            tuple(dict.fromkeys(self.errors + later.errors)),
        )


class BiasError(Exception):
    """Base class of every error pytest-bias raises on purpose.

    ``hint`` is what to do, where the message does not end in it; ``short`` is the message in a few
    words, where its first line is none.
    """

    short: str = ""
    hint: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the message and the fields: they are not the arguments of the constructor."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


# --- declarations, data, and numbers that cannot be computed ----------------------------------


class BadDesign(BiasError):
    """An experiment, factor or hypothesis is declared in a way that cannot be run or analysed."""

    def __init__(self, *, what: str, problem: str) -> None:
        self.problem = problem
        super().__init__(f"{what}: {problem}")


class BadData(BiasError):
    """A file of stimuli, a table, or other data of the user's is not what it must be.

    ``line`` and ``row`` count from 1, the row without a header; they and ``column`` are None where
    no single one is at fault.
    """

    def __init__(
        self,
        *,
        source: str,
        problem: str,
        line: int | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        self.problem = problem
        self.row = row
        self.column = column
        where = [source]
        where += [f"line {line}"] if line is not None else []
        where += [f"row {row}"] if row is not None else []
        where += [f"column {column!r}"] if column is not None else []
        super().__init__(f"{', '.join(where)}: {problem}")


class BadJSON(BiasError):
    """A value cannot be written as JSON, or JSON is not that of the value it should be.

    ``path`` is the first place inside of it where it is none.
    """

    def __init__(self, *, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)


class NoFinding(BiasError):
    """A contrast cannot be computed from the replies there are.

    ``published`` is the method its source names with the statistics it gives of them all the same;
    None where none is named.
    """

    published: tuple[str, Mapping[str, float | str]] | None = None


class TooFewUnits(NoFinding):
    """A statistic was requested of fewer units than it can be computed from.

    ``units`` is what they are called, in the plural.
    """

    def __init__(self, *, group: str, found: int, needed: int, units: str = "units") -> None:
        few = f"too few {units}, {found}, and at least {needed} are needed"
        super().__init__(f"{group}: {few if found else 'no valid reply'}")


class NoVariance(NoFinding):
    """A statistic that divides by a standard deviation was requested of constant data."""

    def __init__(self, *, statistic: str = "the statistic") -> None:
        super().__init__(
            f"every value within each group is the same, so {statistic} is not defined"
        )


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


class NotReplayable(BiasError):
    """A protocol depends on what is not recorded, so that its trials cannot be replayed."""


class JudgeNotBlind(BiasError):
    """The judge would be sent a name, or a level, that it must not know.

    ``factor`` and ``level`` are those of the name, ``name`` is the text that would be sent (None
    where no text may be stored), ``place`` is where: ``message 2 (user)``, ``the reply's schema``.
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


# --- recordings, reports and verdicts -----------------------------------------------------------


NEWER = "A newer pytest-bias wrote it: upgrade this one, which reads it then"

_MARKER = re.compile(r"^(?:<{7}|={7}|>{7})(?=\s|$)", re.MULTILINE)


def conflict_text(text: str, path: object) -> str:
    """How to take one side of the conflict that Git left in a text; '' where it left none."""
    if not _MARKER.search(text):
        return ""
    return (
        f"Git left a conflict in it: git checkout --ours {path} takes one side, --theirs the "
        f"other; once the merge is committed, git checkout COMMIT^1 -- {path} does, or COMMIT^2"
    )


class FileProblem(BiasError):
    """A file or folder cannot be used as it is: ``problem`` is why, ``hint`` what to do."""

    separator: ClassVar[str] = ""

    def __init__(self, *, path: object, problem: str, hint: str = "") -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{path}{self.separator} {problem}{f'. {hint}' if hint else ''}")


class NotReadable(FileProblem):
    """What stands in a file's place cannot be read as one; it may be whole elsewhere."""

    separator = ":"


class NotWritten(FileProblem):
    """A reply, a report or what processes share could not be written."""

    separator = " was not written:"


class DamagedCassette(BiasError):
    """A cassette file is not what was written: truncated, edited or of another format.

    ``whole`` is whether nothing of it can be kept; ``hint`` is how to have it back where more is
    known than that version control may have it.
    """

    def __init__(
        self, *, path: Path | str, line: int, problem: str, hint: str = "", whole: bool = False
    ) -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        self.hint = hint
        record = f"--bias-record={'all' if self.path.endswith('.rerecording') else 'missing'}"
        again = f"{record} skips damaged lines and records again what stood there"
        if whole:
            again = f"move it away and record again ({record})"
        restore = (
            f"Restore the file from version control or a copy (git checkout -- {path}), which "
            f"costs nothing. Where there is none, {again}"
        )
        super().__init__(f"{path}, line {line}: {problem}. {hint or restore}")


class StaleRecordings(BiasError):
    """Recordings are not, or no longer, what the model under this name would answer.

    ``cassette`` is where they stand, ``again`` whether recording it anew would help, and
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


class NotRecorded(BiasError):
    """Interactions that an offline run needs are not in the cassette."""

    def __init__(self, summary: str, explanation: str) -> None:
        self.summary = summary
        self.explanation = explanation
        super().__init__(summary)


class BiasFound(BiasError, AssertionError):
    """The gate stops a BIASED verdict."""


class Inconclusive(BiasError, AssertionError):
    """The gate stops an INCONCLUSIVE verdict of a hypothesis that claims to be clear."""


class ControlNotSeen(BiasError, AssertionError):
    """A positive control was not seen, so the instrument may be unable to show any bias."""


class NotJudged(BiasError):
    """A decorated function was called outside of a case, so its result is not judged."""

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

    def __init__(self, *, kind: str, name: object, known: Iterable[str], hint: str = "") -> None:
        self.known = tuple(sorted(known))
        close = get_close_matches(name, self.known, 1) if isinstance(name, str) else []
        self.hint = f"did you mean {close[0]!r}?" if close else hint
        message = f"unknown {kind} {name!r}; known: {', '.join(self.known) or 'none'}"
        super().__init__(f"{message}; {self.hint}" if self.hint else message)


class BadSetting(BiasError):
    """An option or ini value is outside its domain."""

    def __init__(self, *, option: str, value: object, problem: str) -> None:
        self.option = option
        self.problem = problem
        setting = option if value is None else f"{option}={value}"
        super().__init__(f"{setting}: {problem}")


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
none; a parameter the model refuses; or what no later call can change. The first three are tried
again."""


class CallFailed(BiasError):
    """A provider did not answer a call; ``problem`` is what happened, without credentials.

    ``kind`` decides what happens next. ``retry_after`` is the seconds the provider asks to wait,
    ``parameter`` the name of the refused one (``temperature``, ``max_output_tokens``, ``seeded``).
    ``answered`` is whether an answer came back by which nothing was done: after a time-out or a
    lost connection that is not known, and the call may have to be paid. ``refused_key`` is whether
    the key was refused, as one that has expired is.
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
        refused_key: bool = False,
    ) -> None:
        self.refused_key = refused_key
        self.model = model
        self.problem = problem
        self.kind = kind
        self.retry_after = retry_after
        self.parameter = parameter
        self.answered = answered
        super().__init__(f"{model}: {problem}")

    @property
    def fatal(self) -> bool:
        """True if no later call of this model can succeed either."""
        return self.kind in ("parameter", "fatal")
