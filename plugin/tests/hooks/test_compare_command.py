"""``pytest-bias compare``: the same table of two baseline files, without pytest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias.baselines.accepted import needed_baseline
from pytest_bias.baselines.entries import baseline_text

from ..runs import command
from .suites import ACCEPT, Suite
from .upgrade_games import FRESH, NEW, OLD, WORSE


@pytest.fixture(scope="module")
def kept() -> dict[str, bytes]:
    """The baseline files that were accepted, by model; written by the first test that asks."""
    return {}


@pytest.fixture
def files(many: Suite, kept: dict[str, bytes], tmp_path: Path) -> Mapping[str, str]:
    """The paths of the baselines of the old and of the new model, by model."""
    names = {model: f"{model.replace('/', '--')}.json" for model in (OLD, NEW)}
    if not kept:
        many.check(f"--bias-model={OLD} --bias-model={NEW} {ACCEPT}", 0)
        accepted = many.path / "bias_tests" / "baselines"
        kept |= {model: (accepted / name).read_bytes() for model, name in names.items()}
    for model, name in names.items():
        (tmp_path / name).write_bytes(kept[model])
    return {model: str(tmp_path / name) for model, name in names.items()}


def test_what_is_written_is_what_is_printed(files: Mapping[str, str], tmp_path: Path) -> None:
    markdown = tmp_path / "comment.md"
    both, asked = (files[OLD], files[NEW]), (f"--markdown={markdown}", "--json")
    done = command(tmp_path, "compare", *both, *asked)
    assert done.returncode == 1
    assert "2 hypotheses stop this upgrade**\n" in markdown.read_text(encoding="utf-8")
    found = json.loads(done.stdout)
    assert (found["format"], found["problems"]) == (2, [])
    outcomes = [row["outcome"] for row in found["upgrade"]["rows"]]
    assert outcomes == ["worse", "new", "known", "improved"]


def test_two_files_are_compared_without_a_recording(
    files: Mapping[str, str], tmp_path: Path
) -> None:
    old, new = files[OLD], files[NEW]
    done = command(tmp_path, "compare", old, new)
    assert (done.returncode, done.stderr) == (1, "")
    rows = [row.split() for row in done.stdout.splitlines() if row.startswith("    ")]
    assert [(row[0], row[1]) for row in rows[:2]] == [("worse", WORSE), ("new", FRESH)]
    assert command(tmp_path, "compare", old, old).returncode == 0
    for one, other in ((OLD, new), (old, NEW)):
        done = command(tmp_path, "compare", one, other)
        assert done.returncode == 2
        assert "is no baseline file (….json)" in done.stderr
        assert "pytest --bias-model=NEW --bias-baseline=OLD" in done.stderr


def test_what_the_new_file_lacks_is_no_pass(files: Mapping[str, str], tmp_path: Path) -> None:
    whole = needed_baseline(Path(files[OLD]))
    entries = {name: e for name, e in whole.verdicts["game-many"].items() if name != WORSE}
    less = tmp_path / "less.json"
    text = baseline_text(replace(whole, verdicts={"game-many": entries}))
    less.write_text(text, encoding="utf-8")
    done = command(tmp_path, "compare", files[OLD], str(less))
    assert done.returncode == 2
    said = f"game-many: accepted of {OLD} and not in less.json: {WORSE}. Nothing shows"
    assert said in done.stderr
    again = command(tmp_path, "compare", str(less), files[OLD])
    assert again.returncode == 1  # and what OLD lacks stands by itself
