from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from pytest_bias.experiments.design import Factor, Items
from pytest_bias.experiments.figures import Heatmap, Illustration, Means, Spot
from pytest_bias.experiments.measures import Measure
from pytest_bias.verdicts.summaries import illustrated

from ..contrasts.designs import at, recorded, study
from ..factories import experiment, rows
from . import drawn

STORIES = drawn.stories()
HELPED = drawn.helped(STORIES)
HESITATION = drawn.hesitation(STORIES)


def spot(shown: Illustration, *place: str) -> Spot:
    """The spot at ``by``, ``y``, ``x``, as many of them as there are."""
    (found,) = [
        each
        for each in shown.spots
        if tuple(level for level in (each.by, each.y, each.x) if level is not None) == place
    ]
    return found


def test_every_cell_has_the_rate_of_its_valid_replies_and_its_missing_trials() -> None:
    shown = illustrated(Heatmap("helped", "group", "persona", by="scenario"), STORIES, HELPED)
    assert (shown.kind, shown.flag, shown.bounds) == ("heatmap", True, (0.0, 1.0))
    assert len(shown.spots) == 8 * 3 * 3
    for scenario in ("wallet", "team", "car_accident"):
        for persona in drawn.HELPED:
            for group in drawn.GROUPS:
                found = spot(shown, scenario, persona, group)
                values = at(HELPED, "helped", group=group, persona=persona, seed=scenario)
                assert found.replies == len(values)
                assert found.replies + sum(found.missing.values()) == 6
                if len(values):
                    assert found.value == pytest.approx(values.mean())
                assert found.interval is None


def test_rates_get_wilsons_interval_of_their_replies() -> None:
    shown = illustrated(Means("helped", "persona"), STORIES, HELPED)
    for persona in drawn.HELPED:
        values = at(HELPED, "helped", persona=persona)
        expected = stats.binomtest(int(values.sum()), len(values)).proportion_ci(method="wilson")
        found = spot(shown, persona)
        assert found.value == pytest.approx(values.mean())
        assert found.interval is not None
        assert (found.interval.low, found.interval.high) == pytest.approx(
            (expected.low, expected.high)
        )
    whole = spot(shown, "utopian")
    assert whole.value == 1
    assert whole.interval is not None
    assert whole.interval.low < 1


def test_numbers_get_an_interval_from_the_variance_within_cells() -> None:
    of = study(replicates=4)
    told = recorded(of, lambda t: 2.0 * t.replicate + 5 * (t.condition.levels["style"] == "plain"))
    found = spot(illustrated(Means("score", "tone"), of, told), "low")
    # Two cells of 4 replies, each of variance 20/3: se² = 2 · (1/2)² · (20/3) / 4, 6 degrees
    se = np.sqrt(2 * 0.25 * (20 / 3) / 4)
    half = se * stats.t.isf(0.025, 6)
    assert found.value == 7.5
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((7.5 - half, 7.5 + half))


def test_replies_that_do_not_vary_have_no_interval_and_never_one_of_no_width() -> None:
    shown = illustrated(Means("hesitation", "group", by="persona"), STORIES, HESITATION)
    same = spot(shown, "noir", "white_male")
    assert (same.value, same.interval) == (2, None)
    assert same.why == "the replies of each cell are the same"
    of = experiment()
    alone = illustrated(Means("score", "group"), of, rows(of, {"a": [3.0, 3.0], "b": []}))
    assert spot(alone, "a").why == "the replies of each cell are the same"
    assert (spot(alone, "b").value, spot(alone, "b").why) == (None, "")


def test_the_mean_of_unequal_cells_is_that_of_their_replies() -> None:
    of = study(replicates=3)
    told = recorded(
        of,
        lambda t: (
            None
            if t.condition.levels["style"] == "plain" and t.replicate > 1
            else 6.0 * (t.condition.levels["style"] == "plain")
        ),
    )
    heat = illustrated(Heatmap("score", "tone", "style"), of, told)
    assert spot(heat, "plain", "low").value == 6
    found = spot(illustrated(Means("score", "tone"), of, told), "low")
    assert (found.value, found.replies, dict(found.missing)) == (1.5, 4, {"refusal": 2})


def test_what_the_documentation_shows_can_be_declared_and_called() -> None:
    text = Path(__file__).parents[4].joinpath("docs/figures.md").read_text("utf-8")
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(code, names)  # noqa: S102  (our own page)
    of = study(
        factors=[Factor(name, {"a": 0, "b": 1}) for name in ("group", "persona", "ses")],
        items=Items("scenario", {"wallet": 1, "team": 2}),
        measures=[
            Measure("prosocial", kind="flag"),
            Measure("hesitation", kind="number"),
            Measure("rating", kind="number"),
        ],
        figures=names["FIGURES"],
        exports=names["tables"],
    )
    assert [figure.heading for figure in of.figures] == [
        "Pro-social rate",
        "hesitation by group",
        "hesitation by persona, per ses",
    ]
    assert of.exports is not None
    told = {"simulated/even": recorded(of, lambda trial: float(trial.replicate), "rating")}
    assert of.exports(told) == {"ratings.csv": "model,replies,mean\r\nsimulated/even,80,3.0\r\n"}
