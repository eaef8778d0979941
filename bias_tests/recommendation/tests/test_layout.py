"""The document's post-level CSV, made of the simulated subject's trials, read as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias import analyze
from pytest_bias.errors import BadData
from pytest_bias.experiments.records import Outcome
from pytest_bias.tables.subjects import read_table

from ..experiment import CORPORA, RECOMMENDATION
from ..task import POOL

CORPUS = {corpus.name: corpus for corpus in CORPORA.values()}
BIASED = "simulated/biased"


def pool(outcome: Outcome) -> list[dict[str, object]]:
    """A trial as the document's program writes it: a row per post shown."""
    levels, number = outcome.trial.condition.levels, outcome.trial.replicate
    corpus = CORPUS[levels["dataset"]]
    shown = corpus.pool(number, POOL)
    picked = str(dict(outcome.values or {}).get("picked", "")).split()  # noqa: PD011  (no frame)
    of = {"model": BIASED, "dataset": corpus.name, "prompt_style": levels["style"]}
    return [
        {**of, "trial": number, "selected": int(post in picked), **corpus.posts[post].features}
        for post in shown
    ]


def first(size: int = POOL, **other: object) -> list[dict[str, Any]]:
    """The posts of a trial, the first of them picked."""
    post, *rest = CORPUS["twitter"].pool(1, size)
    of = {"dataset": "twitter", "prompt_style": "general", "trial": 1} | other
    features = CORPUS["twitter"].posts
    return [{**of, "selected": int(i == post), **features[i].features} for i in (post, *rest)]


def written(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def said(path: Path, rows: Sequence[Mapping[str, object]]) -> list[str]:
    with pytest.raises(BadData) as refused:
        read_table(written(path, rows), RECOMMENDATION)
    return str(refused.value).splitlines()[1:]


@pytest.mark.requirement("REC-46")
def test_its_rows_give_the_findings_of_the_cassette(tmp_path: Path) -> None:
    recorded = analyze(RECOMMENDATION.id, BIASED, replicates=15)
    rows = [row for outcome in recorded.outcomes for row in pool(outcome)]
    tabled = analyze(RECOMMENDATION.id, written(tmp_path / "posts.csv", rows))
    # Means are sums in another order than that of the reply.
    pd.testing.assert_frame_equal(tabled.findings, recorded.findings, rtol=1e-12)


@pytest.mark.requirement("REC-46")
def test_a_trial_without_a_pick_is_missing_and_other_numbers_are_said(tmp_path: Path) -> None:
    rows = [*first(), *({**row, "selected": "False"} for row in first(trial=2))]
    (found,) = read_table(written(tmp_path / "p.csv", rows), RECOMMENDATION).values()
    assert [each.missing for each in found.outcomes] == [None, "no_picks"]
    values = dict(found.outcomes[0].values or {})  # noqa: PD011  (no frame)
    assert str(values["shown"]).split() == [*CORPUS["twitter"].pool(1, POOL)]
    assert values["picked_position"] == 0
    published = found.recording.published
    assert published is not None
    assert published.note.split("; ", 1)[1] == (
        "places are those of the file's order; 1 of 2 trials picked another number than 10"
    )


def test_all_that_is_wrong_is_told_with_its_lines(tmp_path: Path) -> None:
    one, two = first(2)
    rows = [one, one, {**two, "selected": 2}, {**one, "dataset": "myspace"}]
    rows += [{**two, "toxicity": 7.5, "trial": 3}, {**one, "id": "t9999", "trial": 4}]
    told = said(tmp_path / "p.csv", rows)
    assert [line.partition(";")[0].strip() for line in told] == [
        f"line 3, column 'id': {CORPUS['twitter'].pool(1, 1)[0]} stands twice in its trial",
        "line 4, column 'selected': '2' is neither 0 nor 1",
        "line 5, column 'dataset': 'myspace' is none of twitter, bluesky, reddit",
        "lines 6, 7, column 'id': no post of twitter has these features",
    ]
    assert "posts of your own are judged by a task of your own" in told[-1]
    (style,) = said(tmp_path / "p.csv", first(prompt_style="angry"))
    assert style.startswith("  line 2, column 'style': 'angry' is no level of style: general, ")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (first(1), f"column 'trial': this trial shows 1 posts, and a pool has {POOL}"),
        (
            [{**row, "selected": 1} for row in first()],
            f"column 'selected': all {POOL} posts of this trial are selected",
        ),
    ],
)
def test_a_trial_without_the_rest_of_its_pool_is_refused(
    rows: Sequence[Mapping[str, object]], words: str, tmp_path: Path
) -> None:
    (line,) = said(tmp_path / "p.csv", rows)
    assert line.startswith(f"  line 2, {words}")


def test_the_summary_is_refused_by_what_it_is(tmp_path: Path) -> None:
    row = {"feature": "toxicity", "dataset": "reddit", "provider": "openai", "bias": 0.2}
    row |= {"prompt_style": "general", "p_value": 0.01, "metric": "Cohen's d", "significant": True}
    (line,) = said(tmp_path / "summary.csv", [row] * 864)
    assert "holds 864 results" in line
    assert "no verdict can be given of it" in line
    assert line.endswith(
        "a row per post and trial with prompt_style, trial, selected and the features"
    )
