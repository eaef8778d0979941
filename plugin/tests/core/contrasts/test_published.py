from __future__ import annotations

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.contrasts.differences import MeanDifference, RateDifference
from pytest_bias.contrasts.estimate import PublishedColumn
from pytest_bias.contrasts.groups import GroupContrast, Interaction
from pytest_bias.contrasts.published import (
    ChiSquareTest,
    FactorialAnova,
    MannWhitneyTest,
    OneWayAnova,
    PublishedMethod,
    WelchTest,
)
from pytest_bias.errors import TooFewUnits
from pytest_bias.experiments.design import Factor
from pytest_bias.experiments.records import Record, Records

from ...helpers import there
from .designs import STYLE, TONE, Floats, at, items, level, recorded, study

THREE = Factor("tone", {"low": 1, "middle": 2, "high": 3})
OF = study(factors=[THREE, STYLE], items=items(2), replicates=9)


def ragged(seed: int = 0) -> Records:
    """Whole points with many ties, unequal cells."""
    rng = np.random.default_rng(seed)
    return recorded(
        OF,
        lambda t: (
            None
            if rng.random() < 0.2
            else float(
                np.clip(
                    round(
                        rng.normal(
                            (level(t, "tone") == "high") + 0.5 * (level(t, "style") == "formal"),
                            1.5,
                        )
                    ),
                    -10,
                    10,
                )
            )
        ),
    )


RECORDS = ragged()
HIGH, LOW, MIDDLE = (at(RECORDS, tone=tone) for tone in ("high", "low", "middle"))


def column(method: PublishedMethod | None, records: Records = RECORDS) -> PublishedColumn | None:
    question = MeanDifference("score", "tone", high="high", low="low", published=method)
    return question.analyse(OF, records).published


@pytest.mark.requirement("ANCHOR-25", "AUDIT-27", "AUDIT-30")
def test_welch_and_cohen_on_all_replies() -> None:
    found = there(column(WelchTest()))
    expected = stats.ttest_ind(HIGH, LOW, equal_var=False)
    pooled = np.sqrt(
        ((HIGH.size - 1) * HIGH.var(ddof=1) + (LOW.size - 1) * LOW.var(ddof=1))
        / (HIGH.size + LOW.size - 2)
    )
    assert dict(found.statistics) == pytest.approx(
        {
            "t": expected.statistic,
            "df": expected.df,
            "p": expected.pvalue,
            "d": (HIGH.mean() - LOW.mean()) / pooled,
        }
    )


def test_mann_whitney_on_all_replies() -> None:
    found = there(column(MannWhitneyTest()))
    expected = stats.mannwhitneyu(HIGH, LOW, alternative="two-sided")
    assert found.statistics["U"] == expected.statistic
    assert found.statistics["p"] == pytest.approx(expected.pvalue)
    assert found.statistics["mean"] == pytest.approx(HIGH.mean() - LOW.mean())
    wins = (HIGH[:, None] > LOW).mean() + 0.5 * (HIGH[:, None] == LOW).mean()
    assert found.statistics["A"] == pytest.approx(wins)


def table(*sides: Floats) -> list[list[int]]:
    values = np.unique(np.concatenate(sides))
    return [[int((side == value).sum()) for value in values] for side in sides]


@pytest.mark.requirement("NARR-21")
def test_chi_square_of_sides_and_values() -> None:
    found = there(column(ChiSquareTest()))
    expected = stats.chi2_contingency(table(HIGH, LOW), correction=False)
    assert found.statistics["chi2"] == pytest.approx(expected.statistic)
    assert found.statistics["p"] == pytest.approx(expected.pvalue)
    assert found.statistics["df"] == expected.dof
    n = HIGH.size + LOW.size
    assert found.statistics["V"] == pytest.approx(np.sqrt(expected.statistic / n))
    assert found.statistics["smallest expected count"] == pytest.approx(
        expected.expected_freq.min()
    )


