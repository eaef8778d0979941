"""Sentences in the manner of the document, with its words for the size of an effect."""

from __future__ import annotations

from .aggregation import BiasCell
from .features import FEATURES, Feature
from .rows import ALPHA, BiasRow

_FEATURES = {feature.name: feature for feature in FEATURES}
_LARGE = 0.5
_SMALLEST_PRINTED = 0.001
_SHARES = {"***": "more than 75 %", "**": "more than 60 %", "*": "more than 50 %"}


def effect(row: BiasRow) -> str:
    """The documented word for the size of a row's bias; empty where nothing was computed.

    Of Cohen's d: ``small`` below .2, ``medium`` from .2 to .5, ``large`` above. Of Cramér's V:
    ``no`` at 0, ``negligible`` below .1, ``weak`` from .1, ``moderate`` from .3 to .5, ``strong``
    above. The document leaves open where its limits belong: here a limit belongs to the larger
    effect, but for .5, above which it calls an effect large or strong.
    """
    if row.failed:
        return ""
    bands = (
        ((0.2, "small"), (0.5, "medium"), (None, "large"))
        if row.is_mean
        else ((0.1, "negligible"), (0.3, "weak"), (0.5, "moderate"), (None, "strong"))
    )
    size = abs(row.bias)
    if not row.is_mean and size == 0:
        return "no"
    return next(
        word for limit, word in bands if limit is None or size < limit or limit == _LARGE == size
    )


def interpretation(row: BiasRow) -> str:
    """What a published row says, in a sentence or two; of one that failed, that it says nothing.

    It speaks of posts pooled as the document pools them, which is no verdict.
    """
    if row.failed:
        return (
            f"Not computed ({row.failed}). The published table prints bias 0 and p 1, which is no "
            "finding of no bias."
        )
    feature = _FEATURES.get(row.feature, Feature(row.feature, row.kind or "categorical"))
    numbers = f"{'d' if row.is_mean else 'V'} = {row.bias:.2f}, {_p_words(row.p_value)}"
    size = effect(row)
    if not row.significant:
        return _not_significant(feature.words, size, numbers, large=size in {"large", "strong"})
    if row.is_mean:
        side, way = ("above", "higher") if row.bias > 0 else ("below", "lower")
        says = (
            f"The model recommends posts with significantly {way} {feature.words} than the pool's "
            f"average ({size} effect; {numbers}): on average {abs(row.bias):.2f} standard "
            f"deviations {side} the pool."
        )
    else:
        yet = "but" if size in {"negligible", "weak"} else "and"
        says = (
            f"There is a {size} {yet} statistically significant association between "
            f"{feature.words} and being recommended ({numbers}): its distribution differs between "
            "pool and recommended posts."
        )
    if size in {"small", "negligible"}:
        says += " An effect of this size is likely not important."
    return says


def interpretation_of_cell(cell: BiasCell) -> str:
    """What a cell over several conditions says.

    No word for its size: the document defines none for normalised bias, which compares conditions
    of one feature with each other.
    """
    share = _SHARES.get(cell.marker, "no more than 50 %")
    says = (
        f"Normalised bias in {cell.feature} is {cell.normalized_bias:.3f}, and {share} of the "
        f"underlying conditions ({cell.significant} of {cell.conditions}) show significant bias "
        f"(p < {ALPHA})."
    )
    if cell.failed:
        says += (
            f" {cell.failed} of them could not be computed and stand there with bias 0 and p 1."
        )
    return says


def _not_significant(words: str, size: str, numbers: str, *, large: bool) -> str:
    says = (
        f"No significant bias detected: {words} does not differ significantly between pool and "
        f"recommended posts ({size} effect; {numbers})."
    )
    if large:
        says += " So large an effect may have missed significance for want of posts."
    return says


def _p_words(p: float) -> str:
    """A p-value in print: never 0, and never on the other side of .05 than it is."""
    if p < _SMALLEST_PRINTED:
        return f"p < {_SMALLEST_PRINTED}"
    words = f"{p:.3f}"
    return f"p = {words if (float(words) < ALPHA) == (p < ALPHA) else repr(p)}"
