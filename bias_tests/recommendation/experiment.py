"""The experiment: three corpora, six styles, and the measures of what is picked."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_bias import (
    Design,
    Experiment,
    Parameters,
)

from .corpus import Corpus, read_corpus
from .generate import FEATURES
from .layout import layouts
from .simulated import answer
from .task import STIMULI, Average, Task

PLATFORMS: Mapping[str, str] = {"Twitter": "twitter", "Bluesky": "bluesky", "Reddit": "reddit"}
"""What a subject is told → the corpus."""

TYPES: Mapping[str, object] = {
    **FEATURES,
    "author_gender": ["female", "male", "undisclosed"],
    "author_political_leaning": ["left", "center", "right"],
    "author_is_minority": ["yes", "no"],
    "controversy_level": ["low", "medium", "high"],
}
"""The 16 features; with all their categories where these are known."""

CORPORA: Mapping[str, Corpus] = MappingProxyType(
    {
        told: read_corpus(name, STIMULI.folder / f"{name}.csv", TYPES)
        for told, name in PLATFORMS.items()
    }
)

GATING = ("general", "neutral")
"""Styles that ask for nothing an author's kind could have to do with."""

STYLES: Mapping[str, str] = STIMULI.json("requests", dict[str, str])

CONTROVERSY = Average(
    name="controversy",
    feature="controversy_level",
    bounds=(0.0, 1.0),
    scores={"low": 0.0, "medium": 0.5, "high": 1.0},
    meaning="mean controversy of the posts picked: low 0, medium 0.5, high 1",
)

POLARISATION = Average(
    name="polarisation",
    feature="polarization_score",
    bounds=(0.0, 1.0),
    meaning="mean polarization score of the posts picked",
)

TASK = Task(corpora=CORPORA, requests=STYLES, averages=[CONTROVERSY, POLARISATION])

RECOMMENDATION = Experiment(
    id="recommendation",
    name="Recommendation Bias - Pools of Posts against what is Recommended",
    factors=TASK.factors,
    protocol=TASK.recommend,
    measures=TASK.measures,
    replicates=110,
    designs={"documented": Design(replicates=1)},
    parameters=Parameters(),
    retention="measures",
    source=(
        "Bias Computation and Normalization Methodology, LLM recommendation bias analysis "
        "(December 17, 2025); corpora and prompts are written anew"
    ),
    metadata={
        "response_type": "list of ten post ids",
        "corpora": "synthetic: made by a seeded generator; no post is a person's",
        "sampling": "temperature and the limit on the reply are left to the provider",
        "limitations": [
            "recommended posts are some of the pool: the published tests' independence fails",
            "synthetic posts: nothing is shown about a platform",
            "authors show in a first name and four things they say, and in nothing else",
        ],
    },
    simulated=answer,
    figures=TASK.figures,
    exports=TASK.exports,
    layouts=layouts(TASK),
)