@pytest.mark.requirement("AUDIT-29")
def test_chi_square_of_two_rates() -> None:
    of = study(factors=[TONE, STYLE], replicates=30)
    rng = np.random.default_rng(3)
    records = recorded(
        of, lambda t: bool(rng.random() < 0.3 + 0.2 * (level(t, "tone") == "high")), "yes"
    )
    found = there(
        RateDifference("yes", "tone", high="high", low="low", published=ChiSquareTest())
        .analyse(of, records)
        .published
    )
    sides = [at(records, "yes", tone=tone) for tone in ("high", "low")]
    expected = stats.chi2_contingency(table(*sides), correction=False)
    assert found.statistics["chi2"] == pytest.approx(expected.statistic)
    assert found.statistics["p"] == pytest.approx(expected.pvalue)


def test_one_way_anova_of_all_sides() -> None:
    question = GroupContrast("score", "tone", claim="detect", published=OneWayAnova())
    found = there(question.analyse(OF, RECORDS).published)
    expected = stats.f_oneway(HIGH, LOW, MIDDLE)
    assert found.statistics["F"] == pytest.approx(expected.statistic)
    assert found.statistics["p"] == pytest.approx(expected.pvalue)
    assert (found.statistics["df"], found.statistics["df within"]) == (
        2,
        HIGH.size + LOW.size + MIDDLE.size - 3,
    )
    # Otherwise results would not be read back as they were written.
    assert {type(value) for value in found.statistics.values()} == {float}
    everything = np.concatenate([HIGH, LOW, MIDDLE])
    between = sum(s.size * (s.mean() - everything.mean()) ** 2 for s in (HIGH, LOW, MIDDLE))
    assert found.statistics["eta²"] == pytest.approx(
        between / ((everything - everything.mean()) ** 2).sum()
    )


@pytest.mark.requirement("AUDIT-28", "NARR-23")
def test_factorial_anova_of_all_replies() -> None:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415  (slow)
    import statsmodels.formula.api as smf  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415
    from statsmodels.stats.anova import (  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415
        anova_lm,
    )

    question = Interaction(
        "score",
        {"tone": ("high", "low"), "style": ("formal", "plain")},
        published=FactorialAnova(("tone", "style")),
    )
    found = there(question.analyse(OF, RECORDS).published)
    frame = pd.DataFrame(
        [
            {
                "y": dict(row.values)["score"],
                "a": level(row.trial, "tone"),
                "b": level(row.trial, "style"),
            }
            for row in RECORDS.rows
            if row.missing is None
        ]
    )
    expected = anova_lm(smf.ols("y ~ C(a, Sum) * C(b, Sum)", frame).fit(), typ=3)
    names = {
        "tone": "C(a, Sum)",
        "style": "C(b, Sum)",
        "tone × style": "C(a, Sum):C(b, Sum)",
    }
    for term, name in names.items():
        assert found.statistics[f"F {term}"] == pytest.approx(expected.loc[name, "F"], rel=1e-8)
        assert found.statistics[f"p {term}"] == pytest.approx(
            expected.loc[name, "PR(>F)"], rel=1e-6
        )
    assert found.statistics["p"] == found.statistics["p tone × style"]
    assert found.method == "ANOVA tone × style on all replies (type III)"


@pytest.mark.parametrize(("lost", "named"), [(("high", "low"), "high"), (("low",), "low")])
@pytest.mark.parametrize(
    "method",
    [ChiSquareTest(), WelchTest(), MannWhitneyTest(), OneWayAnova()],
    ids=lambda of: type(of).__name__,
)
def test_a_side_without_replies_is_named(
    lost: tuple[str, ...], named: str, method: PublishedMethod
) -> None:
    rows = (
        Record(row.trial, {}, "refused") if level(row.trial, "tone") in lost else row
        for row in RECORDS.rows
    )
    with pytest.raises(TooFewUnits) as found:
        column(method, Records(tuple(rows)))
    words = f"{named}: no valid reply"
    assert there(found.value.published)[1] == {"not defined": words}
