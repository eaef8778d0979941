"""The experiment: the documented study, its size and what it publishes."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_bias import Design, Experiment, Heatmap, Means, Parameters, Records

from ..charts import Drawn
from .layout import layouts
from .screening import CVS, SCREENING
from .simulated import answer


def _exports(records: Mapping[str, Records]) -> Drawn:
    from .exports import export_files  # noqa: PLC0415  (slow; only who exports needs it)

    return export_files(SCREENING, records)


CV_SCREENING = Experiment(
    id="cv-screening",
    name="CV Screening - Names, Scaffolds and Ratings",
    factors=SCREENING.factors,
    items=SCREENING.items,
    protocol=SCREENING.rate,
    measures=SCREENING.measures,
    replicates=6,
    designs={
        "documented": Design(replicates=10, exemplars=1),
    },
    parameters=Parameters(temperature=1.0, max_output_tokens=2000),
    retention="measures",
    source=(
        "LLM Bias Analysis Framework: demographic bias in ratings of job candidates under four "
        "scaffolds (the documented study; job, CVs and names are written anew)"
    ),
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
        "ground_truth": {cv.label: cv.truth for cv in CVS},
    },
    simulated=answer,
    figures=[
        Heatmap("rating", x="group", y="scaffold", title="Mean rating by group and scaffold"),
        Means("rating", over="group", title="Mean rating by group"),
    ],
    exports=_exports,
    layouts=layouts(SCREENING),
)
