"""Exceptions of pytest-bias: each takes fields and words itself.

``BiasError`` is the base of everything raised for a user to read. The three gate outcomes
(``BiasFound``, ``Inconclusive``, ``ControlNotSeen``) are also ``AssertionError``: a verdict that
does not pass is a failed expectation, so pytest reports it as a failure and an ``xfail`` with
``raises=AssertionError`` matches it and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class BiasError(Exception):
    """Base class of every error pytest-bias raises on purpose."""


# --- statistics -------------------------------------------------------------------------------


class NoFinding(BiasError):
    """A contrast cannot be computed from the replies there are."""


class TooFewUnits(NoFinding):
    """A statistic was asked of fewer units than it can be computed from."""

    def __init__(self, *, group: str, found: int, needed: int) -> None:
        self.group = group
        self.found = found
        self.needed = needed
        super().__init__(f"{group}: {found} unit(s), at least {needed} needed")


class IncompleteDesign(NoFinding):
    """Cells a contrast pools over have no valid reply at all."""

    def __init__(self, *, cells: Iterable[str]) -> None:
        self.cells = tuple(cells)
        shown = ", ".join(self.cells[:3])
        more = f" and {len(self.cells) - 3} more" if len(self.cells) > 3 else ""  # noqa: PLR2004
        super().__init__(
            f"incomplete design: no valid reply in {shown}{more}, so nothing is pooled over it"
        )


class NoVariance(NoFinding):
    """A statistic that divides by a standard deviation was asked of constant data."""

    def __init__(self, *, statistic: str) -> None:
        self.statistic = statistic
        super().__init__(
            f"{statistic}: every value within each group is the same, so it is not defined"
        )


class BadStatisticInput(BiasError):
    """An argument of a statistical function is outside its domain."""

    def __init__(self, *, function: str, argument: str, problem: str) -> None:
        self.function = function
        self.argument = argument
        self.problem = problem
        super().__init__(f"{function}({argument}=…): {problem}")


# --- design -----------------------------------------------------------------------------------


class BadDesign(BiasError):
    """An experiment, factor or hypothesis is declared in a way that cannot be run or analysed."""

    def __init__(self, *, what: str, problem: str) -> None:
        self.what = what
        self.problem = problem
        super().__init__(f"{what}: {problem}")


class BadTemplate(BiasError):
    """A stimulus template names a variable nobody gives it, or is given one it does not use."""

    def __init__(self, *, name: str, unknown: Iterable[str], unused: Iterable[str]) -> None:
        self.name = name
        self.unknown = tuple(sorted(unknown))
        self.unused = tuple(sorted(unused))
        parts = []
        if self.unknown:
            parts.append(f"uses unknown variable(s) {', '.join(self.unknown)}")
        if self.unused:
            parts.append(f"does not use variable(s) {', '.join(self.unused)}")
        super().__init__(f"template {name!r} {' and '.join(parts)}")


class Unserialisable(BiasError):
    """A value that has to travel or be stored as JSON is of a type JSON does not have."""

    def __init__(self, *, where: str, kind: str) -> None:
        self.where = where
        self.kind = kind
        super().__init__(
            f"{where} is a {kind}, which cannot be written as JSON; "
            "give a str, int, finite float, bool, None, list, dict or dataclass of these"
        )


# --- trials -----------------------------------------------------------------------------------


class InvalidReply(BiasError):
    """A reply that cannot be measured; ``reason`` is the word under which the trial is missing."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


class ForeignAwait(BiasError):
    """A protocol awaited something else than ``ask()`` and ``together()``."""

    def __init__(self, *, protocol: str, where: str, what: str) -> None:
        self.protocol = protocol
        self.where = where
        self.what = what
        super().__init__(
            f"the protocol {protocol}() awaits {what} at {where}; a protocol may await only "
            "subject.ask() and together(), because nothing else can be replayed"
        )


