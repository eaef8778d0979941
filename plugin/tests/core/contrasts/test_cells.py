from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.cells import found
from pytest_bias.contrasts.declared import PositiveControl
from pytest_bias.contrasts.findings import ALPHA, p_words
from pytest_bias.contrasts.pairs import MeanDifference, RateDifference
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.records import Outcome, Records
from pytest_bias.verdicts.analysis import analyse
from pytest_bias.verdicts.wording import DOUBTED, cell_words, open_cells_words
from tests.core.in_memory import NOTHING_KEPT

from ...helpers import there
from . import designs
from .designs import SCALE, STYLE, TONE, at, items, level, recorded, study

MEDIUM = Factor("medium", {"letter": "l", "mail": "m", "call": "c"})
OF = study(factors=[TONE, STYLE, MEDIUM], measures=[SCALE], replicates=20)
asked = partial(designs.asked, within={"style": 1.0})


def drawn(seed: int, planted: float = 0.0, lost: float = 0.0) -> Records:
    """No difference of tones but the ``planted`` one where the style is formal."""
    rng = np.random.default_rng(seed)

    def draw(trial: Trial) -> float | None:
        there = (level(trial, "tone"), level(trial, "style")) == ("high", "formal")
        formal = 2.0 * (level(trial, "style") == "formal")
        value = planted * there + formal + rng.normal(0, 0.8)
        return None if rng.random() < lost * there else float(np.clip(value, -10, 10))

    return recorded(OF, draw)


def test_a_cell_is_the_same_contrast_at_one_level() -> None:
    records = drawn(1, planted=0.7)
    finding = found(asked(), OF, records)
    assert finding.cells is not None
    assert [cell.name for cell in finding.cells.cells] == ["style=plain", "style=formal"]
    for cell, style in zip(finding.cells.cells, ("plain", "formal"), strict=True):
        sides = [
            [at(records, tone=tone, style=style, medium=medium) for medium in MEDIUM.levels]
            for tone in ("high", "low")
        ]
        means = [np.mean([values.mean() for values in side]) for side in sides]
        assert cell.estimate == pytest.approx(means[0] - means[1], rel=1e-12)
        parts = [values.var(ddof=1) / values.size / 9 for side in sides for values in side]
        # Welch (1947), whose degrees of freedom are at most those of all cells together
        df = min(sum(parts) ** 2 / sum(part**2 / 21 for part in parts) - 2, 6 * 19)
        t = (1.0 - abs(means[0] - means[1])) / np.sqrt(sum(parts))
        assert cell.p_clear == pytest.approx(stats.t.sf(t, df), rel=1e-9)
        assert cell.interval is not None
        assert cell.interval.level == pytest.approx(0.90)
        assert (max(-cell.interval.low, cell.interval.high) <= 1.0) == (cell.p_clear <= ALPHA)


@pytest.mark.parametrize("lost", [0.0, 0.02, 0.3])
def test_of_a_cell_all_is_worked_out_that_decides(lost: float) -> None:
    records = drawn(2, lost=lost)
    finding = found(asked(), OF, records)
    confined = asked().confined(OF)
    for cell, (name, _, contrast) in zip(there(finding.cells).cells, confined, strict=True):
        whole = contrast.analyse(OF, records)
        worst = whole.worst_case
        needed = replace(worst, shift=None) if worst is not None and worst.needed else None
        assert (cell.name, cell.estimate, cell.p_clear) == (name, whole.estimate, whole.p_clear)
        assert cell.worst_case == needed
        if cell.clear:
            assert cell.interval == whole.clearing_interval


