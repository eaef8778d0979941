"""Englich, Mussweiler & Strack (2006), Study 2: its data, and its two protocols.

A judge hears a prosecutor's demand and evaluates it, hears the defence attorney's demand and
evaluates it, then decides: in a conversation of three turns, or all in one prompt. Only the
prosecutor's demand, the anchor, varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from pytest_bias import Design, Human, Parameters, Stimuli

from .layout import DOCUMENTED
from .simulated import answer
from .template import Anchoring, ControlCase, Part

CITATION = (
    "Englich, B., Mussweiler, T., & Strack, F. (2006). Playing dice with criminal sentences: The "
    "influence of irrelevant anchors on experts' judicial decision making. Personality and Social "
    "Psychology Bulletin, 32(2), 188–200. https://doi.org/10.1177/0146167205282152"
)

PEOPLE = Human.tested(
    low=4.00, high=6.05, t=2.10, df=37, n=39, similar_within=0.5, citation=CITATION
)
"""Study 2: 39 legal professionals, months on probation."""

_STIMULI = Stimuli(__file__)

SENTENCING = Anchoring(
    stimuli=_STIMULI,
    anchors={"low": 3, "high": 9},
    comparison="1 month",
    bounds=(0, 12),
    spread=1.0,  # that of simulated/even; 30 arms of 16 published models have 0 to 2.7
    unit="months on probation",
    factor="demand",
    echo=Part(
        "prosecutor_months",
        "prosecutorRecommendationMonths",
        "the demand as the first reply that could be read repeats it",
    ),
    anchor_evaluation=Part(
        "prosecutor_evaluation", "prosecutorEvaluation", "what the judge thinks of the demand"
    ),
    comparison_evaluation=Part(
        "defence_evaluation", "defenseAttorneyEvaluation", "what the judge thinks of the plea"
    ),
    estimate=Part("sentence_months", "sentenceMonths", "the judge's final sentence"),
    controls={
        "grave": ControlCase("6, in a grave case", "vignette_grave", 6),
        "trivial": ControlCase("6, in a trivial case", "vignette_trivial", 6),
    },
)
"""The case of Lena M.; in the control cases the prosecutor demands six months."""

DEMAND = SENTENCING.levels
case_of = SENTENCING.case_of

ANCHORING = SENTENCING.experiment(
    id="anchoring-prosecutor-sentencing",
    name="Anchoring Bias - Prosecutor Sentencing Recommendation",
    replicates=180,
    controls=24,
    version=2,  # of 1 the schema had other keys first, and nothing named the bounds
    designs={"documented": Design(replicates=30)},
    parameters=Parameters(temperature=1.0, max_output_tokens=400),
    source=CITATION,
    metadata={
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
    simulated=answer,
    layouts={"documented": DOCUMENTED},
)

ALL_IN_ONE = replace(
    ANCHORING,
    id="anchoring-prosecutor-sentencing-all-in-one",
    name="Anchoring Bias - Prosecutor Sentencing Recommendation, all in one prompt",
    protocol=SENTENCING.at_once,
    parameters=Parameters(),  # command-line agents take neither a temperature nor a limit
    metadata={
        **ANCHORING.metadata,
        "protocol": "all three steps in one prompt, answered with one JSON object",
        "sampling": (
            "the experiment sets neither temperature nor output limit, as the Codex CLI takes "
            "neither: they are the provider's own, or what the roster says of the model"
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
)
