"""Models held against another one, or against a baseline file: ``--bias-baseline OLD``."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cassettes.staleness import of_others
from ..errors import BadSetting, BiasError
from ..settings.model_names import answered_words, file_stem
from ..settings.old_model import FILE_SUFFIX, OPTION, names_file
from .accepted import Baselines, baseline_in, facts_of, read_baseline
from .compare import Beside, compare
from .differing import BaselineDiffers
from .entries import Baseline, Entry, entry_of
from .fingerprints import differences
from .gate import stopped_by
from .table import Named, Row, Upgrade, row_of, worst_first
from .text import DamagedBaseline

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..experiments.experiment import Players
    from ..settings.roster import Roster
    from ..settings.settings import Settings
    from ..verdicts.analysis import Analysis
    from ..verdicts.verdict import Verdict

UPGRADE = "upgrade"
"""Where a case says how its verdict compares with that of the old model."""
_SHOWN = 12
"""Differences that are listed."""


class OldDiffers(BaselineDiffers):
    """What the old model was tested with is not what the new one is tested with."""

    def __init__(self, *, verdict: Verdict, old: str, differences: tuple[str, ...]) -> None:
        self.differences = differences
        listed = [f"  {difference}" for difference in differences[:_SHOWN]]
        if more := len(differences) - len(listed):
            listed.append(f"  and {more} more")
        what = f"{verdict.experiment} × {verdict.model}, {verdict.id}"
        lines = (
            f"{what}: {old} was tested with another design,",
            "so the two cannot be compared (old → new):",
            *listed,
            "Record both with the same design, the same judge (--bias-judge) and the same",
            "parameters (in the roster).",
        )
        BiasError.__init__(self, "\n".join(lines))


def is_file(old: str) -> bool:
    """Whether a setting of :data:`OPTION` is a baseline file; the settings made its path whole."""
    return names_file(Path(old))


def check_old(settings: Settings) -> None:
    """Refuse to be held against what is not there; nothing has been analysed or paid for.

    Raises
    ------
    BadSetting
        When it is neither a baseline file nor a model of which anything is recorded.
    DamagedBaseline
        When the file is not what was written.
    """
    old = settings.baseline
    if old is None:
        return
    if is_file(old):
        read_file(Path(old))
        return
    stem = glob.escape(file_stem(old))
    if "/" not in old or not any(settings.cassettes.glob(f"*/{stem}.jsonl*")):
        problem = (
            f"is no baseline file (a file that exists and ends in {FILE_SUFFIX}), and no model "
            f"of which anything is recorded (<experiment>/{file_stem(old)}.jsonl in the folder "
            "of cassettes)"
        )
        raise BadSetting(option=OPTION, value=old, problem=problem)


def read_file(path: Path) -> Baseline:
    """The baseline in a file, whatever model it is of; DamagedBaseline for anything else."""
    baseline = baseline_in(path)
    if baseline is None:
        raise DamagedBaseline(path=path, problem="it cannot be read (there is no such file)")
    return baseline


def unasked(old: Baseline, asked: Collection[Named]) -> tuple[Named, ...]:
    """Experiment and hypothesis of what a baseline claims and is not among those asked, sorted.

    What nobody tests again is not shown to be no worse, and an upgrade that asks less finds less.
    """
    return tuple(
        (experiment, name)
        for experiment, entries in sorted(old.verdicts.items())
        for name, entry in sorted(entries.items())
        if entry.claim != "describe" and (experiment, name) not in asked
    )


class Against:
    """What the models of a run are held against, in one process.

    ``accepted`` knows what a verdict depends on besides the replies. ``analysis`` gives the
    analysis of a case and its digest, ``players`` who answers in it, ``recorded`` whether there
    is a cassette for it: asked of the old model. ``roster`` says who may answer as it.
    """

    def __init__(
        self,
        settings: Settings,
        accepted: Baselines,
        *,
        analysis: Callable[[Case], tuple[Analysis, str]],
        players: Callable[[Case], Players],
        recorded: Callable[[Case], bool],
        roster: Roster,
    ) -> None:
        assert settings.baseline is not None  # noqa: S101  (whoever makes this has asked)
        check_old(settings)
        self._settings = settings
        self._analysis = analysis
        self._players = players
        self._recorded = recorded
        self._roster = roster
        self._file = read_file(Path(settings.baseline)) if is_file(settings.baseline) else None
        self._fingerprint = accepted.fingerprint
        self._known: dict[str, Baseline | None] = {}

    @property
    def old(self) -> str:
        """The model the others are held against."""
        return self._file.model if self._file is not None else str(self._settings.baseline)

    def any(self, _model: str) -> bool:
        """Whether a verdict of a model may be tolerated."""
        return True

    def beside(
        self, case: Case, players: Players, analysis: Analysis, verdict: Verdict
    ) -> tuple[Beside, dict[str, object]]:
        """The verdict of a case beside the old model's, and what the books must know of that.

        Raises
        ------
        OldDiffers, BaselineDiffers
            When the two were tested otherwise.
        NotRecorded, DamagedCassette, DamagedBaseline, StaleRecordings
            When what is there of the old model cannot be used.
        """
        fingerprint = self._fingerprint(case, players)
        entry, digest = self._entry(case, verdict)
        if entry is not None:
            differ = differences(entry.fingerprint, fingerprint)
            if differ and self._file is not None:
                raise BaselineDiffers(verdict=verdict, differences=differ)
            if differ:
                raise OldDiffers(verdict=verdict, old=self.old, differences=tuple(differ))
        against = "" if self._file is not None else self.old
        beside = compare(
            verdict, analysis.recording, entry, today=self._settings.today, against=against
        )
        said: dict[str, object] = {
            "old": self.old,
            "digest": digest,
            "absent": entry is None and digest is None and self._file is None,
        }
        if verdict.gates:
            settings = self._settings
            stopped = stopped_by(
                verdict, "", gate=settings.gate, inconclusive=settings.inconclusive, beside=beside
            )
            said["row"] = row_of(verdict, entry, beside, stops=stopped is not None)
        return beside, {UPGRADE: said, **facts_of(beside, entry)}

    def _entry(self, case: Case, verdict: Verdict) -> tuple[Entry | None, str | None]:
        """What the old model showed, and the digest of its analysis; None where it has none."""
        if self._file is not None:
            return self._file.entry(verdict.experiment, verdict.id), None
        before = replace(case, model=self.old)
        if not self._recorded(before):
            return None, None
        analysis, digest = self._analysis(before)
        others = of_others(verdict.experiment, self.old, analysis.recording, self._roster)
        if others is not None and self._settings.gate != "off":
            raise others
        known = self._accepted()
        entry = entry_of(
            analysis.verdict(verdict.id),
            analysis.recording,
            self._fingerprint(before, self._players(before)),
            acceptance=None,
            before=None if known is None else known.entry(verdict.experiment, verdict.id),
        )
        return entry, digest

    def _accepted(self) -> Baseline | None:
        """The old model's own baseline: the best that was ever accepted of it counts."""
        folder = self._settings.baselines
        if folder is None:
            return None
        if self.old not in self._known:
            self._known[self.old] = read_baseline(folder, self.old)
        return self._known[self.old]


