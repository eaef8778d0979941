"""Recorded trials as the documented table of ratings, one row a trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_bias import Experiment, Outcome
from pytest_bias.records import record_of

from .experiment import CV_SCREENING, CVS, VARIANTS
from .template import NOT_ASKED, BaseCv
from .variants import Variants

COLUMNS = ("model", "pipeline", "iteration", "cv_id", "set", "race", "gender", "rating")

Cell = str | int | None


def ratings_table(
    outcomes: Mapping[str, Iterable[Outcome]],
    *,
    measure: str = "rating",
    experiment: Experiment = CV_SCREENING,
    cvs: Sequence[BaseCv] = CVS,
    variants: Variants = VARIANTS,
) -> dict[str, list[Cell]]:
    """The documented table: column → its values, for :func:`pytest_bias.screening_measures`.

    Parameters
    ----------
    outcomes
        Model → what became of its trials.
    measure
        ``rating``, or ``criterion_analysis`` and the like: then the ratings are those on that
        criterion, and trials in which it was not asked for are left out.
    experiment, cvs, variants
        Those the trials are of.

    A missing rating is None. ``pipeline`` is the scaffold, ``iteration`` the replicate, ``set``
    the number of the base CV; ``cv_id`` is the variant's id and the name set, since each of these
    is a document of its own.
    """
    table: dict[str, list[Cell]] = {column: [] for column in COLUMNS}
    numbers = {cv.label: cv.set for cv in cvs}
    known = {(variant.group, variant.set): variant for variant in variants.variants}
    for model, found in outcomes.items():
        for outcome in found:
            trial = outcome.trial
            value = record_of(outcome, experiment.measures).values.get(measure)
            if value == NOT_ASKED:
                continue
            variant = known[trial.condition.levels["group"], numbers[str(trial.item)]]
            cells: tuple[Cell, ...] = (
                model,
                trial.condition.levels["scaffold"],
                trial.replicate,
                f"{variant.id}/{trial.exemplars['group']}",
                variant.set,
                variant.race,
                variant.gender,
                None if value is None else int(value),
            )
            for column, cell in zip(COLUMNS, cells, strict=True):
                table[column].append(cell)
    return table
