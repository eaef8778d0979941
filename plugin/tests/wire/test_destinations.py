"""Secrets go to the host they belong to, or to one that whoever runs the command has named."""

from __future__ import annotations

from pathlib import Path

import pytest
import respx

from pytest_bias.errors import BadSetting
from pytest_bias.providers.base import Provider, ProviderContext, open_provider
from pytest_bias.providers.destinations import PAIRS, destinations
from pytest_bias.settings.roster import Roster, parse_roster

from . import mocker
from .mocker import SECRET
from .vendors.openai_chat import CHAT

pytestmark = pytest.mark.usefixtures("nothing_set")


def roster_of(url: str, *keys: str) -> Roster:
    lines = ("[endpoints.grader]", 'wire = "openai-chat"', f'base_url = "{url}"', *keys)
    return parse_roster("\n".join(lines), Path("bias_models.toml"))


def opened(roster: Roster, **environ: str) -> Provider:
    return open_provider("grader", ProviderContext(environ, endpoints=roster.endpoints))


KEY, HEADER = 'api_key_env = "AWS_SECRET_ACCESS_KEY"', 'headers_env = {x-a = "GITHUB_TOKEN"}'
REFUSED: dict[str, tuple[str, str, str, str]] = {
    "any variable": (KEY, "https://evil.example", "api_key_env", "AWS_SECRET_ACCESS_KEY"),
    "in a header": (HEADER, "https://evil.example", "headers_env.x-a", "GITHUB_TOKEN"),
    "a vendor's, elsewhere": (
        'api_key_env = "OPENAI_API_KEY"',
        "https://api.openai.com.evil.example",
        "api_key_env",
        "OPENAI_API_KEY",
    ),
    "a name that only ends alike": (
        'api_key_env = "AZURE_OPENAI_API_KEY"',
        "https://evil-openai.azure.com",
        "api_key_env",
        "AZURE_OPENAI_API_KEY",
    ),
}


@pytest.mark.parametrize(("line", "url", "place", "variable"), REFUSED.values(), ids=REFUSED)
def test_a_roster_sends_a_variable_to_no_host_but_its_vendor_s(
    line: str, url: str, place: str, variable: str
) -> None:
    roster, name = roster_of(url, line), url.removeprefix("https://")
    with pytest.raises(BadSetting) as caught:
        opened(roster, **{variable: SECRET, PAIRS: f"OTHER={name} {variable}=other.example"})
    assert f"[endpoints.grader] {place}" in str(caught.value)
    assert f"{PAIRS}={variable}={name}" in str(caught.value)
    opened(roster, **{variable: SECRET, PAIRS: f"OTHER=x.example {variable}={name}"})


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        ("AZURE_OPENAI_API_KEY", "https://mine.openai.azure.com/openai/deployments/m"),
        ("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
        ("ANY_NAME", "http://127.0.0.1:1/v1"),
        ("ANY_NAME", "http://localhost:1/v1"),
    ],
)
def test_a_vendor_s_own_host_and_this_machine_need_no_pair(variable: str, url: str) -> None:
    opened(roster_of(url, f'api_key_env = "{variable}"'), **{variable: SECRET})


@pytest.mark.parametrize("line", ['api_key_env = "K"', 'headers_env = {x-a = "K"}'])
def test_no_key_goes_over_plain_http_to_a_public_host(line: str) -> None:
    for name, refused in {"gw.example": True, "8.8.8.8": True, "10.0.0.7": False}.items():
        roster, environ = roster_of(f"http://{name}/v1", line), {"K": SECRET, PAIRS: f"K={name}"}
        if not refused:
            opened(roster, **environ)
            continue
        with pytest.raises(BadSetting, match="plain HTTP") as caught:
            opened(roster, **environ)
        assert SECRET not in str(caught.value)
    opened(roster_of("http://gw.example/v1"))  # without a key


def test_hosts_wires_and_variables_of_endpoints_are_listed() -> None:
    roster = roster_of("https://gw.example/v1", KEY, HEADER)
    line = "grader: https://gw.example, openai-chat, key from AWS_SECRET_ACCESS_KEY, GITHUB_TOKEN"
    assert destinations(["openai/m", "grader/a", "grader/b"], roster, {}) == (line,)
    (line,) = destinations(["grader/a"], roster_of("https://gw.example/v1"), {})
    assert line.endswith("openai-chat, no key")
    elsewhere = {"OPENAI_BASE_URL": "https://gw.example/v1"}
    assert destinations(["openai/m"], Roster(), elsewhere) == (
        "openai: https://gw.example, as OPENAI_BASE_URL says, key from OPENAI_API_KEY",
    )


@pytest.mark.parametrize(
    "echo", [SECRET[::-1], "".join(c if c.isalnum() else f"&#{ord(c)};" for c in SECRET)]
)
def test_a_key_that_a_gateway_echoes_reversed_or_escaped_is_hidden(
    router: respx.MockRouter, echo: str
) -> None:
    router.post(CHAT.url).respond(json=CHAT.says(f"You sent {echo}."))
    assert mocker.ask(CHAT.opened, model=CHAT.model).text == "You sent ***."
