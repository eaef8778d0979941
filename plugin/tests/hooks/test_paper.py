"""``pytest-bias paper``: what a writer is given, and what a text lacks or invents.

The analyses are of published replies of real models. The writers are programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from bias_tests.anchoring.experiment import ALL_IN_ONE, CITATION
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import real_models
from pytest_bias.cli.commands import main
from pytest_bias.experiments.messages import Message, Parameters
from pytest_bias.experiments.records import Config
from pytest_bias.experiments.simulated import SimulatedPrompt
from pytest_bias.report.paper import SECTIONS, Brief, brief_of, checked_paper
from pytest_bias.report.run import RunResult, read_results

from ..simulated_writer import simulated_paper
from .conftest import Once

TRUE = Path(__file__).with_name("true_paper.md").read_text("utf-8")
"""A paper about gpt-4o, written by hand as models write, with nothing in it that is not true."""


@pytest.fixture(scope="module")
def results(once: Once) -> Path:
    """The results of a run of all published subjects."""

    def write(folder: Path) -> None:
        found = real_models.results(real_models.CASES, real_models.models())
        text = json.dumps(found, sort_keys=True, indent=1)
        (folder / "bias-results.json").write_text(f"{text}\n", encoding="ascii")

    return once("published", write) / "bias-results.json"


@pytest.fixture(scope="module")
def view(results: Path) -> RunResult:
    return read_results(results.read_text("ascii"), str(results))


@pytest.fixture(scope="module")
def briefs(view: RunResult) -> Mapping[str, Brief]:
    """The briefs of all published subjects by name."""
    return {each.model: brief_of(each, ALL_IN_ONE, view.version) for each in view.analyses}


@pytest.fixture(scope="module")
def brief(briefs: Mapping[str, Brief]) -> Brief:
    return briefs["published/gpt-4o"]


def test_a_true_paper_has_no_problem(briefs: Mapping[str, Brief], brief: Brief) -> None:
    assert checked_paper(TRUE, brief).problems == ()
    assert checked_paper(f"```markdown\n{TRUE}```", brief).problems == ()
    for name, each in briefs.items():
        text = simulated_paper(SimulatedPrompt("even", (Message("user", each.prompt),), 1))
        assert text is not None
        assert checked_paper(text, each).problems == (), name


@pytest.mark.requirement("ANCHOR-33", "ANCHOR-34", "ANCHOR-36")
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("82.8%", "82.7%", "82.7% is no number"),
        ("+4.97", "-4.97", "-4.97 is no number"),
        ("8 × 10^-22", "8 × 10⁻²²", ""),
        ("8 × 10^-22", "8 × 10⁻²¹", "3.8 × 10-21 is no number"),
        ("et al., 2006", "et al., 2016", "2016 is no number"),
        ("of nine months", "of _4812_ months", "4812 is no number"),
        ("## 4. Limitations", "", "there is no Limitations"),
        ("# Anchoring in GPT-4o: Randomly Determined Prosecutor Demands", "", "there is no Title"),
        ("is **GREATER** than", "is **LESS** than", "Discussion does not say GREATER"),
    ],
)
def test_what_a_paper_lacks_or_invents_is_listed(
    old: str, new: str, problem: str, brief: Brief
) -> None:
    assert old in TRUE
    paper = checked_paper(TRUE.replace(old, new), brief)
    assert len(paper.problems) == bool(problem)
    for said in paper.problems:
        assert said.startswith(problem)
        assert f"> - {said}\n" in paper.text
    assert checked_paper(paper.text, brief).problems == paper.problems


@pytest.mark.requirement("ANCHOR-33")
def test_a_text_that_was_cut_off_lacks_what_comes_after(brief: Brief) -> None:
    lacks = [f"there is no {name}" for name in SECTIONS[3:]]
    cut = checked_paper(TRUE[: TRUE.index("## 2. Results")], brief, cut=True)
    words = "the limit of tokens ended the reply", "Discussion does not say GREATER"
    assert [*cut.problems] == [words[0], *lacks, words[1]]


FORM = re.compile(r"(?m)^#+ \d+\.|^\d+\.|Table \d+|GPT-4o|gpt-4o|\d+th|\^-22")
DIGITS = [
    each.span()
    for each in re.finditer(r"\d+(?:\.\d+)?|(?<!\d)\.\d+", TRUE)
    if not any(f.start() <= each.start() < f.end() for f in FORM.finditer(TRUE))
]


@pytest.mark.requirement("ANCHOR-36")
@settings(max_examples=100, deadline=None)
@given(
    place=st.sampled_from(DIGITS),
    thousandths=st.integers(1, 20_000_000),
    places=st.sampled_from((0, 2, 3)),
)
def test_any_number_that_is_changed_is_listed(
    brief: Brief, place: tuple[int, int], thousandths: int, places: int
) -> None:
    told = f"{thousandths / 1000:.{places}f}"
    in_prompt = [float(n) for n in re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", brief.prompt)]
    for value in (float(told), float(told) / 100):
        near = 0.5 * 10**-places + 1e-9
        if any(abs(value - each) <= near for each in in_prompt):
            return
    text = TRUE[: place[0]] + told + TRUE[place[1] :]
    assert any(told in each for each in checked_paper(text, brief).problems), text


@pytest.mark.requirement("ANCHOR-32", "ANCHOR-33", "ANCHOR-34", "ANCHOR-35", "ANCHOR-36")
def test_what_a_writer_is_given_and_told_to_do(brief: Brief, view: RunResult) -> None:
    told = " ".join(brief.prompt.split())
    for words in (
        "Lena M.",
        "demand: {'low': 3, 'high': 9}",
        '"estimate": 4.96667',
        '"n": 39',
        "too low",
        "in Markdown",
        "the title; Abstract; Methods; Results; Discussion; Limitations; Conclusion; References.",
        "compare with people. State people's effect (+2.05)",
        "LESS, SIMILAR or GREATER than people's",
        "what that means for the null hypothesis that the model is moved as people are",
        "cite the study by its authors and year",
        f"these and no others, word for word: {CITATION}",
        "Invent no number.",
        '"anchor_derivation": "the prosecutor\'s demand was randomly determined',
        '"model": "published/gpt-4o"',
        '"trials": 60',
    ):
        assert words in told
    assert "0.36666" not in brief.prompt  # of single units
    assert len(brief.prompt) < 15_000
    config = Config(parameters=Parameters(temperature=1.0), attempts=3)
    recorded = replace(view.analyses[0].recording, config={"subject": config})
    asked = brief_of(replace(view.analyses[0], recording=recorded), ALL_IN_ONE, "").prompt
    assert '"temperature": 1.0' in asked
    assert '"attempts": 3' in asked
    kept = replace(ALL_IN_ONE, retention="measures")
    assert "Lena M." not in brief_of(view.analyses[0], kept, "").prompt


WRITERS = f"""
from dataclasses import replace
from bias_tests.anchoring import experiment
from {simulated_paper.__module__} import simulated_paper

