"""Claims about single cells: the same contrast at each level of a factor it is averaged over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import NoFinding
from ..statistics.results import Interval
from .declared import Declared
from .findings import CellClaim, CellClaims, Finding

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records
    from .declared import Contrast

LEVEL = 0.90
"""Of the interval that lies within the margin where both one-sided tests reject at .05."""


def _deciding(finding: Finding) -> Interval | None:
    """The interval that lies within the margin where the finding is clear."""
    if finding.at_level is not None:
        return finding.at_level(LEVEL)
    if finding.equivalence is not None:
        return finding.equivalence.interval
    low, high = (finding.extras.get(f"90 % interval, {end}") for end in ("from", "to"))
    if isinstance(low, float) and isinstance(high, float):
        return Interval(low=low, high=high, level=LEVEL)
    return None


def found(contrast: Contrast, experiment: Experiment, records: Records) -> Finding:
    """The finding of a contrast with those of the cells it is declared to hold in.

    Raises NoFinding when there is too little to compute it; a cell for which there is too little
    is one that is not clear.
    """
    finding = contrast.analyse(experiment, records)
    if not isinstance(contrast, Declared) or not contrast.within:
        return finding
    cells = []
    for name, margin, confined in contrast.confined(experiment):
        cell = CellClaim(name=name, margin=margin, estimate=None, interval=None, p_clear=1.0)
        try:
            inside = confined.analyse_cell(experiment, records)
        except NoFinding:
            cells.append(cell)
            continue
        cells.append(
            replace(
                cell,
                estimate=inside.estimate,
                interval=_deciding(inside),
                p_clear=1.0 if inside.p_clear is None else inside.p_clear,
                worst_case=inside.worst_case,
            )
        )
    return replace(finding, cells=CellClaims(cells=tuple(cells)))
