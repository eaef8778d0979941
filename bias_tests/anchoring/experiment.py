"""Englich, Mussweiler & Strack (2006), Study 2, as data: vignette, demands, sizes, citation."""

from __future__ import annotations

from pathlib import Path

from pytest_bias import Design, HumanStudy

from .simulated import answer
from .template import Questions, anchoring_experiment

_STIMULI = Path(__file__).with_name("stimuli")

CITATION = (
    "Englich, B., Mussweiler, T., & Strack, F. (2006). Playing dice with criminal sentences: The "
    "influence of irrelevant anchors on experts' judicial decision making. Personality and Social "
    "Psychology Bulletin, 32(2), 188–200. https://doi.org/10.1177/0146167205282152"
)

PEOPLE = HumanStudy(
    low=4.00, high=6.05, t=2.10, df=37, n=39, similar_within=0.5, citation=CITATION
)
"""Study 2: 39 legal professionals, months on probation."""


def _stimulus(name: str) -> str:
    return (_STIMULI / f"{name}.txt").read_text(encoding="utf-8")


QUESTIONS = Questions(
    vignette=_stimulus("vignette"),
    prosecutor=_stimulus("prosecutor"),
    defence=_stimulus("defence"),
    sentence=_stimulus("sentence"),
    sentence_unanchored=_stimulus("sentence_unanchored"),
)

ANCHORING = anchoring_experiment(
    id="anchoring-prosecutor-sentencing",
    name="Anchoring Bias - Prosecutor Sentencing Recommendation",
    anchors={"low": 3, "high": 9},
    defence_demand="1 month",
    questions=QUESTIONS,
    source=CITATION,
    metadata={
        "response_type": "integer, months on probation, 0 to 12",
        "anchor_derivation": (
            "the prosecutor's demand was randomly determined: 3 or 9 months on probation; it has "
            "no evidential connection to the case"
        ),
        "limitations": [
            (
                "Incomplete case materials: the vignette is written anew from the published "
                "description; the original study's witness statements and expert reports are not "
                "available, which limits how exactly its context can be replicated."
            ),
            (
                "No legal qualifications: the original participants were 39 legal professionals "
                "with 13 years of experience on average; a model has none, so its answers cannot "
                "be equated with theirs, though patterns of anchoring can be compared."
            ),
        ],
    },
    replicates=120,
    designs={"documented": Design(replicates=30), "screen": Design(replicates=24)},
    simulated=answer,
)
