"""One condition: the posts of the pool against those recommended, feature by feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_bias import BadData, BiasError
from pytest_bias.stats import NoVariance, chi_square, cohen_d, welch

from .features import FEATURES, Feature
from .rows import (
    COHENS_D,
    CRAMERS_V,
    INSUFFICIENT,
    NO_VARIANCE,
    BiasRow,
    error_metric,
    failure_in,
)
from .tables import Table, category_words, columns_of, counts_of, in_order, numbers_of

SMALLEST_SAMPLE = 10
"""Posts with a value that pool and recommended need each."""

_TWO = 2


def pool_vs_recommended(
    pool: Table,
    recommended: Table,
    features: Sequence[Feature] = FEATURES,
    *,
    dataset: str,
    provider: str,
    prompt_style: str,
) -> list[BiasRow]:
    """Compare every feature of the pool's posts with that of the recommended ones, as published.

    Estimands: Cohen's d, recommended − pool over their pooled SD, with Welch's test, for
    numerical features; Cramér's V of category × (pool, recommended), with the chi-square test, for
    the others. A 2 × 2 table is tested with Yates' correction, which goes into V too: the document
    names ``scipy.stats.chi2_contingency``, whose default it is. Rows hold φ both ways.

    ``pool`` and ``recommended`` are tables of posts (data frames, columns or rows). Values are
    taken by position: what index a data frame has does not matter. Missing values of a feature
    are left out of that feature, and counted. Rows come in the order of ``features``.

    As documented, nothing here fails: with fewer than 10 values on a side, with values that are
    all the same on both sides, and after an error, the row says bias 0 and p 1. That it is no
    finding is in ``failed``.

    Descriptive: p takes all posts for independent, though those recommended are some of the pool
    and a trial picks them together.

    Raises
    ------
    BadData
        For a missing column, columns of different lengths, and a binary feature with more than
        two values.

    Sources: Cohen (1988); Welch (1947); Cramér (1946); Pearson (1900); Yates (1934).
    """
    shown = columns_of(pool, features, what="pool")
    picked = columns_of(recommended, features, what="recommended")
    rows = []
    for feature in features:
        row = BiasRow(
            feature=feature.name,
            dataset=dataset,
            provider=provider,
            prompt_style=prompt_style,
            bias=0.0,
            p_value=1.0,
            metric=INSUFFICIENT,
            kind=feature.kind,
        )
        compare = _numerical if feature.kind == "numerical" else _categorical
        try:
            row = compare(row, shown[feature.name], picked[feature.name])
        except BadData:
            raise
        except (BiasError, ArithmeticError, TypeError, ValueError) as error:
            # The document turns every exception of a calculation into such a row.
            metric = error_metric(str(error))
            row = replace(row, metric=metric, failed=failure_in(metric))
        rows.append(row)
    return rows


def _numerical(row: BiasRow, shown: Sequence[object], picked: Sequence[object]) -> BiasRow:
    pool, missing_pool = numbers_of(shown)
    recommended, missing_recommended = numbers_of(picked)
    row = _sized(row, (pool.size, missing_pool), (recommended.size, missing_recommended))
    if row.failed:
        return row
    try:
        bias = cohen_d(recommended, pool)
    except NoVariance:
        both = f"{recommended[0]:g} in all recommended and {pool[0]:g} in all of the pool"
        return _without_variance(row, COHENS_D, both)
    return replace(row, bias=bias, p_value=welch(recommended, pool).p, metric=COHENS_D)


def _categorical(row: BiasRow, shown: Sequence[object], picked: Sequence[object]) -> BiasRow:
    pool, missing_pool = counts_of(shown)
    recommended, missing_recommended = counts_of(picked)
    categories = in_order(pool | recommended)
    if row.kind == "binary" and len(categories) > _TWO:
        problem = f"is declared binary but has {len(categories)} values: declare it categorical"
        raise BadData(source="posts", column=row.feature, problem=problem)
    row = _sized(row, (pool.total(), missing_pool), (recommended.total(), missing_recommended))
    if row.failed:
        return row
    if len(pool) == len(recommended) == 1:
        picks, posts = (category_words(next(iter(side))) for side in (recommended, pool))
        both = f"{picks} in all recommended and {posts} in all of the pool"
        return _without_variance(row, CRAMERS_V, both)
    table = [[pool[category], recommended[category]] for category in categories]
    published = chi_square(table, yates=True)
    row = replace(
        row,
        bias=published.cramers_v,
        p_value=published.p,
        metric=CRAMERS_V,
        smallest_expected=published.smallest_expected,
    )
    if published.df > 1:
        return row
    plain = chi_square(table)
    return replace(
        row,
        phi=plain.cramers_v,
        phi_p=plain.p,
        phi_yates=published.cramers_v,
        phi_yates_p=published.p,
    )


def _sized(row: BiasRow, pool: tuple[int, int], recommended: tuple[int, int]) -> BiasRow:
    """The row with how many values and how many missing ones there are on each side."""
    failed = ""
    if min(pool[0], recommended[0]) < SMALLEST_SAMPLE:
        sizes = f"{pool[0]} in the pool and {recommended[0]} recommended"
        failed = f"insufficient data: {sizes}, {SMALLEST_SAMPLE} needed in each"
    return replace(
        row,
        n_pool=pool[0],
        missing_pool=pool[1],
        n_recommended=recommended[0],
        missing_recommended=recommended[1],
        failed=failed,
    )


def _without_variance(row: BiasRow, metric: str, both: str) -> BiasRow:
    return replace(row, metric=f"{metric}{NO_VARIANCE}", failed=f"no variance: {both}")
