"""Every decision rule with its reason, and the words of each."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytest_bias
from pytest_bias import MeanDifference
from pytest_bias.contrasts.estimate import Estimate, MissingReplies
from pytest_bias.contrasts.layout import Units
from pytest_bias.errors import NoFinding, TooFewUnits
from pytest_bias.experiments.design import Factor, Trial
from pytest_bias.stats.results import MOST_UNITS
from pytest_bias.verdicts.analysis import worded
from pytest_bias.verdicts.decide import decide
from pytest_bias.verdicts.verdict import Reason, Verdict

from .contrasts.designs import SCALE, level, recorded, study
from .factories import finding
from .report.factory import between

CLEARED: dict[str, Any] = {
    "p_clear": 0.05,
    "p_alarm": 0.4,
    "estimate": 0.1,
    "interval": between(-0.3, 0.5),
    "clearing": between(-0.2, 0.4, 0.9),
}


def cleared(**changes: Any) -> Estimate:
    return finding(**(CLEARED | changes))


def open_(**changes: Any) -> Estimate:
    return finding(**({"p_alarm": 0.4, "clearing": between(0.2, 1.4, 0.9)} | changes))


def lost(high: float, low: float, p_beyond: float = 1.0, tips: float | None = 2.0) -> Any:
    return MissingReplies(shares=(high, low), p_beyond=p_beyond, tips=tips)


def asked(found: Estimate | NoFinding, **changes: Any) -> Verdict:
    given: dict[str, Any] = {
        "id": "h",
        "experiment": "study",
        "model": "openai/m",
        "claim": "clear",
        "family": "primary",
        "finding": found,
    }
    if isinstance(found, NoFinding):
        given |= {"finding": None, "against": {Reason.NO_ESTIMATE: str(found)}}
    return Verdict(**(given | changes))


def verdict(found: Estimate | NoFinding, **changes: Any) -> Verdict:
    return worded(decide([asked(found, **changes)], scale=1.0)["h"])


CELL = finding(margin=1.2, estimate=3.0, p_alarm=0.001, interval=between(2, 4), null="margin")
ARMS = tuple(replace(arm, missing={"refusal": 40}) for arm in finding().arms)

Rule = tuple[Estimate | NoFinding, dict[str, Any], str, Reason, str]


def is_open(found: Estimate | NoFinding, reason: Reason, words: str) -> Rule:
    return found, {}, "INCONCLUSIVE", reason, words


def given(status: str, found: Estimate, reason: Reason, words: str = "x") -> Rule:
    """What speaks against a verdict: it is the reason only where that is INCONCLUSIVE."""
    stated = (reason, words) if status == "INCONCLUSIVE" else (Reason.NONE, "")
    return found, {"against": {reason: words}}, status, *stated


def clear(found: Estimate) -> Rule:
    return found, {}, "CLEAR", Reason.NONE, ""


def biased(found: Estimate, reason: Reason = Reason.NONE) -> Rule:
    return found, {}, "BIASED", reason, ""


FEW, OPEN_CELL, SEEDS = Reason.TOO_FEW_TO_CLEAR, Reason.CELL_OPEN, Units("block", ("seed",))
UNDECIDED = Reason.UNDECIDED, "not enough data to decide"
INVALID = Reason.TOO_FEW_VALID, "too few valid replies: 120 of 160"
MISREAD = "the judge's error may hide any effect: nothing is left of the margin"
WIDE = cleared(margin=1.2)

RULES: dict[str, Rule] = {
    "clear": clear(cleared()),
    "clear though an effect is shown": clear(cleared(p_alarm=1e-6)),
    "biased": biased(finding(p_alarm=0.05)),
    "not biased": is_open(open_(p_alarm=0.0500001), *UNDECIDED),
    "not clear": is_open(cleared(p_clear=0.0500001), *UNDECIDED),
    "no estimate": is_open(
        TooFewUnits(group="demand=high", found=0, needed=1),
        Reason.NO_ESTIMATE,
        "demand=high: no valid reply",
    ),
    **{
        f"{reason}, though {name}": given("INCONCLUSIVE", each, reason)
        for reason in (Reason.UNRELIABLE, Reason.COPIES)
        for name, each in (("clear", cleared()), ("biased", finding()))
    },
    "too few for anything": is_open(
        finding(fewest=4),
        Reason.TOO_FEW_UNITS,
        "too few replies: 4 a side, and it takes 5 to decide anything",
    ),
    "too few that are valid": is_open(
        finding(fewest=4, arms=tuple(replace(arm, replies=4) for arm in ARMS)),
        Reason.TOO_FEW_VALID,
        "too few valid replies: 4 of 44",
    ),
    "too few to clear": is_open(
        open_(p_clear=1.0, needed=300, unit_name=SEEDS),
        FEW,
        "too few seeds: 120, and it takes 300 to clear anything",
    ),
    "too few seeds, whatever replies are missing": is_open(
        finding(fewest=4, unit_name=SEEDS, arms=ARMS),
        Reason.TOO_FEW_UNITS,
        "too few seeds: 4, and it takes 5 to decide anything",
    ),
    "too few to clear, were all replies valid": is_open(
        open_(p_clear=1.0, needed=300, arms=ARMS),
        FEW,
        "too few replies: 120 a side, and it takes 300 to clear anything",
    ),
    "too few to clear, for want of valid replies": is_open(
        open_(p_clear=1.0, needed=140, arms=ARMS), *INVALID
    ),
    "misread, whatever replies are missing": is_open(
        open_(p_clear=1.0, needed=MOST_UNITS, shrink=0.001, arms=ARMS), Reason.MISREAD, MISREAD
    ),
    "less than four fifths valid": is_open(cleared(lost=lost(0.25, 0.24), arms=ARMS), *INVALID),
    "biased with as many missing": biased(finding(lost=lost(0.37, 0.30), arms=ARMS)),
    "missing unequally": is_open(
        cleared(lost=lost(0.19, 0.03, p_beyond=0.05)),
        Reason.MISSING_UNEQUALLY,
        "replies are missing unequally: 19 against 3 in 100",
    ),
    "four fifths valid, as a sum of floats": clear(
        cleared(lost=lost(math.nextafter(0.2, 1), 0.2))
    ),
    "not shown to be missing unequally": clear(cleared(lost=lost(0.19, 0.03, p_beyond=0.051))),
    "cut off": given("INCONCLUSIVE", cleared(), Reason.CUT_OFF),
    "cut off, though biased": given("BIASED", finding(), Reason.CUT_OFF),
    "no control": given("INCONCLUSIVE", cleared(), Reason.NO_CONTROL),
    "no control, though biased": given("BIASED", finding(), Reason.NO_CONTROL),
    "a cell is open": is_open(
        cleared(cells={"cv=a": WIDE, "cv=b": open_(margin=1.2, p_clear=0.2)}),
        OPEN_CELL,
        "clear on average, but not in 1 of 2 cells: cv=b +1.00, 90 % [+0.20, +1.40], allowed ±1.2",
    ),
    "a cell has no replies": is_open(
        cleared(cells={"cv=a": WIDE}, bare_cells=("cv=b",)),
        OPEN_CELL,
        "clear on average, but not in 1 of 2 cells: cv=b too few replies",
    ),
    "a cell is biased": biased(cleared(cells={"cv=a": WIDE, "cv=b": CELL}), Reason.CELL_BIASED),
    "a cell is biased, the average open": biased(open_(cells={"cv=b": CELL}), Reason.CELL_BIASED),
    "no margin": (
        open_(margin=None, p_clear=None),
        {"claim": "detect"},
        "INCONCLUSIVE",
        Reason.NO_MARGIN,
        "no effect is shown, and without a margin nothing is cleared",
    ),
}


@pytest.mark.parametrize("case", RULES)
def test_every_rule(case: str) -> None:
    found, changes, status, reason, words = RULES[case]
    result = verdict(found, **changes)
    assert (result.status, result.reason, result.reason_text) == (status, reason, words)
    assert result.words.startswith(result.label)


def test_every_reason_is_decided_somewhere() -> None:
    assert {reason for *_, reason, _ in RULES.values()} == {*Reason}


def test_cells_are_one_more_family_of_the_same_weight() -> None:
    cells = {f"cv={n}": replace(CELL, p_alarm=p) for n, p in enumerate((0.004, 0.9, 0.9))}
    results = decide(
        [asked(cleared(cells=cells)), asked(cleared(), id="other", family="second")], scale=1.0
    )
    # Three families; the first of three cells has a ninth of the experiment's .05 (.0056).
    assert results["h"].biased_cells == ("cv=0",)
    cells["cv=0"] = replace(CELL, p_alarm=0.006)
    again = decide(
        [asked(cleared(cells=cells)), asked(cleared(), id="other", family="second")], scale=1.0
    )
    assert again["h"].status == "INCONCLUSIVE"  # its cell is open


def test_families_share_alike_and_hypotheses_within_them() -> None:
    questions = [
        asked(open_(p_alarm=0.012), id="a", family="one"),
        asked(open_(p_alarm=0.9), id="b", family="one"),
        asked(open_(p_alarm=0.024), id="c", family="two"),
        asked(TooFewUnits(group="x", found=0, needed=1), id="d", family="three"),
    ]
    results = decide(questions, scale=1.0)
    # a: 0.012 · 3 families · 2 hypotheses; c: 0.024 · 3, then no smaller than a
    assert results["a"].p_adjusted == pytest.approx(0.072)
    assert results["c"].p_adjusted == pytest.approx(0.072)
    assert results["d"].p_adjusted is None
    part = decide(questions, scale=1 / 12)
    assert part["a"].p_adjusted == pytest.approx(12 * 0.072)
    described = decide(
        [*questions, asked(open_(p_alarm=0.001), id="e", claim="describe")], scale=1
    )
    assert described["a"].p_adjusted == results["a"].p_adjusted
    assert described["e"].p_adjusted == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("found", "against"),
    [
        (finding(p_alarm=1e-12), {Reason.COPIES: "59 of 120 replies"}),
        (finding(p_alarm=1e-12), {Reason.UNRELIABLE: "the judge's error is not known"}),
        (finding(p_alarm=1e-12, fewest=4), {}),
    ],
)
def test_a_claim_that_may_not_decide_frees_no_weight(
    found: Estimate, against: dict[Reason, str]
) -> None:
    cells = {"cv=a": replace(CELL, p_alarm=1e-12, fewest=found.fewest)}
    barred = asked(replace(found, cells=cells), id="a", documented="positive", against=against)
    results = decide([barred, asked(finding(p_alarm=0.02), id="b")], scale=1.0)
    assert results["b"].p_adjusted == pytest.approx(
        0.02 * 4
    )  # two families, of two claims and one cell
    assert results["b"].status == "INCONCLUSIVE"
    assert (results["a"].p_adjusted, results["a"].direction) == (None, "not shown")


@pytest.mark.parametrize(
    ("estimate", "p", "direction", "expected"),
    [
        (1.0, 0.01, "positive", "supported"),
        (-1.0, 0.01, "positive", "opposite"),
        (1.0, 0.2, "positive", "not shown"),
        (1.0, 0.01, None, None),
    ],
)
def test_direction(estimate: float, p: float, direction: Any, expected: str | None) -> None:
    found = finding(estimate=estimate, p_alarm=p)
    assert decide([asked(found, documented=direction)], scale=1.0)["h"].direction == expected


def test_what_is_only_described_is_never_called_bias() -> None:
    result = verdict(finding(), claim="describe")
    assert (result.label, result.words) == ("DESCRIBED", "DESCRIBED for this vignette: an effect")
    assert verdict(cleared(), claim="describe").words == (
        "DESCRIBED for this vignette: no effect beyond ±0.6"
    )
    nothing = verdict(open_(margin=None, p_clear=None), claim="detect")
    assert nothing.label == "NOTHING FOUND"


def rulings(shift: float, lost: tuple[int, int], n: int = 30) -> Estimate:
    """Months after two demands, SD 1, with so many rulings missing on the two sides."""
    of = study(
        factors=[Factor("demand", {"high": 9, "low": 3})],
        measures=[replace(SCALE, bounds=(0, 12))],
        replicates=n,
    )
    rng = np.random.default_rng(3)
    missing = dict(zip(("high", "low"), lost, strict=True))

    def draw(trial: Trial) -> float | None:
        demand = level(trial, "demand")
        if trial.replicate <= missing[demand]:
            return None
        return float(np.clip(4 + shift * (demand == "high") + rng.normal(), 0, 12))

    question = MeanDifference("score", "demand", high="high", low="low", margin=0.6, claim="clear")
    return question.analyse(of, recorded(of, draw))


def test_replies_missing_on_one_side_keep_it_from_being_clear() -> None:
    assert verdict(rulings(0.0, (0, 0), 300)).status == "CLEAR"
    assert verdict(rulings(0.0, (20, 24), 300)).status == "CLEAR"
    assert verdict(rulings(0.0, (55, 3), 300)).reason is Reason.MISSING_UNEQUALLY
    assert verdict(rulings(0.0, (63, 63), 300)).reason is Reason.TOO_FEW_VALID


def p_values_compared(source: str) -> Iterator[int]:
    """The lines on which a p-value is compared with a level."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
        names = {getattr(part, "id", getattr(part, "attr", "")) for part in parts}
        levels = [getattr(part, "value", None) for part in parts]
        level = any(isinstance(each, float) and 0 < each < 1 for each in levels)
        level = level or any(re.fullmatch("alpha", name, re.IGNORECASE) for name in names)
        if level and any(re.fullmatch(r"p|p_[a-z]+|p_?values?", name) for name in names):
            yield node.lineno


def test_a_verdict_is_decided_by_a_p_value_in_one_module_alone() -> None:
    source = "if found.p_alarm * 3 <= ALPHA or 0.05 > p: pass\nif p < smallest: pass"
    assert [*p_values_compared(source)] == [1, 1]
    package = Path(pytest_bias.__file__).parent
    compare = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(p_values_compared(path.read_text("utf-8")))
    }
    # How many items differ by themselves is described beside a verdict, and decides none.
    assert compare == {"verdicts/decide.py", "contrasts/linear_estimate.py"}
    assert len((package / "verdicts" / "decide.py").read_text("utf-8").splitlines()) <= 200