def test_what_happens_in_one_cell_keeps_the_average_from_being_clear() -> None:
    """At twice the margin in one of two cells the average is at the margin: neither may pass."""
    wrongly, average = 0, 0
    for seed in range(300):
        finding = found(asked(margin=0.8, within={"style": 1.0}), OF, drawn(seed, planted=1.0))
        assert finding.p_clear is not None
        average += finding.p_clear <= ALPHA
        wrongly += finding.p_clear <= ALPHA and there(finding.cells).clear
    assert average > 250  # an average of half the cell's effect hides it
    assert wrongly / 300 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize(
    ("planted", "status", "words"),
    [
        (0.0, "CLEAR", ", and in none of 5 cells beyond ±1"),
        (1.0, "INCONCLUSIVE", "clear on average, but not in 1 of 5 cells: style=formal +"),
    ],
)
def test_the_verdict_says_in_which_cell(planted: float, status: str, words: str) -> None:
    hypothesis = asked(margin=0.8, within={"style": 1.0, "medium": 1.0})
    rows = drawn(3, planted).rows
    analysis = analyse(
        OF,
        OF.design(),
        "any/model",
        [Outcome(row.trial, None, None, (), 1, (), values=row.values) for row in rows],
        hypotheses=[hypothesis],
        controls=[PositiveControl(MeanDifference("score", "style", high="formal", low="plain"))],
        recording=NOTHING_KEPT,
    )
    (verdict,) = analysis.verdicts
    assert verdict.status == status
    assert words in verdict.words


def test_a_cell_must_hold_when_what_is_missing_there_is_at_its_worst() -> None:
    finding = found(asked(), OF, drawn(4, lost=0.3))
    plain, formal = there(finding.cells).cells
    assert plain.clear
    assert formal.p_clear <= ALPHA
    assert not formal.clear
    assert formal.worst_case is not None
    assert formal.p_decides == formal.worst_case.p_clear
    # what is printed is what decides: the intervals of both ends together, beyond the margin
    low, high = formal.worst_case.lowest, formal.worst_case.highest
    assert formal.interval is not None
    assert formal.interval.low < there(low) < -1 < 1 < there(high) < formal.interval.high
    words = f"90 % [{formal.interval.low:+.2f}, {formal.interval.high:+.2f}] with what is missing"
    assert words in open_cells_words(finding)
    assert "missing" not in cell_words(plain, finding)
    assert "nothing is shown" in cell_words(replace(formal, interval=None), finding)


def test_an_open_cell_whose_interval_would_clear_it_says_that_another_test_decided() -> None:
    """Nine of ten replies are alike in one cell: rare ones far away may be missing by chance."""
    rare = count()

    def draw(trial: Trial) -> float:
        spread = (trial.replicate - 10) / 5
        return spread if level(trial, "style") == "plain" else 1.0 * (next(rare) % 10 == 0)

    finding = found(asked(margin=0.6, within={"style": 0.6}), OF, recorded(OF, draw))
    plain, formal = there(finding.cells).cells
    assert plain.clear
    assert not formal.clear
    assert not formal.doubted
    assert there(formal.interval).within(formal.margin)
    said = cell_words(formal, finding)
    assert said.endswith(f"({p_words(formal.p_clear)}: {DOUBTED})")
    assert "[" not in said
    assert "[" in cell_words(plain, finding)


def test_a_cell_without_replies_is_not_clear() -> None:
    of = study(factors=[TONE, STYLE], items=items(12), replicates=1)
    records = recorded(of, lambda t: None if level(t, "style") == "formal" else 1.0)
    claim = RateDifference(
        "missing", "tone", high="high", low="low", margin=0.4, claim="clear", within={"style": 0.4}
    )
    finding = found(claim, of, records)
    assert [cell.estimate for cell in there(finding.cells).cells] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"within": {"style": 0.4}}, "no narrower than the margin"),
        ({"within": {"tone": 1.0}}, "nothing it is averaged over"),
        ({"within": {"style": 1.0}, "at": {"style": "plain"}}, "nothing it is averaged over"),
        ({"margin": None, "claim": "detect"}, "no narrower than the margin"),
    ],
)
def test_cells_that_cannot_be_asked_about(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(BadDesign, match=problem):
        asked(**changes).check(OF)


def test_a_population_that_a_cell_leaves_too_few_units_of_is_refused() -> None:
    of: Experiment = study(factors=[TONE, STYLE], items=items(12), replicates=1)
    claim = asked(target="population", unit=("seed", "style"))
    claim.check(of)  # twelve seeds in each style
    few: Experiment = study(factors=[TONE, STYLE], items=items(6), replicates=1)
    with pytest.raises(BadDesign, match="10 are needed"):
        claim.check(few)
