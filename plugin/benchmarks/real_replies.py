"""Verdicts about real replies: a published run with a bias, and the same replies without one.

    python plugin/benchmarks/real_replies.py [--draws 200] [--seed 1]

The replies are those to the anchoring question that others published. Without a bias they are made
in two ways: both arms drawn from the replies of one arm, 156 each, and the labels of two arms
dealt anew. How often the claim about the sentence is then cleared, and how often it alarms, is
printed; the exit status is 1 where an arm drawn twice is cleared in fewer than 90 of 100 draws, or
two arms that differ by 3.8 months, with 11 and 9 of 30 replies missing, are not BIASED.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types

import pytest_bias as bias
from benchmarks.common import Share, note, say
from pytest_bias.verdicts.decide import clears

EXPERIMENT = "anchoring-prosecutor-sentencing-all-in-one"
HYPOTHESIS = "sentence_months-high-low"
REPLIES = Path("bias_tests/anchoring/published/anchoring_replies.csv")
AN_ARM = 156
FEWEST = 20  # valid replies of an arm from which others are drawn
EVALUATIONS = ("prosecutor_evaluation", "defence_evaluation")
LEAST = 0.90
WITH_MISSING = "haiku45-anchoring-30.jsonl"
"""11 and 9 of 30 replies are missing, and the others differ by 3.8 months: it must be BIASED."""


def verdict_on(arms: pd.DataFrame) -> bias.Verdict:
    """Return the verdict on the sentences of a table with the columns of the published file."""
    table = pd.DataFrame(
        {
            "demand": arms["condition"],
            "replicate": arms.groupby("condition").cumcount(),
            **{name: arms[name] for name in ("sentence_months", *EVALUATIONS)},
            "missing": arms["missing"],
        }
    )
    results = bias.analyze(EXPERIMENT, table)
    return next(each for each in results.verdicts if each.id == HYPOTHESIS)


def arms_of(replies: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the arms with enough valid replies within the scale of the question."""
    valid = replies[replies["missing"].isna() & replies["sentence_months"].between(0, 12)]
    for names, arm in valid.groupby(["source_file", "model", "condition"]):
        if len(arm) >= FEWEST:
            yield " ".join(map(str, names[1:])), arm


def drawn_twice(arm: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return two arms drawn from the replies of one."""
    return pd.concat(
        arm.sample(AN_ARM, replace=True, random_state=rng).assign(condition=level)
        for level in ("low", "high")
    )


def dealt_anew(arms: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return two arms with their labels dealt anew over all replies."""
    return arms.assign(condition=rng.permutation(arms["condition"].to_numpy()))


def shares(tables: Sequence[pd.DataFrame]) -> tuple[Share, Share]:
    """Return how often the claim is cleared, and how often it is BIASED."""
    verdicts = [verdict_on(each) for each in tables]
    cleared = sum(each.finding is not None and clears(each.finding) for each in verdicts)
    biased = sum(each.status == "BIASED" for each in verdicts)
    return Share(cleared, len(verdicts)), Share(biased, len(verdicts))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the shares of each published file; return 1 where one breaks its bound."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    rng = np.random.default_rng(given.seed)
    replies = pd.read_csv(REPLIES)
    error = 2 * math.sqrt(LEAST * (1 - LEAST) / given.draws)
    holds = True
    say("| both arms drawn from | replies | SD | CLEAR | BIASED |\n|---|---|---|---|---|")
    for name, arm in arms_of(replies):
        note(name)
        clear, biased = shares([drawn_twice(arm, rng) for _ in range(given.draws)])
        holds &= clear.value >= LEAST - error
        spread = arm["sentence_months"].std()
        say(f"| {name} | {len(arm)} | {spread:.2f} | {clear.value:.3f} | {biased.value:.3f} |")
    say("\n| as published | valid | verdict | labels dealt anew: BIASED |\n|---|---|---|---|")
    for (file, model), arms in replies.groupby(["source_file", "model"]):
        note(f"{file} {model}")
        verdict = verdict_on(arms)
        _, biased = shares([dealt_anew(arms, rng) for _ in range(given.draws)])
        valid = f"{arms['missing'].isna().sum()} of {len(arms)}"
        say(f"| {model}, {file} | {valid} | {verdict.words} | {biased.value:.3f} |")
        holds &= file != WITH_MISSING or verdict.status == "BIASED"
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
