"""``pytest-bias paper``: what is true stays, and what an analysis does not hold is marked.

The analyses are of published replies of real models. The writers are programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

import pytest
from bias_tests.anchoring.experiment import ALL_IN_ONE, CITATION
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import real_models
from pytest_bias.cli.entry import main
from pytest_bias.errors import PaperNotWritten
from pytest_bias.experiments.experiment import SimulatedPrompt
from pytest_bias.experiments.messages import Message, Parameters
from pytest_bias.experiments.records import Config
from pytest_bias.providers.base import ProviderContext
from pytest_bias.providers.simulator.exchange import FINGERPRINT
from pytest_bias.recording.caller import Retries
from pytest_bias.recording.collector import Terms
from pytest_bias.report.paper import Brief, Paper, brief_of, checked_paper, write_paper
from pytest_bias.report.paper_marks import Known, marks_of
from pytest_bias.report.results import view_of
from pytest_bias.report.stated import facts_of
from pytest_bias.settings.settings import Limits

from ..helpers import answering, saying
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
def briefs(results: Path) -> Mapping[str, Brief]:
    """The briefs of all published subjects by name."""
    view = view_of(results.read_text("ascii"), str(results))
    return {each.model: brief_of(each, ALL_IN_ONE, view.version) for each in view.analyses}


@pytest.fixture(scope="module")
def brief(briefs: Mapping[str, Brief]) -> Brief:
    return briefs["published/gpt-4o"]


def kinds(text: str, brief: Brief) -> set[str]:
    return {mark.kind for mark in checked_paper(text, brief).marks}


def test_a_true_paper_has_no_mark(brief: Brief) -> None:
    assert checked_paper(TRUE, brief).marks == ()
    assert checked_paper(f"```markdown\n{TRUE}```", brief).marks == ()
    for width in (24, 40, 79):
        assert checked_paper(wrapped(TRUE, width), brief).marks == ()


def wrapped(text: str, width: int) -> str:
    """Markdown whose paragraphs and items end at a width, as editors save it."""
    lines, sources, after = text.partition("## References")
    return (
        "\n".join(
            line
            if line.startswith(("|", "#")) or not line
            else fill(
                line, width, subsequent_indent="   " * line[0].isdigit(), break_on_hyphens=False
            )
            for line in lines.split("\n")
        )
        + sources
        + after
    )


LIMITATIONS = (
    "The case materials are incomplete. The 39 professionals had 13 years of experience. Replies "
    "were recorded by others."
)
WRONG = {
    "an invented number": ("15.43", "15.48", "invented number"),
    "a number in a word": ("of nine months", "of eight months", "invented number"),
    "a rounding that is none": ("82.8%", "82.7%", "invented number"),
    "a percentage of no share": ("82.8%", "83.8%", "invented number"),
    "too coarse a rounding": ("by about 5", "by 5", "invented number"),
    "a wrong sign": ("+4.97", "-4.97", "wrong sign"),
    "a sign left out": ("[-0.11, 0.11]", "[0.11, 0.11]", "wrong interval"),
    "bounds of two intervals": ("[4.32, 5.61]", "[4.32, 5.50]", "wrong interval"),
    "the bounds of another level": ("95% CI [4.32", "90% CI [4.32", "wrong interval"),
    "bounds in the wrong order": ("[0.85, 4.99]", "[4.99, 0.85]", "wrong interval"),
    "a mean for a deviation": ("*SE* = 0.32", "*SE* = 3.73", "wrong statistic"),
    "another n": ("*n* = 30", "*n* = 39.5", "invented number"),
    "an n that is something else": ("*n* = 30 trials", "*n* = 171.5 trials", "invented number"),
    "a p-value that is none": ("p = .043", "p = .047", "invented number"),
    "a bound no p-value is below": ("*p* < .001", "*p* > .9999", "invented number"),
    "a section too few": ("## 4. Limitations", "", "missing section"),
    "a section without text": (LIMITATIONS, "", "empty section"),
    "no title": ("# Anchoring in GPT-4o: Randomly Determined Prosecutor Demands", "",
                 "missing section"),
    "an invented citation": ("Replies were", "As Smith et al. (2019) say, replies were",
                             "invented citation"),
    "a sentence's first word and a place": (
        "Replies were",
        "Similarly, Englich and Strack (2006), Bonn, May 2026: replies were",
        "",
    ),
    "two months and a place": ("Replies were", "In Berlin, May and June 2026, replies were", ""),
    "an author named like a month": ("Replies were", "By Englich and March (2006), replies were",
                                     "invented citation"),
    "a name like a month": ("Replies were", "As Mayer (2006) says, replies were",
                            "invented citation"),
    "a name that begins elsewhere": ("Replies were", "As Özdemir (2006) says, replies were",
                                     "invented citation"),
    "a second author": ("Replies were", "As Englich and Nobody (2006) say, replies were",
                        "invented citation"),
    "a month, and whose the study is": ("Replies were",
                                        "As Englich’s (2006), in May (2006) they were", ""),
    "a citation of another year": ("et al., 2006", "et al., 2016", "invented citation"),
    "a link to elsewhere": ("Replies were", "See https://example.org/x. Replies were",
                            "invented citation"),
    "an altered reference": ("188–200", "188–210", "invented citation"),
    "an invented reference": ("## References\n", "## References\n\nDoe, J. (2001). On. J, 1, 1.\n",
                              "invented citation"),
    "a word of the source left out": ("Englich, B., ", "", ""),
    "a contradicting comparison": ("is **GREATER** than", "is **LESS** than", "wrong claim"),
    "the same in small letters": ("2.92 months larger than that of people",
                                  "2.92 months smaller than that of people", "wrong claim"),
    "a verdict that there is none of": ("INCONCLUSIVE", "CLEAR", "wrong claim"),
    "people's effect left out": ("of 2.05 months (low", "(low", "missing comparison"),
}  # fmt: skip


@pytest.mark.requirement("ANCHOR-34", "ANCHOR-35", "ANCHOR-36")
@pytest.mark.parametrize(("old", "new", "kind"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_marked(old: str, new: str, kind: str, brief: Brief) -> None:
    assert old in TRUE
    found = kinds(TRUE.replace(old, new), brief)
    assert kind in found or not kind
    assert len(found) == bool(kind) or found - {kind} <= {"missing comparison", "missing citation"}
    text = checked_paper(TRUE.replace(old, new), brief).text
    assert checked_paper(wrapped(TRUE.replace(old, new), 30), brief).text.split() == text.split()


@pytest.mark.requirement("ANCHOR-34")
@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("The estimate was -0.50, within the margin of 0.80.", ""),
        ("The estimate was 0.50, within the margin of 0.80.", "wrong sign"),
        ("The effect size was 0.50.", "wrong sign"),
        ("It was lower by 0.50.", ""),
        ("It was 0.50 in size.", ""),
        ("It was lower by about half a month, and not by 0.80.", ""),
        ("Two thirds of the trials were lost.", "invented number"),
        ("It was that of twenty-three people.", "invented number"),
        ("It was that of one hundred and six people.", "invented number"),
        ("It was the first half, and one or two others.", ""),
        ("It was that of _4812_ people.", "invented number"),
        ("It was that of __4812__ people.", "invented number"),
        ("It was that of people ^4812^.", "invented number"),
        ("It was that of _twenty_ people.", "invented number"),
        ("It was _-0.50_, by `mean_4812_all`, and R^2 = 0.50.", "wrong sign"),
        ("It was _-0.50_ by `mean_4812_all` and `thirty_days`, R^12 = -0.50.", ""),
        ("It was that of 33 people.", "invented number"),
        ("It was -0.50.[^7] Then came others.", ""),
        ("**4812 of the people** left,\nand others **came.**", "invented number"),
        ("It was that of 12 people and 40 months, 1e-07.", ""),
        ("It was that of\n48. Then came others.", "invented number"),
        ("The sentence was not BIASED.", "wrong claim"),
        ("It was BIASED, and cannot be CLEAR.", ""),
    ],
)
def test_words_that_excuse_no_wrong_number_or_verdict(sentence: str, kind: str) -> None:
    known = Known(
        facts=facts_of(
            {
                "estimate": -0.5,
                "margin": 0.8,
                "note": "at 33b515b, for the 12th time: 40-month, 1e-07",
            }
        ),
        text="",
        sources=(),
        people=(),
        relations=frozenset(),
        statuses=frozenset({"BIASED"}),
        simulated=False,
    )
    found = {mark.kind for mark in marks_of(sentence, known)} - {"missing section"}
    assert found == ({kind} if kind else set())


@pytest.mark.requirement("ANCHOR-33", "ANCHOR-34")
def test_what_a_paper_must_have(brief: Brief) -> None:
    assert {mark.words for mark in checked_paper("", brief).marks} == {
        f"there is no {name}"
        for name in ("Title", "Abstract", "Methods", "Results", "Discussion", "Limitations",
                     "Conclusion", "References")
    }  # fmt: skip
    alone = re.sub(r"(## 3. Discussion\n\n).*\n", r"\1A model is no judge.\n", TRUE)
    assert {mark.words for mark in checked_paper(alone, brief).marks} == {
        "Discussion does not say GREATER",
        "Discussion does not state people's effect",
        "Discussion cites no source",
    }
    sources = TRUE[: TRUE.index("Englich, B.")] + "None.\n"
    assert "missing citation" in kinds(sources, brief)


FORM = re.compile(r"(?m)^#+ \d+\.|^\d+\.|Table \d+|GPT-4o|gpt-4o|\^-22")
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
def test_any_number_that_is_changed_is_marked(
    brief: Brief, place: tuple[int, int], thousandths: int, places: int
) -> None:
    told = f"{thousandths / 1000:.{places}f}"
    in_prompt = [float(n) for n in re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", brief.prompt)]
    for value in (float(told), float(told) / 100):
        near = 0.5 * 10**-places + 1e-9
        if any(abs(value - each) <= near for each in (*in_prompt, *range(13))):
            return
    text = TRUE[: place[0]] + told + TRUE[place[1] :]
    line = TRUE.count("\n", 0, place[0]) + 1
    marked = {mark.line for mark in checked_paper(text, brief).marks}
    assert line in marked, text[place[0] - 30 : place[1] + 30]


def test_true_papers_of_every_published_subject(briefs: Mapping[str, Brief]) -> None:
    """LESS, SIMILAR and GREATER, without a spread, and with trials missing: a program writes."""
    for name, each in briefs.items():
        text = simulated_paper(SimulatedPrompt("even", (Message("user", each.prompt),), 1))
        assert text is not None
        assert checked_paper(text, each).marks == (), name


@pytest.mark.requirement("ANCHOR-32")
def test_what_a_writer_is_given(brief: Brief) -> None:
    for part in ("Lena M.", "demand: high = 9", '"estimate": 4.96667', '"n": 39', "too low"):
        assert part in brief.prompt
    assert "0.36666" not in brief.prompt
    assert len(brief.prompt) < 15_000


@pytest.mark.requirement("ANCHOR-32", "ANCHOR-33", "ANCHOR-34", "ANCHOR-35", "ANCHOR-36")
def test_what_a_writer_is_told_to_do(brief: Brief, results: Path) -> None:
    told = " ".join(brief.prompt.split())
    for words in (
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
    view = view_of(results.read_text("ascii"), str(results))
    config = Config(parameters=Parameters(temperature=1.0), attempts=3)
    recorded = replace(view.analyses[0].recording, config={"subject": config})
    asked = brief_of(replace(view.analyses[0], recording=recorded), ALL_IN_ONE, "").prompt
    assert '"temperature": 1.0' in asked
    assert '"attempts": 3' in asked


def test_a_simulated_subject_is_named(brief: Brief) -> None:
    simulated = replace(brief, known=replace(brief.known, simulated=True))
    assert kinds(TRUE, simulated) == {"not named"}
    assert not kinds(TRUE.replace("published/", "simulated "), simulated)


def test_text_that_is_not_kept_is_in_no_prompt(results: Path) -> None:
    view = view_of(results.read_text("ascii"), str(results))
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
def test_a_true_paper_is_written(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "paper.md"
    assert run("--model=simulated/even", f"--out={place}") == (0, f"written: {place}\n", "")
    text = place.read_text("utf-8")
    assert text.startswith("> Checked by pytest-bias against the analysis of anchoring-")
    by = "written by simulated/even (a program that stands in for a model): nothing is marked."
    assert f"{by}\n\n# Anchoring" in text
    assert "a paper by a simulated writer" in text


@pytest.mark.requirement("ANCHOR-37")
def test_without_a_file_it_stands_between_two_lines(run: Run) -> None:
    status, out, err = run("--model=simulated/even")
    assert (status, err) == (0, "")
    assert out.startswith("----- begin paper -----\n> Checked")
    assert out.endswith("----- end paper -----\n")


def test_a_paper_that_begins_with_a_byte_order_mark_has_its_title(
    run: Run, tmp_path: Path
) -> None:
    place = tmp_path / "paper.md"
    place.write_text(TRUE, encoding="utf-8-sig")
    assert run(f"--check={place}") == (0, "", "")


def test_marks_stand_where_they_are_said_to(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "paper.md"
    status, _, err = run("--model=simulated/biased", f"--out={place}")
    lines = place.read_text("utf-8").split("\n")
    told = [line.removeprefix(f"{place}:").split(":", 1) for line in err.splitlines()]
    assert status == 1
    assert {said.strip().partition(":")[0] for _, said in told} == {
        *("invented number", "wrong sign", "wrong claim", "missing comparison"),
        "invented citation",
    }
    assert all(f"⟦{said.strip()}⟧" in lines[int(line) - 1] for line, said in told)

    again = run(f"--check={place}")
    assert (again[0], again[2]) == (1, err)
    assert run(f"--check={place}", f"--out={place}")[2] == err
    assert place.read_text("utf-8").split("\n")[1:] == lines[1:]


def test_a_section_that_is_missing_is_marked_at_the_top(run: Run) -> None:
    status, out, err = run("--model=simulated/drifted")
    assert (status, err) == (1, "paper:1: missing section: there is no Limitations\n")
    assert "\n> - ⟦missing section: there is no Limitations⟧\n" in out


def written(brief: Brief, status: int, body: bytes, **limits: Any) -> Paper:
    """A paper by a server that answers every call so."""
    with answering(saying(status, {}, body)) as (url, _):
        context = ProviderContext({}, simulated_url=url)
        terms = Terms(
            mode="missing",
            folder=Path(),
            context=context,
            limits=Limits(**limits),
            retries=Retries(transient=1, base=0),
        )
        return write_paper(brief, "simulated/even", terms)


def test_a_reply_that_is_cut_off_is_marked(brief: Brief) -> None:
    said = {"role": "assistant", "content": "# A paper"}
    choices = [{"index": 0, "message": said, "finish_reason": "length"}]
    reply = {"model": "even", "system_fingerprint": FINGERPRINT, "choices": choices}
    marks = written(brief, 200, json.dumps(reply).encode()).marks
    assert "cut off" in {mark.kind for mark in marks}


@pytest.mark.requirement("ANCHOR-38")
@pytest.mark.parametrize(
    ("status", "limits", "words"),
    [
        (401, {}, "401"),
        (500, {}, "500"),
        (200, {}, "JSON"),
        (200, {"max_calls": 0}, "--bias-max-calls=0 is reached"),
    ],
)
def test_a_writing_that_fails_says_how_to_go_on(
    brief: Brief, status: int, limits: dict[str, int], words: str
) -> None:
    with pytest.raises(PaperNotWritten) as caught:
        written(brief, status, b"{", **limits)
    assert words in str(caught.value)
    assert "as they were, and pytest-bias paper goes on with them" in str(caught.value)


def test_the_prompt_is_printed_and_nothing_called(run: Run) -> None:
    status, out, _ = run("--prompt")
    assert (status, out[:31]) == (0, "Write a short paper in Markdown")


@pytest.mark.requirement("ANCHOR-38")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--model=simulated/nobody"], "unknown simulated subject 'simulated/nobody'"),
        (["--model=openai/new", "--budget=1"], "OPENAI_API_KEY, which is not set"),
        (["--model=openai/gpt-5.1"], "OPENAI_API_KEY, which is not set"),
        (["--model=nobody/at-all"], "unknown provider 'nobody'"),
        (["--model=even"], "write it as provider/model"),
        (["--model=local/nobody"], "unknown local model 'nobody'"),
        (["--check=nowhere.md"], "--check=nowhere.md: cannot be read: No such file or directory"),
        (["--prompt", "--experiment=nothing"], "unknown experiment of this run 'nothing'"),
        (["--prompt", "--suite=bias_tests.recommendation"], "what its subject was told is not"),
        (["--prompt", "--model=simulated/even"], "not allowed with argument"),
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


def test_a_run_of_several_models_is_asked_which(results: Path) -> None:
    with pytest.raises(SystemExit):
        main(["paper", str(results), "--prompt"])
