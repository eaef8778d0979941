"""What only Anthropic's API has."""

from __future__ import annotations

import pytest
import respx

from pytest_bias.errors import BiasError
from pytest_bias.experiments.messages import Parameters, Request
from pytest_bias.providers.anthropic_messages import DEFAULT_LIMIT
from pytest_bias.providers.base import ProviderContext, open_provider

from . import mocker
from .line import body_of
from .mocker import REQUEST
from .vendors.anthropic_messages import ANTHROPIC, FIVE, error

pytestmark = pytest.mark.usefixtures("router")


@pytest.mark.parametrize("status", [402, 429])
def test_an_empty_account_is_no_rate_limit(router: respx.MockRouter, status: int) -> None:
    router.post(ANTHROPIC.url).respond(status, json=error("Pay first.", type="billing_error"))
    assert mocker.failed(ANTHROPIC.opened).kind == "fatal"


def test_limits_of_numbers_in_a_schema_are_sent_as_a_description(
    router: respx.MockRouter,
) -> None:
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["score"],
        "additionalProperties": False,
    }
    route = router.post(ANTHROPIC.url).respond(json=FIVE)
    mocker.ask(ANTHROPIC.opened, Request(REQUEST.messages, Parameters(), "Score", schema))
    # The API takes no limits of numbers; the SDK's own function makes a description of them.
    score = {"type": "integer", "description": "{minimum: 1, maximum: 9}"}
    assert body_of(route)["output_config"] == {
        "format": {"type": "json_schema", "schema": schema | {"properties": {"score": score}}}
    }


def test_a_limit_of_its_own_stands_where_the_asked_one_is_dropped(
    router: respx.MockRouter,
) -> None:
    route = router.post(ANTHROPIC.url).respond(json=FIVE)
    request = Request(REQUEST.messages, Parameters(0.5, 400))
    mocker.ask(ANTHROPIC.opened, request, dropped=frozenset({"max_output_tokens"}))
    assert body_of(route)["max_tokens"] == DEFAULT_LIMIT


def test_a_token_in_the_environment_does_not_replace_the_key(
    router: respx.MockRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another-token")
    route = router.post(ANTHROPIC.url).respond(json=FIVE)
    mocker.ask(ANTHROPIC.opened)
    assert "another-token" not in str(route.calls.last.request.headers.raw)
    with pytest.raises(BiasError, match="ANTHROPIC_API_KEY, which is not set"):
        open_provider("anthropic", ProviderContext({}))
