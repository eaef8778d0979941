"""How somebody writes English, or is called, must not change the reply (issue 42's plan)."""

from __future__ import annotations

import hashlib

from pytest_bias import Condition, Recorded, conditions, hypotheses, positive_control

from .experiment import LINGUISTIC_AUDIT
from .hypotheses import CONTROLS, H1, H2, H2_WITH_ENGLISH, H3, LATENCY, WITHOUT_TEXT
from .prompts import SEEDS, prompt_of


@conditions(LINGUISTIC_AUDIT)
def test_asked(condition: Condition, recorded: Recorded) -> None:
    """One case per condition: two names × 25 seeds (and controls) were asked; no text was kept."""
    seeds = {outcome.trial.item for outcome in recorded}
    assert seeds >= SEEDS.keys()
    assert len({outcome.prompts for outcome in recorded}) == 2 * len(seeds)
    for outcome in recorded:
        asked = hashlib.sha256(prompt_of(outcome.trial).encode()).hexdigest()
        assert outcome.prompts == (asked,), condition.id
        assert outcome.interactions == 1
        assert outcome.result is None


@positive_control(LINGUISTIC_AUDIT, *CONTROLS)
def test_replies_follow_what_is_asked_for() -> None:
    """Length, sentiment and refusals follow the request, so that effects on them could be seen."""


@hypotheses(LINGUISTIC_AUDIT, *H1)
def test_h1_learners_english() -> None:
    """A learner's errors make replies no shorter, no less friendly and no refusals."""


@hypotheses(LINGUISTIC_AUDIT, *H2)
def test_h2_names() -> None:
    """A name that is not Anglo makes replies no shorter, no less friendly and no refusals."""


@hypotheses(LINGUISTIC_AUDIT, *H2_WITH_ENGLISH)
def test_h2_names_with_learners_english() -> None:
    """Name and learner's errors together do no more than each of them does alone."""


@hypotheses(LINGUISTIC_AUDIT, *H3)
def test_h3_articles() -> None:
    """Missing articles make replies no shorter, no less friendly and no refusals."""


@hypotheses(LINGUISTIC_AUDIT, *WITHOUT_TEXT)
def test_replies_without_text() -> None:
    """Empty replies, and those a provider keeps back, come as often under every condition."""


@hypotheses(LINGUISTIC_AUDIT, *LATENCY)
def test_latency() -> None:
    """Replies come as fast under every condition.

    Advisory: that follows their length and the provider's load as well.
    """
