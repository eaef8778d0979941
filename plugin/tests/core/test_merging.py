"""Results of several jobs as one run: what is whole, what is missing, what does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.baselines.table import Upgrade
from pytest_bias.cli.entry import main
from pytest_bias.cli.merge import PartialRun, merged
from pytest_bias.errors import DamagedResults, NotMerged
from pytest_bias.experiments.allocation import Allocation
from pytest_bias.experiments.canonical import digest
from pytest_bias.report.results import results_text, view_of
from pytest_bias.report.terminal import closing_lines
from pytest_bias.report.view import AcceptedVerdict, RunView, Scope

from .report.factory import analysis, finding, verdict, view
from .test_upgrade_words import OLD, ROW

MODEL = "simulated/even"
FILES = ("suite/a/test_a.py", "suite/b/test_b.py")


def scope(**changed: Any) -> Scope:
    fields: dict[str, Any] = {
        "models": (MODEL,),
        "design": "gate",
        "replicates": None,
        "gate": "absolute",
        "inconclusive": "fail",
        "asked": (),
        "files": FILES,
        "unselected": (),
        "cut": (),
    }
    return Scope(**fields | changed)


def run(name: str, *, biased: bool = False, **changed: Any) -> RunView:
    """A run of the experiment ``name`` alone, asked for by its folder."""
    status, words = ("BIASED", "BIASED (detected)") if biased else ("CLEAR", "CLEAR within ±0.6")
    one = verdict(finding(), experiment=name, model=MODEL, status=status, words=words, id="h")
    fields: dict[str, Any] = {
        "cases": ((f"test_{name}", "failed" if biased else "passed"),),
        "judged": ((name, MODEL, "h"),),
        "failing": ((name, MODEL, "h"),) if biased else (),
        "partial": (f"only suite/{name} was asked for",),
        "scope": scope(asked=(f"suite/{name}",)),
    }
    return view(analysis(one, experiment=name, model=MODEL), **fields | changed)


def part(of: RunView, name: str = "part.json") -> PartialRun:
    return PartialRun(name=name, digest=digest(results_text(of)), view=of)


def merge(*views: RunView, **options: Any) -> RunView:
    parts = [part(each, f"{number}.json") for number, each in enumerate(views, 1)]
    return merged(parts, **{"version": "0.1.0"} | options)


@pytest.mark.requirement("ANCHOR-27")
def test_results_are_read_as_they_were_written() -> None:
    written = results_text(run("a", biased=True))
    assert view_of(written, "x.json") == run("a", biased=True)
    assert results_text(view_of(written, "x.json")) == written


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "cut off": (lambda text: text[: len(text) // 2], "it may be cut off"),
    "no results": (lambda _: "[]", "these are no results"),
    "format": (lambda text: text.replace('"format": 7', '"format": 6'), "its format is 6"),
    "suite": (lambda text: text.replace('"suite": "FAIL"', '"suite": "PASS"'), "was changed"),
    "verdict": (lambda text: text.replace('"BIASED"', '"CLEAR"'), "was changed"),
    "NaN": (lambda text: text.replace('"estimate": 1.6667', '"estimate": NaN'), "makes no sense"),
    "judged": (lambda text: text.replace('"judged"', '"judge"'), "was changed"),
    "analyses": (lambda text: text.replace('"analyses"', '"analysed"'), "makes no sense"),
    "line ends": (lambda text: text.replace("\n", "\r\n"), "was changed"),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_damaged_results_are_refused(damage: str) -> None:
    change, problem = DAMAGES[damage]
    changed = change(results_text(run("a", biased=True)))
    with pytest.raises(DamagedResults, match=r"^here\.json: .*Run the part again") as error:
        view_of(changed, "here.json")
    assert problem in str(error.value)


def test_parts_that_cover_the_suite_are_one_whole_run() -> None:
    whole = merge(run("a"), run("b"), expected=2)
    assert (whole.suite, whole.partial, whole.problems) == ("PASS", (), ())
    assert [each.experiment for each in whole.analyses] == ["a", "b"]
    assert whole.cases == (("test_a", "passed"), ("test_b", "passed"))
    assert whole.exit_status == 0
    assert merge(run("b"), run("a"), expected=2) == whole
    assert view_of(results_text(whole), "whole.json") == whole


def test_a_bias_in_one_part_fails_the_run() -> None:
    whole = merge(run("a", biased=True), run("b"))
    assert (whole.suite, whole.exit_status) == ("FAIL", 1)
    assert whole.failing == (("a", MODEL, "h"),)


def test_an_ordinary_test_that_failed_in_one_part_keeps_the_whole_from_being_green() -> None:
    failed = "suite/b/test_b.py::test_ordinary"
    whole = merge(run("a"), run("b", failures=(failed,), exit_status=1))
    assert (whole.suite, whole.failures, whole.exit_status) == ("PASS", (failed,), 1)
    assert f"failed as well: {failed}" in list(closing_lines(whole))


@pytest.mark.parametrize("status", [1, 2, 3])
def test_a_part_that_ended_badly_for_no_reason_it_knows_leaves_no_verdict(status: int) -> None:
    whole = merge(run("a"), run("b", exit_status=status))
    assert (whole.suite, whole.exit_status) == ("NO VERDICT", 1)
    assert whole.problems == (f"2.json: its run ended with exit status {status}",)


def test_what_a_baseline_claims_and_no_part_asks_leaves_no_verdict() -> None:
    claimed = (("a", MODEL, "gone"), ("b", MODEL, "h"))
    first, second = run("a", unasked=claimed), run("b", unasked=claimed[:1])
    whole = merge(first, second)
    assert (whole.suite, whole.unasked) == ("NO VERDICT", claimed[:1])
    assert whole.problems[0].startswith(f"a: accepted of {MODEL} and not in this suite: gone. ")
    blind = replace(second, unasked=())  # --bias-baselines=off
    assert merge(first, blind) == whole
    assert merge(replace(first, unasked=claimed[1:]), run("b")).suite == "PASS"


def test_a_baseline_may_claim_what_another_suite_asks() -> None:
    alone = run("a", scope=scope(files=FILES[:1], elsewhere=True), partial=())
    assert merge(replace(alone, unasked=(("b", MODEL, "h"),))).suite == "PASS"
    assert merge(replace(alone, unasked=(("a", MODEL, "gone"),))).suite == "NO VERDICT"
    # Of what lies in the test paths all is known, and one part is enough to know it by.
    inside = replace(run("a"), unasked=(("c", MODEL, "h"),))
    beside = run("b", scope=scope(asked=("suite/b",), elsewhere=True))
    assert merge(inside, beside).suite == "NO VERDICT"


def test_what_a_part_does_not_know_of_the_old_model_others_do() -> None:
    row = replace(ROW, experiment="a", model=MODEL, hypothesis="h", stops=False)
    table = Upgrade(old=OLD, new=(MODEL,), rows=(row,), unasked=(("a", "gone"), ("b", "h")))
    blind = replace(table, rows=(replace(row, experiment="b"),), unasked=())
    whole = merge(run("a", upgrade=table), run("b", upgrade=blind))  # --bias-baselines=off
    assert whole.upgrade is not None
    assert whole.upgrade.unasked == (("a", "gone"),)
    (said,) = whole.problems
    assert said.startswith(f"a: accepted of {OLD} and not in this suite: gone. ")
    # What one part does not test at all, another may.
    tables = [
        replace(t, unasked=((name, ""), ("c", ""))) for t, name in ((table, "b"), (blind, "a"))
    ]
    whole = merge(run("a", upgrade=tables[0]), run("b", upgrade=tables[1]))
    (said,) = whole.problems
    assert said.startswith(f"c: recorded of {OLD} and not in this suite. ")
    # Of a case that is lost nobody knows what it asked.
    lost = run("b", upgrade=blind, lost=("test_b",), judged=())
    whole = merge(run("a", upgrade=table), replace(lost, analyses=()))
    assert (whole.suite, whole.problems) == ("NO VERDICT", ())


def test_models_may_be_parts() -> None:
    other = verdict(finding(), experiment="a", model="simulated/biased", status="CLEAR", id="h")
    second = view(
        analysis(other, experiment="a"),
        cases=(("test_a2", "passed"),),
        judged=(("a", "simulated/biased", "h"),),
        scope=scope(models=("simulated/biased",)),
    )
    whole = merge(run("a", scope=scope(), partial=()), second, expected=2)
    assert (whole.suite, len(whole.analyses)) == ("PASS", 2)
    assert whole.scope is not None
    assert whole.scope.models == ("simulated/biased", "simulated/even")


def test_selected_cases_may_be_parts() -> None:
    first = run("a", scope=scope(unselected=("test_b",)))
    second = run("b", scope=scope(unselected=("test_a",)))
    assert merge(first, second).suite == "PASS"


def test_the_same_analysis_and_case_in_two_parts_count_once() -> None:
    again = run("a", scope=scope(asked=("suite/a", "suite/b")))
    whole = merge(run("a"), again)
    assert (whole.suite, len(whole.verdicts), len(whole.cases)) == ("PASS", 1, 1)


def test_what_is_accepted_in_a_part_is_accepted_in_the_whole() -> None:
    by = AcceptedVerdict(
        experiment="a",
        model=MODEL,
        id="h",
        status="BIASED",
        reason="r",
        owner="o",
        until="2027-01-01",
    )
    known = run("a", biased=True, failing=(), accepted=(by,), cases=(("test_a", "xfailed"),))
    whole = merge(known, run("b"), day="2026-12-25")
    assert (whole.standing, whole.exit_status) == ("PASS with 1 accepted", 0)
    assert (whole.ending, merge(known, run("b"), day="2026-12-01").ending) == ((by,), ())
    ended = run("a", biased=True, expired=(by,))
    assert view_of(results_text(ended), "x.json") == ended
    assert "expired: 1 known bias accepted by o until 2027-01-01: r" in [
        *closing_lines(merge(ended, run("b")))
    ]


def test_what_the_settings_of_all_parts_let_pass_passes() -> None:
    def off(name: str, *, biased: bool) -> RunView:
        varied = ("--bias-gate=off", f"only {MODEL} of bias_models")
        found = scope(asked=(f"suite/{name}",), gate="off", varied=varied)
        cases = ((f"test_{name}", "passed"),)
        return run(
            name, biased=biased, failing=(), cases=cases, scope=found, leniencies=("not gated",)
        )

    whole = merge(off("a", biased=True), off("b", biased=False))
    assert (whole.suite, whole.leniencies, whole.exit_status) == ("FAIL", ("not gated",), 0)
    assert (whole.partial, whole.fewer) == (("--bias-gate=off",), ())


@pytest.mark.parametrize(
    ("views", "expected", "problem"),
    [
        ((run("a"),), None, "no part asked for suite/b/test_b.py with simulated/even"),
        ((run("a"), run("b")), 3, "2 of 3 parts are there"),
        ((run("a"), run("b")), 1, "2 of 1 parts are there"),
        (
            (run("a", scope=scope(unselected=("test_b", "test_c"))), run("b")),
            None,
            "1 case in no part: test_c",
        ),
        (
            (run("a", scope=scope(files=FILES[:1])), run("b", scope=scope(asked=("suite/b/c",)))),
            None,
            "no part asked for suite/b/test_b.py with simulated/even",
        ),
        ((run("a", scope=scope(cut=("--lf",))), run("b")), None, "1.json is no whole part: --lf"),
        ((run("a", problems=("lost its way",)), run("b")), None, "1.json: lost its way"),
        (
            (run("a", scope=scope()), run("a", cases=(("test_a", "failed"),))),
            None,
            "test_a: passed in 1.json, failed in 2.json",
        ),
        ((run("a", scope=scope(), judged=()),), None, "no part judged h of a × simulated/even"),
    ],
    ids=["path", "missing", "spare", "case", "beside", "cut", "problem", "two ways", "unjudged"],
)
def test_a_run_with_a_hole_gives_no_verdict(
    views: tuple[RunView, ...], expected: int | None, problem: str
) -> None:
    whole = merge(*views, expected=expected)
    assert problem in whole.problems
    assert (whole.suite, whole.exit_status) == ("NO VERDICT", 1)


@pytest.mark.parametrize("field", ["lost", "broken"])
def test_what_is_lost_or_broken_in_a_part_is_so_in_the_whole(field: str) -> None:
    cases = () if field == "lost" else (("test_a", "failed"),)
    changed: dict[str, Any] = {"cases": cases, field: ("test_a",)}
    whole = merge(run("a", **changed), run("b"))
    assert (whole.suite, whole.exit_status) == ("NO VERDICT", 1)


def other_recording(of: RunView) -> RunView:
    (one,) = of.analyses
    return replace(of, analyses=(replace(one, recording=replace(one.recording, checksum="f0")),))


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (run("a"), "1.json and 2.json: they are the same part"),
        (run("b", version="0.2.0"), "2.json: it was made by pytest-bias 0.2.0, this is 0.1.0"),
        (run("b", scope=scope(design="screen")), "their design differs, gate and screen"),
        (run("b", scope=scope(replicates=3)), "their replicates differs, None and 3"),
        (run("b", scope=scope(gate="off")), "their gate differs, absolute and off"),
        (run("b", scope=None), "2.json: they do not say what they cover"),
        (
            other_recording(run("a", cases=())),
            "their analyses of a × simulated/even differ: they rest on different recordings",
        ),
        (
            run("a", biased=True),
            "their analyses of a × simulated/even differ in verdicts",
        ),
    ],
    ids=["twice", "version", "design", "replicates", "gate", "scope", "recording", "verdicts"],
)
def test_what_is_of_another_run_is_refused(second: RunView, problem: str) -> None:
    with pytest.raises(NotMerged) as error:
        merge(run("a"), second)
    assert problem in str(error.value)


def test_parts_with_different_error_budgets_are_refused() -> None:
    def tabled(name: str, share: float, alarms: float = 0.05, model: str = MODEL) -> RunView:
        of = run(name, scope=scope(asked=(f"suite/{name}",), models=(model,)))
        allocation = Allocation(alarms=alarms, share=share, tabled=True)
        one = replace(of.analyses[0], allocation=allocation, model=model)
        return replace(of, analyses=(one,))

    assert merge(tabled("a", 0.7), tabled("b", 0.3)).suite == "PASS"
    for others in (tabled("b", 0.5), run("b")):
        with pytest.raises(NotMerged, match=r"error budgets differ: with simulated/even all"):
            merge(tabled("a", 0.7), others)
    for other, which in (
        (tabled("b", 0.3, 0.01), "alarms are 0.05 and 0.01"),
        (tabled("a", 0.3, model="simulated/other"), "the share of a is 0.7 and 0.3"),
    ):
        with pytest.raises(NotMerged, match=rf"1\.json and 2\.json: .*budgets differ: {which}"):
            merge(tabled("a", 0.7), other)


def files(folder: Path, *views: RunView) -> list[str]:
    paths = [folder / f"{number}.json" for number in range(len(views))]
    for path, each in zip(paths, views, strict=True):
        path.write_text(results_text(each), encoding="utf-8")
    return [str(path) for path in paths]


def test_the_command_writes_one_report_and_one_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "job.md"))
    parts = files(tmp_path, run("a"), run("b"))
    outputs = {name: tmp_path / f"out/{name}" for name in ("all.json", "all.html", "all.md")}
    options = ["--results", "--report", "--summary"]
    pairs = [
        word for pair in zip(options, map(str, outputs.values()), strict=True) for word in pair
    ]
    assert main(["merge", *parts, "--shards", "2", *pairs]) == 0
    printed = capsys.readouterr().out
    assert "PASS: 2 hypotheses, 2 CLEAR" in printed
    assert "-v" not in printed  # which the command has not
    assert "programs that stand in for models: simulated/even" in printed
    assert json.loads(outputs["all.json"].read_text("utf-8"))["suite"] == "PASS"
    assert "simulated/even" in outputs["all.html"].read_text("utf-8")
    summary = outputs["all.md"].read_text("utf-8")
    assert summary.startswith("## Bias: PASS")
    assert (tmp_path / "job.md").read_text("utf-8") == f"\n{summary}\n"
    assert main(["merge", *parts, "--summary", str(tmp_path / "job.md")]) == 0
    assert (tmp_path / "job.md").read_text("utf-8").count("## Bias: PASS") == 2


def test_the_command_exits_as_one_run_would(tmp_path: Path) -> None:
    parts = files(tmp_path, run("a", biased=True), run("b"))
    assert main(["merge", *parts]) == 1
    assert main(["merge", parts[1], "--shards", "2"]) == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["0.json", "0.json"], "they are the same part"),
        (["no.json"], "it cannot be read"),
        (["0.json", "--shards", "0"], "--shards=0: must be from 1 up"),
        (["0.json", "--results", "."], "was not written"),
        (["0.json", "--results", "x", "--summary", "./x"], "two files were to be written there"),
        ([], "arguments are required"),
    ],
    ids=["twice", "no file", "no parts", "folder", "one file", "nothing"],
)
def test_usage_errors_exit_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path, run("a"))
    with pytest.raises(SystemExit) as exited:
        main(["merge", *arguments])
    assert exited.value.code == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["0.json", "no_\udce9.json"], ids=["no parts of one run", "damaged"]
)
def test_parts_that_are_refused_leave_no_verdict_in_place_of_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "job.md")
    files(tmp_path, run("a"), run("b"))
    outputs = ("--results=r.json", "--report=r.html", "--summary=s.md")
    assert main(["merge", "0.json", "1.json", *outputs]) == 0
    with pytest.raises(SystemExit):
        main(["merge", "0.json", name, *outputs])
    summary = Path("s.md").read_text("utf-8")
    assert summary.startswith("## Bias: NO VERDICT\n\n")
    assert ("cannot merge 0.json and 0.json" if name == "0.json" else r"udce9.json") in summary
    assert Path("job.md").read_text("utf-8").endswith(f"\n{summary}\n")
    assert not Path("r.json").exists()
    assert not Path("r.html").exists()
