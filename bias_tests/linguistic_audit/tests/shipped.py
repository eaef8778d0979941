"""What the shipped cassettes of the audit hold, and what their analysis finds."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pytest_bias.cassettes.recorded_trials import reread
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.records import Outcome, Recording
from pytest_bias.verdicts.analysis import Analysis, analyse

from ..experiment import LINGUISTIC_AUDIT
from ..hypotheses import ALL, CONTROLS

ROOT = Path(__file__).parents[3]
RECORDING = Recording(
    cassette="", checksum="", simulated=True, wire="", recorded_with="", interactions=0
)


def path_of(subject: str) -> Path:
    """The shipped cassette of a simulated subject."""
    return cassette_path(ROOT / "cassettes", LINGUISTIC_AUDIT.id, f"simulated/{subject}")


@cache
def outcomes(subject: str, design: str = "gate") -> tuple[Outcome, ...]:
    """Every trial of a design, replayed."""
    cassette = Cassette(path_of(subject))
    roles = ModelRoles(f"simulated/{subject}")
    return tuple(
        reread(LINGUISTIC_AUDIT, roles, trial, cassette)
        for trial in plan(LINGUISTIC_AUDIT, LINGUISTIC_AUDIT.design(design))
    )


@cache
def analysed(subject: str, design: str = "gate") -> Analysis:
    """The analysis of all that is asked."""
    return analyse(
        LINGUISTIC_AUDIT,
        LINGUISTIC_AUDIT.design(design),
        f"simulated/{subject}",
        outcomes(subject, design),
        hypotheses=ALL,
        controls=CONTROLS,
        recording=RECORDING,
    )
