"""The published subjects: their figures are those of the table's own rows, and the page's too."""

from __future__ import annotations

import csv
import hashlib
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from benchmarks import real_models
from tests import forked

TABLE = Path(__file__).parents[1] / "published" / "anchoring_replies.csv"
NAMES = {
    "anthropic/claude-haiku-4-5": "claude-haiku-4-5",
    "anthropic/claude-opus-4-5": "claude-opus-4-5",
    "anthropic/claude-opus-4-5-20251101": "claude-opus-4-5-20251101",
    "anthropic/claude-opus-4-6": "claude-opus-4-6",
    "anthropic/claude-sonnet-4-20250514": "claude-sonnet-4-20250514",
    "codex": "codex",
    "github-copilot/gpt-4o": "gpt-4o-copilot",
    "openrouter/meta-llama/llama-3.3-70b-instruct": "llama-3.3-70b-instruct",
    "openrouter/openai/gpt-4o": "gpt-4o",
}
"""As the source names them → as subjects."""


@pytest.fixture(scope="module", autouse=True)
def runs() -> Iterator[None]:
    """Runs of the suite are forked."""
    with pytest.MonkeyPatch.context() as here:
        here.setattr(sys, "executable", forked.python())
        yield


NO_SPREAD = {"claude-opus-4-5", "claude-opus-4-5-20251101", "claude-sonnet-4-20250514"}
"""Subjects with one sentence after each demand, of which no t is defined."""


def rows(model: str, condition: str) -> list[dict[str, str]]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        found = [row for row in csv.DictReader(file) if row["model"] == model]
    return [row for row in found if row["condition"] == condition]


def months(model: str, condition: str) -> list[int]:
    return [int(row["sentence_months"]) for row in rows(model, condition) if not row["missing"]]


@pytest.fixture(scope="module")
def analyses() -> Mapping[str, Mapping[str, Any]]:
    """The analyses of a run of all of them, by the subject's name."""
    found = real_models.analyses(real_models.CASES, real_models.models())
    return {analysis["model"].partition("/")[2]: analysis for analysis in found}


