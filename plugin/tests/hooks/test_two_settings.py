"""An upgrade from one setting of a model to another: the roster lists the model twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..support.server import Outgoing, Served, Server, running
from .suites import Suite, game_of
from .upgrade_games import source


class ByEffort(Server):
    """One model, which answers by the effort that it is asked for."""

    def reply(self, asked: Served, body: Any) -> Outgoing | None:
        subject = {"low": "biased", "high": "drifted"}[body["reasoning_effort"]]
        return super().reply(replace(asked, model=subject, seed=body["seed"]), body)


def test_two_settings_of_one_model_are_an_upgrade(many: Suite) -> None:
    answer = game_of(source("many")).simulated
    assert answer is not None
    with running(ByEffort((answer,))) as server:
        entries = "".join(
            f'[models."gw/{effort}"]\nmodel = "m"\nserved = ["biased", "drifted"]\n'
            f'seeded = true\nrequest = {{ reasoning_effort = "{effort}" }}\n'
            for effort in ("low", "high")
        )
        endpoint = f'[endpoints.gw]\nwire = "openai-chat"\nbase_url = "{server.url}/v1"\n'
        many.file("bias_models.toml", endpoint + entries)
        recorded = "--bias-record=missing --bias-gate=off --bias-model=gw/low --bias-model=gw/high"
        many.check(recorded, 0)
        assert {each.model for each in server.served} == {"m"}
    found = "DO NOT SHIP: 1 worse, 1 new"
    many.check("--bias-model=gw/high --bias-baseline=gw/low", 1, "", found)
    rows = {row["hypothesis"]: row["outcome"] for row in many.results()["upgrade"]["rows"]}
    assert rows["worse-high-low"] == "worse"
