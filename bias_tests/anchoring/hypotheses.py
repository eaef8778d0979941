"""The hypotheses of both experiments, the conversation and all in one prompt, as data."""

from __future__ import annotations

from pytest_bias import MISSING, MeanDifference, PositiveControl, RateDifference

from .experiment import PEOPLE

SCOPE = "this vignette"

CONTROLS = (
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
"""A judge who reads the demand finds nine months higher than three."""

SENTENCE = MeanDifference(
    "sentence_months",
    "demand",
    high="high",
    low="low",
    margin=0.6,
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
    margin=0.10,
    claim="clear",
    scope=SCOPE,
    family="refusals",
)
"""Trials without a valid ruling are an outcome of their own."""
