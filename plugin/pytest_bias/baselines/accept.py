"""Accepting: a run's verdicts become the baselines of its models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from ..cassettes.files import refuse_links, write_atomically
from ..errors import BiasError, LinkedFile
from ..errors.said import Said
from ..verdicts.analysis import Analysis
from ..verdicts.verdict import DESCRIBED
from ..verdicts.wording import number_form, number_words, with_interval
from .accepted import acceptance_of, baseline_path, read_baseline
from .case_report import CaseReport
from .entries import (
    Baseline,
    Claimed,
    DamagedBaseline,
    Entry,
    baseline_text,
    entry_of,
    following,
    is_stopped,
)
from .fingerprints import differences, first_of
from .upgrade import unasked

if TYPE_CHECKING:
    from ..settings.settings import Settings
    from ..verdicts.verdict import Verdict

_LOCK = ".accepting.lock"
_WAIT = 60.0
"""Seconds for which another run that accepts is waited for."""


def accept(
    settings: Settings,
    analyses: Collection[Analysis],
    results: Iterable[CaseReport],
    *,
    partial: bool,
) -> Said:
    """Write the judged verdicts of a run into the baselines, unless one may not be accepted.

    Each model's file is replaced in one step; one that cannot be written is a problem, and the
    others are accepted.
    ``results`` are what the cases said; ``partial`` keeps the entries of what was not judged.
    Only the process that decides calls this, at the end of the run. Another run that accepts at
    the same moment is waited for: what it wrote is read before anything is written.
    """
    assert settings.accept is not None  # noqa: S101  (asked for only where it is)
    assert settings.baselines is not None  # noqa: S101  (the settings refuse accepting without)
    said = {each.named: each.standing for each in results if each.kind == "hypothesis"}
    judged = [
        _Judged(analysis, verdict, told)
        for analysis in analyses
        for verdict in analysis.verdicts
        if (named := (verdict.experiment, verdict.model, verdict.id)) in said
        and (told := said[named].fingerprint) is not None
    ]
    if problems := tuple(_refusals(settings, judged)):
        return Said(problems=tuple(map(_nothing, problems)))
    try:
        with _alone(settings.baselines):
            return _changed(settings, settings.baselines, judged, partial=partial)
    except Timeout:
        return refused(f"another run has been accepting into {settings.baselines} for a minute")
    except OSError as error:
        return refused(f"{settings.baselines} cannot be written to ({error.strerror or error})")


@dataclass(frozen=True, slots=True)
class _Judged:
    """A verdict that is to be accepted."""

    analysis: Analysis
    verdict: Verdict
    fingerprint: Mapping[str, object]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep every other run from accepting into ``folder``; nothing is left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / _LOCK
    lock = FileLock(file)
    lock.acquire(timeout=_WAIT)
    try:
        yield
    finally:
        # While it is held: whoever opened it before finds it unlinked, and tries again.
        with suppress(OSError):
            file.unlink()
        lock.release()
        with suppress(OSError):
            folder.rmdir()  # only when it is empty


def _changed(
    settings: Settings, folder: Path, judged: Sequence[_Judged], *, partial: bool
) -> Said:
    """Read the baselines, and write them with what was judged."""
    assert settings.accept is not None  # noqa: S101  (asked for only where it is)
    made = []
    problems = []
    followed = None
    if after := settings.accept.after:
        try:
            followed = read_baseline(folder, after)
        except DamagedBaseline as damaged:
            return refused(str(damaged))
        if followed is None:
            return refused(
                f"--bias-accept-after={after}: there is no {baseline_path(folder, after)}, so "
                "nobody knows what was accepted of it"
            )
    for model in sorted({each.analysis.model for each in judged}):
        try:
            before = read_baseline(folder, model)
            refuse_links(baseline_path(folder, model))
        except (DamagedBaseline, LinkedFile) as damaged:
            problems.append(_nothing(str(damaged)))
        else:
            ours = [each for each in judged if each.analysis.model == model]
            made.append(_accepted(model, ours, before, followed, settings, partial=partial))
    return Said(problems=tuple(problems)) if problems else _written(folder, made)


def refused(why: str) -> Said:
    """Nothing was accepted, and why."""
    return Said(problems=(_nothing(why),))


def _nothing(why: str) -> str:
    return f"nothing was accepted: {why}"


def _refusals(settings: Settings, judged: Sequence[_Judged]) -> Iterator[str]:
    """Name all that keeps the verdicts of a run from being accepted."""
    if not judged:
        yield "no hypothesis was judged in this run"
    for analysis in {id(each.analysis): each.analysis for each in judged}.values():
        yield from _unsound(analysis)
    lacking = settings.accept.lacking if settings.accept is not None else ()
    verdicts = [each.verdict for each in judged]
    needing = [v for v in verdicts if is_stopped(v.status, v.claim)]
    if lacking and needing:
        names = [f"{v.experiment} × {v.model}, {v.id}: {v.status}" for v in needing]
        yield f"what the gate stops needs {', '.join(lacking)}: {first_of(names)}"


def _unsound(analysis: Analysis) -> Iterator[str]:
    """Say why an analysis' findings are no ground for accepting anything."""
    where = f"{analysis.experiment} × {analysis.model}"
    for control in analysis.unseen:
        yield f"{where}: the positive control {control.id} was not seen"
    if analysis.recording.interrupted:
        yield f"{where}: its recording was interrupted; finish it first"


