"""What processes of a session share: reports of cases, and a folder with one analysis for all.

The text of a report goes through pytest's reports, and so through whatever else takes part in a
run: it is checked when it arrives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..baselines.gate import ABSOLUTE, Comparison
from ..cassettes.files import write_atomically
from ..errors import BadJSON, NotWritten
from ..experiments.canonical import Strict, compact, digest, dumps, parsed_as
from ..verdicts.analysis import Analysis
from ..verdicts.verdict import HypothesisName, Status

_NAME_LENGTH = 24
_SELECTED = "selected.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport(Strict):
    """Result of a case.

    ``analysis`` is the digest of the analysis it rests on, ``id`` the hypothesis or control, both
    empty of a condition. ``stopped`` is whether the gate stopped it, ``stale`` why its recordings
    no longer represent the model, where no gate says so.
    """

    kind: Literal["condition", "control", "hypothesis"]
    experiment: str
    model: str
    stopped: bool
    id: str = ""
    status: Status | None = None
    analysis: str = ""
    stale: str = ""
    comparison: Comparison = ABSOLUTE

    @property
    def named(self) -> HypothesisName:
        """Experiment, model and hypothesis or control."""
        return self.experiment, self.model, self.id

    @property
    def known(self) -> bool:
        """Whether it says itself why it passes: an acceptance, or what the old model shows too."""
        found = self.comparison
        return found.tolerated and (found.acceptance or found.old) is not None

    @property
    def fails(self) -> bool:
        """Whether it stops an upgrade, which no xfail of the user's covers."""
        upgrade = self.comparison.old is not None
        return self.stopped and upgrade and not self.comparison.tolerated

    def to_json(self) -> str:
        """Return the text that :func:`case_report` reads."""
        return dumps(self, "case report")


@lru_cache(maxsize=2**6)
def case_report(text: str) -> CaseReport:
    """Return the report that :meth:`CaseReport.to_json` wrote.

    Raises BadJSON for anything else, another version's report among it.
    """
    return parsed_as(CaseReport, text)


class Made(NamedTuple):
    """An analysis that a process of this session made, and the digest of its text."""

    analysis: Analysis
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """Cases that were selected, those that were not, and why none can be run (empty if they can).

    ``notes`` and ``problems`` are what is to be said of it at the end of the run.
    """

    cases: list[str]
    unselected: list[str]
    refused: str
    notes: list[str]
    problems: list[str]


class Workspace:
    """Contents of the folder that all processes of a session share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, Made] = {}
        self._parsed: dict[str, Analysis] = {}

    def analysis(self, experiment_id: str, model: str, compute: Callable[[], Analysis]) -> Made:
        """The analysis: computed by the first process that asks, read by others.

        What is handed out is always what the file holds, so every process sees the same values.

        Raises what ``compute`` raises, BadJSON when the analysis cannot be written as JSON,
        and NotWritten when it cannot be kept for the others.
        """
        name = f"analysis-{_hashed([experiment_id, model])}.json"
        if name not in self._known:
            self._known[name] = self._parsed_once(
                self.once(name, lambda: dumps(compute(), "analysis"))
            )
        return self._known[name]

    def read(self, experiment_id: str, model: str) -> Made | None:
        """An analysis made in this session, as its file has it now; None when it has none."""
        try:
            text = (self.folder / f"analysis-{_hashed([experiment_id, model])}.json").read_text(
                "ascii"
            )
            return self._parsed_once(text)
        except (OSError, UnicodeDecodeError, BadJSON):
            return None

    def leave(self, kind: str, names: Sequence[str], make: Callable[[], object]) -> None:
        """Leave a value of a kind under some names: made by the first process that asks."""
        file = f"{kind}-{_hashed(names)}.json"
        if not (self.folder / file).exists():
            self.once(file, lambda: compact(make()))

    def left(self, kind: str) -> list[Any]:
        """Return all values of a kind that were left."""
        found = sorted(self.folder.glob(f"{kind}-*.json"))
        return [json.loads(path.read_text("ascii")) for path in found]

    def shared(self, kind: str, makes: Mapping[str, Callable[[], object]]) -> list[Any]:
        """Return what is made under some names: each by the first process that asks.

        Where nothing can be kept, every process makes all for itself.
        """
        from filelock import Timeout  # noqa: PLC0415  (as in `once`)

        values: dict[str, Any] = {}
        # First what nobody else is at, so that several workers share the work; then what is left.
        for timeout in (0, -1):
            for name, make in makes.items():
                if name in values:
                    continue
                with suppress(Timeout):
                    values[name] = self._shared(f"{kind}-{_hashed([name])}.json", make, timeout)
        return [values[name] for name in makes]

    def _shared(self, file: str, make: Callable[[], object], timeout: float) -> Any:
        make = cache(make)  # it may be made before the folder turns out to be full
        try:
            return json.loads(self.once(file, lambda: compact(make()), timeout=timeout))
        except NotWritten:
            return make()

    def write_selected(self, selected: Selected) -> None:
        """Tell the controller what a worker was given; all workers are given the same."""
        self.once(_SELECTED, lambda: dumps(selected, "selected"))

    def read_selected(self) -> Selected | None:
        """Return what the workers were given; None when none of them came so far."""
        path = self.folder / _SELECTED
        if not path.exists():
            return None
        return Selected(**json.loads(path.read_text(encoding="ascii")))

    def once(self, name: str, make: Callable[[], str], *, timeout: float = -1) -> str:
        """The text of a file in the folder: made by the first process that asks, read by others.

        Raises Timeout when another process has been at it for ``timeout`` seconds. Raises
        NotWritten when the folder cannot be written to.
        """
        from filelock import FileLock  # noqa: PLC0415  (not in who only reads)

        path = self.folder / name
        lock = FileLock(path.with_suffix(".lock"))
        with self._as_not_written():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock.acquire(timeout=timeout)
        try:
            if not path.exists():
                text = make()
                with self._as_not_written():
                    write_atomically(path, text.encode("ascii"))
            return path.read_text(encoding="ascii")
        finally:
            lock.release()

    @contextmanager
    def _as_not_written(self) -> Iterator[None]:
        """Tell of a folder that is full, or not for this user, in one line."""
        try:
            yield
        except OSError as error:
            from filelock import Timeout  # noqa: PLC0415  (as in `once`)

            if isinstance(error, Timeout):
                raise
            problem = error.strerror or str(error)
            hint = "Make room there, or name another temporary folder (TMPDIR)"
            raise NotWritten(path=self.folder, problem=problem, hint=hint) from None

    def _parsed_once(self, text: str) -> Made:
        """The analysis that a text is; the same text is parsed once."""
        said = digest(text)
        if said not in self._parsed:
            self._parsed[said] = parsed_as(Analysis, text)
        return Made(self._parsed[said], said)


def _hashed(names: Sequence[str]) -> str:
    return digest(compact(names))[:_NAME_LENGTH]
