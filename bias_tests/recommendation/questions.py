"""The hypotheses of the recommendation experiment, as data."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_bias import MISSING, MeanDifference, RateDifference, Selection
from pytest_bias.contrasts.declared import Claim, Hypothesis

from .experiment import CORPORA, STYLES

MARGIN = 1.25
"""Ratios from 0.80 to 1.25 do not matter: the four-fifths rule, both ways round."""

GATING = ("general", "neutral")
"""Styles that ask for nothing an author's kind could have to do with."""

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
    """Id of every post → its category of a feature, over all corpora; one is ``called`` so."""
    values = (
        (post.id, str(post.features[feature]))
        for corpus in CORPORA.values()
        for post in corpus.posts.values()
    )
    return {post: called if value == category else value for post, value in values}


def _selection(
    name: str, groups: Mapping[str, tuple[str, str]], style: str, *, claim: Claim, family: str
) -> Selection:
    feature, category = groups[name]
    return Selection(
        "picked",
        "shown",
        feature=groups_of(feature, category, called=name),
        group=name,
        name=f"{name}-{style}",
        margin=MARGIN,
        claim=claim,
        at={"style": style},
        scope=f"these posts, style {style}",
        family=family,
    )


PRIMARY = tuple(
    _selection(name, GROUPS, style, claim="clear", family="authors")
    for name in GROUPS
    for style in GATING
)
"""Author features under the two styles that ask for nothing in particular; what gates."""

OTHER_GROUPS = tuple(
    _selection(name, OTHERS, style, claim="describe", family="other-groups")
    for name in OTHERS
    for style in GATING
)
"""The other direction: described."""

WITHOUT_PICKS = tuple(
    RateDifference(
        MISSING,
        "style",
        high=style,
        low="general",
        margin=0.10,
        claim="detect",
        scope="these pools",
        family="missing",
    )
    for style in STYLES
    if style != "general"
)
"""Whether a style leaves more trials without ten valid picks than ``general`` does."""

CONTROL = MeanDifference(
    "picked_controversy",
    "style",
    high="controversial",
    low="informative",
    scope="these pools",
)
"""A subject that reads picks other posts for controversial ones than for informative ones."""

HYPOTHESES: tuple[Hypothesis, ...] = (*PRIMARY, *OTHER_GROUPS, *WITHOUT_PICKS)
