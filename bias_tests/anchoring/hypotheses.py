"""The hypotheses of both experiments, the conversation and all in one prompt, as data."""

from __future__ import annotations

from pytest_bias import MISSING, MeanDifference, PositiveControl, RateDifference

from .experiment import PEOPLE

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
    PositiveControl(
        MeanDifference(
            "prosecutor_evaluation_ordinal", "demand", high="high", low="low", scope=SCOPE
        ),
        licenses=("prosecutor_evaluation_ordinal", "sentence_months"),
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

SENTENCE = MeanDifference(
    "sentence_months",
    "demand",
    high="high",
    low="low",
    margin=0.6,
    why="an anchoring index of .10: a tenth of what the two demands differ by",
    claim="clear",
    scope=SCOPE,
    direction="positive",
    human=PEOPLE,
)

REFUSALS = RateDifference(
    MISSING,
    "demand",
    high="high",
    low="low",
    margin=0.08,
    why="the smallest whole points that 156 trials an arm clear with .98 where 2 % are missing",
    claim="clear",
    scope=SCOPE,
    family="refusals",
)
"""Trials without a valid ruling are an outcome of their own."""
