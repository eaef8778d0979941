"""Accepting: a run's verdicts become the baselines of its models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import Timeout

from ..cassettes.files import alone, refuse_links, write_atomically
from ..errors import BiasError, Diagnostics, FileProblem
from ..verdicts.analysis import Analysis
from ..verdicts.verdict import HypothesisName
from ..verdicts.wording import number_text
from .accepted import acceptance_of, baseline_path, read_baseline
from .entries import (
    Baseline,
    Claimed,
    Entry,
    baseline_text,
    entry_of,
    following,
    is_stopped,
)
from .fingerprints import differences, first_of

if TYPE_CHECKING:
    from ..settings.settings import Settings

_LOCK = ".accepting.lock"
_WAIT = 60.0
"""Seconds for which another run that accepts is waited for."""


def accept(
    settings: Settings,
    analyses: Collection[Analysis],
    fingerprints: Mapping[HypothesisName, Mapping[str, object] | None],
    *,
    partial: bool,
) -> Diagnostics:
    """Write the judged verdicts of a run into the baselines, unless one may not be accepted.

    Each model's file is replaced in one step; one that cannot be written is a problem, and the
    others are accepted. ``fingerprints`` are those of the judged verdicts; ``partial`` keeps the
    entries of others. Another run that accepts at the same moment is waited for: what it wrote is
    read before anything is written.
    """
    assert settings.accept is not None  # noqa: S101  (asked for only where it is)
    assert settings.baselines is not None  # noqa: S101  (the settings refuse accepting without)
    acceptance = acceptance_of(settings)
    judged: dict[str, dict[Claimed, Entry]] = {}
    for analysis in analyses:
        for verdict in analysis.verdicts:
            if (fingerprint := fingerprints.get(verdict.named)) is not None:
                entry = entry_of(verdict, analysis.recording, fingerprint, acceptance=acceptance)
                entries = judged.setdefault(verdict.model, {})
                entries[verdict.experiment, verdict.id] = entry
    used = [a for a in analyses if any(v.named in fingerprints for v in a.verdicts)]
    if problems := tuple(_refusals(settings.accept.lacking, used, judged)):
        return refused(*problems)
    simulated = {each.model for each in used if each.simulated}
    try:
        with alone(settings.baselines / _LOCK, timeout=_WAIT):
            return _written_baselines(
                settings, settings.baselines, judged, simulated, partial=partial
            )
    except Timeout:
        return refused(f"another run has been accepting into {settings.baselines} for a minute")
    except OSError as error:
        return refused(f"{settings.baselines} cannot be written to ({error.strerror or error})")


def refused(*why: str) -> Diagnostics:
    """Nothing was accepted, and why."""
    return Diagnostics(errors=tuple(f"nothing was accepted: {each}" for each in why))


def _refusals(
    lacking: Collection[str],
    analyses: Iterable[Analysis],
    judged: Mapping[str, Mapping[Claimed, Entry]],
) -> Iterator[str]:
    """Name all that keeps the verdicts of a run from being accepted."""
    if not judged:
        yield "no hypothesis was judged in this run"
    for analysis in analyses:
        where = f"{analysis.experiment} × {analysis.model}"
        for control in analysis.not_seen:
            yield f"{where}: the positive control {control.id} was not seen"
        if analysis.recording.interrupted:
            yield f"{where}: its recording was interrupted; finish it first"
    needing = [
        f"{experiment} × {model}, {name}: {entry.status}"
        for model, entries in judged.items()
        for (experiment, name), entry in entries.items()
        if is_stopped(entry.status, entry.claim)
    ]
    if lacking and needing:
        yield f"what the gate stops needs {', '.join(lacking)}: {first_of(needing)}"


def _written_baselines(
    settings: Settings,
    folder: Path,
    judged: Mapping[str, Mapping[Claimed, Entry]],
    simulated: Collection[str],
    *,
    partial: bool,
) -> Diagnostics:
    """Read the baselines, and write them with what was judged."""
    after = settings.accept.after if settings.accept is not None else ""
    before, damaged, followed = {}, [], None
    for model in sorted({*judged, after} - {""}):
        try:
            before[model] = read_baseline(folder, model)
            if model in judged:
                refuse_links(baseline_path(folder, model))
        except FileProblem as error:
            damaged.append(str(error))
    if damaged:
        return refused(*damaged)
    if after and (followed := before[after]) is None:
        path = baseline_path(folder, after)
        return refused(
            f"--bias-baseline={after}: there is no {path}, so nobody knows what was accepted of it"
        )
    said = Diagnostics()
    for model, entries in sorted(judged.items()):
        made, notes = _accepted(model, entries, before[model], followed, partial=partial)
        known = before[model]
        stands_in = model in simulated or (known is not None and known.simulated)
        path = baseline_path(folder, model)
        text = baseline_text(Baseline(model=model, simulated=stands_in, verdicts=made))
        try:
            write_atomically(path, text.encode())
        except (OSError, BiasError) as error:
            reason = getattr(error, "strerror", None) or error
            problem = f"{path} cannot be written, so it was not accepted: {reason}"
            said += Diagnostics(errors=(problem,))
        else:
            said += Diagnostics(written=(path,), notes=notes)
    return said


def _accepted(
    model: str,
    judged: Mapping[Claimed, Entry],
    before: Baseline | None,
    followed: Baseline | None,
    *,
    partial: bool,
) -> tuple[Mapping[str, Mapping[str, Entry]], tuple[str, ...]]:
    """Return the new entries of a model, and what to say of those that change, stay or go."""
    known, earlier = ({} if of is None else of.claimed for of in (before, followed))
    others = sorted(known.keys() - judged.keys())
    entries = {named: known[named] for named in others if partial}
    told: list[str] = []
    for named, judgement in judged.items():
        entry = following(judgement, known.get(named))
        entries[named] = following(entry, earlier.get(named))
        if how := _replacement_note(judgement, known.get(named)):
            told.append(f"  {' '.join(named)}: {entry} ({how})")
    notes = [f"accepted: {number_text(len(judged), 'verdict')} of {model}", *told]
    if same := len(judged) - len(told):
        notes.append(f"  {same} as accepted before")
    if others:
        word = "kept, as this run is partial" if partial else "removed, as no case is left"
        number = number_text(len(others), "entry", "entries")
        notes.append(f"{number} of {model} {word}: {_names(others)}")
    verdicts: dict[str, dict[str, Entry]] = {}
    for (experiment, name), entry in entries.items():
        verdicts.setdefault(experiment, {})[name] = entry
    return verdicts, tuple(notes)


def _names(claimed: Iterable[Claimed]) -> str:
    return ", ".join(f"{experiment} {name}" for experiment, name in claimed)


def _replacement_note(new: Entry, old: Entry | None) -> str:
    """Say what an entry replaces; '' where it is the same."""
    if old is None:
        return "new"
    if differ := differences(old.fingerprint, new.fingerprint):
        return f"in place of another design's {old} ({first_of(differ)})"
    same = (old.status, old.effect, old.accepted) == (new.status, new.effect, new.accepted)
    return "" if same else f"in place of {old}"
