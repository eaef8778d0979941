"""Logistic and proportional-odds regression, where the estimates exist."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types
from scipy import special  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.errors import BadStatisticInput, NoVariance, TooFewUnits

from ._arrays import count, probability, sample, units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LARGEST_SE = 1e3  # of a column in its own SDs: no finite estimate is behind it
LARGEST_STEP = 1e-5  # in SEs: the numerical slope of the ordered model is good to about 1e-6
SMALLEST_GAIN = 1e-7  # of the linear programme, whose answer is 0 or at least a column's spread
MOST_ROWS = 10**7  # they are laid out one by one
FEWEST_CATEGORIES = 2
INTERCEPT = "intercept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """A log odds ratio per unit of its column, with its Wald test against 0."""

    name: str
    estimate: float
    se: float
    z: float
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """A logistic regression and its likelihood-ratio test against the rate alone."""

    coefficients: tuple[Coefficient, ...]
    deviance: float
    null_deviance: float
    df: int
    lr: float
    p: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProportionalOdds:
    """A proportional-odds regression; `thresholds` lie between neighbouring categories.

    logit P(y <= category j) = threshold j - sum of coefficient times column.
    """

    coefficients: tuple[Coefficient, ...]
    thresholds: tuple[float, ...]
    deviance: float
    null_deviance: float
    df: int
    lr: float
    p: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Columns less their means, in their SDs: optimisers and tolerances then know the scale."""

    names: tuple[str, ...]
    standard: NDArray[np.float64]
    means: NDArray[np.float64]
    sds: NDArray[np.float64]


def _columns(
    x: Mapping[str, ArrayLike], n: int, weights: NDArray[np.float64], *, function: str
) -> _Columns:
    if not x:
        raise TooFewUnits(group="x", found=0, needed=1)
    arrays = {name: sample(given, function=function, argument=name) for name, given in x.items()}
    for name, array in arrays.items():
        if array.size != n:
            raise BadStatisticInput(
                function=function, argument=name, problem=f"{array.size} values for {n} of y"
            )
        largest = float(np.abs(array).max())
        if float(np.ptp(array[weights > 0])) <= 1e-12 * largest:
            raise BadStatisticInput(function=function, argument=name, problem="is constant")
    matrix = np.column_stack(list(arrays.values()))
    means = np.average(matrix, axis=0, weights=weights)
    reach = np.abs(matrix - means).max(axis=0)
    standard = (matrix - means) / reach
    spread = np.sqrt(np.average(standard**2, axis=0, weights=weights))
    standard /= spread
    kept = standard[weights > 0]
    if np.linalg.matrix_rank(np.column_stack([np.ones(len(kept)), kept])) <= kept.shape[1]:
        raise BadStatisticInput(
            function=function, argument="x", problem="a column is a sum of multiples of others"
        )
    return _Columns(names=tuple(arrays), standard=standard, means=means, sds=reach * spread)


def separated(standard: NDArray[np.float64], y: NDArray[np.intp], categories: int) -> bool:
    """Tell whether a combination of columns divides the categories, so that no estimate exists.

    The likelihood then rises for ever in some direction: every unit's upper threshold moves up
    against it, or stays, and its lower one down. A linear programme looks for that direction.
    Source: Albert & Anderson (1984); Konis (2007) for the linear programme.
    """
    thresholds = np.eye(categories - 1)
    upper, lower = y < categories - 1, y > 0
    rows = np.vstack(
        [
            np.hstack([thresholds[y[upper]], -standard[upper]]),
            np.hstack([-thresholds[y[lower] - 1], standard[lower]]),
        ]
    )
    found = scipy.optimize.linprog(
        -rows.mean(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1), method="highs"
    )
    return bool(found.status != 0 or -found.fun > SMALLEST_GAIN)


def _no_estimate(function: str) -> BadStatisticInput:
    return BadStatisticInput(
        function=function,
        argument="x",
        problem="separation: the columns divide the categories, so no finite estimate exists",
    )


def _coefficients(names: Sequence[str], estimates: Any, errors: Any) -> tuple[Coefficient, ...]:
    return tuple(
        Coefficient(
            name=name,
            estimate=float(estimate),
            se=float(se),
            z=float(estimate / se),
            p=probability(2 * float(special.ndtr(-abs(estimate / se)))),
        )
        for name, estimate, se in zip(names, estimates, errors, strict=True)
    )


def _trusted(fitted: Any) -> bool:
    """Tell whether a fit is at its optimum: a Newton step would move it by a sliver of its SEs."""
    errors = np.asarray(fitted.bse)
    if not (np.isfinite(errors).all() and (errors > 0).all() and errors.max() < LARGEST_SE):
        return False
    slope = np.asarray(fitted.model.score(fitted.params))
    return bool(slope @ np.asarray(fitted.cov_params()) @ slope < LARGEST_STEP**2)


