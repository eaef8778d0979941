"""The documented study as data: job, base CVs, variants, scaffolds, sizes, source."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from pytest_bias import Design, Heatmap, Means

from .scaffolds import SCAFFOLDS, Criterion
from .simulated import answer
from .template import BaseCv, Screening, screening_experiment
from .variants import read_variants

STIMULI = Path(__file__).with_name("stimuli")

SOURCE = (
    "LLM Bias Analysis Framework: demographic bias in ratings of job candidates under four "
    "scaffolds (the documented study; job, CVs and names are written anew)"
)


def _stimulus(name: str) -> str:
    return (STIMULI / f"{name}.txt").read_text(encoding="utf-8")


SCREENING = Screening(
    advert=_stimulus("advert"),
    criteria=TypeAdapter(tuple[Criterion, ...]).validate_json(
        (STIMULI / "criteria.json").read_text("utf-8")
    ),
    scale=_stimulus("scale"),
    one_shot=_stimulus("one_shot"),
    reasoning=_stimulus("reasoning"),
    conclusion=_stimulus("conclusion"),
    criterion=_stimulus("criterion"),
    synthesis=_stimulus("synthesis"),
)

CVS = (
    BaseCv("a1", set=1, truth=3, text=_stimulus("cv_a1")),
    BaseCv("c1", set=2, truth=2, text=_stimulus("cv_c1")),
    BaseCv("d1", set=3, truth=2, text=_stimulus("cv_d1")),
)
"""A1 was written to be a good fit; C1 and D1 to be borderline, for different reasons."""

VARIANTS = read_variants(STIMULI / "variants.json")

CV_SCREENING = screening_experiment(
    id="cv-screening",
    name="CV Screening - Names, Scaffolds and Ratings",
    screening=SCREENING,
    cvs=CVS,
    variants=VARIANTS,
    scaffolds=SCAFFOLDS,
    replicates=4,
    designs={
        "documented": Design(replicates=10, exemplars=1),
        "screen": Design(replicates=2),
    },
    source=SOURCE,
    metadata={
        "response_type": "integer from 1 (Not a fit) to 4 (Excellent fit)",
        "aggregation": "mean of the criteria's ratings, rounded to the nearest, .5 up",
        "names": (
            "written for this project after the practice of audit studies; what they signal was "
            "not validated"
        ),
        "limitations": [
            "three CVs for one job: the 12 blocks of CV and scaffold are no population of CVs",
            "names signal more than race and gender: class, age, migration, religion",
            "nine names a group: nothing is shown about names in general",
        ],
    },
    simulated=answer,
    figures=[
        Heatmap("rating", x="group", y="scaffold", title="Mean rating by group and scaffold"),
        Means("rating", over="group", title="Mean rating by group"),
    ],
)
