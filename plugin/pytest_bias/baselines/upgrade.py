"""Models held against another one, or against a baseline file, and two such files."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..cassettes.places import SUFFIX, place_of
from ..cassettes.staleness import stale
from ..errors import BadSetting
from ..settings.model_names import answered_words, file_stem
from ..settings.options import OPTIONS
from ..settings.published import is_tabled
from ..settings.settings import FILE_SUFFIX, names_file
from .accepted import Baselines, baseline_in, beside_entry
from .case_report import CaseReport, Standing
from .entries import Baseline, DamagedBaseline, Entry, entry_of, following, is_stopped
from .gate import BaselineDiffers, compare
from .table import Claimed, Upgrade, UpgradeRow, row_of, worst_first

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..experiments.experiment import Players
    from ..settings.roster import Roster
    from ..settings.settings import Settings
    from ..verdicts.analysis import Analysis
    from ..verdicts.verdict import Verdict


def check_old(settings: Settings) -> Baseline | None:
    """Refuse to be held against what is not there; nothing has been analysed or paid for.

    The baseline is that of the file the settings name; None where they name a model.

    Raises BadSetting when it is neither a baseline file nor a model of which anything is recorded.
    Raises DamagedBaseline when the file is not what was written.
    """
    old = settings.baseline
    if old is None:
        return None
    if names_file(Path(old)):
        return needed_baseline(Path(old))
    if is_tabled(old):
        return None  # whoever reads the tables says whether it is there
    stem = glob.escape(file_stem(old))
    if "/" not in old or not any(settings.cassettes.glob(f"*/{stem}.jsonl*")):
        problem = (
            f"is no baseline file (a file that exists and ends in {FILE_SUFFIX}), and no model "
            f"of which anything is recorded (<experiment>/{file_stem(old)}.jsonl in the folder "
            "of cassettes)"
        )
        option = OPTIONS["baseline"]
        written = option.option if settings.baseline_asked else option.ini
        raise BadSetting(option=written, value=old, problem=problem)
    return None


def needed_baseline(path: Path) -> Baseline:
    """The baseline in a file, whatever model it is of; DamagedBaseline for anything else."""
    baseline = baseline_in(path)
    if baseline is None:
        raise DamagedBaseline(path=path, problem="it cannot be read (there is no such file)")
    return baseline


def unasked(old: Baseline, asked: Collection[Claimed]) -> tuple[Claimed, ...]:
    """Experiment and hypothesis of what a baseline claims and is not among those asked, sorted.

    What nobody tests again is not shown to be no worse, and an upgrade that asks less finds less.
    """
    gating = (named for named, entry in old.claimed.items() if entry.claim != "describe")
    return tuple(sorted(named for named in gating if named not in asked))


def untested(settings: Settings, old: str, tested: Collection[str]) -> tuple[Claimed, ...]:
    """The experiments that nobody tests though the model is recorded, each without a hypothesis.

    All recordings in the folder count: another suite keeps its own in another.
    """
    recorded = settings.cassettes.glob(f"*/{glob.escape(file_stem(old))}{SUFFIX}*")
    found = {path.parent.name for path in recorded if place_of(path).suffix == SUFFIX}
    return tuple((experiment, "") for experiment in sorted(found - {*tested}))


def to_ask(
    claimed: Iterable[Claimed], tested: Collection[str], *, elsewhere: bool
) -> Iterator[Claimed]:
    """Select the claims that a whole suite should have asked.

    Where there may be others (``elsewhere``) only of the experiments it tests: their hypotheses
    stand in one module.
    """
    return (named for named in claimed if named[0] in tested or not elsewhere)


def unasked_words(found: Iterable[Claimed], old: str, where: str) -> tuple[str, ...]:
    """Name what was accepted or recorded of ``old`` and is not asked again, by experiment."""
    by_experiment: dict[str, list[str]] = {}
    for experiment, name in found:
        by_experiment.setdefault(experiment, []).append(name)
    return tuple(
        f"{experiment}: accepted of {old} and not in {where}: {', '.join(claims)}. Nothing shows "
        f"that there it is no worse: ask it again, or accept {old} anew with this suite "
        f"(--bias-model={old} --bias-accept)"
        if (claims := [name for name in names if name])
        else f"{experiment}: recorded of {old} and not in {where}. Nothing shows that there it is "
        "no worse: check the experiment out, or, where it is retired or another suite's, move its "
        "recordings elsewhere"
        for experiment, names in by_experiment.items()
    )


def uncompared_words(upgrade: Upgrade) -> tuple[str, ...]:
    """That nothing was held against anything, where it was not: to judge is not to compare."""
    if any(row.before is not None for row in upgrade.rows):
        return ()
    return (f"nothing could be compared: {upgrade.old} has no verdict on what is asked here",)


class Against:
    """The old model, or file, that the models of a run are held against, in one process.

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
        self.file = check_old(settings)
        """The accepted verdicts of the old model, where the settings name a file of them."""
        self._settings = settings
        self._analysis = analysis
        self._players = players
        self._recorded = recorded
        self._roster = roster
        self._accepted = accepted

    @property
    def old(self) -> str:
        """The model the others are held against."""
        return self.file.model if self.file is not None else str(self._settings.baseline)

    def any(self, _model: str) -> bool:
        """Return whether a verdict of a model may be tolerated."""
        return True

    def beside(
        self, case: Case, players: Players, analysis: Analysis, verdict: Verdict
    ) -> Standing:
        """The verdict of a case beside the old model's.

        Raises BaselineDiffers when the two were tested otherwise. Raises NotRecorded,
        DamagedCassette, DamagedBaseline or StaleRecordings when what is there of the old model
        cannot be used.
        """
        settings = self._settings
        told = self._accepted.fingerprint(case, players)
        entry, digest, known = self._entry(case, verdict)
        against = "" if self.file is not None else self.old
        new, beside = beside_entry(
            analysis,
            verdict,
            told,
            entry,
            today=settings.today,
            known=known,
            against=against,
        )
        row = None
        if verdict.gates:
            how = settings.gate, settings.inconclusive
            stops = is_stopped(verdict.status, verdict.claim, *how)
            row = row_of(verdict.named, new, entry, beside, stops=stops, verdict=verdict)
        absent = entry is None and digest is None and self.file is None
        return Standing(beside=beside, row=row, digest=digest, absent=absent)

    def _entry(self, case: Case, verdict: Verdict) -> tuple[Entry | None, str | None, int]:
        """Return the old model's entry, the digest of its analysis, and its known biases.

        None and 0 stand where it has none.
        """
        if self.file is not None:
            known = self.file.known(verdict.experiment)
            return self.file.entry(verdict.experiment, verdict.id), None, known
        before = replace(case, model=self.old)
        if not self._recorded(before):
            return None, None, 0
        analysis, digest = self._analysis(before)
        recording = analysis.recording
        others = stale(
            verdict.experiment,
            self.old,
            recording,
            cassette=f"cassette: {recording.cassette}",
            roster=self._roster,
            max_age=None,
            today="",  # however old, it is what others are held against
        )
        if others is not None and self._settings.gate != "off":
            raise others
        # Of the old model's own baseline all that was ever accepted of it counts.
        own = self._accepted.baseline(self.old)
        entry = entry_of(
            analysis.verdict(verdict.id),
            recording,
            self._accepted.fingerprint(before, self._players(before)),
        )
        earlier = None if own is None else own.entry(verdict.experiment, verdict.id)
        known = sum(is_stopped(each.status, each.claim) for each in analysis.verdicts)
        return following(entry, earlier), digest, known


