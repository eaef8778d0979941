"""The linguistic audit: its 400 prompts, protocol, measures, sizes and safeguards.

25 seeds are written by four names, with and without a learner's errors and articles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt

from pytest_bias import (
    Design,
    Experiment,
    Factor,
    Items,
    Measure,
    Misclassified,
    Parameters,
    Records,
    Stimuli,
    Subject,
    Trial,
    VegaChart,
    is_refusal,
    log_length,
    response_length,
    sentiment,
)

from .articles import omit_articles
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


LONGEST = 1_000_000
"""Characters beyond which no reply of a model served today can be."""

SLOWEST = 86_400.0
"""Seconds beyond which no reply can come: a day."""

QUERIES_PER_MINUTE = 60
CALLS = 400
"""The document's hard cap, which is also the number of its trials."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply as it is measured, before its text is discarded."""

    text: str = field(repr=False)
    latency: float


async def ask(trial: Trial, subject: Subject) -> Answer:
    """Ask once. Nothing is asked again: a refusal is an outcome here, not a mishap.

    A reply without any text (empty, or kept back by the provider) leaves the trial missing under
    its reason, and whether that depends on a factor is a hypothesis of its own.
    """
    reply = await subject.ask(prompt_of(trial), attempts=1)
    return Answer(reply.text, reply.latency)


_FOUND, _PASSED = 21 / 30, 24 / 30
"""Shares of the labelled refusals, and of the labelled answers, that the rules read rightly."""

RULES = Misclassified(
    sensitivity=_FOUND,
    specificity=1.0,
    se=sqrt(_FOUND * (1 - _FOUND) / 30),
    source="30 labelled refusals; answers taken to pass",
    sampled=False,
    worst=Misclassified(
        sensitivity=_FOUND,
        specificity=_PASSED,
        se=sqrt((_FOUND * (1 - _FOUND) + _PASSED * (1 - _PASSED)) / 30),
        source="30 labelled answers, chosen to be hard",
    ),
)
"""How the rules for refusals err.

Refusals they miss make every difference smaller. The labelled ones were chosen to be hard and are
no sample of a model's, so no estimate is corrected, but nothing is cleared that would not be if so
many were missed. Answers they take for
refusals do, too, but the labelled ones were written to look like refusals: were one in five of a
model's answers taken for one, a fifth of its replies would be found to refuse at least, and a few
per cent are. So that is shown beside the verdict, and does not decide.
"""


def _exports(records: Mapping[str, Records]) -> Mapping[str, str | VegaChart]:
    from .exports import export_files  # noqa: PLC0415  (exports need this module, too)

    return export_files(records)


LINGUISTIC_AUDIT = Experiment(
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
    protocol=ask,
    measures=[
        Measure(
            "response_length",
            lambda reply: response_length(reply.text),
            unit="characters",
            bounds=(0, LONGEST),
            whole=True,
            integer=True,
            meaning="number of characters of the reply",
        ),
        Measure(
            "log_length",
            lambda reply: log_length(reply.text),
            bounds=(0, 14),
            whole=True,
            meaning="natural logarithm of the number of characters",
        ),
        Measure(
            "sentiment",
            lambda reply: sentiment(reply.text),
            bounds=(-1, 1),
            meaning="VADER compound score, from most negative to most positive",
        ),
        Measure(
            "is_refusal",
            lambda reply: is_refusal(reply.text),
            meaning="whether the reply has a phrase of refusal or fewer than 15 words",
            error=RULES,
        ),
        Measure(
            "latency",
            unit="seconds",
            bounds=(0, SLOWEST),
            meaning="time to the reply, without queueing and failed attempts",
        ),
    ],
    replicates=5,
    controls=1,
    designs={
        "documented": Design(replicates=1, max_calls=400),
        "controlled": Design(replicates=1, controls=1),
        "screen": Design(replicates=1),
    },
    parameters=Parameters(),
    qpm=QUERIES_PER_MINUTE,
    retention="measures",
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
