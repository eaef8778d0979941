"""Reports of cases, as they travel from the process that ran one to the process that decides.

The text goes through pytest's reports, and so through whatever else takes part in a run: it has a
version, and is checked when it arrives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ..errors import BadJSON
from ..experiments.canonical import Strict, dumps, parsed_as
from ..verdicts.verdict import HypothesisName, Status
from .gate import ABSOLUTE, Comparison

FORMAT = 1
"""Version of a report's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport(Strict):
    """Result of a case.

    ``analysis`` is the digest of the analysis it rests on, ``id`` the hypothesis or control, both
    empty of a condition. ``stopped`` is whether the gate stopped it, ``stale`` why its recordings
    no longer represent the model, where no gate says so.
    """

    kind: Literal["condition", "control", "hypothesis"]
    experiment: str
    model: str
    stopped: bool
    id: str = ""
    status: Status | None = None
    analysis: str = ""
    stale: str = ""
    comparison: Comparison = ABSOLUTE
    format: int = FORMAT

    @property
    def named(self) -> HypothesisName:
        """Experiment, model and hypothesis or control."""
        return self.experiment, self.model, self.id

    @property
    def known(self) -> bool:
        """Whether it says itself why it passes: an acceptance, or what the old model shows too."""
        found = self.comparison
        return found.tolerated and (found.acceptance or found.old) is not None

    @property
    def fails(self) -> bool:
        """Whether it stops an upgrade, which no xfail of the user's covers."""
        upgrade = self.comparison.old is not None
        return self.stopped and upgrade and not self.comparison.tolerated

    def to_json(self) -> str:
        """Return the text that :func:`case_report` reads."""
        return dumps(self, "case report")


@lru_cache(maxsize=2**6)
def case_report(text: str) -> CaseReport:
    """Return the report that :meth:`CaseReport.to_json` wrote.

    Raises BadJSON for anything else, another version's report among it.
    """
    version = parsed_as(dict[str, object], text).get("format")
    if version != FORMAT:
        problem = f"its format is {version}, this version reads {FORMAT}"
        raise BadJSON(path="", problem=problem)
    return parsed_as(CaseReport, text)
