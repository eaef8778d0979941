"""The session's shared temporary folder: one analysis per session, not one per worker."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..cassettes.files import write_atomically
from ..errors import NotAsWritten, NotRecorded, NoWorkspace
from ..experiments.canonical import compact, digest, dumps, parsed_as
from ..report.replies import TrialBlock
from ..verdicts.analysis import Analysis

_NAME_LENGTH = 24
_SELECTED = "selected.json"


class Made(NamedTuple):
    """An analysis that a process of this session made, and the digest of its text."""

    analysis: Analysis
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """Cases that were selected, those that were not, and why none can be run (empty if they can).

    ``notes`` and ``problems`` are what is to be said of it at the end of the run; ``groups`` says
    of node ids what work they are a part of.
    """

    cases: list[str]
    unselected: list[str]
    refused: str
    notes: list[str]
    problems: list[str]
    groups: dict[str, str]


class Workspace:
    """A folder all processes of a session share; made when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, Made] = {}
        self._parsed: dict[str, Analysis] = {}

    def analysis(self, experiment_id: str, model: str, compute: Callable[[], Analysis]) -> Made:
        """The analysis: computed by the first process that asks, read by others.

        What is handed out is always what the file holds, so every process sees the same values.

        Raises NotRecorded when ``compute`` did; it is kept too, so that it is looked for once.
        Raises Unserialisable when the analysis holds a value that cannot be written as JSON.
        Raises NoWorkspace when it cannot be kept for the others.
        """
        name = _analysis_file(experiment_id, model)
        if name not in self._known:
            self._known[name] = self._shared(name, compute)
        return self._known[name]

    def read(self, experiment_id: str, model: str) -> Made | None:
        """An analysis made in this session, as its file has it now; None when it has none."""
        try:
            text = (self.folder / _analysis_file(experiment_id, model)).read_text("ascii")
            return self._made(text)
        except (OSError, UnicodeDecodeError, NotAsWritten):
            return None

    def keep_replies(self, replies: TrialBlock) -> None:
        """Leave the trials of an experiment with a model to who writes the page."""
        name = f"replies-{_hashed(replies.experiment, replies.model)}.json"
        self.once(name, lambda: compact(asdict(replies)))

    def replies(self) -> list[TrialBlock]:
        """Return the trials that were left for the page."""
        found = sorted(self.folder.glob("replies-*.json"))
        return [TrialBlock(**json.loads(path.read_text("ascii"))) for path in found]

    def keep_part(self, experiment_id: str, model: str, said: Mapping[str, object]) -> None:
        """Leave what a record says of an experiment with a model to who writes it.

        ``said`` has it as ``part``, or as ``problem`` why there is none.
        """
        of = {"experiment": experiment_id, "model": model, **said}
        self.once(f"part-{_hashed(experiment_id, model)}.json", lambda: compact(of))

    def parts(self) -> list[dict[str, Any]]:
        """Return what was left for records, with the names of experiment and model."""
        found = sorted(self.folder.glob("part-*.json"))
        return [json.loads(path.read_text("ascii")) for path in found]

    def checked(self, checks: Mapping[str, Callable[[], str]]) -> list[str]:
        """Return what checks say: each done by the first process that asks, read by others.

        A name may be any text that names the check and what is checked. Where nothing can be kept,
        every process does all for itself.
        """
        from filelock import Timeout  # noqa: PLC0415  (as in `once`)

        said: dict[str, str] = {}
        # First what nobody else is at, so that several workers share the work; then what is left.
        for timeout in (0, -1):
            for name, check in checks.items():
                short = digest(name)[:_NAME_LENGTH]
                with suppress(Timeout):
                    said[name] = self._checked(f"checked-{short}.json", check, timeout)
        return [said[name] for name in checks]

    def _checked(self, file: str, check: Callable[[], str], timeout: float) -> str:
        try:
            text = self.once(file, lambda: compact(check()), timeout=timeout)
        except NoWorkspace:
            return check()
        said: str = json.loads(text)
        return said

    def write_selected(self, selected: Selected) -> None:
        """Tell the controller what a worker was given; all workers are given the same."""
        self.once(_SELECTED, lambda: dumps(selected, "selected"))

    def read_selected(self) -> Selected | None:
        """Return what the workers were given; None when none of them came so far."""
        path = self.folder / _SELECTED
        if not path.exists():
            return None
        return Selected(**json.loads(path.read_text(encoding="ascii")))

    def tell(self, worker: str, problems: list[str]) -> None:
        """Tell the controller what a worker found at its end."""
        self.once(f"told-{worker}.json", lambda: compact(problems))

    def told(self) -> list[str]:
        """Return what workers found at their end, each once, sorted."""
        found = [json.loads(path.read_text("ascii")) for path in self.folder.glob("told-*.json")]
        return sorted({problem for problems in found for problem in problems})

    def remove(self) -> None:
        """Remove the folder and all in it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def once(self, name: str, make: Callable[[], str], *, timeout: float = -1) -> str:
        """The text of a file in the folder: made by the first process that asks, read by others.

        Raises Timeout when another process has been at it for ``timeout`` seconds. Raises
        NoWorkspace when the folder cannot be written to.
        """
        from filelock import FileLock  # noqa: PLC0415  (not in who only reads)

        path = self.folder / name
        lock = FileLock(path.with_suffix(".lock"))
        with self._told():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock.acquire(timeout=timeout)
        try:
            if not path.exists():
                text = make()
                with self._told():
                    write_atomically(path, text.encode("ascii"))
            return path.read_text(encoding="ascii")
        finally:
            lock.release()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell of a folder that is full, or not for this user, in one line."""
        try:
            yield
        except OSError as error:
            from filelock import Timeout  # noqa: PLC0415  (as in `once`)

            if isinstance(error, Timeout):
                raise
            problem = error.strerror or str(error)
            raise NoWorkspace(path=self.folder, problem=problem) from None

    def _made(self, text: str) -> Made:
        """The analysis that a text is; the same text is parsed once."""
        said = digest(text)
        if said not in self._parsed:
            self._parsed[said] = parsed_as(Analysis, text)
        return Made(self._parsed[said], said)

    def _shared(self, name: str, compute: Callable[[], Analysis]) -> Made:
        text = self.once(name, lambda: _computed(compute))
        failed = json.loads(text).get("not_recorded")
        if failed is not None:
            raise NotRecorded(failed["summary"], failed["explanation"])
        return self._made(text)


def _analysis_file(experiment_id: str, model: str) -> str:
    return f"analysis-{_hashed(experiment_id, model)}.json"


def _hashed(experiment_id: str, model: str) -> str:
    return digest(compact([experiment_id, model]))[:_NAME_LENGTH]


def _computed(compute: Callable[[], Analysis]) -> str:
    try:
        return dumps(compute(), "analysis")
    except NotRecorded as missing:
        return compact(
            {"not_recorded": {"summary": missing.summary, "explanation": missing.explanation}}
        )
