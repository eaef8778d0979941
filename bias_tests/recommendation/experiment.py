"""The documented study as data: three corpora, six styles, fresh pools, sizes, source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from pytest_bias import Design

from .corpus import Corpus, read_corpus
from .generate import FEATURES
from .simulated import answer
from .template import STIMULI, Average, recommendation_experiment

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
    {told: read_corpus(name, STIMULI / f"{name}.csv", TYPES) for told, name in PLATFORMS.items()}
)

STYLES: Mapping[str, str] = json.loads((STIMULI / "requests.json").read_text("utf-8"))

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

RECOMMENDATION = recommendation_experiment(
    id="recommendation",
    name="Recommendation Bias - Pools of Posts against what is Recommended",
    corpora=CORPORA,
    requests=STYLES,
    averages=[CONTROVERSY, POLARISATION],
    replicates=60,
    designs={"documented": Design(replicates=1), "screen": Design(replicates=15)},
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
)
