"""The same study with all three steps in one prompt, as command-line agents take it: as data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pytest_bias import Design

from .experiment import ANCHORING, CITATION, QUESTIONS
from .simulated import answer
from .template import all_in_one_experiment

ALL_IN_ONE = all_in_one_experiment(
    id="anchoring-prosecutor-sentencing-all-in-one",
    name="Anchoring Bias - Prosecutor Sentencing Recommendation, all in one prompt",
    anchors={"low": 3, "high": 9},
    defence_demand="1 month",
    questions=QUESTIONS,
    all_in_one=Path(__file__).with_name("stimuli").joinpath("all_in_one.txt").read_text("utf-8"),
    source=CITATION,
    metadata={
        **ANCHORING.metadata,
        "protocol": "all three steps in one prompt, answered with one JSON object",
        "sampling": (
            "temperature and output limit are left to the provider: the Codex CLI takes neither"
        ),
        "limitations": [
            *cast("Sequence[str]", ANCHORING.metadata["limitations"]),
            (
                "One completion: the sentence is written in the same reply as the evaluations, "
                "with every demand and the final question already read, so it is another "
                "instrument than the conversation and its figures cannot be set beside it."
            ),
        ],
    },
    replicates=120,
    designs={"documented": Design(replicates=30), "screen": Design(replicates=24)},
    simulated=answer,
)
