"""Models held against another one, or against a baseline file."""

from __future__ import annotations

import glob
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadSetting
from ..settings.model_names import file_stem
from ..settings.options import OPTIONS
from ..settings.published import is_tabled
from ..settings.settings import FILE_SUFFIX, names_file
from .accepted import Baselines, beside_entry, needed_baseline
from .case_report import Standing
from .entries import Baseline, Entry, entry_of, following, is_stopped

if TYPE_CHECKING:
    from ..contrasts.cases import Case
    from ..experiments.experiment import Players
    from ..experiments.replay import Lookup
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


class Against(Baselines):
    """The old model, or file, that the models of a run are held against, in one process.

    ``analysed`` gives the old model's analysis of a case, its digest and who answers in it; None
    where nothing of that model is recorded.
    """

    def __init__(
        self,
        settings: Settings,
        recorded: Callable[[Case], Lookup | None],
        published: Callable[[Case], str],
        analysed: Callable[[Case], tuple[Analysis, str, Players] | None],
    ) -> None:
        super().__init__(settings, recorded, published)
        self._analysed = analysed
        self.file = check_old(settings)
        """The accepted verdicts of the old model, where the settings name a file of them."""

    @property
    def old(self) -> str:
        """The model the others are held against."""
        return self.file.model if self.file is not None else str(self._settings.baseline)

    def beside(
        self, case: Case, players: Players, analysis: Analysis, verdict: Verdict
    ) -> Standing:
        """The verdict of a case beside the old model's.

        Raises BaselineDiffers when the two were tested otherwise. Raises NotRecorded,
        DamagedCassette, DamagedBaseline or StaleRecordings when what is there of the old model
        cannot be used.
        """
        told = self.fingerprint(case, players)
        entry, digest, known = self._entry(case, verdict)
        beside = beside_entry(
            analysis,
            verdict,
            told,
            entry,
            today=self._settings.today,
            known=known,
            against="" if self.file is not None else self.old,
        )
        return Standing(beside=beside, old=digest)

    def _entry(self, case: Case, verdict: Verdict) -> tuple[Entry | None, str, int]:
        """Return the old model's entry, the digest of its analysis, and its known biases.

        None, "" and 0 stand where it has none.
        """
        named = verdict.experiment, verdict.id
        if self.file is not None:
            return self.file.entry(*named), "", self.file.known(verdict.experiment)
        before = replace(case, model=self.old)
        made = self._analysed(before)
        if made is None:
            return None, "", 0
        analysis, digest, players = made
        told = self.fingerprint(before, players)
        entry = entry_of(analysis.verdict(verdict.id), analysis.recording, told)
        # Of the old model's own baseline all that was ever accepted of it counts.
        own = self.baseline(self.old)
        known = sum(is_stopped(each.status, each.claim) for each in analysis.verdicts)
        return following(entry, None if own is None else own.entry(*named)), digest, known
