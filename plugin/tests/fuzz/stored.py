"""Targets that the project wrote itself: cassettes, journals, baselines, results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from pytest_bias.baselines.accepted import needed_baseline
from pytest_bias.baselines.entries import Baseline, baseline_from, baseline_text
from pytest_bias.cassettes.measured import MeasuredTrial
from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.store import (
    PACKED_SUFFIX,
    REJOURNAL_SUFFIX,
    Cassette,
    cassette_path,
    packed_path,
)
from pytest_bias.cli.files import _read, upgrade_of_files
from pytest_bias.experiments.canonical import compact, digest
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.records import Exchange, Outcome, missing_by_cap
from pytest_bias.experiments.replay import Unrecorded
from pytest_bias.report.run import RunResult, read_results, results_text
from pytest_bias.report.terminal import section_lines, summary_markdown

from .games import GAMES, MODEL
from .harness import Target

TODAY = "2026-11-21"
_HEALED = 0.5
"""Share of damaged files whose checksum is made right again."""

Read = tuple[Outcome, tuple[Exchange, ...]] | None
Kept = Completion | MeasuredTrial


def _written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


Whole = tuple[list[Read], dict[str, str]]


class Cassettes(Target[Whole]):
    """A damaged cassette, plain or packed, gives the very replies that were recorded, or an error.

    The error names the file, or the trial that is not recorded any more. Never is a reply or a
    text altered. Lines of another file of the corpus, of the same experiment, give that one's.
    """

    name = "cassettes"

    @cached_property
    def _known(self) -> Mapping[str, Whole]:
        return {name: self.read(name, data) for name, data in self.corpus.items()}

    def read(self, origin: str, data: bytes) -> Whole:
        of = GAMES[origin.partition(".")[0]]
        place = cassette_path(self.scratch, of.id, MODEL)
        is_packed = origin.endswith(PACKED_SUFFIX)
        (place if is_packed else packed_path(place)).unlink(missing_ok=True)
        _written(packed_path(place) if is_packed else place, data)
        cassette = Cassette(place)
        found: list[Read] = []
        for trial in plan(of, of.design()):
            try:
                outcome = reread(of, MODEL, trial, cassette)
            except Unrecorded:
                if trial.id not in cassette.lost:
                    found.append(None)
                    continue
                outcome = missing_by_cap(trial)
            found.append((outcome, outcome.exchanges))
        return found, cassette.texts()

    def why_wrong(self, origin: str, data: bytes, found: Whole) -> str:  # noqa: ARG002
        game = origin.partition(".")[0]
        known = [value for name, value in self._known.items() if name.startswith(game)]
        for number, read in enumerate(found[0]):
            if read is not None and read not in [reads[number] for reads, _ in known]:
                return f"{read[0].trial.id} has another reply than was recorded"
        texts = {pair for _, each in known for pair in each.items()}
        return "" if texts.issuperset(found[1].items()) else "it has another text"


class Journals(Target[Mapping[str, Kept]]):
    """A damaged journal keeps the lines that are intact, or gives an error that names the file.

    Never does a line give an altered reply, or one that nobody recorded.
    """

    name = "journals"

    @cached_property
    def _lines(self) -> Mapping[bytes, tuple[str, Kept]]:
        """Line → key and reply, of all journals of the corpus."""
        found: dict[bytes, tuple[str, Kept]] = {}
        for name, data in self.corpus.items():
            replies = self.read(name, data)
            for line in data.split(b"\n"):
                key = _key(line)
                if key in replies:
                    found[line] = key, replies[key]
        return found

    def read(self, origin: str, data: bytes) -> Mapping[str, Kept]:
        id_, _, suffix = origin.rpartition(".")
        place = cassette_path(self.scratch, id_, MODEL)
        place.unlink(missing_ok=True)
        for other in place.parent.glob(f"{place.name}.*"):
            other.unlink()
        _written(place.with_name(f"{place.name}.{suffix}"), data)
        cassette = Cassette(place, anew=f".{suffix}" == REJOURNAL_SUFFIX)
        kept: dict[str, Kept] = {each.key: each.completion for each in cassette.interactions()}
        return kept | {each.key: each for each in cassette.measured_trials()}

    def why_wrong(self, origin: str, data: bytes, found: Mapping[str, Kept]) -> str:  # noqa: ARG002
        known = list(self._lines.values())
        for pair in found.items():
            if pair not in known:
                return f"the reply under {pair[0]} is altered, or nobody recorded it"
        whole, _, _ = data.rpartition(b"\n")
        for line in whole.split(b"\n"):
            if line in self._lines and self._lines[line][0] not in found:
                return f"the reply under {self._lines[line][0]} is lost, and its line is intact"
        return ""


def _key(line: bytes) -> str:
    """The first value of a line; empty where there is none."""
    parts = line.split(b'"', 4)
    return parts[3].decode("ascii", "replace") if len(parts) > 3 else ""


class Baselines(Target[tuple[Baseline, object]]):
    """A damaged baseline holds what was accepted, or is an error that names the file.

    With a checksum that is right again it is another baseline: one that is written and read again
    as the same, and that two files can be compared with.
    """

    name = "baselines"

    @cached_property
    def _known(self) -> list[Baseline]:
        return [self.read(name, data)[0] for name, data in self.corpus.items()]

    @cached_property
    def _sums(self) -> list[str]:
        return [json.loads(data)["checksum"] for data in self.corpus.values()]

    def rewritten(self, data: bytes, rng: Random) -> bytes:
        value = _parsed(data) if rng.random() < _HEALED else None
        if value is None:
            return data
        content = {name: part for name, part in value.items() if name != "checksum"}
        return _json({**content, "checksum": digest(compact(content, sort_keys=True))})

    def read(self, origin: str, data: bytes) -> tuple[Baseline, object]:
        path = _written(self.scratch / f"damaged-{origin}", data)
        found = needed_baseline(path)
        whole = _written(self.scratch / f"whole-{origin}", self.corpus[origin])
        both = [
            upgrade_of_files(old, new, today=TODAY) for old, new in ((whole, path), (path, whole))
        ]
        return found, both

    def why_wrong(self, origin: str, data: bytes, found: tuple[Baseline, object]) -> str:
        baseline, _ = found
        if baseline in self._known:
            return ""
        if any(known.encode() in data for known in self._sums):
            return "it holds something else than was accepted"
        again = baseline_from(baseline_text(baseline), origin)
        return "" if again == baseline else "written and read again it is another"


class Results(Target[tuple[RunResult, str]]):
    """Damaged results are those that were written, or an error that names the file.

    With a digest that is right again they are others: a run that can be reported.
    """

    name = "results"

    @cached_property
    def _known(self) -> list[RunResult]:
        return [self.read(name, data)[0] for name, data in self.corpus.items()]

    @cached_property
    def _digests(self) -> list[str]:
        return [json.loads(data)["digest"] for data in self.corpus.values()]

    def rewritten(self, data: bytes, rng: Random) -> bytes:
        value = _parsed(data) if rng.random() < _HEALED else None
        if value is None:
            return data
        content = {name: part for name, part in value.items() if name != "digest"}
        whole = {**content, "digest": digest(compact(content, sort_keys=True))}
        return (json.dumps(whole, sort_keys=True, indent=1) + "\n").encode()

    def read(self, origin: str, data: bytes) -> tuple[RunResult, str]:
        path = _written(self.scratch / origin, data)
        run = read_results(_read(path, "RESULTS"), str(path))
        return run, "\n".join((*section_lines(run), summary_markdown(run)))

    def why_wrong(self, origin: str, data: bytes, found: tuple[RunResult, str]) -> str:  # noqa: ARG002
        view, _ = found
        if view in self._known:
            return ""
        if any(known.encode() in data for known in self._digests):
            return "it is another run than was written"
        return "" if results_text(view).encode() == data else "it says something else than stands"


def _parsed(data: bytes) -> dict[str, Any] | None:
    """A JSON object that can be written again; None for anything else."""
    try:
        value = json.loads(data)
        compact(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=True).encode()
