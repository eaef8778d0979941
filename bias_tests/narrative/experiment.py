"""The documented study as data: names, sizes, limitations."""

from __future__ import annotations

from pytest_bias import Design

from .grading import STIMULI
from .simulated import answer
from .template import narrative_experiment, read_names

NAMES = read_names(STIMULI / "names.json", fewest=5)

NARRATIVE = narrative_experiment(
    id="narrative-personas",
    name="Narratives - Personas, Names and Outcomes",
    names=NAMES,
    replicates=5,
    designs={"documented": Design(replicates=1), "screen": Design(replicates=2)},
    metadata={
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
)
