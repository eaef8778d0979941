"""Error rates: the script that draws them, and the committed table that a plan leads with."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from benchmarks import error_rates
from benchmarks.error_rates import GridCell, bench_of
from pytest_bias.recording.characteristics import Chance, DamagedTable, product, read_error_rates

TABLE = Path(__file__).parents[3] / "bias_tests" / "calibration.json"
ANCHORING, AUDIT = "anchoring-prosecutor-sentencing-all-in-one", "linguistic-audit"
CLAIM = "sentence_months-high-low"


def drawn(experiment: str, subject: str, draws: int) -> list[Any]:
    cell = GridCell(experiment, subject, draws)
    return [*bench_of("bias_tests", experiment).lines(1, (cell, 0, range(draws)))]


@pytest.mark.parametrize(
    ("experiment", "planted", "draws"),
    [
        ("anchoring-prosecutor-sentencing", f"{CLAIM}=2", 4),
        (ANCHORING, "missing-high-low=2", 4),
        ("cv-screening", "rating-white-black=2", 3),
        ("cv-screening", "rating_ge_3-ratio-male-female=2", 4),
        (AUDIT, "log_length-english=2+sentiment-names=2+is_refusal-articles=1", 2),
        (AUDIT, "sentiment-name_type-x-english=2", 1),
        ("narrative-personas", "pro_social-black_male-rest=2+hesitation-asian_female-rest=2", 1),
        ("recommendation", "picked-left-neutral=2", 1),
    ],
)
def test_what_is_planted_is_what_is_measured(experiment: str, planted: str, draws: int) -> None:
    """The mean estimate of draws is within four standard errors of the value planted."""
    lines = drawn(experiment, f"even+{planted}", draws)
    for plant in error_rates.plants_of(f"even+{planted}"):
        said = [line["verdicts"][plant.name] for line in lines]
        scale = math.log if "ratio" in plant.name or "picked" in plant.name else float
        errors = [(scale(e["interval"][1]) - scale(e["interval"][0])) / 3.92 for e in said]
        error, truth = math.hypot(*errors) / draws, scale(said[0]["truth"])
        assert 0 < 4 * error < abs(truth)
        assert abs(fmean(scale(each["estimate"]) for each in said) - truth) < 4 * error


def test_mishaps_are_planted() -> None:
    (lost,) = drawn(ANCHORING, "even+missing=0.1", 1)
    assert 0.04 <= lost["missing"] <= 0.17
    (highest,) = drawn(ANCHORING, f"even+informative:{CLAIM}=0.1", 1)
    assert highest["missing"] > 0
    assert highest["verdicts"][CLAIM]["estimate"] < 0
    (noise,) = drawn(AUDIT, "biased+noise:log_length=1", 1)
    assert noise["verdicts"]["log_length-english"]["status"] != "CLEAR"
    assert abs(noise["verdicts"]["log_length-english"]["estimate"]) < 0.1


def test_draws_are_gone_on_with_and_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def carried_out(file: str, draws: str, *more: str) -> int:
        cell = ("--cell", ANCHORING, "even", draws, "even")
        return error_rates.main([str(tmp_path / file), *cell, "--jobs=1", *more])

    for draws in ("3", "12"):
        assert carried_out("paused.jsonl", draws) == 0
    assert carried_out("at_once.jsonl", "12", f"--table={tmp_path / 'table.json'}") == 0
    paused, whole = (sorted((tmp_path / f).read_text("utf-8").splitlines())
                     for f in ("paused.jsonl", "at_once.jsonl"))  # fmt: skip
    assert paused == whole
    assert len(whole) == 13
    table = read_error_rates(tmp_path / "table.json")
    assert table is not None
    (found,) = table.of({ANCHORING: bench_of("bias_tests", ANCHORING).digest})
    assert found.passes == Chance.of(12, 12)
    with pytest.raises(SystemExit, match="drawn with other settings"):
        carried_out("paused.jsonl", "13", "--seed=2")
    # A broken bound is told, and fails.
    text = (tmp_path / "paused.jsonl").read_text("utf-8")
    (tmp_path / "broken.jsonl").write_text(text.replace('"CLEAR"', '"BIASED"'), "utf-8")
    assert error_rates.main([str(tmp_path / "broken.jsonl")]) == 1
    assert f"BROKEN: {ANCHORING}, even: any BIASED: 1.000" in capsys.readouterr().out


def test_the_committed_draws_give_the_committed_table_of_the_shipped_designs() -> None:
    settings, lines = error_rates.read(Path(error_rates.__file__).with_suffix(".jsonl.gz"))
    committed = json.loads(TABLE.read_text("utf-8"))
    made = json.loads(error_rates.as_json(settings, error_rates.rates(settings, lines)))
    key = ("experiment", "subject", "what", "hypothesis", "accepted")
    both = [{tuple(map(r.get, key)): r for r in each["rates"]} for each in (made, committed)]
    assert both[0] == both[1]
    digests = {name: bench_of("bias_tests", name).digest for name in committed["designs"]}
    assert digests == made["designs"] == committed["designs"]


@pytest.mark.parametrize(
    "wrong",
    ["", "{}", "[" * 10_000, '{"format":2,"designs":{},"rates":[]}', {"hits": 401}, {"hits": -1}],
)
def test_what_is_no_table_is_refused(tmp_path: Path, wrong: str | dict[str, int]) -> None:
    rate = {"experiment": "a", "subject": "even", "what": "passes", "hits": 1, "draws": 400}
    table = {"format": 1, "designs": {}, "rates": [rate | wrong]} if isinstance(wrong, dict) else 0
    (tmp_path / "table.json").write_text(str(wrong) if table == 0 else json.dumps(table), "utf-8")
    with pytest.raises(DamagedTable, match=r"table\.json: it is no table of error rates"):
        read_error_rates(tmp_path / "table.json")


def test_a_part_of_the_experiments_passes_with_the_product_of_their_shares() -> None:
    table = read_error_rates(TABLE)
    assert table is not None
    whole, *_ = table.of(table.designs)
    assert whole.made == "drawn together"
    known = dict([*table.designs.items()][:2])
    both, first, second = table.of(known)
    assert both.made == "multiplied"
    assert both.passes == product([first.passes, second.passes])
    assert [each.made for each in table.of(known | {"other": "", ANCHORING: "another"})] == [
        *("", "drawn", "", "nobody answers")
    ]
    certain = Chance.of(400, 400)
    assert certain.least is not None
    assert certain.least**400 == pytest.approx(0.05)
    together = product([certain, Chance.of(90, 100)])
    assert together is not None
    assert (together.share, together.draws, together.least) == (0.9, 100, None)
    assert product([certain, None]) is None
