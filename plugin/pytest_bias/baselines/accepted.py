"""Baselines of a run: read, and compared with each of its verdicts; and those of an upgrade."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..cassettes.files import read_file
from ..cassettes.staleness import served_otherwise
from ..contrasts.declared import Hypothesis
from ..errors import BadSetting, NotReadable
from ..experiments.checks.prompts import PromptDigests, prompt_digests
from ..experiments.design import Design
from ..settings.model_names import file_stem
from ..settings.options import OPTIONS
from ..settings.roster import PUBLISHED, is_tabled
from ..settings.settings import FILE_SUFFIX, names_file
from ..verdicts.analysis import Analysis
from .entries import (
    Acceptance,
    Baseline,
    baseline_from,
    damaged_baseline,
    entry_of,
    following,
    is_stopped,
)
from .fingerprints import fingerprint_of, without_model_settings
from .gate import ABSOLUTE, Comparison, compare

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..experiments.experiment import ModelRoles
    from ..experiments.source import ReplySource
    from ..settings.settings import Settings
    from ..verdicts.verdict import Verdict


def baseline_path(folder: Path, model: str) -> Path:
    """``<folder>/<provider>--<model>.json``."""
    return folder / f"{file_stem(model)}.json"


def read_baseline(folder: Path, model: str) -> Baseline | None:
    """Return the baseline of a model; None when there is none.

    Raises NotReadable when there is something else in its place.
    """
    path = baseline_path(folder, model)
    baseline = _baseline_in(path)
    if baseline is not None and baseline.model != model:
        named = baseline_path(Path(), baseline.model)
        problem = f"it holds the verdicts of {baseline.model} and belongs at {named}"
        raise damaged_baseline(path, problem)
    return baseline


def needed_baseline(path: Path) -> Baseline:
    """The baseline in a file, whatever model it is of; NotReadable for anything else."""
    baseline = _baseline_in(path)
    if baseline is None:
        raise damaged_baseline(path, "it cannot be read (there is no such file)")
    return baseline


def _baseline_in(path: Path) -> Baseline | None:
    try:
        data = read_file(path)
        return None if data is None else _parsed(data, path)
    except UnicodeDecodeError:
        raise damaged_baseline(path, "it is no text") from None
    except NotReadable as error:
        raise damaged_baseline(path, error.problem, error.hint) from None


@lru_cache(maxsize=16)
def _parsed(data: bytes, path: Path) -> Baseline:
    """Return the baseline that these bytes are: a run comes to the same file at several places."""
    return baseline_from(data.decode(), path)


def old_baseline(settings: Settings) -> Baseline | None:
    """Read the baseline file that ``baseline`` names; None where it names a model, or nothing.

    Nothing has been analysed or paid for then. Raises BadSetting when it is neither a baseline
    file nor a model of which anything is recorded, NotReadable when the file is not what was
    written.
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


