"""What stops a run or its gate: recordings, reports and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from .base import BiasError


class FileProblem(BiasError):
    """A problem with a file or folder, told in the ``words`` of its kind."""

    words: ClassVar[str]

    def __init__(self, *, path: Path | str, problem: str = "") -> None:
        super().__init__(self.words.format(path=path, problem=problem))


class DamagedCassette(BiasError):
    """A cassette file is not what was written: truncated, edited or of another format.

    ``mend`` says what can be done without paying for anything again, where more is known than
    that version control may have it whole.
    """

    def __init__(self, *, path: Path | str, line: int, problem: str, mend: str = "") -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        restore = (
            f"Restore the file from version control or a copy (git checkout -- {path}), which "
            "costs nothing. Only where there is none, move it away and record it again "
            "(--bias-record=missing)."
        )
        super().__init__(f"{path}, line {line}: {problem}. {mend or restore}")


class NotReadable(BiasError):
    """Something stands in a file's place that cannot be read as one; it may be whole elsewhere."""

    def __init__(self, *, path: Path | str, problem: str, mend: str) -> None:
        self.problem = problem
        self.mend = mend
        super().__init__(f"{path}: {problem}. {mend}")


class LinkedFile(BiasError):
    """A file that is to be written is a link: what it leads to may belong to others."""

    def __init__(self, *, path: Path | str, target: Path, annex: bool) -> None:
        mend = (
            f"git annex unlock {path} puts the file itself there"
            if annex
            else "Put the file itself there (a folder may be a link)"
        )
        super().__init__(
            f"{path} is a link to {target}, and nothing is written through a link or instead of "
            f"one. {mend}; then run again"
        )


class TwoCassettes(BiasError):
    """A cassette stands there plain and packed, and only one of them can count."""

    def __init__(self, *, plain: Path | str, packed: Path | str) -> None:
        super().__init__(
            f"{plain} and {packed} are both there, and only one can count. When packing was "
            "interrupted, run pytest-bias cassettes pack (or unpack) again: it removes one if "
            "they hold the same. Otherwise remove the one that is wrong"
        )


class NotRepacked(FileProblem):
    """A cassette is left packed, or plain, as it was."""

    words = "{path} is left as it is: {problem}"


class NoCassette(FileProblem):
    """A path that was given for a cassette is none."""

    words = "{path} is no cassette: {problem}"


class CassettesDiffer(BiasError):
    """Recordings of one experiment with one model that cannot stand in one cassette."""

    def __init__(self, *, path: Path | str, other: Path | str, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"{path} and {other} cannot be joined: {problem}. Nothing was written. Leave out the "
            "one that is wrong, or keep them in folders of their own"
        )


class KeepsText(BiasError):
    """Raw text stands in the cassette of an experiment that keeps none."""

    def __init__(self, *, path: Path | str, retention: str) -> None:
        super().__init__(
            f"{path} holds requests and replies as text, and its experiment has "
            f'retention="{retention}"; move the file to where text may stand, then record again'
        )


class NotKept(FileProblem):
    """A reply could not be written."""

    words = "{path} cannot be written to: {problem}; nothing more is called"


class NoWorkspace(FileProblem):
    """The temporary folder that the processes of a session share cannot be written to."""

    words = (
        "{path} cannot be written to: {problem}. Make room there, or name another temporary "
        "folder (TMPDIR)"
    )


class NotReplaced(FileProblem):
    """A cassette is not replaced by what was recorded beside it."""

    words = "{path} is left as it is: {problem}. Run again, and nothing is paid twice"


class CassetteBusy(FileProblem):
    """Another process is recording into the same cassette."""

    words = "{path} is being recorded by another process; wait for it to end, then run again"


class PaperNotWritten(BiasError):
    """A model that was to write a paper gave no text."""

    def __init__(self, *, model: str, problem: str) -> None:
        super().__init__(
            f"no paper was written: {model}: {problem.removeprefix(f'{model}: ')}. Results and "
            "recordings are as they were, and pytest-bias paper goes on with them: with another "
            "--model, or with the prompt (--prompt), for a text that is written elsewhere and "
            "checked (--check PAPER.md)"
        )


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
        self.summary = f"recordings of {experiment} no longer represent this model, {model}"
        if published:
            replies = f"the replies of {model} to {experiment}, as their table has them"
            self.summary = f"{replies}, no longer represent this model"
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


class NotRecorded(BiasError):
    """Interactions that an offline run needs are not in the cassette."""

    def __init__(self, summary: str, explanation: str) -> None:
        self.summary = summary
        self.explanation = explanation
        super().__init__(summary)


class ReportNotWritten(FileProblem):
    """A report could not be written where it was asked for."""

    words = "{path} was not written: {problem}"


class NotShipped(FileProblem):
    """The experiments that travel with the package are not in this installation."""

    words = "{path}: {problem}. Install pytest-bias from its wheel, or a checkout with pip -e"


class DamagedResults(FileProblem):
    """A file of results is not what a run has written."""

    words = "{path}: {problem}. Run the part again that has written it."


class DamagedReport(BiasError):
    """What a case found did not arrive as it was sent, or was sent by another version."""

    def __init__(self, *, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"what it found cannot be read: {problem}. All processes of a run need the same "
            "pytest-bias, and no other plugin may change what its reports say."
        )


class NotMerged(BiasError):
    """Results that do not belong together: they are of different runs, versions or designs."""

    def __init__(self, *, parts: Iterable[str], problem: str) -> None:
        self.parts = tuple(parts)
        super().__init__(f"cannot merge {' and '.join(self.parts)}: {problem}")


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
