"""A new model held against the old one: known biases pass, new and worse ones do not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias.baselines.accepted import needed_baseline
from pytest_bias.baselines.entries import baseline_text
from pytest_bias.cassettes.store import Cassette, write_cassette

from ..runs import command
from .suites import ACCEPT, BY_ANN, Scenario, Suite, scenarios
from .upgrade_games import EVEN, FIXED, FRESH, KNOWN, NEW, OLD, WORSE

TESTS = "bias_tests/many/test_many.py"
AS_OLD, AS_EVEN = f"--bias-model={OLD}", f"--bias-model={EVEN}"
HELD = f"--bias-baseline={OLD}"
FILE = "bias_tests/baselines/simulated--biased.json"
AS_ACCEPTED = f"--bias-baseline={FILE}"


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The baselines that are accepted, by model; written by the first test that asks."""
    return {}


@pytest.fixture
def kept(many: Suite, texts: dict[str, str]) -> dict[str, str]:
    """The baselines of the old and of the new model."""
    if not texts:
        many.check(f"{AS_OLD} --bias-model={NEW} {ACCEPT}", 0)
        folder = (many.path / FILE).parent
        for model in (OLD, NEW):
            texts[model] = (folder / f"{model.replace('/', '--')}.json").read_text("utf-8")
        shutil.rmtree(folder)
    return texts


@pytest.fixture
def accepted(many: Suite, kept: dict[str, str]) -> Suite:
    """The suite with the old model's verdicts accepted."""
    return many.file(FILE, kept[OLD])


def outcomes(suite: Suite) -> dict[str, str]:
    return {row["hypothesis"]: row["outcome"] for row in suite.results()["upgrade"]["rows"]}


def recorded_of_old(suite: Suite) -> Path:
    return suite.cassettes / "game-many" / "simulated--biased.jsonl"


@pytest.mark.parametrize("file", [True, False])
def test_a_drifted_model_is_stopped_by_exactly_what_is_worse_and_what_is_new(
    accepted: Suite, *, file: bool
) -> None:
    whose = f"{BY_ANN}: known since spring" if file else f"{OLD} is BIASED"
    known = f"XFAIL … {NEW}-{KNOWN} … - {whose}", "DO NOT SHIP: 1 worse, 1 new"
    found = []
    for workers in (None,) if file else (None, 2):
        options = AS_ACCEPTED if file else HELD
        result = accepted.check(
            options, 1, "2 passed, 1 xfailed, 2 failed", *known, workers=workers
        )
        assert outcomes(accepted) == {
            WORSE: "worse",
            FRESH: "new",
            KNOWN: "known",
            FIXED: "improved",
        }
        failed = [line for line in result.outlines if line.startswith("FAILED ")]
        names = sorted(line.split("[")[1].split("]")[0] for line in failed)
        assert names == [f"{NEW}-{FRESH}", f"{NEW}-{WORSE}"]
        found.append(accepted.results_path().read_bytes())
    assert len(set(found)) == 1


def own_xfail(suite: Suite) -> None:
    suite.change(TESTS, "from pytest_bias", "import pytest\nfrom pytest_bias")
    suite.change(TESTS, "@hypotheses(", "@pytest.mark.xfail\n@hypotheses(")


def finish(suite: Suite) -> None:
    suite.conftest("def pytest_sessionfinish(session):\n    session.exitstatus = 1\n")


def new_unrecorded(suite: Suite) -> None:
    (suite.cassettes / "game-many" / "simulated--drifted.jsonl").unlink()


def another(suite: Suite) -> None:
    shutil.copytree(suite.cassettes / "game-many", suite.cassettes / "game-gone")


def halved(suite: Suite) -> None:
    cassette = Cassette(recorded_of_old(suite))
    for key in list(cassette._lines)[:3]:
        del cassette._lines[key]
    write_cassette(cassette)


def damaged(suite: Suite) -> None:
    path = recorded_of_old(suite)
    path.write_bytes(path.read_bytes()[:-300])


def ask_less(suite: Suite) -> None:
    suite.change(TESTS, "for name in NAMES\n", 'for name in NAMES if name != "worse"\n')
    suite.change(TESTS, "import (\n    MeanDifference", "import (\n    conditions, MeanDifference")
    with (suite.path / TESTS).open("a", encoding="utf-8") as file:
        file.write("\n\n@conditions(GAME)\ndef test_asked():\n    pass\n")


