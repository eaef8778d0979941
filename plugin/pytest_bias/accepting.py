"""Baselines on disk: read beside each verdict, written at the end of a run that accepts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .analysis import Analysis
from .baselines import (
    Acceptance,
    Baseline,
    BaselineDiffers,
    DamagedBaseline,
    Entry,
    baseline_from,
    baseline_text,
    entry_of,
)
from .cassettes.files import write_atomically
from .cassettes.store import file_stem
from .errors import BiasError
from .fingerprints import differences, fingerprint_of
from .gate import ABSOLUTE, Beside, compare

if TYPE_CHECKING:
    from .cases import Case
    from .experiment import Players
    from .settings import Settings
    from .verdicts import Verdict

_NAMED = 5
"""Verdicts that a refusal names; of more only the number is said."""

FINGERPRINT = "fingerprint"
"""Where a case of a run that accepts says with what design its verdict was reached."""
ACCEPTED = "accepted"
"""Where a case says who accepted what the gate stopped."""
IMPROVED = "improved"
"""Where a case says that what was accepted is worse than what it found."""


def baseline_path(folder: Path, model: str) -> Path:
    """``<folder>/<provider>--<model>.json``."""
    return folder / f"{file_stem(model)}.json"


def read_baseline(folder: Path, model: str) -> Baseline | None:
    """The baseline of a model; None when there is none.

    Raises
    ------
    DamagedBaseline
        When there is something else in its place.
    """
    path = baseline_path(folder, model)
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise DamagedBaseline(path=path, problem="it is no text") from None
    except OSError as error:
        problem = f"it cannot be read ({error.strerror or error})"
        raise DamagedBaseline(path=path, problem=problem) from None
    baseline = baseline_from(text, path)
    if baseline.model != model:
        named = baseline_path(Path(), baseline.model)
        problem = f"it holds the verdicts of {baseline.model} and belongs at {named}"
        raise DamagedBaseline(path=path, problem=problem)
    return baseline


class Baselines:
    """The baselines of a run's models, each read once in a process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._read: dict[str, Baseline | None] = {}

    def beside(
        self, case: Case, players: Players, analysis: Analysis, verdict: Verdict
    ) -> tuple[Beside, dict[str, object]]:
        """The verdict of a case beside the accepted one, and what the books must know of that.

        Raises
        ------
        DamagedBaseline, BaselineDiffers
            When the two cannot be compared.
        """
        settings = self._settings
        if settings.accept is not None:
            # What is accepted in this run is not held against what was accepted before.
            beside = Beside()
            if verdict.status != "CLEAR" and verdict.gates and not settings.accept.lacking:
                acceptance = acceptance_of(settings)
                beside = Beside(accepted=acceptance, words=f"{acceptance}, in this run")
            return beside, {FINGERPRINT: _fingerprint(case, players), **_facts(beside)}
        baseline = self._baseline(case.model) if settings.gate != "off" else None
        if baseline is None:
            return ABSOLUTE, {}
        entry = baseline.entry(verdict.experiment, verdict.id)
        if entry is not None:
            differ = differences(entry.fingerprint, _fingerprint(case, players))
            if differ:
                raise BaselineDiffers(verdict=verdict, differences=differ)
        beside = compare(verdict, analysis.recording, entry, today=settings.today)
        return beside, _facts(beside)

    def any(self, model: str) -> bool:
        """Whether a verdict of a model may be tolerated; True of a damaged baseline, too."""
        folder = self._settings.baselines
        if self._settings.accept is not None:
            return acceptance_of(self._settings) is not None
        return folder is not None and baseline_path(folder, model).exists()

    def _baseline(self, model: str) -> Baseline | None:
        folder = self._settings.baselines
        if folder is None:
            return None
        if model not in self._read:
            self._read[model] = read_baseline(folder, model)
        return self._read[model]


def acceptance_of(settings: Settings) -> Acceptance | None:
    """With what words this run accepts what is not CLEAR; None where they are not all given."""
    asked = settings.accept
    if asked is None or asked.lacking:
        return None
    return Acceptance(reason=asked.reason, owner=asked.owner, until=asked.until)


def _fingerprint(case: Case, players: Players) -> Mapping[str, object]:
    assert case.contrast is not None  # noqa: S101  (only hypotheses come here)
    judged_by = case.experiment.judged_by(players)
    return fingerprint_of(case.experiment, case.design, case.contrast, judged_by)


def _facts(beside: Beside) -> dict[str, object]:
    facts: dict[str, object] = {IMPROVED: beside.words} if beside.improved else {}
    return facts | ({ACCEPTED: beside.accepted} if beside.accepted is not None else {})


