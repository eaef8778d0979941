"""An upgrade from one setting of a model to another: the roster lists the model twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

import pytest

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


class Rotating(Server):
    """A server that takes a key for so many calls; ``expires`` is called when it takes no more."""

    def __init__(self, answers: Any, calls: int, expires: Callable[[], object]) -> None:
        super().__init__(answers)
        self.calls, self.expires = calls, expires
        self.keys: list[str] = []
        self.one = Lock()

    def respond(self, path: str, headers: Any, data: bytes) -> Outgoing | None:
        with self.one:  # no call is refused before the file has its new key
            self.keys.append(headers["Authorization"].removeprefix("Bearer "))
            refused = self.keys.count("first-key") - self.calls
            if self.keys[-1] == "first-key" and refused == 1:
                self.expires()
            if self.keys[-1] == "first-key" and refused > 0:
                return Outgoing(401, b'{"error": {"message": "The token has expired."}}')
        return super().respond(path, headers, data)


@pytest.mark.parametrize(
    ("calls", "new", "status"), [(3, "second-key", 0), (3, "first-key", 1), (0, "second-key", 1)]
)
def test_a_file_of_keys_is_read_again_where_a_token_has_expired(
    suite: Suite, calls: int, new: str, status: int
) -> None:
    answer = game_of(experiment_source()).simulated
    assert answer is not None
    suite.file("keys.env", "GW_KEY=first-key\n")
    expires = partial(suite.file, "keys.env", f"GW_KEY={new}\n")
    server = Rotating((answer,), calls, expires)
    with running(server):
        endpoint = f'[endpoints.gw]\nwire = "openai-chat"\nbase_url = "{server.url}/v1"\n'
        suite.file("bias_models.toml", f'{endpoint}api_key_env = "GW_KEY"\n')
        options = "--bias-model=gw/even --bias-gate=off --bias-env-file=keys.env"
        suite.check(f"{options} --bias-record=missing --bias-concurrency=4", status)
        assert (server.keys[-1] == "second-key") == (status == 0)
        # A key that was never taken is wrong, and costs one call.
        assert calls or len(server.keys) == 1