def both(options: str = "") -> str:
    return f"{AS_EVEN} {HELD} {options}"


def of_file(options: str = "") -> str:
    return f"{AS_EVEN} {AS_ACCEPTED} {options}"


STOPS = "DO NOT SHIP: 1 worse, 1 new"
IMPROVED = "SHIP: nothing new or worse stops it; 3 improved, 1 as before"
GONE = f"problem: game-gone: recorded of {OLD} and not in this suite. Nothing shows", "NO RESULT"
LESS = f"game-many: accepted of {OLD} and not in this suite: {WORSE}. Nothing shows", "NO RESULT"
PASSES = {
    "the old model": Scenario(
        None,
        f"{AS_OLD} {AS_ACCEPTED}",
        0,
        "2 passed, 3 xfailed",
        "SHIP: … 3 known, 1 as before",
    ),
    "even": Scenario(None, of_file(), 0, "5 passed", IMPROVED),
    "no gate": Scenario(
        None, f"{HELD} --bias-gate=off", 0, "", "DO NOT SHIP: ", "new, not gated", workers=2
    ),
    "own xfail": Scenario(
        own_xfail, HELD, 1, "1 passed, 3 xfailed, 1 xpassed", STOPS, "!accepted by xfail"
    ),
    "finish": Scenario(finish, both(), 1, "", "the run ended with exit status 1", "!SHIP"),
    "recorded now": Scenario(new_unrecorded, f"{HELD} --bias-record=missing", 1, "", STOPS),
    "halved": Scenario(halved, HELD, 1, "", f"3 of 120 trials of game-many with {OLD} are not"),
    "damaged": Scenario(damaged, HELD, 1, "", "simulated--biased.jsonl"),
    "gone": Scenario(another, both(), 1, "", *GONE, "!SHIP"),
    "gone, of a part": Scenario(another, both("-k 'fresh or noticed'"), 0, "", f"!{GONE[0]}"),
    "less": Scenario(ask_less, of_file(), 1, "", *LESS, workers=2),
    "less, as a model": Scenario(ask_less, of_file(f"{HELD} bias_tests"), 1, "", *LESS),
    "less, a part": Scenario(ask_less, of_file("-k 'fresh or noticed'"), 0, "", f"!{LESS[0]}"),
}


@scenarios(PASSES, "gone")
def test_what_passes_and_what_does_not(accepted: Suite, scenario: Scenario) -> None:
    if HELD in scenario.options and FILE not in scenario.options:
        (accepted.path / FILE).unlink()
    scenario.check(accepted)
    if scenario.change is own_xfail:
        failing = [name for _, _, name in accepted.results()["failing"]]
        assert failing == sorted([FRESH, WORSE])
        accepted.check("", 0)


def test_only_what_the_old_model_shows_is_a_pass_that_says_so(many: Suite) -> None:
    many.check(f"{HELD} -k 'known or fixed'", 0)
    found = many.results(partial=True)
    assert (found["standing"], found["suite"]) == ("PASS with 1 known", "FAIL")


# --- two files, without pytest -------------------------------------------------------------------


@pytest.fixture
def files(kept: dict[str, str], tmp_path: Path) -> Mapping[str, str]:
    """The paths of the baselines of the old and of the new model, by model."""
    paths = {model: tmp_path / f"{model.replace('/', '--')}.json" for model in kept}
    for model, path in paths.items():
        path.write_text(kept[model], encoding="utf-8")
    return {model: str(path) for model, path in paths.items()}


def test_two_files_are_compared_without_a_recording(
    files: Mapping[str, str], tmp_path: Path
) -> None:
    old, new = files[OLD], files[NEW]
    markdown = tmp_path / "comment.md"
    done = command(tmp_path, "compare", old, new, f"--markdown={markdown}", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    assert "2 hypotheses stop this upgrade**\n" in markdown.read_text(encoding="utf-8")
    found = json.loads(done.stdout)
    assert (found["format"], found["problems"]) == (2, [])
    rows = [(row["outcome"], row["hypothesis"]) for row in found["upgrade"]["rows"]]
    assert rows == [("worse", WORSE), ("new", FRESH), ("known", KNOWN), ("improved", FIXED)]
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
