"""Wrong settings, and calls that failed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from .base import BiasError


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


class MissingKey(BiasError):
    """A provider's credential is not in the environment."""

    def __init__(self, *, provider: str, variable: str) -> None:
        super().__init__(f"{provider} needs the environment variable {variable}, which is not set")


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


class Unfinished(BiasError):
    """Missing trials cannot be recorded while everything is being recorded anew."""

    def __init__(self, *, journal: Path | str) -> None:
        super().__init__(
            f"{journal} is left of an interrupted --bias-record=all. Finish that recording with "
            "--bias-record=all, or delete the file to keep what was recorded before"
        )


class RecordingRefused(BiasError):
    """Recording was asked for where it is not allowed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"recording refused: {why}")
