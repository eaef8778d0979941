"""The suite's structured requests, and the order in which prompt and schema have the keys."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from bias_tests.anchoring.experiment import ALL_IN_ONE, ANCHORING
from bias_tests.cv_screening.experiment import CV_SCREENING
from bias_tests.linguistic_audit.experiment import LINGUISTIC_AUDIT
from bias_tests.narrative.experiment import NARRATIVE
from bias_tests.recommendation.experiment import RECOMMENDATION

from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.messages import Request
from pytest_bias.experiments.replay import Walk, simulated_reply

SUITE = (ANCHORING, ALL_IN_ONE, CV_SCREENING, LINGUISTIC_AUDIT, NARRATIVE, RECOMMENDATION)
PLAYERS = ModelRoles("simulated/even", "simulated/judge")


@cache
def structured() -> dict[str, Request]:
    """Experiment, name of the reply → the first request for one, of subject or judge."""
    found: dict[str, Request] = {}
    for of in SUITE:
        first = {(t.condition.id, t.item): t for t in reversed(plan(of, of.design()))}
        for trial in first.values():
            walk = Walk(of, PLAYERS, trial, partial(simulated_reply, of))
            for wanted in walk.requests:
                if wanted.request.schema is not None:
                    found.setdefault(f"{of.id} {wanted.request.schema_name}", wanted.request)
    return found


def prompted(request: Request) -> list[str]:
    """The keys of a request's reply in the order in which its last message names them."""
    text, schema = request.messages[-1].text, request.schema
    assert schema is not None
    properties: Any = schema["properties"]
    places = {text.index(f'"{key}"'): key for key in properties}
    return [places[place] for place in sorted(places)]


def keys(sent: object) -> list[str]:
    """The keys in the order of the one schema of an object that is in what was sent."""
    if isinstance(sent, list):
        return [key for each in sent for key in keys(each)]
    if not isinstance(sent, dict):
        return []
    if isinstance(sent.get("properties"), dict):
        return list(sent["properties"])
    return [key for each in sent.values() for key in keys(each)]