class ReplayDiffers(BiasError):
    """A trial replayed straight after it was carried out did not give the same outcome."""

    def __init__(self, *, experiment: str, trial: str, problem: str) -> None:
        self.experiment = experiment
        self.trial = trial
        self.problem = problem
        super().__init__(
            f"{experiment}, trial {trial}: replaying it straight away differs "
            f"({problem}). The protocol depends on something that is not recorded (a clock, "
            "randomness, state kept between trials, an await other than ask() and together()). "
            "Nothing more is called; what was recorded is kept."
        )


# --- cassettes --------------------------------------------------------------------------------


class DamagedCassette(BiasError):
    """A cassette file is not what was written: truncated, edited or of another format."""

    def __init__(self, *, path: Path | str, line: int, problem: str) -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        super().__init__(
            f"{path}, line {line}: {problem}. Restore the file from version control, or remove it "
            "and record it again (--bias-record=missing)."
        )


class KeepsText(BiasError):
    """Raw text stands in the cassette of an experiment that keeps none."""

    def __init__(self, *, path: Path | str, retention: str) -> None:
        self.path = str(path)
        super().__init__(
            f"{path} holds requests and replies as text, and its experiment has "
            f'retention="{retention}"; move the file to where text may stand, then record again'
        )


class NotKept(BiasError):
    """A reply could not be written."""

    def __init__(self, *, path: Path | str, problem: str) -> None:
        self.path = str(path)
        super().__init__(f"{path} cannot be written to: {problem}; nothing more is called")


class CassetteBusy(BiasError):
    """Another process is recording into the same cassette."""

    def __init__(self, *, path: Path | str) -> None:
        self.path = str(path)
        super().__init__(
            f"{path} is being recorded by another process; wait for it to end, then run again"
        )


class NotRecorded(BiasError):
    """Interactions that an offline run needs are not in the cassette."""

    def __init__(self, summary: str, explanation: str) -> None:
        self.summary = summary
        self.explanation = explanation
        super().__init__(summary)


class NotManipulated(BiasError):
    """Two conditions put the very same words before the subject."""

    def __init__(self, *, experiment: str, first: str, second: str) -> None:
        self.experiment = experiment
        self.first = first
        self.second = second
        super().__init__(
            f"{experiment}: conditions {first!r} and {second!r} send the same prompts, "
            "so nothing is manipulated between them"
        )


class SamePrompt(BiasError):
    """Two conditions, or two exemplars of one, put the same prompt before the subject.

    Parameters
    ----------
    conditions
        Ids of both; twice the same where it is the exemplars that do not differ.
    item, exemplars
        Of the first such pair of trials: the item's label, and each trial's exemplars.
    more
        Number of further such pairs of the same conditions.
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
        self.experiment = experiment
        self.conditions = conditions
        self.item = item
        self.exemplars = exemplars
        self.more = more
        first, second = conditions
        one, two = (", ".join(map(repr, members)) for members in exemplars)
        among = [f"item {item!r}"] if item is not None else []
        if first != second:
            if one:
                among.append(f"exemplars {one} and {two}" if one != two else f"exemplars {one}")
            who, so = f"conditions {first!r} and {second!r}", "nothing is manipulated between them"
        else:
            who = f"in condition {first!r} the exemplars {one} and {two}"
            so = "they are no two units"
        where = f" ({'; '.join(among)})" if among else ""
        others = f"; {more} more of their trials are alike" if more else ""
        super().__init__(
            f"{experiment}: {who} put the same prompt before the subject{where}, so {so}{others}"
        )


class LabelShown(BiasError):
    """A prompt shows a label or an id, which tells the subject what is being tested.

    Parameters
    ----------
    of
        What is called so: ``factor 'name'``, ``items 'vignette'``, ``condition``, ``trial``.
    condition, item
        Of the first trial in which it shows.
    excerpt
        The words around it; None where no text may be kept.
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
        self.experiment = experiment
        self.label = label
        self.of = of
        self.condition = condition
        self.item = item
        self.excerpt = excerpt
        where = f"condition {condition!r}" + (f" (item {item!r})" if item is not None else "")
        what = f"the id of the {of}" if of in ("condition", "trial") else f"a label of {of}"
        around = f": {excerpt!r}" if excerpt is not None else ""
        super().__init__(
            f"{experiment}: {where} shows the subject {label!r}, {what}{around}. It tells what is "
            "being tested: take it out of the prompt; words meant to be read belong into the "
            "level's value"
        )