def rows_from(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Row]:
    """The row of each case that has one."""
    from pydantic import TypeAdapter  # noqa: PLC0415  (building the adapter takes a while)

    adapter = TypeAdapter(Row)
    return {
        case: adapter.validate_python(row)
        for case, result in results.items()
        if (row := result.get(UPGRADE, {}).get("row")) is not None
    }


def upgrade_of(
    settings: Settings,
    results: Mapping[str, Mapping[str, Any]],
    *,
    tolerated: Callable[[str], bool],
    new: Callable[[str, str], Analysis | None],
    old: Callable[[str, str, str], Analysis | None],
) -> Upgrade | None:
    """The table of a run from what its cases said; None where nothing was held against anything.

    ``tolerated`` is whether a case that the gate stopped passed all the same. ``new`` gives the
    analysis of an experiment and model, ``old`` the same, checked against a digest.
    """
    from ..verdicts.drift import Drift, drift_of  # noqa: PLC0415  (scipy, below)

    if settings.baseline is None:
        return None
    rows = [
        replace(row, tolerated=row.tolerated and (not row.stops or tolerated(case)))
        for case, row in rows_from(results).items()
    ]
    accepted = read_file(Path(settings.baseline)) if is_file(settings.baseline) else None
    name = settings.baseline if accepted is None else accepted.model
    pairs = sorted(
        {
            (result["experiment"], result["model"], result[UPGRADE]["digest"])
            for result in results.values()
            if result.get(UPGRADE, {}).get("digest") is not None
        }
    )
    drift, simulated = [], {name} if accepted is not None and accepted.simulated else set()
    answered = [(name, served) for served in (accepted.served if accepted is not None else ())]
    for experiment, model in sorted({(row.experiment, row.model) for row in rows}):
        ours = new(experiment, model)
        answered += [(model, served) for served in (ours.recording.served if ours else ())]
    for experiment, model, digest in pairs:
        ours, theirs = new(experiment, model), old(experiment, name, digest)
        if ours is not None and theirs is not None:
            answered += [(name, served) for served in theirs.recording.served]
            simulated |= {each.model for each in (ours, theirs) if each.simulated}
            quantities = drift_of(theirs.readings, ours.readings)
            drift.append(Drift(experiment=experiment, old=name, new=model, quantities=quantities))
    absent = sorted(
        {r["experiment"] for r in results.values() if r.get(UPGRADE, {}).get("absent")}
    )
    return Upgrade(
        old=name,
        new=settings.models,
        file=accepted is not None,
        rows=worst_first(rows),
        drift=tuple(drift),
        notes=answered_words(answered)
        + tuple(
            f"{name} has no recordings of {experiment}: its hypotheses are judged by themselves"
            for experiment in absent
        ),
        simulated=tuple(sorted(simulated)),
    )
