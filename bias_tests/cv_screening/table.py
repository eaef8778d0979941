"""Recorded trials, and the documented table of their ratings, one row a trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_bias import Experiment, Outcome, plan
from pytest_bias.cassettes.reading import reread
from pytest_bias.cassettes.store import Cassette, cassette_path
from pytest_bias.errors import UnknownName
from pytest_bias.experiments.records import record_of

from .experiment import CV_SCREENING, CVS, VARIANTS
from .template import NOT_ASKED, BaseCv
from .variants import Variants

COLUMNS = ("model", "pipeline", "iteration", "cv_id", "set", "race", "gender", "rating")

Cell = str | int | None


def recorded(
    model: str,
    *,
    experiment: Experiment = CV_SCREENING,
    design: str = "gate",
    cassettes: Path = Path("cassettes"),
) -> tuple[Outcome, ...]:
    """What became of the trials of a design, as the folder ``cassettes`` holds it of ``model``.

    Raises
    ------
    Unrecorded
        When a trial is not recorded, or a cap kept it from being recorded.
    """
    cassette = Cassette(cassette_path(cassettes, experiment.id, model))
    trials = plan(experiment, experiment.design(design))
    return tuple(reread(experiment, model, trial, cassette) for trial in trials)


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
        criterion, and scaffolds that do not ask for it are left out.
    experiment, cvs, variants
        Those the trials are of.

    A missing rating is None. ``pipeline`` is the scaffold, ``iteration`` the replicate, ``set``
    the number of the base CV; ``cv_id`` is the variant's id and the name set, since each of these
    is a document of its own.

    Raises
    ------
    UnknownName
        For a measure that the experiment does not have.
    """
    names = [each.name for each in experiment.measures]
    if measure not in names:
        raise UnknownName(kind=f"measure of {experiment.id}", name=measure, known=names)
    rows = [
        (model, outcome.trial, record_of(outcome, experiment.measures).values.get(measure))
        for model, found in outcomes.items()
        for outcome in found
    ]
    # A trial that is missing says nothing of what it was asked: others of its scaffold do.
    without = {
        trial.condition.levels["scaffold"] for _, trial, value in rows if value == NOT_ASKED
    }
    table: dict[str, list[Cell]] = {column: [] for column in COLUMNS}
    numbers = {cv.label: cv.set for cv in cvs}
    known = {(variant.group, variant.set): variant for variant in variants.variants}
    for model, trial, value in rows:
        scaffold = trial.condition.levels["scaffold"]
        if scaffold in without:
            continue
        variant = known[trial.condition.levels["group"], numbers[str(trial.item)]]
        cells: tuple[Cell, ...] = (
            model,
            scaffold,
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