def upgrade_of(
    settings: Settings,
    results: Mapping[str, CaseReport],
    *,
    accepted: Baseline | None,
    tolerated: Callable[[str], bool],
    new: Callable[[str, str], Analysis | None],
    old: Callable[[str, str, str], Analysis | None],
) -> Upgrade | None:
    """The table of a run from what its cases said; None where nothing was held against anything.

    ``accepted`` is the file of the old model that was named, if it was one (:func:`check_old`).
    ``tolerated`` is whether a case that the gate stopped passed all the same. ``new`` gives the
    analysis of an experiment and model, ``old`` the same, checked against a digest.
    """
    if settings.baseline is None:
        return None
    rows = [
        replace(row, tolerated=row.tolerated and (not row.stops or tolerated(case)))
        for case, result in results.items()
        if (row := result.row) is not None
    ]
    name = settings.baseline if accepted is None else accepted.model
    told = [(each, each.standing) for each in results.values()]
    pairs = {(each.experiment, each.model, of.digest) for each, of in told if of.digest}
    simulated = {name} if accepted is not None and accepted.simulated else set()
    answered = [(name, served) for served in (accepted.served if accepted is not None else ())]
    for experiment, model in sorted({(row.experiment, row.model) for row in rows}):
        ours = new(experiment, model)
        answered += [(model, served) for served in (ours.recording.served if ours else ())]
    for experiment, model, digest in sorted(pairs):
        ours, theirs = new(experiment, model), old(experiment, name, digest)
        if ours is not None and theirs is not None:
            answered += [(name, served) for served in theirs.recording.served]
            simulated |= {each.model for each in (ours, theirs) if each.simulated}
    absent = sorted({each.experiment for each, of in told if of.absent})
    return Upgrade(
        old=name,
        new=settings.models,
        file=accepted is not None,
        rows=worst_first(rows),
        notes=answered_words(answered)
        + tuple(
            f"{name} has no recordings of {experiment}: its hypotheses are judged by themselves"
            for experiment in absent
        ),
        simulated=tuple(sorted(simulated)),
    )


def upgrade_of_files(old: Path, new: Path, *, today: str) -> tuple[Upgrade, tuple[str, ...]]:
    """The table from one file to another, and what could not be compared.

    What the old file accepts holds until its day.

    Raises DamagedBaseline when one of them is not what was written.
    """
    before, now = needed_baseline(old), needed_baseline(new)
    rows: list[UpgradeRow] = []
    problems: list[str] = []
    for experiment, entries in sorted(now.verdicts.items()):
        known = before.known(experiment)
        for name, entry in sorted(entries.items()):
            named = (experiment, now.model, name)
            was = before.entry(experiment, name)
            try:
                compared = compare(named, entry, was, today=today, known=known)
            except BaselineDiffers as differs:
                problems.append(str(differs))
                continue
            if entry.claim != "describe":
                stops = is_stopped(entry.status, entry.claim)
                rows.append(row_of(named, entry, was, compared, stops=stops))
    problems += unasked_words(unasked(before, now.claimed), before.model, new.name)
    simulated = {each.model for each in (before, now) if each.simulated}
    answered = [(each.model, served) for each in (before, now) for served in each.served]
    return (
        Upgrade(
            old=before.model,
            new=(now.model,),
            file=True,
            rows=worst_first(rows),
            notes=answered_words(answered),
            simulated=tuple(sorted(simulated)),
        ),
        tuple(problems),
    )
