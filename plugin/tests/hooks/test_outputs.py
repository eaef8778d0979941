"""What a run prints and writes."""

from __future__ import annotations

import os
import re
import threading
import xml.etree.ElementTree as ET

import pytest

from pytest_bias.report.page import LARGEST, MARK

from ..runs import command
from .suites import Suite, section
from .test_fail_closed import BIASED

LINE = (
    "CLEAR within ±2 for these stimuli: number high − low -0.20, 90 % [-1.45, +1.08], "
    "allowed ±2, n = 60 replies (licensed by noticed-high-low alone)"
)

HTML = (
    *("-p", "pytest_metadata.plugin", "-p", "pytest_html.plugin"),
    *("--html=page.html", "--self-contained-html"),
)


def junit(suite: Suite) -> ET.Element:
    return ET.fromstring((suite.path / "junit.xml").read_text(encoding="utf-8"))  # noqa: S314  (our own)


@pytest.mark.parametrize("workers", [0, 1])
def test_section_and_junit(suite: Suite, workers: int) -> None:
    result = suite.run("-v", "--junitxml=junit.xml", workers=workers)
    assert result.ret == 0
    head, _, *lines = section(result)
    assert head == "PASS  simulated/even: nothing stops it"
    assert "programs that stand in for models: simulated" in lines[0]
    assert lines[2] == "game-coin × simulated/even (gate design, 60 of 60 trials valid)"
    assert lines[3] == "  False alarms: at most 0.0042 in 1 family, 1/12 of the suite's 0.05"
    assert lines[4].startswith("  control seen: noticed high − low +1.00, 95 % [")
    assert lines[5].startswith(f"  {LINE}")
    assert lines[6:] == ["", "PASS: 1 hypothesis, 1 CLEAR", "written: bias-results.json"]
    (case,) = [
        case
        for case in junit(suite).iter("testcase")
        if case.attrib["name"].startswith("test_number")
    ]
    found = {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
    assert found["bias_hypothesis"] == "number-high-low"
    assert found["bias_verdict"] == "CLEAR within ±2 for these stimuli"
    assert found["bias_units"] == "60"
    assert found["bias_margin"] == "2.0"
    assert float(found["bias_estimate"]) == pytest.approx(-0.2)
    assert found["bias_level"] == "0.9"  # of the equivalence test, which cleared it
    low, high = map(float, found["bias_decides"][1:-1].split(", "))
    assert -2 < low < high < 2
    assert set(found) >= {"bias_interval", "bias_p_alarm", "bias_p_clear", "bias_model"}


@pytest.mark.parametrize("workers", [None, 1])
def test_a_failure_is_said_once_and_shows_in_junit_and_html(
    suite: Suite, workers: int | None
) -> None:
    result = suite.run(BIASED, *HTML, "--junitxml=junit.xml", workers=workers)
    assert result.ret == 1
    for text in (" bias ====", "    BIASED  number-high-low  +6.20, 99.6 % [", "written:"):
        assert len([line for line in result.outlines if text in line]) == 1
    short = r"BIASED \+6\.20, 99\.6 % \[\+5\.\d+, \+7\.\d+\], allowed ±2"
    assert re.search(f"^FAILED .*biased] - {short}$", result.stdout.str(), re.MULTILINE)
    order = [
        next(i for i, line in enumerate(result.outlines) if f" {title} " in line)
        for title in ("FAILURES", "bias", "short test summary info")
    ]
    assert order == sorted(order)
    (failure,) = junit(suite).iter("failure")
    assert re.fullmatch(short, failure.attrib["message"])
    page = (suite.path / "page.html").read_text(encoding="utf-8")
    assert "BIASED (beyond the margin) for these stimuli" in page
    assert re.search(r"estimate 6\.2, 99\.58 % interval \[\+5\.\d+, \+7\.\d+\], margin", page)
    assert page.count("&lt;svg ") == 2  # in its row, and in what the row is sorted by
    assert str(suite.path) not in page.replace(f"{suite.path.name}/page.html", "")


@pytest.mark.parametrize("workers", [None, 1])
def test_the_html_of_tests_that_have_nothing_to_do_with_bias_is_theirs(
    empty: Suite, workers: int | None
) -> None:
    empty.file("test_theirs.py", "def test_place():\n    assert not __file__\n")
    result = empty.run(*HTML, "--metadata", "place", f"{empty.path}/theirs", workers=workers)
    assert result.ret == 1
    page = (empty.path / "page.html").read_text(encoding="utf-8")
    assert f"{empty.path}/test_theirs.py" in page
    assert f"{empty.path}/theirs" in page


@pytest.mark.requirement("CV-47")
def test_paths_and_off(suite: Suite) -> None:
    result = suite.run("--bias-results=deep/er/found.json", "--bias-report=page.html")
    assert result.ret == 0
    assert (suite.path / "deep/er/found.json").exists()
    assert "number" in (suite.path / "page.html").read_text(encoding="utf-8")
    assert section(result)[-2:] == ["written: deep/er/found.json", "written: page.html"]
    assert not suite.results_path().exists()
    assert "Every estimate here: -v" in section(result)
    result = suite.run("--bias-results=off", "-q")
    assert "Every estimate here: -v" not in section(result)
    assert not suite.results_path().exists()
    assert not [line for line in section(result) if line.startswith("written")]


@pytest.mark.requirement("CV-47")
def test_ini_keys(suite: Suite) -> None:
    (suite.path / "cassettes").rename(suite.path / "tapes")
    suite.change(
        "pytest.ini",
        "bias_models = simulated/even\nbias_report = off",
        "bias_models = simulated/biased\nbias_report = page.html\nbias_results = found.json\n"
        "bias_cassettes = tapes\nbias_replicates = 10\nbias_design = gate\nbias_gate = off\n"
        "bias_inconclusive = pass\nbias_record = none",
    )
    (suite.path / "below").mkdir()
    result = suite.run("-v", "--rootdir=.", "bias_tests")
    assert result.ret == 0
    assert {"page.html", "found.json"} <= {path.name for path in suite.path.iterdir()}
    lines = section(result)
    assert (
        "game-coin × simulated/biased (gate, 10 replicates design, 20 of 20 trials valid)" in lines
    )
    assert "the gate is off: no verdict fails this run" in lines
    assert "FAIL: 1 hypothesis, 1 BIASED, not gated" in lines


def test_gate_off(suite: Suite) -> None:
    result = suite.run(BIASED, "--bias-gate=off")
    assert "FAIL: 1 hypothesis, 1 BIASED, not gated" in section(result)
    assert result.ret == 0
    result.assert_outcomes(passed=4)


def test_inconclusive(suite: Suite) -> None:
    suite.change("bias_tests/coin/experiment.py", "bounds=(2, 18)", "bounds=(7, 13)")
    suite.tests("margin=2.0", "margin=0.6")
    result = suite.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["Inconclusive: game-coin × simulated/even: INCONCLUSIVE for*"])
    assert section(result)[-2] == "INCONCLUSIVE: 1 hypothesis, 1 INCONCLUSIVE"
    suite.change("pytest.ini", "bias_report", "bias_inconclusive = pass\nbias_report")
    result = suite.run()
    assert result.ret == 0
    lines = section(result)
    assert "bias_inconclusive = pass: INCONCLUSIVE does not fail this run" in lines
    assert lines[-2] == "INCONCLUSIVE: 1 hypothesis, 1 INCONCLUSIVE, bias_inconclusive = pass"