def _accepted(
    model: str,
    judged: Sequence[_Judged],
    before: Baseline | None,
    followed: Baseline | None,
    settings: Settings,
    *,
    partial: bool,
) -> tuple[Baseline, tuple[str, ...]]:
    """The new baseline of a model, and what to say of the entries that stay or go."""
    known = {} if before is None else before.claimed
    asked = {(each.verdict.experiment, each.verdict.id) for each in judged}
    others = sorted(known.keys() - asked)
    entries = {named: known[named] for named in others if partial}
    told: list[str] = []
    for each in judged:
        named = each.verdict.experiment, each.verdict.id
        entry = entry_of(
            each.verdict,
            each.analysis.recording,
            each.fingerprint,
            acceptance=acceptance_of(settings),
        )
        entry = following(entry, known.get(named))
        entry = following(entry, None if followed is None else followed.entry(*named))
        entries[named] = entry
        if how := _against(entry, known.get(named)):
            told.append(f"  {' '.join(named)}: {_found(entry)}, {how}")
    notes = [f"accepted: {number_words(len(judged), 'verdict')} of {model}", *told]
    if same := len(judged) - len(told):
        notes.append(f"  {same} as accepted before")
    if others:
        word = "kept, as this run is partial" if partial else "removed, as no case is left"
        number = number_words(len(others), "entry", "entries")
        notes.append(f"{number} of {model} {word}: {_names(others)}")
    if followed is not None:
        lost = f"what was accepted of {followed.model} does not count for {model}"
        gone = _not_followed(followed, entries, asked, partial=partial)
        notes += [f"{lost}: {words}" for words in gone]
    simulated = any(each.analysis.simulated for each in judged) or (
        before is not None and before.simulated
    )
    verdicts: dict[str, dict[str, Entry]] = {}
    for (experiment, name), entry in entries.items():
        verdicts.setdefault(experiment, {})[name] = entry
    return Baseline(model=model, simulated=simulated, verdicts=verdicts), tuple(notes)


def _not_followed(
    old: Baseline,
    entries: Mapping[Claimed, Entry],
    asked: Collection[Claimed],
    *,
    partial: bool,
) -> Iterator[str]:
    """Say what was accepted of the version before and counts no more, and why."""
    for named in sorted(asked):
        before = old.entry(*named)
        if before is None or before.claim == "describe":
            continue
        if differ := _differing(before, entries[named]):
            yield f"{' '.join(named)}, of another design: {differ}"
    if not partial and (gone := unasked(old, asked)):
        yield f"{_names(gone)}, as no case is left"


def _names(claimed: Iterable[Claimed]) -> str:
    return ", ".join(f"{experiment} {name}" for experiment, name in claimed)


def _differing(old: Entry, new: Entry) -> str:
    """Name the first differences of two designs; '' where they are the same."""
    return first_of(differences(old.fingerprint, new.fingerprint))


def _against(new: Entry, old: Entry | None) -> str:
    """Say what an entry replaces; '' where it is the same."""
    if old is None:
        return "new"
    if differ := _differing(old, new):
        return f"in place of another design's {_found(old)} ({differ})"
    if (old.status, old.effect, old.accepted) != (new.status, new.effect, new.accepted):
        return f"in place of {_found(old)}"
    return ""


def _found(entry: Entry) -> str:
    """``BIASED +0.47, 95 % [+0.39, +0.54], accepted by ann until 2027-03-31``."""
    words = DESCRIBED if entry.claim == "describe" else str(entry.status)
    if (effect := entry.effect) is not None:
        ends = () if (of := effect.interval) is None else (of.low, of.high)
        form = number_form(effect.margin, effect.scale, ends)
        words += f" {with_interval(effect.estimate, of, form)}"
    return f"{words}, {entry.accepted}" if entry.accepted else words


def _written(folder: Path, made: Iterable[tuple[Baseline, tuple[str, ...]]]) -> Said:
    written: list[Path] = []
    notes: list[str] = []
    problems: list[str] = []
    for baseline, words in made:
        path = baseline_path(folder, baseline.model)
        try:
            write_atomically(path, baseline_text(baseline).encode())
        except (OSError, BiasError) as error:
            reason = getattr(error, "strerror", None) or error
            problems.append(f"{path} cannot be written, so it was not accepted: {reason}")
        else:
            written.append(path)
            notes += words
    return Said(tuple(written), tuple(notes), tuple(problems))
