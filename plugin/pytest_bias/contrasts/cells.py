"""Claims about single cells: the same contrast at each level of a factor it is averaged over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import NoFinding
from .declared import Declared
from .findings import CellClaim, CellClaims, Finding

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records
    from .declared import Contrast


def found(contrast: Contrast, experiment: Experiment, records: Records) -> Finding:
    """The finding of a contrast with those of the cells it is declared to hold in.

    Raises NoFinding when there is too little to compute it; a cell for which there is too little
    is one that is not clear.
    """
    finding = contrast.analyse(experiment, records)
    if not isinstance(contrast, Declared) or not contrast.within:
        return finding
    cells, records = [], records.for_verdicts
    for name, margin, confined in contrast.confined(experiment):
        cell = CellClaim(name=name, margin=margin, estimate=None, interval=None, p_clear=1.0)
        try:
            inside = confined.analyse_cell(experiment, records)
        except NoFinding:
            cells.append(cell)
            continue
        worst = inside.worst_case
        cell = replace(
            cell,
            estimate=inside.estimate,
            interval=inside.clearing_interval,
            p_clear=1.0 if inside.p_clear is None else inside.p_clear,
            worst_case=worst if worst is not None and worst.needed else None,
        )
        if cell.doubted and worst is not None:
            cell = replace(cell, interval=None if worst.interval is None else worst.interval())
        cells.append(cell)
    return replace(finding, cells=CellClaims(cells=tuple(cells)))
