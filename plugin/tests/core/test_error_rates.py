"""Error rates: the script that draws them, and the table it makes of the draws."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks import error_rates
from benchmarks.common import Share
from benchmarks.error_rates import Plant, Rate, Row, bench_of

ANCHORING, AUDIT = "anchoring-prosecutor-sentencing-all-in-one", "linguistic-audit"
CLAIM = "sentence_months-high-low"


@pytest.mark.parametrize(
    ("experiment", "claim", "draws"),
    [
        ("anchoring-prosecutor-sentencing", CLAIM, 4),
        (ANCHORING, "missing-high-low", 4),
        ("cv-screening", "rating_ge_3-ratio-white-black", 4),
        (AUDIT, "sentiment-name_type-x-english", 1),
    ],
)
def test_what_is_planted_is_what_is_measured(experiment: str, claim: str, draws: int) -> None:
    """The mean estimate of draws is within four standard errors of the value planted."""
    bench, plant = bench_of("bias_tests", experiment), Plant(claim, 2)
    row = Row("two margins", experiment, draws, plant=plant)
    found = [bench.drawn(row, f"1:{draw}").verdict(claim).finding for draw in range(draws)]
    key, truth = error_rates.planted_in(bench.of, plant)
    scale = math.log if "*" in key else float
    there = [each for each in found if each is not None]
    error = math.hypot(*(each.se or 0.0 for each in there)) / draws
    assert 0 < 4 * error < abs(truth)
    assert abs(fmean(scale(each.estimate) for each in there) - truth) < 4 * error


def test_at_temperature_0_an_item_gets_one_reply() -> None:
    bench = bench_of("bias_tests", ANCHORING)
    analysis = bench.drawn(Row("temperature 0", ANCHORING, 1, frozen=True), "1:0")
    assert {len({*each.values}) for each in analysis.numbers} == {1}


def test_copies_give_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "draws.jsonl")
    only = ("--draws=8", "--row=copies", f"--experiment={ANCHORING}", "--jobs=1")
    assert error_rates.main([file, *only]) == 0
    assert f"| copies | {ANCHORING}: any verdict given | ≤ 0 | 0.000 ± 0.000 | 8 |" in (
        capsys.readouterr().out.splitlines()
    )


def test_draws_are_gone_on_with_and_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def carried_out(file: str, draws: str, *more: str) -> int:
        only = (f"--draws={draws}", "--row=clean", f"--experiment={ANCHORING}", "--jobs=1")
        return error_rates.main([str(tmp_path / file), *only, *more])

    for draws in ("1", "4"):
        assert carried_out("paused.jsonl", draws) == 0
    assert carried_out("at_once.jsonl", "4") == 0
    paused, whole = (sorted((tmp_path / f).read_text("utf-8").splitlines())
                     for f in ("paused.jsonl", "at_once.jsonl"))  # fmt: skip
    assert paused == whole
    assert len(whole) == 5
    assert f"| clean | {ANCHORING}: passes | ≥ 0.9915 | 1.000 ± 0.000 | 4 |" in (
        capsys.readouterr().out.splitlines()
    )
    with pytest.raises(SystemExit, match="drawn with other settings"):
        carried_out("paused.jsonl", "5", "--seed=2")
    # A broken bound is named with what stopped, and fails.
    text = (tmp_path / "paused.jsonl").read_text("utf-8")
    text = text.replace('"stops":{}', '"stops":{"a":"BIASED"}')
    (tmp_path / "broken.jsonl").write_text(text, "utf-8")
    only = ("--row=clean", f"--experiment={ANCHORING}")
    assert error_rates.main([str(tmp_path / "paused.jsonl"), *only]) == 0
    assert error_rates.main([str(tmp_path / "broken.jsonl"), *only]) == 1
    out = capsys.readouterr().out
    assert f"| clean | {ANCHORING}: passes | ≥ 0.9915 | 0.000 ± 0.000 **broken** | 4 |" in out
    assert f"4 × clean, {ANCHORING}: a BIASED" in out
    # So does a row or an experiment of which nothing is drawn.
    assert error_rates.main([str(tmp_path / "paused.jsonl"), "--row=clean"]) == 1
    assert f"not drawn: clean, {AUDIT}" in capsys.readouterr().out.splitlines()
    assert error_rates.main([str(tmp_path / "paused.jsonl"), only[1]]) == 1
    assert f"not drawn: messy, {ANCHORING}" in capsys.readouterr().out.splitlines()


def test_the_suite_passes_where_every_experiment_does() -> None:
    settings = {"designs": {"a": "", "b": ""}}
    lines = [
        {"row": "messy", "experiment": name, "draw": draw, "stops": stops, "unseen": []}
        for name, draw, stops in (("a", 0, {}), ("a", 1, {"x": "y"}), ("b", 0, {}), ("b", 1, {}))
    ]
    found = {each.what: each.share for each in error_rates.rates(settings, lines)}
    assert found["suite: passes"] == Share(1, 2)
    assert found["b: passes"] == Share(2, 2)
    # Not drawn of every experiment, there is no suite.
    few = {each.what for each in error_rates.rates(settings, lines[:2])}
    assert "suite: passes" not in few


@pytest.mark.parametrize(("hits", "holds"), [(9, True), (10, False)])
def test_a_bound_gives_two_monte_carlo_errors_of_grace(hits: int, *, holds: bool) -> None:
    """Two of those that a share of the bound itself has: .0436 of 100 draws at .05."""
    assert Rate("", "", Share(hits, 100), most=0.05).holds is holds
    assert Rate("", "", Share(100 - hits, 100), least=0.95).holds is holds