# --- writing ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Accepted:
    """What came of accepting: paths that were written, what to say, and why nothing was."""

    written: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def accept(
    settings: Settings,
    analyses: Collection[Analysis],
    results: Iterable[Mapping[str, Any]],
    *,
    partial: bool,
) -> Accepted:
    """Write the judged verdicts of a run into the baselines: all of them, or none.

    ``results`` are what the cases said; ``partial`` keeps the entries of what was not judged.
    Only the process that decides calls this, at the end of the run.
    """
    fingerprints = {
        (result["experiment"], result["model"], result["id"]): result[FINGERPRINT]
        for result in results
        if FINGERPRINT in result
    }
    judged = [
        (analysis, verdict)
        for analysis in analyses
        for verdict in analysis.verdicts
        if (verdict.experiment, verdict.model, verdict.id) in fingerprints
    ]
    problems = list(_refusals(settings, judged))
    before: dict[str, Baseline | None] = {}
    assert settings.baselines is not None  # noqa: S101  (the settings refuse accepting without)
    for model in sorted({analysis.model for analysis, _ in judged}):
        try:
            before[model] = read_baseline(settings.baselines, model)
        except DamagedBaseline as damaged:
            problems.append(str(damaged))
    if problems:
        return Accepted(problems=tuple(f"nothing was accepted: {each}" for each in problems))
    made = [
        _accepted(model, judged, fingerprints, known, settings, partial=partial)
        for model, known in before.items()
    ]
    return _written(settings.baselines, made)


def refused(why: str) -> Accepted:
    """Nothing was accepted, and why."""
    return Accepted(problems=(f"nothing was accepted: {why}",))


def _refusals(settings: Settings, judged: list[tuple[Analysis, Verdict]]) -> Iterable[str]:
    """What keeps the verdicts of a run from being accepted."""
    if not judged:
        yield "no hypothesis was judged in this run"
    for analysis in {id(analysis): analysis for analysis, _ in judged}.values():
        yield from _unsound(analysis)
    lacking = settings.accept.lacking if settings.accept is not None else ()
    needing = [v for _, v in judged if v.status != "CLEAR" and v.gates]
    if lacking and needing:
        names = "; ".join(
            f"{verdict.experiment} × {verdict.model}, {verdict.id}: {verdict.status}"
            for verdict in needing[:_NAMED]
        )
        if len(needing) > _NAMED:
            names += f"; and {len(needing) - _NAMED} more"
        yield f"what is not CLEAR needs {', '.join(lacking)}: {names}"


def _unsound(analysis: Analysis) -> Iterable[str]:
    """Why what an analysis found is no ground for accepting anything."""
    where = f"{analysis.experiment} × {analysis.model}"
    if analysis.control is not None and not analysis.control.seen:
        yield f"{where}: the positive control {analysis.control.id} was not seen"
    if analysis.recording.interrupted:
        yield f"{where}: its recording was interrupted; finish it first"


def _accepted(
    model: str,
    judged: Iterable[tuple[Analysis, Verdict]],
    fingerprints: Mapping[tuple[str, str, str], Mapping[str, object]],
    before: Baseline | None,
    settings: Settings,
    *,
    partial: bool,
) -> tuple[Baseline, tuple[str, ...]]:
    """The new baseline of a model, and what to say of the entries that were not judged."""
    ours = [(analysis, verdict) for analysis, verdict in judged if analysis.model == model]
    known: dict[str, dict[str, Entry]] = (
        {experiment: dict(entries) for experiment, entries in before.verdicts.items()}
        if before is not None
        else {}
    )
    others = sorted(
        {(experiment, name) for experiment, entries in known.items() for name in entries}
        - {(verdict.experiment, verdict.id) for _, verdict in ours}
    )
    entries: dict[str, dict[str, Entry]] = {}
    for experiment, name in others if partial else ():
        entries.setdefault(experiment, {})[name] = known[experiment][name]
    for analysis, verdict in ours:
        entries.setdefault(verdict.experiment, {})[verdict.id] = entry_of(
            verdict,
            analysis.recording,
            fingerprints[verdict.experiment, verdict.model, verdict.id],
            acceptance=acceptance_of(settings),
            before=known.get(verdict.experiment, {}).get(verdict.id),
        )
    notes = [f"accepted: {_counted(len(ours), 'verdict')} of {model}"]
    if others:
        names = ", ".join(f"{experiment} {name}" for experiment, name in others)
        word = "kept, as this run is partial" if partial else "removed, as no case is left"
        notes.append(f"{_counted(len(others), 'entry', 'entries')} of {model} {word}: {names}")
    simulated = any(analysis.simulated for analysis, _ in ours)
    return Baseline(model=model, simulated=simulated, verdicts=entries), tuple(notes)


def _written(folder: Path, made: Iterable[tuple[Baseline, tuple[str, ...]]]) -> Accepted:
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
    return Accepted(tuple(written), tuple(notes), tuple(problems))


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