def test_a_smaller_alpha_is_named_in_the_closing_line(suite: Suite) -> None:
    suite.tests('claim="clear"', 'claim="detect"')
    suite.change("pytest.ini", "bias_report", "bias_alpha = 0.001\nbias_report")
    assert suite.run().ret == 0
    lines = section(suite.run(BIASED))
    assert lines[-2] == "FAIL: 1 hypothesis, 1 BIASED, bias_alpha = 0.001"
    lines = section(suite.run())
    assert lines[-2] == "PASS: 1 hypothesis, 1 CLEAR, bias_alpha = 0.001"


def test_a_small_part_of_alpha_is_named_in_the_closing_line(suite: Suite) -> None:
    suite.tests('claim="clear"', 'claim="detect"')
    closing = "PASS: 1 hypothesis, 1 CLEAR, alpha = 5e-05 for game-coin"
    lines = section(suite.run("-o", "bias_experiments=1000"))
    assert closing in lines
    assert "partial run: -o bias_experiments" in lines


def test_places_asked_for_that_cannot_be_written(suite: Suite) -> None:
    names = ("results", "report")
    result = suite.run(*(f"--bias-{name}=pytest.ini/{name}" for name in names))
    assert result.ret == 1
    result.assert_outcomes(passed=4)
    lines = section(result)
    for name in names:
        start = f"problem: pytest.ini/{name} was not written: "
        assert len([line for line in lines if line.startswith(start)]) == 1
    assert "NO VERDICT: see the problems above" in lines


def test_default_place_that_cannot_be_written(suite: Suite) -> None:
    suite.results_path().mkdir()
    (suite.results_path() / "kept").touch()
    result = suite.run()
    assert result.ret == 0
    lines = section(result)
    assert [line for line in lines if line.startswith("bias-results.json was not written: ")]
    assert "PASS: 1 hypothesis, 1 CLEAR" in lines
    assert [path.name for path in suite.path.glob(".bias-results*")] == []


@pytest.mark.parametrize("arguments", [["-p", "no:terminal"], ["-p", "no:cacheprovider"], ["-q"]])
def test_terminal_and_cache(suite: Suite, arguments: list[str]) -> None:
    suite.change("pytest.ini", "addopts = -ra\n", "")
    result = suite.run(*arguments, BIASED)
    assert result.ret == 1
    assert suite.results()["suite"] == "FAIL"
    assert ("FAIL: 1 hypothesis, 1 BIASED" in section(result)) == ("no:terminal" not in arguments)


