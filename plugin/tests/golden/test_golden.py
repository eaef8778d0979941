"""What is printed, as whole texts. After a wanted change --update-golden writes them anew."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias.cli.commands import main
from pytest_bias.report.page import report_html
from pytest_bias.report.recording_text import plan_lines
from pytest_bias.report.run import AcceptedVerdict, RunResult
from pytest_bias.report.terminal import brief_lines, summary_markdown
from pytest_bias.report.upgrade_table import Upgrade, worst_first
from pytest_bias.report.wording import closing_lines

from ..core.factories import MODEL, ask_twice, experiment, record
from ..core.report.factory import analysis, control, finding, undecided, usual, verdict, view
from ..core.report.reading import Reader
from ..core.report.test_recording_text import planned
from ..core.test_misses import missed
from ..core.test_upgrade_words import ROW, SIDE


def clear() -> RunResult:
    """A run of one hypothesis that is CLEAR."""
    found = verdict(finding(estimate=0.05, p_clear=0.001), status="CLEAR")
    return view(analysis(found), cases=(("test_a[high]", "passed"),))


def failing() -> RunResult:
    """A run of every verdict, in which nothing is as it should be."""
    by = AcceptedVerdict(
        experiment="anchoring", model="simulated/biased", id="accepted", status="BIASED",
        reason="known | *being*\nmended", owner="ann", until="2027-03-31",
    )  # fmt: skip
    found = finding()
    verdicts = (
        verdict(found, title="a demand does not move the sentence"),
        verdict(found, id="accepted"),
        verdict(finding(estimate=0.05, p_clear=0.001), id="clear", status="CLEAR"),
        undecided(found, id="open", next_step="about 90 more: pytest --bias-replicates=12"),
        undecided(None, "demand=low: too few valid replies, 1", id="few", claim="detect"),
        verdict(found, id="described", claim="describe"),
        verdict(finding(margin=None, p_clear=None), id="nothing", claim="detect",
                status="INCONCLUSIVE"),
    )  # fmt: skip
    of = analysis(*verdicts, controls=(control(), control(seen=False)))
    run = view(of, accepted=(by,), ending=(by,), expired=(by,))
    return replace(
        run,
        failing=tuple(named for named in run.failing if named[2] != "accepted"),
        stale=("cassette a is old",),
        failures=("test_theirs.py::test_x",),
        partial=("-k coin",),
        leniencies=("bias_inconclusive = pass",),
        notes=("a note",),
    )


def upgrade() -> RunResult:
    """A run in which an upgrade is stopped."""
    biased = replace(SIDE, status="BIASED", words="BIASED", shown="+1.80, 95 % [+1.50, +2.10]")
    name = verdict(finding()).named
    worse = replace(
        ROW, experiment=name[0], model=name[1], hypothesis=name[2], outcome="worse",
        now=biased, stops=True, title="a demand does not move the sentence", summary="worse",
    )  # fmt: skip
    rows = (ROW, worse, replace(worse, hypothesis="x", before=SIDE, outcome="new"),
            replace(worse, hypothesis="y", outcome="undecided", stops=False),
            replace(worse, hypothesis="z", outcome="known", tolerated=True),
            replace(ROW, hypothesis="same", outcome="as before", summary=""))  # fmt: skip
    of = Upgrade(old="lab/old", new=(name[1],), rows=worst_first(rows), notes=("a note",))
    return replace(view(analysis(verdict(finding()))), upgrade=of)


def terminal(run: RunResult) -> str:
    lines = [*brief_lines(run), *run.notes, *closing_lines(run)]
    return "\n".join([*lines, "", "-v", *brief_lines(run, 1)])


def in_ci(run: RunResult) -> str:
    return summary_markdown(run, ["bias-report.html"])


def plan(tmp_path: Path) -> str:
    models = (MODEL, "simulated/even", "own/free-latest")
    return "\n".join(plan_lines(planned(tmp_path, *models, max_calls=3, budget=0.001)))


def miss(tmp_path: Path) -> str:
    path = record(tmp_path, experiment())
    text = missed(experiment(ask_twice), path).explanation
    return text.replace(str(tmp_path), "…")


def helped(_: Path) -> str:
    with redirect_stdout(io.StringIO()) as printed, pytest.raises(SystemExit):
        main(["--help"])
    return printed.getvalue()


def judged(run: RunResult) -> RunResult:
    return replace(run, judged=tuple(each.named for each in run.verdicts))


TEXTS: dict[str, Callable[[Path], str]] = {
    "terminal_passing.txt": lambda _: terminal(clear()),
    "terminal_failing.txt": lambda _: terminal(failing()),
    "summary.md": lambda _: in_ci(judged(failing())),
    "page.txt": lambda _: Reader(report_html(usual())).lines,
    "plan.txt": plan,
    "miss.txt": miss,
    "upgrade.txt": lambda _: f"{terminal(upgrade())}\n\n{in_ci(judged(upgrade()))}",
    "help.txt": helped,
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_reads_as_accepted(
    name: str, tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = re.sub(r"results [0-9a-f]{12}", "results …", TEXTS[name](tmp_path)).strip() + "\n"
    golden = Path(__file__).with_name(name)
    if pytestconfig.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
