"""What a run prints and writes."""

from __future__ import annotations

import os
import re
import threading
import xml.etree.ElementTree as ET

import pytest

from .suites import Scenario, Suite, scenarios, section
from .test_fail_closed import BIASED

FILE = "bias_tests/coin/experiment.py"
HTML = (
    "-p pytest_metadata.plugin -p pytest_html.plugin --html=page.html --self-contained-html "
    "--junitxml=junit.xml"
)
PASS, FAIL = "PASS: 1 hypothesis, 1 CLEAR", "BIAS FOUND: 1 hypothesis, 1 BIASED"


def junit(suite: Suite) -> ET.Element:
    return ET.fromstring((suite.path / "junit.xml").read_text(encoding="utf-8"))  # noqa: S314  (our own)


@pytest.mark.parametrize("workers", [0, 1])
def test_junit_has_the_numbers(suite: Suite, workers: int) -> None:
    suite.check("--junitxml=junit.xml", 0, "4 passed", PASS, workers=workers)
    cases = {case.attrib["name"].partition("[")[0]: case for case in junit(suite).iter("testcase")}
    properties = cases["test_number"].iter("property")
    found = {each.attrib["name"]: each.attrib["value"] for each in properties}
    assert found["bias_hypothesis"] == "number-high-low"
    assert found["bias_verdict"] == "CLEAR within ±2 for these stimuli"
    assert (found["bias_units"], found["bias_margin"]) == ("60", "2.0")
    assert float(found["bias_estimate"]) == pytest.approx(-0.2)
    assert found["bias_level"] == "0.9"  # of the equivalence test, which cleared it
    low, high = map(float, found["bias_decides"][1:-1].split(", "))
    assert -2 < low < high < 2
    assert set(found) >= {"bias_interval", "bias_p_alarm", "bias_p_clear", "bias_model"}


@pytest.mark.parametrize("workers", [None, 1])
def test_a_failure_is_said_once_and_shows_in_junit_and_html(
    suite: Suite, workers: int | None
) -> None:
    result = suite.check(f"{BIASED} {HTML}", 1, workers=workers)
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
    assert "BIASED (beyond the margin)" in page
    assert re.search(r"estimate 6\.2, 99\.\d+ % interval \[5\.\d+, 7\.\d+\]", page)


@pytest.mark.requirement("CV-47")
def test_paths_and_off(suite: Suite) -> None:
    asked = "--bias-results=deep/er/found.json --bias-report=page.html"
    suite.check(asked, 0, "", "written: deep/er/found.json", "written: page.html")
    assert (suite.path / "deep/er/found.json").exists()
    assert "number" in (suite.path / "page.html").read_text(encoding="utf-8")
    assert not suite.results_path().exists()
    suite.check("--bias-results=off -q", 0, "", "!written", "!Every estimate here")
    assert not suite.results_path().exists()


def few(suite: Suite) -> None:
    suite.change(FILE, "bounds=(2, 18)", "bounds=(7, 13)").tests("margin=2.0", "margin=0.6")


def detecting(suite: Suite) -> None:
    suite.tests('claim="clear"', 'claim="detect"')
    suite.change("pytest.ini", "bias_report", "bias_alpha = 0.001\nbias_report")


def in_folders_way(suite: Suite) -> None:
    suite.file("bias-results.json/kept")


def no_report_line(suite: Suite) -> None:
    suite.change("pytest.ini", "addopts = -ra\n", "")


OPEN = "CANNOT TELL: 1 hypothesis, 1 INCONCLUSIVE"
PLACES = [f"problem: pytest.ini/{name} was not written: " for name in ("results", "report")]
ENDS = {
    "no gate": Scenario(None, f"{BIASED} --bias-gate=off", 0, "4 passed", f"{FAIL}, not gated"),
    "open": Scenario(few, "", 1, "3 passed, 1 failed", "Inconclusive: game-coin × ", OPEN),
    "alpha": Scenario(detecting, "", 0, "", f"{PASS}, bias_alpha = 0.001"),
    "no place": Scenario(
        None,
        "--bias-results=pytest.ini/results --bias-report=pytest.ini/report",
        1,
        "4 passed",
        *PLACES,
    ),
    "default place": Scenario(
        in_folders_way, "", 0, "", "bias-results.json was not written: ", PASS
    ),
    "no terminal": Scenario(no_report_line, f"-p no:terminal {BIASED}", 1, "", f"!{FAIL}"),
    "quiet": Scenario(no_report_line, f"-q {BIASED}", 1, "", FAIL),
}


@scenarios(ENDS)
def test_the_end_of_a_run(suite: Suite, scenario: Scenario) -> None:
    scenario.check(suite)
    assert not [*suite.path.glob(".bias-results*")]


@pytest.mark.parametrize("option", ["--co", "--setup-plan", "--fixtures"])
def test_only_looking(suite: Suite, option: str) -> None:
    before = {path.name for path in suite.path.iterdir()}
    assert section(suite.check(f"{option} -p no:cacheprovider", 0)) == []
    assert {path.name for path in suite.path.iterdir()} == before


@pytest.mark.parametrize("output", ["results", "report"])
def test_yesterdays_output_that_cannot_be_replaced_is_no_pass(suite: Suite, output: str) -> None:
    if output == "report":
        suite.change("pytest.ini", "bias_report = off\n", "")
    path = suite.path / {"results": "bias-results.json", "report": "bias-report.html"}[output]
    suite.check("", 0)
    replace = os.replace

    def refused(old: str, new: str, **options: int) -> None:
        if str(new).endswith(path.name):
            raise PermissionError(13, "Permission denied", str(new))
        replace(old, new, **options)

    suite.monkeypatch.setattr(os, "replace", refused)
    said = f"{path.name} was not written: Permission denied"
    suite.check("", 1, "", f"problem: {said}")
    path.unlink()
    suite.check("", 0, "", said)
    if output == "report":
        assert suite.results()["exit_status"] == 0


@pytest.mark.parametrize("arguments", ["", "-k number"], ids=["full", "partial"])
def test_outputs_go_into_one_pipe_which_stays(suite: Suite, arguments: str) -> None:
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
    suite.check(" ".join([arguments, *outputs]), 0)
    os.write(end, last)
    reader.join()
    os.close(end)
    for begun in (b'{\n "', b"<!doctype html>", b"## Bias: "):
        assert said.lower().count(begun.lower()) == 1
    assert [pipe] == [*suite.path.glob("pipe*")]
    assert pipe.is_fifo()
