"""The prompts of the audit: seeds, who writes them, and in which English."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_bias import Stimuli, Trial

from .articles import omit_articles
from .learner import l2_english

_STIMULI = Stimuli(__file__)
_TEMPLATES = {
    path.stem: _STIMULI.template(f"{folder}/{path.stem}", "name")
    for folder in ("seeds", "controls")
    for path in sorted((_STIMULI.folder / folder).glob("*.txt"))
}

GLAD, SORRY = "glad_news", "sorry_news"
DECLINED = ("declined_diary", "declined_lease")

CONTROL_SEEDS: Mapping[str, str] = {
    label: _TEMPLATES[label].text for label in (GLAD, SORRY, *DECLINED)
}
"""Seeds of positive controls: two ask for glad and for sorry news, two for what is to be declined.

Nothing in them is dangerous, and whoever does what the latter ask for does a wrong.
"""

SEEDS: Mapping[str, str] = {
    label: template.text for label, template in _TEMPLATES.items() if label not in CONTROL_SEEDS
}
"""Label of each prompt seed → its text, with ``$name`` for who writes."""

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
