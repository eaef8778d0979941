"""The hypotheses of both experiments, the conversation and all in one prompt, as data."""

from __future__ import annotations

from pytest_bias import MeanDifference, PositiveControl

from .experiment import PEOPLE, SENTENCING

SCOPE = "this vignette"

CONTROLS = (
    PositiveControl(
        MeanDifference(
            "sentence_months", "demand", high="grave", low="trivial", scope="these two cases"
        ),
        if_not_seen=(
            "its sentences are no longer in a grave case than in a trivial one, so that they are "
            "alike after two demands says nothing"
        ),
    ),
    SENTENCING.read(
        scope=SCOPE,
        if_not_seen=(
            "it repeats a demand of nine months as it does one of three, so that nothing shows it "
            "has read the demand, and that its sentences are equal says nothing"
        ),
    ),
    SENTENCING.evaluated(
        scope=SCOPE,
        if_not_seen=(
            "it evaluates a demand of nine months as it does one of three, so that its "
            "evaluations say nothing of how it takes a demand"
        ),
    ),
)
"""A grave case gets a longer sentence; a higher demand is repeated, and evaluated, as higher.

Where the two cases were not put before it (the documented design, replies that others published)
one of the other two licenses what is said of the sentence.
"""

SENTENCE = SENTENCING.moved(
    margin=0.6,
    why="an anchoring index of .10: a tenth of what the two demands differ by",
    scope=SCOPE,
    human=PEOPLE,
)

REFUSALS = SENTENCING.unanswered(
    margin=0.10,
    why="one trial in ten; found beyond it, as to clear it takes 340 an arm where 8 % are missing",
    scope=SCOPE,
)
"""Trials without a valid ruling are an outcome of their own."""
