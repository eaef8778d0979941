"""Baselines beside the verdicts of a run: read, and compared with each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..cassettes.files import read_file
from ..cassettes.staleness import served_otherwise
from ..contrasts.declared import Hypothesis
from ..contrasts.estimate import no_effect_of
from ..errors import NotReadable
from ..experiments.checks.prompts import Told, told_by
from ..experiments.design import Design
from ..settings.model_names import file_stem
from ..settings.published import PUBLISHED
from ..verdicts.analysis import Analysis
from .case_report import Standing
from .entries import (
    Acceptance,
    Baseline,
    DamagedBaseline,
    Entry,
    baseline_from,
    entry_of,
    is_stopped,
)
from .fingerprints import differences, fingerprint_of
from .gate import ABSOLUTE, Comparison, compare

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..experiments.experiment import Players
    from ..experiments.replay import Lookup
    from ..settings.settings import Settings
    from ..verdicts.verdict import Verdict


def baseline_path(folder: Path, model: str) -> Path:
    """``<folder>/<provider>--<model>.json``."""
    return folder / f"{file_stem(model)}.json"


def read_baseline(folder: Path, model: str) -> Baseline | None:
    """The baseline of a model; None when there is none.

    Raises DamagedBaseline when there is something else in its place.
    """
    path = baseline_path(folder, model)
    baseline = _baseline_in(path)
    if baseline is not None and baseline.model != model:
        named = baseline_path(Path(), baseline.model)
        problem = f"it holds the verdicts of {baseline.model} and belongs at {named}"
        raise DamagedBaseline(path=path, problem=problem)
    return baseline


def needed_baseline(path: Path) -> Baseline:
    """The baseline in a file, whatever model it is of; DamagedBaseline for anything else."""
    baseline = _baseline_in(path)
    if baseline is None:
        raise DamagedBaseline(path=path, problem="it cannot be read (there is no such file)")
    return baseline


def _baseline_in(path: Path) -> Baseline | None:
    try:
        data = read_file(path)
        return None if data is None else _parsed(data, path)
    except UnicodeDecodeError:
        raise DamagedBaseline(path=path, problem="it is no text") from None
    except NotReadable as error:
        problem, mend = error.problem, error.hint
        raise DamagedBaseline(path=path, problem=problem, mend=mend) from None


@lru_cache(maxsize=16)
def _parsed(data: bytes, path: Path) -> Baseline:
    """The baseline that these bytes are: a run comes to the same file at several places."""
    return baseline_from(data.decode(), path)


class Baselines:
    """The baselines of a run's models, in one process.

    ``recorded`` gives the replies of a case's cassette by key, None where no text is kept;
    ``published`` says of a case what others published its replies as, "" where we recorded them.
    """

    def __init__(
        self,
        settings: Settings,
        recorded: Callable[[Case], Lookup | None],
        published: Callable[[Case], str],
    ) -> None:
        self._settings = settings
        self._recorded = recorded
        self._published = published
        self._told: dict[tuple[object, ...], Told] = {}

    def beside(
        self, case: Case, players: Players, analysis: Analysis, verdict: Verdict
    ) -> Standing:
        """The verdict of a case beside the accepted one.

        Raises DamagedBaseline, BaselineDiffers or StaleRecordings when the two cannot be compared.
        """
        settings, recording = self._settings, analysis.recording
        if settings.accept is not None:
            # What is accepted in this run is not held against what was accepted before.
            beside, acceptance = ABSOLUTE, acceptance_of(settings)
            if acceptance is not None and is_stopped(verdict.status, verdict.claim):
                words = f"{acceptance}, in this run"
                beside = Comparison(words=words, accepted=acceptance, tolerated=True)
            return Standing(beside=beside, fingerprint=self.fingerprint(case, players))
        baseline = None if settings.gate == "off" else self.baseline(case.model)
        if baseline is None:
            return Standing()
        entry = baseline.entry(verdict.experiment, verdict.id)
        if case.design.screens:
            return Standing(beside=self._beside_screen(case, players, verdict, entry))
        told = self.fingerprint(case, players)
        known = baseline.known(verdict.experiment)
        beside = beside_entry(analysis, verdict, told, entry, today=settings.today, known=known)
        if entry is not None and (
            other := served_otherwise(
                verdict.experiment, case.model, recording, accepted=entry.served
            )
        ):
            raise other
        return Standing(beside=beside)

    def _beside_screen(
        self, case: Case, players: Players, verdict: Verdict, entry: Entry | None
    ) -> Comparison:
        """A bias that a screen found beside the one that was accepted of the gate design.

        It is let through while its acceptance lasts, where it is a bias of the same design in the
        same direction; whether it is worse, the gate design says.
        """
        if entry is None or entry.accepted is None or {verdict.status, entry.status} != {"BIASED"}:
            return ABSOLUTE
        accepted, now, before = entry.accepted, verdict.finding, entry.effect
        whole = replace(case, design=case.experiment.design())
        if differ := differences(entry.fingerprint, self.fingerprint(whole, players)):
            words = f"{accepted}, but of another design, prompts or judge: {differ[0]}"
            return Comparison(words=words)
        if accepted.until < self._settings.today:
            words = f"{accepted} ({accepted.reason}), which is past"
            return Comparison(outcome="expired", words=words, accepted=accepted)
        more = {e.estimate > no_effect_of(e.scale) for e in (now, before) if e is not None}
        if now is None or before is None or len(more) > 1:
            words = "new: what was accepted points the other way"
            return Comparison(outcome="new", words=words)
        words = f"{accepted}: {accepted.reason}; found again by the screen, and the gate design "
        words += "says whether it is worse"
        return Comparison(outcome="known", words=words, accepted=accepted, tolerated=True)

    def fingerprint(self, case: Case, players: Players) -> Mapping[str, object]:
        """Return the fingerprint of a case: all its verdict depends on besides the replies."""
        assert isinstance(case.contrast, Hypothesis)  # noqa: S101  (no controls come here)
        experiment = case.experiment
        if source := self._published(case):
            # Its prompts are not known, but that all of its models were told the same.
            told = Told(subject={c.id: f"as in {source}" for c in experiment.conditions})
            design, judged = Design(1, PUBLISHED), experiment.judged_by(players)
            return fingerprint_of(experiment, design, case.contrast, judged, told=told)
        return fingerprint_of(
            experiment,
            case.design,
            case.contrast,
            experiment.judged_by(players),
            sampled=experiment.terms(players)["subject"],
            told=self._prompts(case, players),
            lenient="subject" in players.lenient,
        )

    def _prompts(self, case: Case, players: Players) -> Told:
        """Return the prompts of a case's experiment: made once for each of its designs."""
        experiment = case.experiment
        recorded = None
        if experiment.judge is not None and experiment.simulated is None:
            recorded = self._recorded(case)
        # Only where the way to the judge leads through recorded replies does it depend on them.
        model = case.model if recorded is not None else ""
        key = (experiment.id, replace(case.design, replicates=1, name=""), model)
        if key not in self._told:
            self._told[key] = told_by(experiment, case.design, players, recorded)
        return self._told[key]

    def any(self, model: str) -> bool:
        """Return whether a verdict of a model may be tolerated."""
        settings = self._settings
        if settings.accept is not None or settings.baseline is not None:
            return True
        return (
            settings.baselines is not None and baseline_path(settings.baselines, model).is_file()
        )

    def baseline(self, model: str) -> Baseline | None:
        """Return a model's accepted verdicts; None without any, or where none are kept."""
        folder = self._settings.baselines
        return None if folder is None else read_baseline(folder, model)


def beside_entry(
    analysis: Analysis,
    verdict: Verdict,
    fingerprint: Mapping[str, object],
    entry: Entry | None,
    *,
    today: str,
    known: int,
    against: str = "",
) -> Comparison:
    """Return what :func:`compare` makes of a verdict of ``analysis`` beside an entry.

    Raises BaselineDiffers when they were reached with different designs.
    """
    new = entry_of(verdict, analysis.recording, fingerprint)
    return compare(verdict.named, new, entry, today=today, against=against, known=known)


def acceptance_of(settings: Settings) -> Acceptance | None:
    """Return this run's acceptance of what the gate stops; None where words are lacking."""
    asked = settings.accept
    if asked is None or asked.lacking:
        return None
    return Acceptance(reason=asked.reason, owner=asked.owner, until=asked.until)
