"""Claims about single cells: the same contrast at each level of a factor it is averaged over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import NoFinding
from .declared import Hypothesis
from .findings import Estimate

if TYPE_CHECKING:
    from ..experiments.experiment import Experiment
    from ..experiments.records import Records


def with_cells(contrast: Hypothesis, experiment: Experiment, records: Records) -> Estimate:
    """The finding of a contrast with those of the cells it is declared to hold in.

    Raises NoFinding when there is too little to compute it; a cell for which there is too little
    is one that is not clear.
    """
    finding = contrast.analyse(experiment, records)
    if not contrast.within:
        return finding
    cells, bare, records = {}, [], records.for_verdicts
    for name, _, confined in contrast.confined(experiment):
        try:
            cells[name] = confined.analyse(experiment, records)
        except NoFinding:
            bare.append(name)
    return replace(finding, cells=cells, bare_cells=tuple(bare))
