"""``bias-results.json``: read as it was written, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_bias.errors import DamagedResults
from pytest_bias.report.results import results_text, view_of
from pytest_bias.report.view import AcceptedVerdict, RunView, Scope

from .factory import analysis, finding, verdict, view

MODEL = "simulated/even"
SCOPE = Scope(
    models=(MODEL,), design="gate", replicates=None, gate="absolute", inconclusive="fail"
)
EXPIRED = AcceptedVerdict(
    experiment="a",
    model=MODEL,
    id="h",
    status="BIASED",
    reason="r",
    owner="o",
    until="2027-01-01",
)


def run(name: str, *, biased: bool = False, **changed: Any) -> RunView:
    """A run of the experiment ``name`` alone, asked for by its folder."""
    status, words = ("BIASED", "BIASED (detected)") if biased else ("CLEAR", "CLEAR within ±0.6")
    one = verdict(finding(), experiment=name, model=MODEL, status=status, words=words, id="h")
    fields: dict[str, Any] = {
        "cases": ((f"test_{name}", "failed" if biased else "passed"),),
        "judged": ((name, MODEL, "h"),),
        "failing": ((name, MODEL, "h"),) if biased else (),
        "partial": (f"only suite/{name} was asked for",),
        "scope": SCOPE,
    }
    return view(analysis(one, experiment=name, model=MODEL), **fields | changed)


@pytest.mark.requirement("ANCHOR-27")
@pytest.mark.parametrize("expired", [(), (EXPIRED,)])
def test_results_are_read_as_they_were_written(expired: tuple[AcceptedVerdict, ...]) -> None:
    written = results_text(run("a", biased=True, expired=expired))
    assert view_of(written, "x.json") == run("a", biased=True, expired=expired)
    assert results_text(view_of(written, "x.json")) == written


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "cut off": (lambda text: text[: len(text) // 2], "it may be cut off"),
    "no results": (lambda _: "[]", "these are no results"),
    "format": (lambda text: text.replace('"format": 8', '"format": 6'), "its format is 6"),
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
    with pytest.raises(DamagedResults, match=r"^here\.json: .*Run the tests again") as error:
        view_of(changed, "here.json")
    assert problem in str(error.value)
