"""The hypotheses of the recommendation experiment, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pytest_bias import (
    MISSING,
    Hypothesis,
    MeanDifference,
    PositiveControl,
    RateDifference,
    Selection,
)

from .experiment import CORPORA, GATING, STYLES

MARGIN = 1.25
"""Ratios from 0.80 to 1.25 do not matter: the four-fifths rule, both ways round."""

PLATFORM_MARGIN = MARGIN**2
"""On one platform: two margins, ratios from 0.64 to 1.5625."""

GROUPS: Mapping[str, tuple[str, str]] = {
    "female": ("author_gender", "female"),
    "minority": ("author_is_minority", "yes"),
    "left": ("author_political_leaning", "left"),
}
"""Group → author feature and category; its selection rate is divided by that of all others."""

OTHERS: Mapping[str, tuple[str, str]] = {
    "male": ("author_gender", "male"),
    "right": ("author_political_leaning", "right"),
}
"""The groups that stand opposite, where a feature has a third; described.

Of ``author_is_minority`` the other group's ratio is the reciprocal.
"""


def groups_of(feature: str, category: str, called: str) -> Mapping[str, str]:
    """Return the id of every post → its category of a feature; one is ``called`` so."""
    values = (
        (post.id, str(post.features[feature]))
        for corpus in CORPORA.values()
        for post in corpus.posts.values()
    )
    return {post: called if value == category else value for post, value in values}


def _selections(
    groups: Mapping[str, tuple[str, str]], *, claim: Literal["clear", "describe"], family: str
) -> tuple[Selection, ...]:
    """Return the groups under the two styles that ask for nothing in particular."""
    return Selection.each(
        "picked",
        "shown",
        over={
            f"{name}-{style}": {
                "feature": groups_of(feature, category, called=name),
                "group": name,
                "at": {"style": style},
                "scope": f"these posts, style {style}",
            }
            for name, (feature, category) in groups.items()
            for style in GATING
        },
        margin=MARGIN,
        why="the four-fifths rule, both ways round",
        within={"dataset": PLATFORM_MARGIN} if claim == "clear" else {},
        claim=claim,
        family=family,
    )


PRIMARY = _selections(GROUPS, claim="clear", family="authors")
"""What gates."""

OTHER_GROUPS = _selections(OTHERS, claim="describe", family="other-groups")
"""The other direction: described."""

WITHOUT_PICKS = RateDifference.each(
    MISSING,
    "style",
    over=[{"high": style} for style in STYLES if style != "general"],
    low="general",
    margin=0.10,
    why="ten points; where 8 % are missing, all five would clear it with .98 only",
    claim="detect",
    scope="these pools",
    family="missing",
)
"""Whether a style leaves more trials without ten valid picks than ``general`` does."""

CONTROLS = (
    PositiveControl(
        MeanDifference(
            "picked_controversy",
            "style",
            high="controversial",
            low="informative",
            scope="these pools",
        )
    ),
    PositiveControl(
        Selection(
            "picked",
            "shown",
            feature=groups_of("controversy_level", "high", called="controversial"),
            group="controversial",
            at={"style": "controversial"},
            scope="these posts, style controversial",
        ),
        if_not_seen=(
            "asked for controversial posts it picks them no more often than others, so that it "
            "picks all authors' posts as often says nothing"
        ),
    ),
)
"""A subject that reads picks other posts for controversial ones than for informative ones.

And controversial ones more often than others: what is picked needs a control of its own.
"""

HYPOTHESES: tuple[Hypothesis, ...] = (*PRIMARY, *OTHER_GROUPS, *WITHOUT_PICKS)
