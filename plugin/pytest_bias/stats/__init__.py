"""Statistical methods as pure functions on arrays; randomness comes in as a seed.

The names here are public, for what a study reports beside its verdicts; the modules are not.

All raise `BadStatisticInput` for an argument outside its domain (values that are not finite, a
sample that is not 1-D, lengths that do not fit, a level or alpha outside (0, 1), a margin that is
not above 0, fewer than 100 resamples, a negative seed), `TooFewUnits` below the units their
docstrings name, and `NoVariance` where they would divide by no spread (up to rounding). What goes
beyond that stands with each.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..errors import NoVariance as NoVariance
    from ..errors import TooFewUnits as TooFewUnits
    from .classical import chi_square as chi_square
    from .classical import factorial_anova as factorial_anova
    from .classical import mann_whitney as mann_whitney
    from .means import cohen_d as cohen_d
    from .means import one_sample as one_sample
    from .means import welch as welch
    from .results import Interval as Interval
    from .results import Misclassified as Misclassified
    from .simultaneous import holm as holm

_HOMES = {
    **dict.fromkeys(("NoVariance", "TooFewUnits"), "..errors"),
    **dict.fromkeys(("chi_square", "factorial_anova", "mann_whitney"), ".classical"),
    **dict.fromkeys(("cohen_d", "one_sample", "welch"), ".means"),
    **dict.fromkeys(("Interval", "Misclassified"), ".results"),
    "holm": ".simultaneous",
}

if not TYPE_CHECKING:  # a checker goes by what is imported as itself
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