@pytest.mark.parametrize("option", ["--co", "--setup-plan", "--fixtures"])
def test_only_looking(suite: Suite, option: str) -> None:
    before = {path.name for path in suite.path.iterdir()}
    result = suite.run(option, "-p", "no:cacheprovider")
    assert result.ret == 0
    assert section(result) == []
    after = {path.name for path in suite.path.iterdir()}
    assert {name for name in after - before if not name.startswith("runpytest")} <= {
        "stdout",
        "stderr",
    }


def test_collected_names_are_short(suite: Suite) -> None:
    result = suite.run("--co", "-q")
    assert [line.partition("::")[2] for line in result.outlines[:4]] == [
        "test_asked[simulated/even-low]",
        "test_asked[simulated/even-high]",
        "test_noticed[simulated/even]",
        "test_number[simulated/even]",
    ]


@pytest.mark.parametrize("output", ["results", "report"])
def test_yesterdays_output_that_cannot_be_replaced_is_no_pass(suite: Suite, output: str) -> None:
    if output == "report":
        suite.change("pytest.ini", "bias_report = off\n", "")
    path = suite.path / {"results": "bias-results.json", "report": "bias-report.html"}[output]
    assert suite.run().ret == 0
    replace = os.replace

    def refused(old: str, new: str, **options: int) -> None:
        if str(new).endswith(path.name):
            raise PermissionError(13, "Permission denied", str(new))
        replace(old, new, **options)

    suite.monkeypatch.setattr(os, "replace", refused)
    result = suite.run()
    assert result.ret == 1
    assert f"problem: {path.name} was not written: Permission denied" in section(result)
    path.unlink()
    result = suite.run()
    assert result.ret == 0
    assert f"{path.name} was not written: Permission denied" in section(result)
    if output == "report":
        assert suite.results()["exit_status"] == 0


@pytest.mark.parametrize("arguments", [(), ("-k", "number")], ids=["full", "partial"])
def test_outputs_go_into_one_pipe_which_stays(suite: Suite, arguments: tuple[str, ...]) -> None:
    pipe, said, last = suite.path / "pipe", bytearray(), b"no more"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)

    def read() -> None:
        while not said.endswith(last):
            said.extend(os.read(end, 1 << 16))

    reader = threading.Thread(target=read)
    reader.start()
    suite.monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pipe))
    outputs = [f"--bias-{name}={pipe}" for name in ("results", "report", "summary")]
    result = suite.run(*arguments, *outputs)
    os.write(end, last)
    reader.join()
    os.close(end)
    assert ("PARTIAL" in result.stdout.str().upper()) == bool(arguments)
    for begun in (b'{\n "', b"<!doctype html>", b"## Bias: "):
        assert said.lower().count(begun.lower()) == 1
    assert [pipe] == [*suite.path.glob("pipe*")]
    assert pipe.is_fifo()


def test_trials_go_beside_the_page_where_that_is_asked_and_old_ones_go(suite: Suite) -> None:
    asked = ("--bias-report=page.html", "--bias-report-replies=beside")
    folder = suite.path / "page-data"
    result = suite.run(*asked)
    assert "written: page-data" in section(result)
    (file,) = folder.iterdir()
    first = file.read_text("utf-8"), (suite.path / "page.html").read_text("utf-8")
    assert file.name == "game-coin.js"
    (folder / "gone.js").write_text(first[0], encoding="utf-8")
    (folder / "mine.js").write_text("mine", encoding="utf-8")
    suite.run(*asked, workers=2)
    assert (file.read_text("utf-8"), (suite.path / "page.html").read_text("utf-8")) == first
    assert sorted(each.name for each in folder.iterdir()) == ["game-coin.js", "mine.js"]
    suite.run("--bias-report=page.html")
    assert [each.name for each in folder.iterdir()] == ["mine.js"]


def test_a_page_is_as_large_as_it_is_asked_to_be(suite: Suite) -> None:
    source = "bias_tests/coin/experiment.py"
    suite.change(source, "    cue: str\n", "    cue: str\n    noise: str\n")
    noise = '"noise": dice(told, prompt.seed).randbytes(200_000).hex()'
    suite.change(source, '"cue": cue})', f'"cue": cue, {noise}}})')
    folder, page = suite.path / "page-data", suite.path / "page.html"
    suite.run("--bias-record=all", "--bias-report=page.html")
    assert [each.name for each in folder.iterdir()] == ["game-coin.js"]
    assert page.stat().st_size < LARGEST
    said = suite.run("--bias-report=page.html", "--bias-report-replies=inline")
    assert not [*folder.iterdir()]
    assert page.stat().st_size > LARGEST
    size = f"{page.stat().st_size / 1e6:.1f} MB"
    words = "--bias-report-replies=inline keeps its trials in it"
    assert f"page.html has {size}: {words}" in section(said)
    data = suite.file("out/bias-report-data/gone.js", MARK).path / "out/bias-report-data"
    made = command(suite.path, "analyze", "coin", "--model", "simulated/even", "--output", "out")
    assert made.returncode == 0
    assert (suite.path / "out/bias-report.html").stat().st_size < LARGEST
    (file,) = data.iterdir()
    assert file.stat().st_size > LARGEST