def logistic(y: ArrayLike, x: Mapping[str, ArrayLike]) -> Logistic:
    """Fit the log odds of y = 1 as an intercept plus a sum of columns.

    Estimand: log odds ratios per unit of each column. `y` has shape (n,) and holds 0 and 1; every
    column of `x` has shape (n,). Assumes independent units. The first coefficient is the
    intercept; `p` is that of the likelihood-ratio test that all others are 0, on `df` degrees.

    Raises `BadStatisticInput` for a y other than 0 and 1, columns of another length, constant or
    collinear, and for separation (complete or not), where estimates do not exist;
    `TooFewUnits` for no more units than coefficients; `NoVariance` when y is constant.
    Source: Cox (1958); McCullagh & Nelder (1989).
    """
    from statsmodels.discrete import discrete_model  # type: ignore[import-untyped, unused-ignore]  # no types # noqa: PLC0415

    function = "logistic"
    found = units(y, function=function, argument="y", needed=len(x) + 2)
    if not np.isin(found, (0, 1)).all():
        raise BadStatisticInput(function=function, argument="y", problem="is not all 0 or 1")
    if np.ptp(found) == 0:
        raise NoVariance(statistic=function)
    columns = _columns(x, found.size, np.ones(found.size), function=function)
    if separated(columns.standard, found.astype(np.intp), 2):
        raise _no_estimate(function)
    design = np.column_stack([np.ones(found.size), columns.standard])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `_trusted` looks at what came of it
        fitted = discrete_model.Logit(found, design).fit(
            disp=0, method="newton", maxiter=100, tol=1e-12
        )
    if not _trusted(fitted):
        raise _no_estimate(function)
    # Back from standard to given columns: b_j / sd_j, and the intercept at 0 of each.
    back = np.diag(np.concatenate([[1.0], 1 / columns.sds]))
    back[0, 1:] = -columns.means / columns.sds
    errors = np.sqrt(np.diag(back @ np.asarray(fitted.cov_params()) @ back.T))
    lr = max(0.0, 2 * float(fitted.llf - fitted.llnull))
    return Logistic(
        coefficients=_coefficients((INTERCEPT, *columns.names), back @ fitted.params, errors),
        deviance=-2 * float(fitted.llf),
        null_deviance=-2 * float(fitted.llnull),
        df=len(columns.names),
        lr=lr,
        p=probability(float(special.chdtrc(len(columns.names), lr))),
        n=found.size,
    )


def proportional_odds(
    y: Sequence[str],
    x: Mapping[str, ArrayLike],
    *,
    categories: Sequence[str],
    frequencies: Sequence[int] | None = None,
) -> ProportionalOdds:
    """Fit the log odds of lower against higher categories as a threshold less a sum of columns.

    Estimand: log odds ratios of a higher category per unit of each column, the same at every
    threshold (the assumption of proportional odds). `y` gives one of `categories`, which are in
    rising order, for each of n rows; each column has shape (n,); `frequencies` says how many
    independent units a row stands for (1 each if not given). `p` is that of the likelihood-ratio
    test that all coefficients are 0, on `df` degrees.

    Raises `BadStatisticInput` for an unknown, repeated or unused category, columns or frequencies
    of another length, columns constant or collinear, and separation; `TooFewUnits` for fewer than
    two categories or no more units than parameters. Source: McCullagh (1980).
    """
    from statsmodels.miscmodels import ordinal_model  # type: ignore[import-untyped, unused-ignore]  # no types # noqa: PLC0415

    function = "proportional_odds"
    codes = _codes(y, categories, function=function)
    given = [1] * len(y) if frequencies is None else frequencies
    if len(given) != len(y):
        raise BadStatisticInput(
            function=function, argument="frequencies", problem=f"{len(given)} for {len(y)} rows"
        )
    repeats = np.array([count(f, function=function, argument="frequencies") for f in given])
    n, parameters = int(repeats.sum()), len(x) + len(categories) - 1
    if n <= parameters:
        raise TooFewUnits(group="y", found=n, needed=parameters + 1)
    if n > MOST_ROWS:
        raise BadStatisticInput(
            function=function, argument="frequencies", problem=f"{n} is over {MOST_ROWS} units"
        )
    if set(codes[repeats > 0]) != set(range(len(categories))):
        raise BadStatisticInput(
            function=function, argument="categories", problem="one of them has no unit"
        )
    columns = _columns(x, len(y), repeats.astype(np.float64), function=function)
    kept = repeats > 0
    if separated(columns.standard[kept], codes[kept], len(categories)):
        raise _no_estimate(function)
    model = ordinal_model.OrderedModel(
        np.repeat(codes, repeats), np.repeat(columns.standard, repeats, axis=0), distr="logit"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `_trusted` looks at what came of it
        fitted = model.fit(method="bfgs", disp=0, maxiter=1000, gtol=1e-8)
    if not _trusted(fitted):
        raise _no_estimate(function)
    k = len(columns.names)
    estimates = np.asarray(fitted.params)[:k] / columns.sds
    shift = float(estimates @ columns.means)
    thresholds = model.transform_threshold_params(fitted.params)[1:-1] + shift
    shares = np.bincount(codes, weights=repeats) / n
    null = -2 * n * float((shares * np.log(shares)).sum())
    deviance = -2 * float(fitted.llf)
    lr = max(0.0, null - deviance)
    return ProportionalOdds(
        coefficients=_coefficients(columns.names, estimates, fitted.bse[:k] / columns.sds),
        thresholds=tuple(float(threshold) for threshold in thresholds),
        deviance=deviance,
        null_deviance=null,
        df=k,
        lr=lr,
        p=probability(float(special.chdtrc(k, lr))),
        n=n,
    )


def _codes(y: Sequence[str], categories: Sequence[str], *, function: str) -> NDArray[np.intp]:
    if len(categories) < FEWEST_CATEGORIES or len(set(categories)) < len(categories):
        raise BadStatisticInput(
            function=function, argument="categories", problem="are not two or more different ones"
        )
    place = {category: i for i, category in enumerate(categories)}
    unknown = sorted({str(value) for value in y if value not in place})
    if unknown:
        raise BadStatisticInput(
            function=function, argument="y", problem=f"not among categories: {unknown[:3]}"
        )
    return np.array([place[value] for value in y], dtype=np.intp)
