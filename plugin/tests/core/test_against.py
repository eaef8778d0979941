"""What cannot be held against an old model: another design, and replies of several models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_bias.baselines.gate import BaselineDiffers
from pytest_bias.baselines.upgrade import Against
from pytest_bias.contrasts.cases import Case
from pytest_bias.errors import StaleRecordings
from pytest_bias.settings.roster import ModelEntry, Roster
from pytest_bias.settings.settings import Settings

from .report.factory import analysis, finding, verdict

OLD, NEW = "openai/old", "openai/new"


def against(folder: Path, served: tuple[str, ...] = ("old-1",), judge: int = 0) -> Against:
    """Held against OLD, of which there is a recording; ``judge`` is who graded it."""
    (folder / "anchoring").mkdir()
    (folder / "anchoring" / "openai--old.jsonl").touch()
    found = analysis(replace(verdict(finding()), model=OLD))
    found = replace(found, model=OLD, recording=replace(found.recording, served=served))
    fingerprints = {OLD: {"judge": judge}, NEW: {"judge": 0}}
    accepted = SimpleNamespace(
        fingerprint=lambda case, _players: fingerprints[case.model], baseline=lambda _model: None
    )
    return Against(
        Settings(
            models=(NEW,),
            baseline=OLD,
            cassettes=folder,
            baselines=None,
            report=None,
            results=None,
        ),
        cast("Any", accepted),
        analysis=lambda _case: (found, "digest"),
        players=lambda _case: cast("Any", None),
        recorded=lambda _case: True,
        roster=Roster({OLD: ModelEntry(served=frozenset({"old-1"}))}),
    )


def held(by: Against) -> str:
    now = replace(verdict(finding()), model=NEW)
    case = Case("hypothesis", cast("Any", None), NEW, cast("Any", None))
    return by.beside(case, cast("Any", None), analysis(now), now).beside.outcome


def test_an_old_model_of_one_design_and_one_served_model_is_compared(tmp_path: Path) -> None:
    assert held(against(tmp_path)) == "known"


def test_an_old_model_that_was_tested_otherwise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BaselineDiffers) as refused:
        held(against(tmp_path, judge=1))
    assert "  judge: 1 → 0" in str(refused.value)


def test_an_old_model_that_was_several_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StaleRecordings) as refused:
        held(against(tmp_path, served=("old-1", "old-2")))
    assert "2 models answered as openai/old: old-1, old-2" in str(refused.value)
