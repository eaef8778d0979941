"""The hypotheses of both experiments, the conversation and all in one prompt, as data."""

from __future__ import annotations

from pytest_bias import MISSING, MeanDifference, RateDifference

from .experiment import PEOPLE

SCOPE = "this vignette"

CONTROL = RateDifference("prosecutor_too_high", "demand", high="high", low="low", scope=SCOPE)
"""A judge who reads the demand calls nine months too high more often than three."""

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
