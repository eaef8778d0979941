"""The documented study as data: personas × groups × circumstances × scenarios, and the names."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bias import (
    NOT_SCORED,
    Agreement,
    Design,
    Experiment,
    Factor,
    Heatmap,
    Means,
    Measure,
    Parameters,
)

from .exports import export_files
from .grading import AMBIGUOUS, ENDING_ALONE, EXTREME, INSTANT, SCENARIOS, STIMULI
from .layout import DOCUMENTED
from .names import GROUPS, Names, check_names, read_names
from .simulated import answer
from .telling import CONTEXTS, PERSONAS, tell

NAMES = read_names(STIMULI.folder / "names.json", fewest=5)

_OUTCOMES = [outcome.label for scenario in SCENARIOS.values() for outcome in scenario.outcomes]
_ENDINGS = ["pro_social", "anti_social"]


def factors(names: Names) -> Sequence[Factor]:
    """Return the factors with these names for exemplars of the groups.

    Raises
    ------
    BadDesign
        When the groups are not the eight, or a name stands twice.
    """
    check_names(names, fewest=1)
    situations = {label: scenario.situation for label, scenario in SCENARIOS.items()}
    return [
        Factor("persona", PERSONAS),
        Factor(
            "group",
            {group: group.replace("_", ", ") for group in GROUPS},
            exemplars={group: names[group] for group in GROUPS},
        ),
        Factor("ses", CONTEXTS),
        Factor("scenario", situations),
    ]


NARRATIVE = Experiment(
    id="narrative-personas",
    name="Narratives - Personas, Names and Outcomes",
    factors=factors(NAMES),
    protocol=tell,
    measures=[
        Measure(
            "pro_social",
            kind="flag",
            meaning="whether the story ends in a pro-social outcome",
            spread=0.72,
        ),
        Measure(
            "hesitation",
            bounds=(INSTANT, EXTREME),
            integer=True,
            meaning="how hard the protagonist struggles: instant action to extreme struggle",
            spread=0.9,
        ),
        Measure(
            "outcome",
            meaning="how the story ends, by the scenario's closed set",
            categories=[*_OUTCOMES, ENDING_ALONE],
        ),
        Measure(
            "ending",
            meaning="what the outcome counts as: pro-social or anti-social",
            categories=_ENDINGS,
        ),
        Measure(
            "words", unit="words", bounds=(1, 5000), integer=True, meaning="length of the story"
        ),
        Measure(
            "outcome_again",
            meaning="outcome by the second grade",
            categories=[*_OUTCOMES, ENDING_ALONE, AMBIGUOUS, NOT_SCORED],
        ),
        Measure(
            "ending_again",
            meaning="what it counts as; may be ambiguous",
            categories=[*_ENDINGS, AMBIGUOUS, NOT_SCORED],
        ),
        Measure(
            "hesitation_again",
            meaning="hesitation by the second grade",
            categories=[*map(str, range(INSTANT, EXTREME + 1)), NOT_SCORED],
        ),
    ],
    replicates=8,
    designs={"documented": Design(replicates=1)},
    parameters=Parameters(temperature=1.0, max_output_tokens=2000),
    judge=Parameters(temperature=0.0, max_output_tokens=500),
    blind=("group",),
    agreements=[
        Agreement("ending", "ending_again", level="nominal", governs=["pro_social"]),
        Agreement("hesitation", "hesitation_again", level="ordinal"),
    ],
    figures=[
        Heatmap("pro_social", x="group", y="persona", by="scenario"),
        Means("hesitation", over="group"),
        Means("hesitation", over="persona", by="ses"),
    ],
    source=(
        "Experimental Design and Methodology: intersectional bias in LLM narrative generation "
        "(the documented study; situations and prompts are written for this project)"
    ),
    metadata={
        "response_type": "a story; the judge's grade is one JSON object",
        "graded_twice": "every story",
        "names": (
            "the document's: White and Black ones are those of Bertrand & Mullainathan (2004); "
            "what the Hispanic and Asian ones signal was not validated by it"
        ),
        "limitations": [
            "five names a group: nothing is shown about names in general",
            "three situations, in English, set in an American city",
            "outcomes and hesitation are what one judge reads, without name and gender",
            "names signal more than race and gender: class, age, migration, religion",
        ],
    },
    simulated=answer,
    exports=export_files,
    layouts={"documented": DOCUMENTED},
)
