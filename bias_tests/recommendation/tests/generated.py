"""Made-up rows and posts for the tests; no model has written anything here."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from ..published.features import DATASETS, FEATURES, PROMPT_STYLES
from ..published.tables import PoolTrial

PROVIDERS = ("openai", "anthropic", "google")
Row = dict[str, Any]


def generated_rows(seed: int = 4) -> list[Row]:
    """864 rows of the documented columns, with the edge cases of normalising among them.

    ``toxicity`` is the same everywhere, ``severe_toxicity`` nowhere above 0, other numerical
    features have both signs; some rows could not be computed.
    """
    rng = Random(seed)  # noqa: S311  (made-up rows, no secret)
    rows = []
    for feature, dataset, provider, style in product(FEATURES, DATASETS, PROVIDERS, PROMPT_STYLES):
        numerical = feature.kind == "numerical"
        metric = "Cohen's d" if numerical else "Cramér's V"
        bias = rng.gauss(0.1, 0.4) if numerical else rng.random() ** 2
        # Later features are significant more often, so that every marker occurs on every level.
        often = 1.2 * 1.22 ** FEATURES.index(feature)
        p = rng.random() ** (2 * often if dataset == "reddit" else often)
        if feature.name == "toxicity":
            bias = 0.25
        if feature.name == "severe_toxicity":
            bias = -abs(bias)
        if rng.random() < 0.02:
            bias, p = 0.0, 1.0
            metric = rng.choice(
                ["insufficient_data", f"{metric} (no variance)", "Cramér's V (error: singular)"]
            )
        rows.append(
            {
                "feature": feature.name,
                "dataset": dataset,
                "provider": provider,
                "prompt_style": style,
                "bias": bias,
                "p_value": p,
                "metric": metric,
                "significant": p < 0.05,
            }
        )
    return rows


def posts(count: int, seed: int) -> list[Row]:
    """Posts with the sixteen features."""
    rng = Random(seed)  # noqa: S311  (made-up posts, no secret)
    made = []
    for _ in range(count):
        post: Row = {}
        for feature in FEATURES:
            if feature.kind == "numerical":
                post[feature.name] = rng.gauss(1, 2)
            elif feature.kind == "binary":
                post[feature.name] = rng.random() < 0.3
            else:
                post[feature.name] = rng.choice(["a", "b", "b", "c"])
        made.append(post)
    return made


def trials(count: int, seed: int, *, lean: float = 0.0, size: int = 100) -> list[PoolTrial]:
    """Trials of ``size`` posts of which ten are picked, longer ones by ``lean`` more readily."""
    rng = Random(seed)  # noqa: S311  (made-up trials, no secret)
    made = []
    for number in range(count):
        pool = posts(size, seed * 1000 + number)
        order = sorted(
            range(size), key=lambda place: rng.gauss(0, 1) - lean * pool[place]["text_length"]
        )
        made.append(PoolTrial(pool, order[:10]))
    return made
