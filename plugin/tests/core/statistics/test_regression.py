"""Regressions against R and against their likelihood equations, and where no estimate exists."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits
from pytest_bias.statistics.regression import logistic, proportional_odds

from .reference import REFERENCE, values

CARS = REFERENCE["data"]["mtcars"]
HOUSING = REFERENCE["data"]["housing"]
SATISFACTION = ("Low", "Medium", "High")
FREQUENCIES = [int(n) for n in HOUSING["Freq"]]
CONTRASTS = {
    f"{factor}{level}": [float(value == level) for value in HOUSING[factor]]
    for factor, levels in {
        "Infl": ("Medium", "High"),
        "Type": ("Apartment", "Atrium", "Terrace"),
        "Cont": ("High",),
    }.items()
    for level in levels
}


def close(expected: float) -> object:
    return pytest.approx(expected, rel=1e-6)


def test_logistic_regression_agrees_with_r() -> None:
    expected = values("logit_mtcars")
    found = logistic(CARS["vs"], {"wt": CARS["wt"]})
    intercept, weight = found.coefficients
    assert intercept.name == "intercept"
    assert intercept.estimate == close(expected["b0"])
    assert weight.name == "wt"
    assert weight.estimate == close(expected["b_wt"])
    assert weight.se == close(expected["se_wt"])
    assert weight.z == close(expected["b_wt"] / expected["se_wt"])
    assert found.deviance == close(expected["deviance"])
    assert found.p == close(expected["lr_p"])
    assert (found.df, found.n) == (1, 32)
    assert found.lr == close(found.null_deviance - found.deviance)


def test_the_unit_of_a_column_only_rescales_its_coefficient() -> None:
    plain = logistic(CARS["vs"], {"wt": CARS["wt"], "am": CARS["am"]})
    for scale, shift in ((1e6, 3e8), (1e-6, 2e-3)):
        moved = logistic(
            CARS["vs"], {"wt": np.array(CARS["wt"]) * scale + shift, "am": CARS["am"]}
        )
        assert moved.deviance == close(plain.deviance)
        assert moved.coefficients[1].estimate * scale == close(plain.coefficients[1].estimate)
        assert moved.coefficients[1].p == close(plain.coefficients[1].p)
        assert moved.coefficients[2].se == close(plain.coefficients[2].se)


def test_one_binary_column_gives_the_log_odds_ratio() -> None:
    y = [1] * 7 + [0] * 3 + [1] * 4 + [0] * 9
    found = logistic(y, {"group": [1] * 10 + [0] * 13})
    assert found.coefficients[1].estimate == close(np.log(7 * 9 / (3 * 4)))
    assert found.coefficients[1].se == close(np.sqrt(1 / 7 + 1 / 9 + 1 / 3 + 1 / 4))


@pytest.mark.parametrize(
    "x",
    [
        {"complete": [1, 2, 3, 4, 5, 6]},
        {"quasi": [0, 0, 0, 0, 1, 1]},
        {"touching": [1, 2, 3, 3, 4, 5]},
        {"a": [1, 5, 2, 6, 4, 9], "b": [2, 6, 3, 4, 2, 7]},
        {"tiny": [1e-9, 2e-9, 3e-9, 4e-9, 5e-9, 6e-9]},
    ],
    ids=lambda x: next(iter(x)),
)
def test_separation_is_an_error_and_not_an_estimate(x: dict[str, list[float]]) -> None:
    with pytest.raises(BadStatisticInput, match="separation"):
        logistic([0, 0, 0, 1, 1, 1], x)


def test_overlap_by_a_single_unit_is_no_separation() -> None:
    assert logistic([0, 0, 1, 0, 1, 1], {"x": [1, 2, 3, 4, 5, 6]}).coefficients[1].estimate > 0


def test_data_without_a_logistic_regression_are_refused() -> None:
    y = [0, 1, 0, 1, 1, 0]
    with pytest.raises(NoVariance):
        logistic([1, 1, 1, 1], {"x": [1, 2, 3, 4]})
    with pytest.raises(TooFewUnits):
        logistic([0, 1], {"x": [1, 2]})
    with pytest.raises(TooFewUnits):
        logistic(y, {})
    with pytest.raises(BadStatisticInput, match="0 or 1"):
        logistic([0, 1, 2, 1, 0], {"x": [1, 2, 3, 4, 5]})
    with pytest.raises(BadStatisticInput, match="constant"):
        logistic(y, {"x": [0.1] * 6})
    with pytest.raises(BadStatisticInput, match="multiples"):
        logistic(y, {"x": [1, 2, 3, 1, 2, 4], "twice": [2, 4, 6, 2, 4, 8]})
    with pytest.raises(BadStatisticInput, match="5 values for 6"):
        logistic(y, {"x": [1, 2, 3, 4, 5]})


def test_proportional_odds_agree_with_r() -> None:
    expected = values("polr_housing")
    found = proportional_odds(
        HOUSING["Sat"], CONTRASTS, categories=SATISFACTION, frequencies=FREQUENCIES
    )
    for coefficient in found.coefficients:
        assert coefficient.estimate == close(expected[f"b[{coefficient.name}]"])
    assert found.deviance == close(expected["deviance"])
    assert (found.df, found.n) == (6, 1681)
    assert found.thresholds[0] < found.thresholds[1]


def test_the_likelihood_equations_of_proportional_odds_hold() -> None:
    found = proportional_odds(
        HOUSING["Sat"], CONTRASTS, categories=SATISFACTION, frequencies=FREQUENCIES
    )
    weights = np.array(FREQUENCIES)
    matrix = np.column_stack(list(CONTRASTS.values()))
    index = matrix @ [coefficient.estimate for coefficient in found.coefficients]
    edges = special.expit(np.array(found.thresholds)[:, None] - index)
    upper = np.vstack([edges, np.ones(len(index))])
    lower = np.vstack([np.zeros(len(index)), edges])
    code = np.array([SATISFACTION.index(value) for value in HOUSING["Sat"]])
    rows = np.arange(len(code))
    up, low = upper[code, rows], lower[code, rows]
    assert -2 * float((weights * np.log(up - low)).sum()) == close(found.deviance)
    slope = (weights * (up + low - 1)) @ matrix  # d log(F(u) - F(l)) / d index, logistic F
    assert np.abs(slope).max() < 1e-4


def test_frequencies_stand_for_repeated_rows() -> None:
    y, x = list("abcabcc"), [1.0, 2.0, 2.5, 2.0, 1.0, 4.0, 0.0]
    times = [3, 2, 1, 2, 1, 4, 0]
    short = proportional_odds(y, {"x": x}, categories="abc", frequencies=times)
    long = proportional_odds(
        [v for v, n in zip(y, times, strict=True) for _ in range(n)],
        {"x": [v for v, n in zip(x, times, strict=True) for _ in range(n)]},
        categories="abc",
    )
    assert short.deviance == close(long.deviance)
    assert short.coefficients[0].estimate == close(long.coefficients[0].estimate)
    assert short.thresholds == (close(long.thresholds[0]), close(long.thresholds[1]))


def test_two_categories_are_a_logistic_regression() -> None:
    binary = logistic(CARS["vs"], {"wt": CARS["wt"]})
    found = proportional_odds(
        [str(int(v)) for v in CARS["vs"]], {"wt": CARS["wt"]}, categories=("0", "1")
    )
    assert found.coefficients[0].estimate == close(binary.coefficients[1].estimate)
    assert found.coefficients[0].se == pytest.approx(binary.coefficients[1].se, rel=1e-4)
    assert found.thresholds[0] == close(-binary.coefficients[0].estimate)
    assert found.p == close(binary.p)


def test_ordered_data_without_an_estimate_are_refused() -> None:
    y = list("aabbcc")
    with pytest.raises(BadStatisticInput, match="separation"):
        proportional_odds(y, {"x": [1, 2, 3, 4, 5, 6]}, categories="abc")
    with pytest.raises(BadStatisticInput, match="separation"):
        proportional_odds(list("abcabc"), {"x": [0, 0, 0, 0, 0, 1]}, categories="abc")
    with pytest.raises(BadStatisticInput, match="no unit"):
        proportional_odds(y, {"x": [1, 3, 2, 4, 3, 5]}, categories="abcd")
    with pytest.raises(BadStatisticInput, match="not among"):
        proportional_odds(y, {"x": [1, 3, 2, 4, 3, 5]}, categories="ab")
    with pytest.raises(BadStatisticInput, match="different"):
        proportional_odds(y, {"x": [1, 3, 2, 4, 3, 5]}, categories="aabc")
    with pytest.raises(BadStatisticInput, match="rows"):
        proportional_odds(y, {"x": [1, 3, 2, 4, 3, 5]}, categories="abc", frequencies=[1])
    with pytest.raises(BadStatisticInput, match="over"):
        proportional_odds(y, {"x": [1, 3, 2, 4, 3, 5]}, categories="abc", frequencies=[10**9] * 6)
    with pytest.raises(TooFewUnits):
        proportional_odds(["a", "b"], {"x": [1, 2]}, categories="ab")