class Baselines:
    """Compares the verdicts of a run, in one process, with accepted ones or with an old model's.

    ``source`` gives the source of a case's replies; ``analysed`` gives an old model's analysis of
    a case, its digest and who answers in it, None where nothing of that model is recorded.
    """

    def __init__(
        self,
        settings: Settings,
        source: Callable[[Case], ReplySource],
        analysed: Callable[[Case], tuple[Analysis, str, ModelRoles] | None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._source = source
        self._analysed = analysed
        self._file = old_baseline(settings)
        self._prompts: dict[tuple[object, ...], PromptDigests] = {}

    def compare(
        self, case: Case, roles: ModelRoles, analysis: Analysis, verdict: Verdict
    ) -> Comparison:
        """Compare the verdict of a case with the accepted one, or with an old model's.

        Raises BaselineDiffers, NotRecorded, DamagedCassette, NotReadable or StaleRecordings
        when the two cannot be compared.
        """
        settings, recording = self._settings, analysis.recording
        if settings.baseline is not None:
            return self._compared_with_old(case, roles, analysis, verdict)
        if settings.accept is not None:
            # What is accepted in this run is not compared with what was accepted before.
            told, acceptance = self.fingerprint(case, roles), acceptance_of(settings)
            if acceptance is None or not is_stopped(verdict.status, verdict.claim):
                return Comparison(fingerprint=told)
            words = f"{acceptance}, in this run"
            return Comparison(words=words, acceptance=acceptance, tolerated=True, fingerprint=told)
        baseline = None if settings.gate == "off" else self._accepted(case.model)
        if baseline is None:
            return ABSOLUTE
        entry = baseline.entry(verdict.experiment, verdict.id)
        new = entry_of(verdict, recording, self.fingerprint(case, roles))
        known = baseline.known(verdict.experiment)
        found = compare(verdict.named, new, entry, today=settings.today, known=known)
        served = () if entry is None else entry.served
        other = served_otherwise(verdict.experiment, case.model, recording, accepted=served)
        if entry is not None and other:
            raise other
        return found

    def _compared_with_old(
        self, case: Case, roles: ModelRoles, analysis: Analysis, verdict: Verdict
    ) -> Comparison:
        """Compare with the old model's entry, and what was accepted of that model before.

        What the roster has each of them sent is what is compared, and no other design.
        """
        new = entry_of(
            verdict,
            analysis.recording,
            without_model_settings(self.fingerprint(case, roles)),
        )
        named, today = (verdict.experiment, verdict.id), self._settings.today
        if self._file is not None:
            entry, known = self._file.entry(*named), self._file.known(verdict.experiment)
            if entry is not None:
                bare = without_model_settings(entry.fingerprint)
                entry = replace(entry, fingerprint=bare)
            found = compare(verdict.named, new, entry, today=today, known=known)
            return replace(found, old="")
        entry, known, digest, old = None, 0, "", str(self._settings.baseline)
        before = replace(case, model=old)
        if (made := self._analysed(before)) is not None:
            of_old, digest, who = made
            told = without_model_settings(self.fingerprint(before, who))
            own = self._accepted(old)
            entry = following(
                entry_of(of_old.verdict(verdict.id), of_old.recording, told),
                None if own is None else own.entry(*named),
            )
            known = sum(is_stopped(each.status, each.claim) for each in of_old.verdicts)
        found = compare(verdict.named, new, entry, today=today, against=old, known=known)
        return replace(found, old=digest)

    def fingerprint(self, case: Case, roles: ModelRoles) -> Mapping[str, object]:
        """Return the fingerprint of a case: all its verdict depends on besides the replies."""
        assert isinstance(case.contrast, Hypothesis)  # noqa: S101  (no controls come here)
        experiment = case.experiment
        if source := self._source(case).prompts_from:
            # Its prompts are not known, but that all of its models were told the same.
            told = PromptDigests(subject={c.id: f"as in {source}" for c in experiment.conditions})
            design, judged = Design(1, PUBLISHED), experiment.judged_by(roles)
            return fingerprint_of(experiment, design, case.contrast, judged, told=told)
        return fingerprint_of(
            experiment,
            case.design,
            case.contrast,
            experiment.judged_by(roles),
            sampled=experiment.terms(roles)["subject"],
            told=self._prompt_digests(case, roles),
            lenient="subject" in roles.lenient,
        )

    def _prompt_digests(self, case: Case, roles: ModelRoles) -> PromptDigests:
        """Digests of the prompts of a case's experiment, made once for each size of its design.

        They are the same for every model, but where only recorded replies lead to the judge's.
        """
        experiment = case.experiment
        recorded = None
        if experiment.judge is not None and experiment.simulated is None:
            recorded = self._source(case).lookup
        model = case.model if recorded is not None else ""
        key = (experiment.id, replace(case.design, replicates=1, name=""), model)
        if key not in self._prompts:
            self._prompts[key] = prompt_digests(experiment, case.design, roles, recorded)
        return self._prompts[key]

    def may_tolerate(self, model: str) -> bool:
        """True if a verdict of a model may be tolerated."""
        settings = self._settings
        if settings.accept is not None or settings.baseline is not None:
            return True
        return (
            settings.baselines is not None and baseline_path(settings.baselines, model).is_file()
        )

    def _accepted(self, model: str) -> Baseline | None:
        """Return a model's accepted verdicts; None without any, or where none are kept."""
        folder = self._settings.baselines
        return None if folder is None else read_baseline(folder, model)


def acceptance_of(settings: Settings) -> Acceptance | None:
    """Return this run's acceptance of what the gate stops; None where words are lacking."""
    asked = settings.accept
    if asked is None or asked.lacking:
        return None
    return Acceptance(reason=asked.reason, owner=asked.owner, until=asked.until)
