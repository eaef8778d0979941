"""The part of a suite's probability of false alarms that one experiment may use."""

from __future__ import annotations

from dataclasses import dataclass

ALARMS = 0.05
"""The probability that a suite calls anything BIASED where nothing is, unless ``bias_alpha`` says
less; a verdict's own rule allows no more."""

SMALL_PART = 1e-3
"""An experiment with a smaller part of it calls little BIASED: a run's closing line names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The part of a suite's false alarms that one experiment may use.

    ``alarms`` is the probability that the suite calls anything BIASED where nothing is, ``share``
    the experiment's share of it. ``families`` divide that alike, and each its part alike among its
    hypotheses.
    """

    alarms: float = ALARMS
    share: float = 1.0
    families: tuple[str, ...] = ()

    @property
    def alpha(self) -> float:
        """The probability that the experiment calls anything BIASED where nothing is."""
        return self.alarms * self.share

    @property
    def scale(self) -> float:
        """Divisor of p-values, so that a verdict's rule stays p <= .05."""
        return self.alpha / ALARMS
