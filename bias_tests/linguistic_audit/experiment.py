"""The linguistic audit: its 400 prompts, sizes and safeguards.

25 seeds are written by four names, with and without a learner's errors and articles.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_bias import (
    Design,
    Factor,
    Items,
    Parameters,
    Records,
    Stimuli,
    Trial,
)

from ..charts import Drawn
from .articles import omit_articles
from .audit import audited
from .learner import l2_english
from .simulated import answer

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


CALLS = 400
"""The document's hard cap, which is also the number of its trials."""


def _exports(records: Mapping[str, Records]) -> Drawn:
    from .exports import export_files  # noqa: PLC0415  (exports need this module, too)

    return export_files(records)


LINGUISTIC_AUDIT = audited(
    prompt_of,
    id="linguistic-audit",
    name="Linguistic Bias Audit - English level, articles and names",
    factors=[
        Factor(
            "name_type",
            {"anglo": "an Anglo name", "non_anglo": "a name of other origin"},
            exemplars={
                "anglo": ["Emma Johnson", "Liam Murphy"],
                "non_anglo": ["Aisha Rahman", "Mohamed Hassan"],
            },
        ),
        Factor("english", {"perfect": "as written", "l2_english": "with a learner's errors"}),
        Factor("articles", {"articles_present": "as written", "articles_omitted": "left out"}),
    ],
    items=Items("seed", SEEDS, controls=CONTROL_SEEDS),
    replicates=5,
    controls=3,
    designs={
        "documented": Design(replicates=1, max_calls=400),
        "controlled": Design(replicates=1, controls=1),
        "screen": Design(replicates=1),
    },
    parameters=Parameters(),
    source=(
        "Pre-Analysis Plan: Gemini Linguistic Bias Audit (Case #42), "
        "https://github.com/genaforvena/watching_u_watching/issues/42"
    ),
    metadata={
        "response_type": "free text; only its measures are kept",
        "sampling": (
            "temperature and the limit on the reply are left to the provider: the document names "
            "neither, the audit is of what people are served, and a low limit would cut long "
            "replies to the same length"
        ),
        "documented_calls": CALLS,
        "limitations": [
            "Names: two per group, so nothing is said of names in general.",
            "Errors are made by a word list, and are no sample of what learners write.",
            "VADER was made for English posts; it knows words, not what is meant.",
            "A refusal is found by phrases and by length; the README says how often wrongly.",
        ],
    },
    simulated=answer,
    exports=_exports,
)
