"""Analyses with fixed, made-up numbers, each part replaceable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_bias.baselines.entries import is_stopped
from pytest_bias.contrasts.estimate import (
    Arm,
    CategorySummary,
    Estimate,
    Index,
    MeasureSummary,
    PublishedColumn,
)
from pytest_bias.contrasts.layout import REPLIES
from pytest_bias.contrasts.people import HumanComparison
from pytest_bias.experiments.messages import Parameters
from pytest_bias.experiments.records import CellCount, Config, Recording
from pytest_bias.report.run import RunResult
from pytest_bias.stats.results import Bootstrap, Description, EffectSize, Interval
from pytest_bias.verdicts.analysis import Analysis
from pytest_bias.verdicts.verdict import Control, Reason, Verdict
from pytest_bias.verdicts.wording import reason_sentence, verdict_text

LOW = (3.0, 4.0, 4.0, 4.0, 5.0, 6.0)
HIGH = (4.0, 5.0, 6.0, 6.0, 6.0, 9.0)


def between(low: float, high: float, level: float = 0.95) -> Interval:
    return Interval(low=low, high=high, level=level)


def arm(level: str, mean: float, units: int = 6, **missing: int) -> Arm:
    return Arm(level=level, value={"low": "3", "high": "9"}[level], units=units, replies=units,
               missing=missing, mean=mean)  # fmt: skip


def human(**changed: Any) -> HumanComparison:
    fields: dict[str, Any] = {
        "low_mean": 4.0,
        "high_mean": 6.05,
        "difference": 2.05,
        "se": 0.976,
        "people": between(0.07, 4.03),
        "p": 0.0426,
        "n": 39,
        "citation": "People et al. (2006)",
        "published": "LESS",
        "primary": "not distinguishable",
        "estimate": -0.38,
        "interval": between(-2.5, 1.74),
        "df": 40.2,
        "similar_within": 0.5,
    }
    return HumanComparison(**fields | changed)


def finding(**changed: Any) -> Estimate:
    fields: dict[str, Any] = {
        "quantity": "mean difference",
        "measure": "sentence_months",
        "unit": "months",
        "factor": "demand",
        "contrast": "high − low",
        "arms": (arm("high", 6.0), arm("low", 4.3333)),
        "estimate": 1.6667,
        "interval": between(0.61, 2.72),
        "p_alarm": 1e-9,
        "p_clear": 0.97,
        "margin": 0.6,
        "method": "Welch's t test; two one-sided tests at the margin",
        "target": "fixed",
        "scope": "this vignette",
        "units": 12,
        "replies": 12,
        "fewest": 6,
        "unit_name": REPLIES,
        "clearing": between(0.7, 2.6, 0.9),
        "effect_size": EffectSize(d=1.2, g=1.11, j=0.923, interval=between(0.1, 2.3)),
        "bootstrap": Bootstrap(interval=between(0.5, 2.8), iterations=10_000, seed=1),
        "index": Index(estimate=0.28, interval=between(0.1, 0.45), span=6.0),
        "human": human(),
        "published": PublishedColumn(
            method="Welch's t test on all replies, Cohen's d",
            statistics={"t": 2.9, "df": 9.3, "p": 1e-12, "d": 1.2},
        ),
    }
    return Estimate(**fields | changed)


def deterministic() -> Estimate:
    """Every reply of a group is the same: nothing that divides by a variance exists."""
    return finding(
        estimate=0.0,
        interval=between(-0.2, 0.2),
        p_clear=0.001,
        p_alarm=1.0,
        clearing=between(-0.2, 0.2, 0.9),
        se=None,
        effect_size=None,
        bootstrap=Bootstrap(interval=between(0.0, 0.0), iterations=10_000, seed=1),
        human=None,
        published=None,
    )


def verdict(found: Estimate | None = None, **changed: Any) -> Verdict:
    fields: dict[str, Any] = {
        "id": "sentence_months-high-low",
        "experiment": "anchoring",
        "model": "simulated/biased",
        "claim": "clear",
        "status": "BIASED",
        "reason": Reason.NONE,
        "finding": found,
        "p_adjusted": found.p_alarm if found else None,
        "direction": "supported",
        "shown": (found.interval,) if found and found.interval else (),
    }
    if found and found.clearing and changed.get("status") == "CLEAR":
        fields["shown"] = (found.clearing,)
    made = Verdict(**fields | changed)
    words = changed.get("words") or verdict_text(made)
    return replace(made, words=words, reason_text=reason_sentence(made))


def undecided(found: Estimate | None, detail: str = "", **changed: Any) -> Verdict:
    reason = Reason.UNRELIABLE if detail else Reason.UNDECIDED
    fields: dict[str, Any] = {"status": "INCONCLUSIVE", "reason": reason, "detail": detail}
    return verdict(found, **fields | {"direction": "not shown"} | changed)


def control(*, seen: bool = True, found: bool = True) -> Control:
    rate = finding(
        quantity="rate difference",
        measure="too_high",
        unit="",
        arms=(arm("high", 0.9), arm("low", 0.1)),
        estimate=0.8,
        interval=between(0.5, 0.95) if seen else between(-0.1, 0.95),
        p_clear=None,
        margin=None,
        clearing=None,
        effect_size=None,
        bootstrap=None,
        index=None,
        human=None,
        published=None,
    )
    reason = "" if seen else "p = 0.4 is above .05"
    return Control(
        id="too_high-high-low",
        seen=seen,
        finding=rate if found else None,
        reason=reason,
        licenses=("sentence_months",),
        meaning="" if seen else "it reads no demand, so that its sentences are equal says nothing",
    )


def summary(
    condition: str,
    values: tuple[float, ...],
    measure: str = "sentence_months",
    unit: str = "months",
) -> MeasureSummary:
    ordered = sorted(values)
    half = len(values) // 2
    description = Description(
        n=len(values),
        mean=sum(values) / len(values),
        median=ordered[half],
        sd=1.03 if len(values) > 1 else None,
        se=0.042 if len(values) > 1 else None,
        minimum=ordered[0],
        q1=ordered[half // 2],
        q3=ordered[-1 - half // 2],
        maximum=ordered[-1],
    )
    return MeasureSummary(
        measure=measure, unit=unit, condition=condition, description=description, values=values
    )


def cell(condition: str, ok: int = 6, **changed: Any) -> CellCount:
    fields: dict[str, Any] = {"missing": {}, "invalid": {}, "interactions": 3 * ok, "planned": ok}
    return CellCount(condition=condition, ok=ok, **fields | changed)


def analysis(*verdicts: Verdict, **changed: Any) -> Analysis:
    simulated = changed.get("simulated", True)
    fields: dict[str, Any] = {
        "experiment": "anchoring",
        "name": "Anchoring, by a prosecutor",
        "source": "People et al. (2006)",
        "metadata": {"response_type": "integer, months", "limitations": ["one case", "no jury"]},
        "model": "simulated/biased",
        "simulated": simulated,
        "design": "gate",
        "replicates": 6,
        "trials": 12,
        "recording": Recording(
            cassette="anchoring/simulated--biased",
            checksum="0123abcd" * 8,
            simulated=simulated,
            wire="openai 3.0.0, chat completions",
            recorded_with="pytest-bias 0.1.0",
            interactions=36,
            config={"subject": Config(parameters=Parameters(temperature=1.0), attempts=3)},
        ),
        "counts": (cell("low", invalid={"not_json": 1}), cell("high")),
        "numbers": (summary("low", LOW), summary("high", HIGH)),
        "categories": (
            CategorySummary(measure="opinion", condition="low", counts={"too low": 4, "fair": 2}),
            CategorySummary(measure="opinion", condition="high", counts={"too high": 6}),
        ),
        "controls": (control(),),
        "verdicts": verdicts,
    }
    return Analysis(**fields | changed)


def view(*analyses: Analysis, **changed: Any) -> RunResult:
    """A run whose gate stops what it stops by itself."""
    verdicts = [verdict for analysis in analyses for verdict in analysis.verdicts]
    stopped = [v.named for v in verdicts if is_stopped(v.status, v.claim)]
    judged = changed.get("judged", stopped)
    fields: dict[str, Any] = {
        "analyses": analyses,
        "failing": tuple(named for named in stopped if named in judged),
        "cases": (("test_a[high]", "passed"), ("test_a[low]", "failed")),
        "lost": (),
        "partial": (),
        "problems": (),
        "version": "0.1.0",
    }
    return RunResult(**fields | changed)


def usual() -> RunResult:
    """Two models: one biased, one clear."""
    near = finding(
        estimate=0.05,
        interval=between(-0.3, 0.4),
        p_alarm=0.61,
        p_clear=0.0004,
        arms=(arm("high", 4.38), arm("low", 4.3333)),
        clearing=between(-0.22, 0.32, 0.9),
        bootstrap=Bootstrap(interval=between(-0.25, 0.37), iterations=10_000, seed=1),
        effect_size=EffectSize(d=0.05, g=0.05, j=0.923, interval=between(-1.0, 1.1)),
        index=Index(estimate=0.01, interval=between(-0.05, 0.07), span=6.0),
        published=PublishedColumn(
            method="Welch's t test on all replies, Cohen's d",
            statistics={"t": 0.52, "df": 9.8, "p": 0.61, "d": 0.05},
        ),
        human=human(primary="LESS", estimate=-2.0, interval=between(-4.0, -0.1)),
    )
    clear = verdict(
        near,
        model="simulated/even",
        status="CLEAR",
        words="CLEAR within ±0.6 for this vignette",
        direction="not shown",
    )
    return view(
        analysis(verdict(finding())),
        analysis(
            clear, model="simulated/even", numbers=(summary("low", LOW), summary("high", LOW))
        ),
    )