def finding(analysis: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    (found,) = (v["finding"] for v in analysis["verdicts"] if v["id"] == name)
    assert isinstance(found, dict)
    return found


def test_every_name_of_the_table_is_a_subject() -> None:
    assert real_models.models() == tuple(sorted(f"published/{name}" for name in NAMES.values()))


@pytest.mark.requirement("ANCHOR-23", "ANCHOR-24")
@pytest.mark.filterwarnings("ignore:Precision loss")  # scipy's word for an arm without spread
@pytest.mark.parametrize(("source", "name"), NAMES.items(), ids=NAMES.values())
def test_difference_t_df_and_p_are_those_of_the_rows(
    analyses: Mapping[str, Mapping[str, Any]], source: str, name: str
) -> None:
    high, low = months(source, "high"), months(source, "low")
    found = finding(analyses[name], "sentence_months-high-low")
    assert found["estimate"] == pytest.approx(np.mean(high) - np.mean(low), rel=0, abs=1e-9)
    assert [arm["units"] for arm in found["arms"]] == [len(high), len(low)]
    statistics = found["published"]["statistics"]
    if name in NO_SPREAD:
        assert len({*high}) == len({*low}) == 1
        assert list(statistics) == ["not defined"]
        return
    expected = stats.ttest_ind(high, low, equal_var=False)
    assert statistics["t"] == pytest.approx(expected.statistic, rel=0, abs=1e-9)
    assert statistics["df"] == pytest.approx(expected.df, rel=0, abs=1e-9)
    assert statistics["p"] == pytest.approx(expected.pvalue, rel=1e-9, abs=0)


@pytest.mark.requirement("ANCHOR-20")
@pytest.mark.parametrize(("source", "name"), NAMES.items(), ids=NAMES.values())
def test_every_row_is_a_trial_and_nothing_is_said_to_be_known_that_is_not(
    analyses: Mapping[str, Mapping[str, Any]], source: str, name: str
) -> None:
    analysis = analyses[name]
    recording, (low, high) = analysis["recording"], analysis["counts"]
    for count in (low, high):
        of = rows(source, count["condition"])
        lost = sum(row["missing"] == "error" for row in of)
        assert (count["planned"], count["ok"]) == (len(of), len(of) - lost)
        assert count["missing"] == ({"error": lost} if lost else {})
        assert count["interactions"] is None
    assert not analysis["simulated"]
    assert (recording["interactions"], recording["served"], recording["wire"]) == (None, [], "")
    known = recording["published"]
    assert known["checksum"] == hashlib.sha256(TABLE.read_bytes()).hexdigest()
    assert known["checksum"] in TABLE.with_name("README.md").read_text(encoding="utf-8")
    assert known["rows"] == low["planned"] + high["planned"]
    mixed = name in {"claude-sonnet-4-20250514", "llama-3.3-70b-instruct"}
    assert known["note"].startswith(f"{low['planned']} rows an arm" if mixed else "")
    assert bool(known["note"]) == mixed
    assert known["licence"] == "MIT, © 2026 voder.ai"
    assert "voder-ai/bAIs" in known["source"]
    times = [row["collected_at"] for at in ("low", "high") for row in rows(source, at)]
    assert (recording["oldest"], recording["newest"]) == (min(times), max(times))


def test_the_ordinal_control_is_that_of_the_rows_and_seen_but_for_haiku(
    analyses: Mapping[str, Mapping[str, Any]],
) -> None:
    """Too low < just right < too high: the mean of -1, 0 and 1 in the table's own rows."""
    order = ("too low", "just right", "too high")
    for source, name in NAMES.items():
        (control,) = (c for c in analyses[name]["controls"] if c["recorded"])
        arms = {a["level"]: a["mean"] for a in control["finding"]["arms"]}
        for level, mean in arms.items():
            valid = [row for row in rows(source, level) if not row["missing"]]
            ranks = [order.index(row["prosecutor_evaluation"]) - 1 for row in valid]
            assert math.isclose(mean, np.mean(ranks), abs_tol=1e-12)
        assert control["seen"] == (name != "claude-haiku-4-5")


def test_the_table_of_the_pre_registration_is_that_of_a_run(
    analyses: Mapping[str, Mapping[str, Any]],
) -> None:
    shown = real_models.shown(real_models.ANCHORING, "published")
    assert shown == real_models.table([analyses[name] for name in sorted(analyses)])


def test_the_readmes_say_what_the_run_found(analyses: Mapping[str, Mapping[str, Any]]) -> None:
    words = {2: "two", 7: "seven", 9: "nine"}
    primary = {
        name: next(v for v in analysis["verdicts"] if v["id"] == "sentence_months-high-low")
        for name, analysis in analyses.items()
    }
    by = {s: [n for n, v in primary.items() if v["status"] == s] for s in ("BIASED", "CLEAR")}
    sizes = sorted(primary[name]["finding"]["estimate"] for name in by["BIASED"])
    told = " ".join((TABLE.parents[3] / "README.md").read_text(encoding="utf-8").split())
    every, biased, clear = (words[len(each)] for each in (primary, by["BIASED"], by["CLEAR"]))
    assert (
        f"Of {every} published subjects {biased} are BIASED, by {sizes[0]:.2f} to "
        f"{sizes[-1]:.2f} months, and {clear} are CLEAR"
    ) in told
    lost = [row for at in ("low", "high") for row in rows("anthropic/claude-haiku-4-5", at)]
    assert sum(bool(row["missing"]) for row in lost) == 20 == len(lost) / 3
    assert all(row["fenced_json"] == "yes" for row in lost if row["missing"])


@pytest.mark.parametrize(
    ("page", "name"), [each for each in real_models.TABLES if "published" not in each]
)
def test_the_tables_of_the_local_model_are_those_of_runs(page: Path, name: str) -> None:
    assert real_models.shown(page, name) == real_models.TABLES[page, name]()
