"""An audit of somebody's own twelve prompts, from its CSV to its verdicts, and what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pytest_bias import SimulatedPrompt
from pytest_bias.errors import BadData, BadDesign
from pytest_bias.experiments.checks.manipulation import faults
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Message
from tests import forked

from ..audit import MARGINS
from ..pairs import ARTICLES, ASKED, LEARNER, Kind, Pairs, audit_of, difference, read
from ..prompts import SEEDS, render
from .shipped import ROOT

OWN = Path(__file__).with_name("own_prompts.csv")
PAIRS = read(OWN, [LEARNER, ARTICLES])
README = (ROOT / "bias_tests" / "linguistic_audit" / "README.md").read_text("utf-8")
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


# --- what differs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "altered", "told"),
    [
        ("It depends on it.", "It depend of it.", "2 exchanged (of 4 words)"),
        ("The end of the day", "End of day", "2 left out, 1 capitals (of 5 words)"),
        ("We met", "We have met her", "2 added (of 2 words)"),
        ("Help me, please.", "help me please!", "1 capitals, 2 marks (of 3 words)"),
        ("One.\nTwo.", "One. Two.", "1 marks (of 2 words)"),
        ("One  two", "One two", "1 spaces (of 2 words)"),
        ("cafe\u0301 now", "café now", "1 spaces (of 2 words)"),
        ("can't re-do it", "cannot re-do it", "1 exchanged (of 3 words)"),
        ("the same", "the same", "nothing (of 2 words)"),
        ("", "", "nothing (of 0 words)"),
    ],
)
def test_what_differs_is_counted(plain: str, altered: str, told: str) -> None:
    assert str(difference(plain, altered)) == told


@pytest.mark.parametrize("seed", SEEDS)
def test_the_shipped_prompts_differ_as_their_kinds_declare(seed: str) -> None:
    """The rules know nothing of this count, nor it of them."""
    for other in (False, True):
        plain, erring, bare = (
            render(seed, name="Emma Johnson", learner=learner, articles=articles)
            for learner, articles in ((False, other), (True, other), (other, False))
        )
        found = difference(plain, erring)
        assert {change for change in found.counts if found.counts[change]} == {"exchanged"}
        whole = render(seed, name="Emma Johnson", learner=other, articles=True)
        left = difference(whole, bare)
        assert {*left.touched} <= {"a", "an", "the"}
        assert {change for change in left.counts if left.counts[change]} <= {*ARTICLES.may}


def test_pairs_say_what_differs() -> None:
    told = str(PAIRS).splitlines()
    assert len(told) == 2 * len(PAIRS.texts) == 24
    shown = "noisy_flat, learner: 5 exchanged (of 19 words)"
    assert shown in told
    assert shown in " ".join(README.split())
    assert "noisy_flat, articles: 4 left out, 1 capitals (of 19 words)" in told


# --- the experiment ------------------------------------------------------------------------------


def test_it_is_the_shipped_audit_of_other_prompts() -> None:
    audit = audit_of(PAIRS, id="own", name="Own", margins={"sentiment": (0.2, "ours")})
    assert faults(audit.experiment) == ()
    assert audit.experiment.retention == "measures"
    trials = plan(audit.experiment, audit.experiment.design())
    assert len(trials) == 12 * 3 * 84 + len(ASKED) * 10
    assert {each.id for each in audit.hypotheses} == {
        f"{measure}-{kind.name}" for measure in MARGINS for kind in PAIRS.kinds
    }
    assert {each.measure: each.margin for each in audit.hypotheses} == {
        measure: 0.2 if measure == "sentiment" else margin
        for measure, (margin, _) in MARGINS.items()
    }
    assert [each.contrast.id for each in audit.controls] == [
        *("log_length-at_length-in_brief", "sentiment-gladly-sadly", "is_refusal-wrongly-gladly")
    ]
    told = audit.experiment.simulated
    assert told is not None
    stranger = SimulatedPrompt("even", (Message("user", "Who are you?"),), 1)
    assert told(stranger) is None


def test_one_kind_is_enough() -> None:
    audit = audit_of(read(OWN, [Kind("articles", ["left out", "capitals"])]), id="x", name="X")
    assert len(audit.hypotheses) == 5


def test_the_readmes_example_from_csv_to_verdicts(tmp_path: Path) -> None:
    """Recorded of a simulated subject, and replayed by two workers: the planted is found."""
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "__init__.py").touch()
    (tmp_path / "ours" / "test_our_prompts.py").write_text(EXAMPLE, encoding="utf-8")
    shutil.copy(OWN, tmp_path / "ours" / "prompts.csv")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if name != "CI"}
    found: list[Mapping[str, str]] = []
    for options in (("--bias-record=missing", "--bias-qpm=60000"), ("-n", "2")):
        command = ["-m", "pytest", "-q", "-p", "no:randomly", "--bias-model=simulated/biased"]
        run = subprocess.run(  # noqa: S603  (this Python, and a file of this repository)
            [forked.python(), *command, "--bias-replicates=12", "--bias-results=r.json", *options],
            cwd=tmp_path,
            env={**env, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 1, run.stdout
        (analysis,) = json.loads((tmp_path / "r.json").read_text("utf-8"))["analyses"]
        assert all(control["seen"] for control in analysis["controls"]), analysis["controls"]
        found.append({each["id"]: each["status"] for each in analysis["verdicts"]})
    assert found[0] == found[1]
    assert {name for name, status in found[0].items() if status == "BIASED"} == {
        *("log_length-learner", "is_refusal-learner")
    }
    (cassette,) = (tmp_path / "cassettes").rglob("*.jsonl")
    assert not [text for text in PAIRS.texts.values() if text["plain"] in cassette.read_text()]


# --- what is refused -----------------------------------------------------------------------------

GOOD = "flat,The walls are thin and the heating is loud.,Walls are thin and heating is loud."


def given(folder: Path, *lines: str, kinds: Sequence[Kind] = (ARTICLES,)) -> Pairs:
    path = folder / "p.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read(path, kinds)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("b,The lamp is off.,The lamp is off.", "line 3, articles: is the same as plain"),
        ("b,The lamp is off.,The lamp  is off.", "1 spaces (of 4 words); spaces may not differ"),
        ("b,The lamp is off.,Lamp was off.", "exchanged may not differ, only left out, capitals"),
        ("b,The lamp is off.,Lamp off.", "touches is, which are not its words"),
        ("b,The lamp is off.,Lamp is off!", "marks may not differ"),
        ("b,The a the lamp.,Lamp.", "more than 50%: is it the same request?"),
        ("b,The lamp is off., ", "line 3, articles: is empty"),
        ("b,,Lamp is off.", "line 3, plain: is empty"),
        ("flat,The lamp is off.,Lamp is off.", "line 3, item: 'flat' stands above already"),
        (GOOD.replace("flat,", "b,"), "line 3, plain: is also the text of flat, plain"),
        ("b,The lamp is off.", "line 3: has 2 values for 3 columns"),
        ('b,"The lamp is off.,Lamp', "line 3: "),
    ],
)
def test_rows_that_are_refused(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(BadData, match=re.escape(told)):
        given(tmp_path, "item,plain,articles", GOOD, line)


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadData) as refused:
        given(tmp_path, "item,plain,articles", "a,The x y.,The x y.", GOOD, "b,A b c.,", "c,,")
    assert [line.split(",")[0].strip() for line in str(refused.value).splitlines()[1:]] == [
        *("line 2", "line 4", "line 5", "line 5")
    ]


@pytest.mark.parametrize(
    ("header", "kinds", "told"),
    [
        ("item,plain", [ARTICLES], "needs the columns item, plain, articles"),
        ("item;plain;articles", [ARTICLES], "it has 'item;plain;articles' (columns are parted"),
        ("item,plain,articles", [], "with a kind of alteration at least"),
        ("item,plain,articles", [ARTICLES, ARTICLES], "each once"),
        ("item,plain,plain", [ARTICLES], "two columns have one name, 'plain'"),
    ],
)
def test_columns_that_are_refused(
    tmp_path: Path, header: str, kinds: Sequence[Kind], told: str
) -> None:
    row = re.sub(r"\w+", "x", header)
    with pytest.raises(BadData, match=re.escape(told)):
        given(tmp_path, header, row, kinds=kinds)


def test_two_kinds_of_one_text_are_refused(tmp_path: Path) -> None:
    twin = Kind("twin", ["left out", "capitals"])
    row = f"{GOOD},{GOOD.rpartition(',')[2]}"
    with pytest.raises(BadData, match="line 2, twin: is also the text of flat, articles"):
        given(tmp_path, "item,plain,articles,twin", row, kinds=[ARTICLES, twin])


def test_files_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="no row below a header"):
        given(tmp_path, "item,plain,articles")
    with pytest.raises(BadData, match="there is no such file"):
        read(tmp_path / "none.csv", [ARTICLES])
    with pytest.raises(BadData, match="there is no such file"):
        read(tmp_path / "nowhere" / "none.csv", [ARTICLES])
    (tmp_path / "latin.csv").write_bytes("item,plain,articles\ncafé,a,b\n".encode("latin-1"))
    with pytest.raises(BadData, match=r"latin\.csv, line 2: is not UTF-8"):
        read(tmp_path / "latin.csv", [ARTICLES])


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: Kind("plain"), "the name is taken, as are item, plain"),
        (lambda: Kind("x", "exchanged"), "may= is 'exchanged', and takes a list of exchanged"),
        (lambda: Kind("x", []), "may= is []"),
        (lambda: Kind("x", ["moved"]), "may= is ['moved']"),
        (lambda: Kind("x", words="the"), "words= is 'the', and takes a list of words"),
        (lambda: Kind("x", most=0), "most= is 0"),
        (lambda: Kind("x", most=float("nan")), "most= is nan"),
        (lambda: audit_of(PAIRS, id="Own prompts", name="X"), "id must be lower-case words"),
        (lambda: audit_of(PAIRS, id="x", name="X", margins={"tone": (1, "")}), "margins="),
    ],
)
def test_kinds_and_audits_that_are_refused(made: object, told: str) -> None:
    assert callable(made)
    with pytest.raises(BadDesign, match=re.escape(told)):
        made()


def test_a_label_that_is_none_is_refused(tmp_path: Path) -> None:
    pairs = given(tmp_path, "item,plain,articles", GOOD.replace("flat", "The flat"))
    with pytest.raises(BadDesign, match="'The flat' is not a label"):
        audit_of(pairs, id="x", name="X")
