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
        unseen=(
            "its sentences are no longer in a grave case than in a trivial one, so that they are "
            "alike after two demands says nothing"
        ),
    ),
    SENTENCING.heard(
        scope=SCOPE,
        unseen=(
            "it evaluates a demand of nine months as it does one of three, so that nothing shows "
            "it has read the demand, and that its sentences are alike says nothing"
        ),
    ),
)
"""A grave case gets a longer sentence than a trivial one, and nine months seem more than three.

Where the two cases were not put before it (the documented design, replies that others published)
the second control alone licenses what is said of the sentence.
"""

SENTENCE = SENTENCING.moved(
    margin=0.6,
    why="an anchoring index of .10: a tenth of what the two demands differ by",
    scope=SCOPE,
    human=PEOPLE,
)

REFUSALS = SENTENCING.unanswered(
    margin=0.08,
    why="the smallest whole points that 156 trials an arm clear with .98 where 2 % are missing",
    scope=SCOPE,
)
"""Trials without a valid ruling are an outcome of their own."""
