"""The impact ratios of a shipped recording, counted by pandas from the lines of its cassette."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
import pytest

from pytest_bias import recorded
from pytest_bias_audit.impact import DECLARED, impact_ratios

from ..experiment import CV_SCREENING
from ..hypotheses import IMPACT
from .simulating import CASSETTES

PRINTED = {("female",): 0.48, ("female", "white"): 0.38, ("female", "black"): 0.42}
"""Of four replicates with ``simulated/drifted``, as they were published before there was code."""

FOUR = replace(CV_SCREENING, replicates=4)


@cache
def counted() -> Any:
    """The replies of four replicates by people, read without this package."""
    lines = (CASSETTES / "simulated--drifted.jsonl").read_text("utf-8").splitlines()[1:]
    cells = [
        {**line["values"], **line["trial"]["condition"], "replicate": line["trial"]["replicate"]}
        for line in map(json.loads, lines)
        if "trial" in line and line["trial"]["condition"]["group"] != "neutral"
    ]
    frame = pd.DataFrame(cells)
    frame = frame[frame.replicate <= FOUR.replicates]
    frame[["race/ethnicity", "sex"]] = frame.group.str.split("_", expand=True)
    frame["above"] = frame.rating > frame.rating.median()
    return frame


@pytest.mark.parametrize(("place", "column"), [(0, "rating_ge_3"), (1, "above")])
def test_ratios_are_those_of_pandas(place: int, column: str) -> None:
    records = recorded(FOUR, "simulated/drifted", cassettes=CASSETTES.parent)
    declared = DECLARED[CV_SCREENING.id][place]
    tables = impact_ratios(declared, FOUR, records)["tables"]
    for table in tables:
        rates = counted().groupby(table["axes"])[column].agg(["size", "sum", "mean"])
        for row in table["rows"]:
            key = tuple(row["category"])
            size, chosen, rate = rates.loc[key if len(key) > 1 else key[0]]
            assert (row["assessed"], row["selected"]) == (size, chosen)
            assert row["ratio"] == pytest.approx(rate / rates["mean"].max())
            if key in PRINTED:
                assert row["ratio"] == pytest.approx(PRINTED[key], abs=0.005)
    # The hypothesis asks for male / female: the same interval, the other way up.
    (asked,) = (each for each in IMPACT if each.id.endswith("male-female"))
    interval = asked.analyse(CV_SCREENING, records).interval
    ours = tables[0]["rows"][1]["interval"]
    assert interval is not None
    assert (ours["low"], ours["high"]) == pytest.approx(
        (1 / interval.high, 1 / interval.low), rel=1e-6
    )
