"""Two baseline files held against each other: accepted verdicts, without any recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..contrasts.findings import Finding
from ..experiments.origins import Recording
from ..settings.model_names import answered_words
from ..verdicts.verdict import Verdict
from .compare import compare
from .differing import BaselineDiffers
from .fingerprints import differences
from .gate import stopped_by
from .table import Row, Upgrade, row_of, unasked_words, worst_first
from .upgrade import read_file, unasked

if TYPE_CHECKING:
    from .entries import Entry


def upgrade_of_files(old: Path, new: Path, *, today: str) -> tuple[Upgrade, tuple[str, ...]]:
    """The table from one file to another, and what could not be compared.

    What the old file accepts holds until its day. There is no drift: files keep no replies.

    Raises
    ------
    DamagedBaseline
        When one of them is not what was written.
    """
    before, now = read_file(old), read_file(new)
    rows: list[Row] = []
    problems: list[str] = []
    for experiment, entries in sorted(now.verdicts.items()):
        for name, entry in sorted(entries.items()):
            verdict = verdict_of(entry, experiment, now.model, name)
            was = before.entry(experiment, name)
            differ = () if was is None else differences(was.fingerprint, entry.fingerprint)
            if differ:
                problems.append(str(BaselineDiffers(verdict=verdict, differences=differ)))
            elif verdict.gates:
                rows.append(_row(verdict, entry, was, today))
    there = {(experiment, name) for experiment, names in now.verdicts.items() for name in names}
    problems += unasked_words(unasked(before, there), before.model, new.name)
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


def _row(verdict: Verdict, entry: Entry, before: Entry | None, today: str) -> Row:
    recording = Recording(
        cassette="",
        checksum=entry.cassette,
        simulated=False,
        wire="",
        recorded_with="",
        interactions=0,
        judge=entry.judge,
    )
    beside = compare(verdict, recording, before, today=today)
    stopped = stopped_by(verdict, "", gate="absolute", inconclusive="fail", beside=beside)
    return row_of(verdict, before, beside, stops=stopped is not None)


def verdict_of(entry: Entry, experiment: str, model: str, name: str) -> Verdict:
    """The verdict that was accepted, with as much of its finding as an entry keeps."""
    return Verdict(
        id=name,
        experiment=experiment,
        model=model,
        claim=entry.claim,
        status=entry.status,
        words=entry.words,
        reason="",
        finding=_finding(entry),
        p_adjusted=entry.p_adjusted,
        direction=None,
        settle=None,
    )


def _finding(entry: Entry) -> Finding | None:
    effect = entry.effect
    if effect is None or entry.p_alarm is None:
        return None
    return Finding(
        quantity="",
        contrast="",
        measure="",
        unit="",
        factor="",
        arms=(),
        estimate=effect.estimate,
        interval=effect.interval,
        p_alarm=entry.p_alarm,
        p_clear=entry.p_clear,
        margin=entry.margin,
        method="",
        target=entry.target or "",
        scope=entry.scope or "",
        units=entry.units,
        replies=entry.units,
        fewest=entry.units,
        unit_name="units",
        scale=effect.scale,
        se=effect.se,
        df=effect.df,
        by_unit=effect.by_unit,
    )
