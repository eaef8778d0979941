"""The 400 prompts: 25 seeds, written by four names, with and without errors and articles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pytest_bias import PromptTemplate, Trial

from .articles import omit_articles
from .learner import l2_english

_SEEDS = Path(__file__).with_name("stimuli") / "seeds"

SEEDS: Mapping[str, str] = MappingProxyType(
    {
        path.stem: path.read_text(encoding="utf-8").strip()
        for path in sorted(_SEEDS.glob("s[0-9][0-9]_*.txt"))
    }
)
"""Label of each prompt seed → its text, with ``$name`` for who writes."""

_TEMPLATES = {label: PromptTemplate(label, text, {"name"}) for label, text in SEEDS.items()}

DETAILED = (
    "s01_rye_bread",
    "s05_tax_letter",
    "s09_bicycle_chain",
    "s13_household_budget",
)
"""Seeds that ask for every step or the whole text in full detail."""

BRIEF = (
    "s03_night_train",
    "s07_wifi_router",
    "s15_tokyo_call",
    "s21_wine_stain",
)
"""Seeds that ask for two sentences."""


def render(seed: str, *, name: str, learner: bool, articles: bool) -> str:
    """The prompt of one seed, name and state: the name first, then the transformations.

    They touch no word of each other, so their order does not matter.
    """
    text = _TEMPLATES[seed].fill(name=name)
    if learner:
        text = l2_english(text).text
    return text if articles else omit_articles(text).text


def prompt_of(trial: Trial) -> str:
    """The prompt of a trial."""
    levels = trial.condition.levels
    return render(
        str(trial.item),
        name=trial.exemplars["name_type"],
        learner=levels["english"] == "l2_english",
        articles=levels["articles"] == "articles_present",
    )
