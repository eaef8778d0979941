"""How the probability of a false alarm is divided over a suite's experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bias.contrasts.cases import Registered
from pytest_bias.errors import BadSetting
from pytest_bias.stats.results import Allocation
from pytest_bias.verdicts.wording import allocation_text
from pytest_bias.workbench.project import divided
from pytest_bias.workbench.study import open_project
from pytest_bias.workbench.suite import registry_of, suite_modules

ROOT = Path(__file__).parents[3]
FAMILIES = {
    "anchoring-prosecutor-sentencing": ("primary", "refusals"),
    "anchoring-prosecutor-sentencing-all-in-one": ("primary", "refusals"),
    "cv-screening": ("anonymised", "any-difference", "groups", "impact", "missing"),
    "linguistic-audit": ("missing", "names with english", "primary"),
    "narrative-personas": (
        *("by scenario", "hesitation", "interactions", "missing", "pro-social", "ses"),
    ),
    "recommendation": ("authors", "missing"),
}


def test_alpha_is_divided_alike_over_the_experiments_it_is_reserved_for() -> None:
    assert divided(0.05, 6, {"a": None, "b": 0.025}) == {"a": 1 / 6, "b": 0.5}
    assert divided(0.04, 1, {"a": None}) == {"a": 1}
    share = Allocation(alarms=0.04, share=1 / 6, families=("a", "b"))
    assert allocation_text(share) == (
        "False alarms: at most 0.0067 in 2 families, 1/6 of the suite's 0.04"
    )


@pytest.mark.parametrize(
    ("alpha", "number", "parts", "words"),
    [
        (
            0.05,
            1,
            {"a": None, "b": None},
            "bias_experiments=1: the suite has 2: a, b; set it",
        ),
        (0.05, 2, {"a": 0.04, "b": None}, "their sum no more than this: a 0.04, b 0.025"),
        (0.05, 1001, {"a": None}, "bias_alpha=0.05: each part must be 0.00005 or more"),
        (0.05, 2, {"a": 1e-12, "b": None}, "each part must be 0.00005 or more"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    alpha: float, number: int, parts: dict[str, float | None], words: str
) -> None:
    with pytest.raises(BadSetting) as raised:
        divided(alpha, number, parts)
    assert words in str(raised.value)


def shipped() -> list[Registered]:
    """What the six experiments declare."""
    return list(registry_of(suite_modules(ROOT / "bias_tests")))


@pytest.mark.parametrize(("number", "share"), [("", 1 / 12), ("bias_experiments = 6", 1 / 6)])
@pytest.mark.parametrize("named", [[], ["cv-screening"], [ROOT / "bias_tests/narrative"]])
def test_each_shipped_experiment_has_the_same_part_whatever_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: str,
    share: float,
    named: list[str],
) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{number}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    project = open_project(named, ROOT / "bias_tests", model=["simulated/even"])
    for case in project.cases:
        found = project.allocation(case.experiment.id)
        families = FAMILIES[case.experiment.id]
        assert found == Allocation(alarms=0.05, share=share, families=families)
    assert len(project.cases) == (1 if named else 6)


@pytest.mark.parametrize("registered", shipped(), ids=lambda each: each.experiment.id)
def test_every_margin_of_the_shipped_experiments_that_gates_says_why(
    registered: Registered,
) -> None:
    gating = [each for each in registered.hypotheses.values() if each.claim != "describe"]
    assert gating
    silent = [
        each.id for each in gating if getattr(each, "margin", 0) and not getattr(each, "why", "")
    ]
    assert silent == []
