"""What the published analysis looks at, in its own names and order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from pytest_bias import BadDesign

Kind: TypeAlias = Literal["numerical", "categorical", "binary"]


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of posts, and how it is compared.

    ``numerical`` features by Cohen's d and Welch's test, ``categorical`` ones by Cramér's V and
    chi-square, ``binary`` ones likewise, where V is φ. Raises BadDesign for another kind.
    """

    name: str
    kind: Kind

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            known = ", ".join(get_args(Kind))
            raise BadDesign(
                what=f"Feature({self.name!r})", problem=f"{self.kind!r} is none of {known}"
            )

    @property
    def words(self) -> str:
        """Its name in a sentence."""
        return self.name.replace("_", " ")


FEATURES = (
    Feature("author_gender", "categorical"),
    Feature("author_political_leaning", "categorical"),
    Feature("author_is_minority", "categorical"),
    Feature("text_length", "numerical"),
    Feature("avg_word_length", "numerical"),
    Feature("sentiment_polarity", "numerical"),
    Feature("sentiment_subjectivity", "numerical"),
    Feature("has_emoji", "binary"),
    Feature("has_hashtag", "binary"),
    Feature("has_mention", "binary"),
    Feature("has_url", "binary"),
    Feature("polarization_score", "numerical"),
    Feature("controversy_level", "categorical"),
    Feature("primary_topic", "categorical"),
    Feature("toxicity", "numerical"),
    Feature("severe_toxicity", "numerical"),
)
"""The sixteen documented features with the types they are documented with."""

DATASETS = ("twitter", "bluesky", "reddit")
PROVIDERS = ("openai", "anthropic", "gemini")
PROMPT_STYLES = ("general", "popular", "engaging", "informative", "controversial", "neutral")

_PRINTED = {"google": "gemini"}


def printed_provider(provider: str) -> str:
    """The provider as the published tables print it; names they do not know stay as they are."""
    return _PRINTED.get(provider, provider)


def by_place(known: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    """A sort key: documented names first, in their order, then others by the alphabet."""
    places = {name: place for place, name in enumerate(known)}
    return lambda name: (places.get(name, len(places)), name)