# --- providers and collection -----------------------------------------------------------------


class UnknownName(BiasError):
    """A name given by the user is not one of those that exist."""

    def __init__(self, *, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        super().__init__(f"unknown {kind} {name!r}; known: {', '.join(self.known) or 'none'}")


class BadSetting(BiasError):
    """An option or ini value is outside its domain."""

    def __init__(self, *, option: str, value: object, problem: str) -> None:
        self.option = option
        self.value = value
        self.problem = problem
        super().__init__(f"{option}={value}: {problem}")


class MissingPackage(BiasError):
    """An optional dependency is needed now and not installed, or older than what is understood.

    ``found`` is the version that is installed, ``least`` the major version that is needed.
    """

    def __init__(
        self, *, package: str, extra: str, found: str | None = None, least: int | None = None
    ) -> None:
        self.package = package
        self.extra = extra
        self.found = found
        self.least = least
        what = f"{package} is not installed"
        if found is not None:
            what = f"{package} {found} is installed, {least} or later is needed"
        super().__init__(f"{what}; install it with: pip install 'pytest-bias[{extra}]'")


class MissingKey(BiasError):
    """A provider's credential is not in the environment."""

    def __init__(self, *, provider: str, variable: str) -> None:
        self.provider = provider
        self.variable = variable
        super().__init__(f"{provider} needs the environment variable {variable}, which is not set")


FailureKind = Literal["rate_limit", "transient", "reply", "parameter", "fatal"]
"""Why a call failed: HTTP 429; a server's error, time-out or lost connection; a reply that is
none; a parameter the model refuses; or what no later call can mend. The first two are tried
again."""


class CallFailed(BiasError):
    """A provider did not answer a call.

    Parameters
    ----------
    model, problem
        ``provider/model``, and what happened, without credentials.
    kind
        Why, which decides what happens next.
    retry_after
        Seconds the provider asks to wait.
    parameter
        Name of the refused parameter (``temperature``, ``max_output_tokens``, ``seeded``), where
        ``kind`` is ``parameter``.
    answered
        Whether an answer came back that says nothing was done. After a time-out or a lost
        connection that is not known, and the call may have to be paid.
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
        """Whether no later call of this model can succeed either."""
        return self.kind in ("parameter", "fatal")


class Unfinished(BiasError):
    """What is missing cannot be recorded while everything is being recorded anew."""

    def __init__(self, *, journal: Path | str) -> None:
        self.journal = str(journal)
        super().__init__(
            f"{journal} is left of an interrupted --bias-record=all. Finish that recording with "
            "--bias-record=all, or delete the file to keep what was recorded before"
        )


class RecordingRefused(BiasError):
    """Recording was asked for where it is not allowed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"recording refused: {why}")


# --- reports ----------------------------------------------------------------------------------


class ReportNotWritten(BiasError):
    """A report could not be written where it was asked for."""

    def __init__(self, *, path: Path | str, problem: str) -> None:
        self.path = str(path)
        super().__init__(f"{path} was not written: {problem}")


# --- the gate ---------------------------------------------------------------------------------


class BiasFound(BiasError, AssertionError):
    """The gate stops a BIASED verdict."""


class Inconclusive(BiasError, AssertionError):
    """The gate stops an INCONCLUSIVE verdict of a hypothesis that claims to be clear."""


class ControlNotSeen(BiasError, AssertionError):
    """A positive control was not seen, so the instrument may be unable to show any bias."""


class NotJudged(BiasError):
    """A decorated function was called, and nobody is going to judge what it found."""

    def __init__(self, *, function: str) -> None:
        self.function = function
        super().__init__(
            f"{function} was called without the pytest-bias plugin judging it, so a bias would "
            "pass unseen. Enable the plugin (-p pytest-bias, and no -p no:pytest-bias); give "
            "every decorator above it functools.wraps; keep it out of a unittest.TestCase."
        )
