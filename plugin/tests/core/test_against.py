"""What is held against an old model, and what cannot be: another design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_bias.baselines.accepted import Baselines
from pytest_bias.baselines.gate import BaselineDiffers
from pytest_bias.contrasts.cases import Case
from pytest_bias.experiments.experiment import ModelRoles
from pytest_bias.settings.settings import Settings

from .report.factory import analysis, finding, verdict

OLD, NEW = "openai/old", "openai/new"


class Fingerprinted(Baselines):
    """A case's fingerprint is who graded its replies; ``judge`` did so those of OLD."""

    judge = 0

    def fingerprint(self, case: Case, roles: ModelRoles) -> Mapping[str, object]:
        assert roles is PLAYERS
        return {"judge": self.judge if case.model == OLD else 0}


PLAYERS = ModelRoles(OLD)


def against(folder: Path, judge: int = 0) -> Baselines:
    """Held against OLD, of which there is a recording."""
    (folder / "anchoring").mkdir()
    (folder / "anchoring" / "openai--old.jsonl").touch()
    found = replace(analysis(replace(verdict(finding()), model=OLD)), model=OLD)
    settings = Settings(
        models=(NEW,), baseline=OLD, cassettes=folder, baselines=None, report=None, results=None
    )
    made = Fingerprinted(
        settings, lambda _: cast("Any", None), lambda _: (found, "digest", PLAYERS)
    )
    made.judge = judge
    return made


def held(by: Baselines) -> str:
    now = replace(verdict(finding()), model=NEW)
    case = Case("hypothesis", cast("Any", None), NEW, cast("Any", None))
    found = by.compare(case, PLAYERS, analysis(now), now)
    assert found.old == "digest"
    return found.outcome


def test_an_old_model_of_the_same_design_is_compared(tmp_path: Path) -> None:
    assert held(against(tmp_path)) == "known"


def test_an_old_model_that_was_tested_otherwise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BaselineDiffers) as refused:
        held(against(tmp_path, judge=1))
    assert "  judge: 1 → 0" in str(refused.value)
