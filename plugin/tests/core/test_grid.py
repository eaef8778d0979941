"""The grid of a calibration: what matters most is drawn first, and nothing is drawn twice."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from pytest_bias.calibration.grid import full, gate
from pytest_bias.calibration.lines import GridCell
from pytest_bias.calibration.planting import PlantedSubject, touches, truth_of
from pytest_bias.calibration.running import blocks_of
from pytest_bias.cli.calibrate import declared_by, on_record
from pytest_bias.contrasts.cases import Registry

RECORDED = [("linguistic-audit", "local/one"), ("linguistic-audit", "local/other")]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return declared_by("bias_tests").registry


@pytest.fixture(scope="module")
def cells(registry: Registry) -> list[GridCell]:
    return [*full(registry, RECORDED)]


def _planted(cells: list[GridCell], amount: str, accepted: str = "") -> set[tuple[str, str]]:
    return {
        (cell.experiment, plant.name)
        for cell in cells
        if cell.subject.startswith("even+") and cell.accepted == accepted
        for plant in PlantedSubject(cell.subject).plants
        if plant.amount == float(amount) and not plant.how and not plant.at
    }


def test_what_matters_most_comes_first_and_stands_there_once(
    cells: list[GridCell], registry: Registry
) -> None:
    subjects = list(dict.fromkeys(cell.subject for cell in cells))
    assert subjects[:4] == ["even", "local/one", "local/other", "biased"]
    blocks = blocks_of(cells, [], seed=1)
    draws = Counter(
        (block.cell.experiment, block.cell.subject, block.cell.accepted, draw)
        for block in blocks
        for draw in block.wanted
    )
    assert set(draws.values()) == {1}
    per = Counter((experiment, subject) for experiment, subject, _, _ in draws)
    assert {per[each.experiment.id, "even"] for each in registry} == {400}
    assert per["linguistic-audit", "local/one"] == 200


@pytest.mark.parametrize(("end", "write"), [("", bytes), (".gz", gzip.compress)])
def test_a_local_model_counts_as_recorded_plain_and_packed(
    registry: Registry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
    write: Callable[[bytes], bytes],
) -> None:
    root, name = Path(__file__).parents[3], Path("cassettes/linguistic-audit/local--smollm2.jsonl")
    (tmp_path / name.parent).mkdir(parents=True)
    (tmp_path / f"{name}{end}").write_bytes(write((root / name).read_bytes()))
    (tmp_path / "bias_models.toml").write_bytes((root / "bias_models.toml").read_bytes())
    monkeypatch.chdir(tmp_path)
    only = ("linguistic-audit", "local/smollm2")
    assert on_record(registry, ["linguistic-audit"]) == [only]


def test_every_kind_of_claim_has_its_effects_planted(
    cells: list[GridCell], registry: Registry
) -> None:
    twice = _planted(cells, "2")
    assert twice == _planted(cells, "1") == _planted(cells, "0.5")
    assert ("cv-screening", "rating-total-bias") in twice
    worse = {experiment for experiment, _ in _planted(cells, "1", "even")}
    assert worse == {each.experiment.id for each in registry}
    for cell in cells:
        if "/" not in cell.subject:
            PlantedSubject(cell.subject).check([registry[cell.experiment]])


def test_effects_that_are_planted_at_once_do_not_touch(
    cells: list[GridCell], registry: Registry
) -> None:
    together = 0
    for cell in cells:
        if "/" in cell.subject:
            continue
        subject = PlantedSubject(cell.subject)
        registered = registry[cell.experiment]
        names = {p.name for p in subject.plants if p.name in registered.hypotheses}
        for one, other in combinations(sorted(names), 2):
            together += 1
            assert not touches(registered.hypotheses[one], registered.hypotheses[other])
    assert together


def test_the_truth_is_known_of_each_of_several_effects(registry: Registry) -> None:
    registered = registry["narrative-personas"]

    def truth(name: str, *plants: str) -> float | None:
        subject = PlantedSubject("+".join(["even", *plants]))
        return truth_of(registered, registered.hypotheses[name], subject)

    low, longer, poor = (
        "pro_social-white_male-rest=2",
        "hesitation-white_male-rest=1",
        "pro_social-financial_stress-neutral=1",
    )
    margin = 0.1
    assert truth("pro_social-white_male-rest", low, longer, poor) == pytest.approx(-2 * margin)
    assert truth("pro_social-financial_stress-neutral", low, longer, poor) == pytest.approx(
        -margin
    )
    assert truth("hesitation-black_male-rest", low) == 0
    assert truth("pro_social-black_male-rest", low) is None
    assert truth("missing-white_male-rest", low) is None
    assert truth("pro_social-persona-x-group", "pro_social-white_male-rest@noir=2") is None


def test_the_gate_draws_every_experiment_and_plants_effects_in_the_quick_ones(
    registry: Registry,
) -> None:
    few = [*gate(registry)]
    drawn = {cell.experiment for cell in few if cell.subject == "even"}
    assert drawn == {each.experiment.id for each in registry}
    assert {cell.experiment for cell in few if cell.subject != "even"} == {
        "anchoring-prosecutor-sentencing",
        "anchoring-prosecutor-sentencing-all-in-one",
    }
