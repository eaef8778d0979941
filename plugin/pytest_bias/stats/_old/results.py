# ruff: noqa: F403
from dataclasses import dataclass

from ..results import *
from ..results import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Tost:
    """Two one-sided t tests against -margin (lower) and +margin (upper).

    `p` is the larger of the two; it is at most alpha exactly where `interval`, at level
    1 - 2 alpha, lies within the margin.
    """

    t_lower: float
    p_lower: float
    t_upper: float
    p_upper: float
    p: float
    df: float
    interval: Interval
    margin: float