WRITTEN = replace(experiment.ALL_IN_ONE, simulated=simulated_paper)
"""


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    results: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """``pytest-bias paper`` about gpt-4o, with a suite whose simulated subjects write papers."""
    (tmp_path / "writers.py").write_text(WRITERS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def paper(*given: str, of: str = "published/gpt-4o") -> tuple[int, str, str]:
        before = results.read_bytes()
        capsys.readouterr()
        try:
            status = main(["paper", str(results), f"--of={of}", "--suite=writers", *given])
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        assert results.read_bytes() == before
        said = capsys.readouterr()
        return status, said.out, said.err

    return paper


@pytest.mark.requirement("ANCHOR-37")
def test_a_paper_goes_to_its_file_or_stands_between_two_lines(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "paper.md"
    assert run("--model=simulated/even", f"--out={place}") == (0, f"written: {place}\n", "")
    text = place.read_text("utf-8")
    assert text.startswith("> Checked by pytest-bias against the analysis of anchoring-")
    assert "; written by simulated/even: no problem found.\n\n# Anchoring" in text
    between = f"----- begin paper -----\n{text}----- end paper -----\n"
    assert run("--model=simulated/even") == (0, between, "")


def test_problems_are_listed_again_by_a_check(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("--prompt")
    assert (status, out[:31]) == (0, "Write a short paper in Markdown")
    place = tmp_path / "paper.md"
    status, _, err = run("--model=simulated/biased", f"--out={place}")
    lines = [line.removeprefix(f"{place}: ") for line in err.splitlines()]
    assert status == 1
    assert [line.split(":")[0] for line in lines] == [
        "there is no Limitations",
        "Discussion does not say GREATER",
        "4812 is no number of the analysis",
        "-2.92 is no number of the analysis",
    ]
    place.write_text(place.read_text("utf-8"), encoding="utf-8-sig")  # as some editors save it
    assert run(f"--check={place}") == (1, "", err.replace(str(place), "paper"))


@pytest.mark.requirement("ANCHOR-38")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--model=simulated/nobody"], "unknown simulated subject 'simulated/nobody'"),
        (["--model=openai/gpt-5.1"], "OPENAI_API_KEY, which is not set"),
        (["--model=nobody/at-all"], "unknown provider 'nobody'"),
        (["--check=nowhere.md"], "--check=nowhere.md: cannot be read: No such file or directory"),
        (["--prompt", "--experiment=nothing"], "0 analyses of the run are meant"),
        (["--prompt", "--suite=bias_tests.recommendation"], "its prompts are not known"),
        ([], "one of the arguments --model --check --prompt is required"),
    ],
)
def test_what_cannot_be_done_is_said(
    run: Run, given: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    status, out, err = run(*given)
    assert (status, out) == (2, "")
    assert words in err
