"""An upgrade from one setting of a model to another: the roster lists the model twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..support.server import Outgoing, Served, Server, running
from .suites import Suite, experiment_source, game_of
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


def test_a_plan_and_a_recording_name_host_wire_and_variable(suite: Suite) -> None:
    answer = game_of(experiment_source()).simulated
    assert answer is not None
    with running(Server((answer,))) as server:
        endpoint = f'[endpoints.gw]\nwire = "openai-chat"\nbase_url = "{server.url}/v1"\n'
        suite.file("bias_models.toml", f'{endpoint}api_key_env = "GW_KEY"\n')
        suite.monkeypatch.setenv("GW_KEY", "a-key-of-the-gateway")
        where = f"gw: {server.url}, openai-chat, key from GW_KEY"
        suite.check("--bias-model=gw/even --bias-plan", 0, "", f"Requests go to {where}")
        recorded = "--bias-model=gw/even --bias-gate=off --bias-record=missing"
        suite.check(recorded, 0, "", f"recording through {where}")
        assert server.served
