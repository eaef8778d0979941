"""Providers by name, endpoints of the user's own, and what all adapters have in common."""

from __future__ import annotations

import json
import sys
import tomllib
from base64 import b16encode, b64encode, urlsafe_b64encode
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest
import respx
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.errors import BadSetting, MissingPackage, UnknownName
from pytest_bias.experiments.messages import Message, Parameters, Request
from pytest_bias.providers import sdk
from pytest_bias.providers.base import (
    WIRES,
    Endpoint,
    Provider,
    ProviderContext,
    open_provider,
    open_wire,
    split_model,
)
from pytest_bias.settings.model_entry import EndpointEntry, Wire

from ..helpers import answering, saying
from . import mocker
from .mocker import REQUEST, SECRET
from .vendors import VENDORS
from .vendors.vendor import Vendor

HTTPX2 = mocker.HTTPX2Mocker.name  # importing it is what registers it
PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_names() -> None:
    known = "anthropic, codex, google, local, mine, openai, simulated"
    with pytest.raises(UnknownName, match=f"unknown provider 'opnai'; known: {known}"):
        split_model("opnai/gpt", own=["mine"])
    assert split_model("mine/gpt", own=["mine"]) == ("mine", "gpt")
    assert split_model("openai/ft:gpt/mine") == ("openai", "ft:gpt/mine")
    for name in ("soap", ""):
        known = "known: anthropic, google, openai-chat, openai-responses"
        with pytest.raises(UnknownName, match=f"unknown wire format '{name}'; {known}"):
            open_wire(name, Endpoint("mine", "x"))


BROKEN = {
    "any error": (OSError(f"no {SECRET}"), r"\(OSError: no \*\*\*\)"),
    "a URL": (
        ValueError("bad http://joe:p@ss@proxy:1"),
        r"\(ValueError: bad http://\*\*\*@proxy:1\)",
    ),
}


def raising(error: Exception) -> ProviderContext:
    """A plugin whose factory fails with ``error``."""

    def open_echo(_: ProviderContext) -> Provider:
        raise error

    return ProviderContext({"ECHO_KEY": SECRET}, providers={"echo": open_echo})


@pytest.mark.parametrize(("error", "said"), BROKEN.values(), ids=BROKEN)
def test_whatever_a_provider_of_a_plugin_raises_fails_that_provider_alone(
    error: Exception, said: str
) -> None:
    with pytest.raises(BadSetting, match=f"echo/…: the provider cannot be opened .*{said}") as bad:
        open_provider("echo", raising(error))
    assert bad.value.__cause__ is bad.value.__context__ is None
    # What it words itself stays.
    missing = BadSetting(option="ECHO_KEY", value=None, problem="is not set")
    with pytest.raises(BadSetting, match="ECHO_KEY: is not set"):
        open_provider("echo", raising(missing))


@pytest.mark.parametrize("wire", WIRES)
def test_a_proxy_that_no_client_can_use_is_an_error_of_its_provider(
    monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "telex://joe:s3cret-pw@127.0.0.1:9")
    endpoint = Endpoint("mine", SECRET, "https://gateway.example")
    with pytest.raises(BadSetting, match=r"mine/…: the provider cannot be opened \(\w+: ") as bad:
        open_wire(wire, endpoint)
    assert "s3cret" not in str(bad.value)
    assert bad.value.__cause__ is bad.value.__context__ is None


def context(wire: Wire, path: str, key: str | None = None, **environ: str) -> ProviderContext:
    own = EndpointEntry(wire, f"http://127.0.0.1:11434{path}", key)
    return ProviderContext(environ, endpoints={"ollama": own})


vendors = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)


@vendors
def test_own_endpoints_with_and_without_a_key(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, credential in vendor.foreign.items():
        monkeypatch.setenv(variable, credential)
    wire = cast("Wire", vendor.wire)
    name, value = vendor.own_header
    with respx.mock(using="httpx2") as router:
        route = router.post(f"http://127.0.0.1:11434{vendor.own_base}{vendor.path}").respond(
            json=vendor.five
        )
        with_key = context(wire, vendor.own_base, "OLLAMA_KEY", OLLAMA_KEY=f" {SECRET}\n")
        without_key = context(wire, vendor.own_base)
        for opened_with, key in ((with_key, SECRET), (without_key, "none-needed")):
            opened = partial(open_provider, "ollama", opened_with)
            completion = mocker.ask(opened, model=vendor.model)
            assert (completion.text, completion.served_model) == ("Five.", "served-1")
            headers = route.calls.last.request.headers
            assert headers[name] == value.replace(SECRET, key)
            assert "of-vendor" not in str(headers.raw)
    assert mocker.wire(lambda: open_provider("ollama", with_key)).endswith(
        " at http://127.0.0.1:11434"
    )


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that is not there, for all that is called."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            monkeypatch.setenv(variable, "http://joe:s3cret@127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("proxied")
@vendors
def test_no_proxy_or_certificates_of_the_environment_are_for_an_endpoint_on_loopback(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    body = json.dumps(vendor.five).encode()
    with answering(saying(200, {"Content-Type": "application/json"}, body)) as (url, _):
        assert mocker.ask(lambda: vendor.at(url), model=vendor.model).text == "Five."


def test_what_this_machine_is() -> None:
    here = (
        "http://127.8.9.1",
        "http://[::1]:8000",
        "https://LOCALHOST/v1",
        "http://vllm.localhost",
    )
    elsewhere = ("http://localhost.example", "http://10.0.0.1", None)
    assert [url for url in (*here, *elsewhere) if sdk.is_loopback(url)] == [*here]


UNSENDABLE: dict[str, tuple[str, Request, str]] = {
    "a prompt": (
        SECRET,
        Request((Message("system", "ok"), Message("user", "Hm \ud83d?")), Parameters()),
        "message 2 (user) holds half of a character (a lone surrogate, U+D83D) at position 4",
    ),
    "a schema": (
        SECRET,
        Request(REQUEST.messages, Parameters(), "Score", {"type": "string", "title": "\udc00"}),
        "the reply schema holds half of a character",
    ),
    "a key": ("sk-s3cret-clé", REQUEST, "the endpoint's key holds characters no header can hold"),
    "a key's end": ("sk-s3cret\n", REQUEST, "the endpoint's key holds characters"),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("key", "request_", "said"), UNSENDABLE.values(), ids=UNSENDABLE)
def test_what_cannot_be_encoded_is_fatal_and_not_sent(
    wire: str, key: str, request_: Request, said: str
) -> None:
    with respx.mock(using="httpx2") as router:
        route = router.route().respond(json={})
        endpoint = Endpoint("mine", key, "http://127.0.0.1:1")
        failure = mocker.failed(lambda: open_wire(wire, endpoint), request_)
        assert failure.fatal
        assert said in str(failure)
        assert "s3cret" not in str(failure)
        assert not route.called
        router.reset()
        router.clear()


def test_the_least_majors_are_those_of_the_extras() -> None:
    extras = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    named = {
        name: int(least.partition(".")[0])
        for extra in ("openai", "anthropic", "google")
        for name, _, least in (requirement.partition(">=") for requirement in extras[extra])
    }
    assert named.items() >= sdk.LEAST_MAJORS.items()


def test_an_sdk_that_is_too_old_or_not_there_is_named_with_what_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, old = "google.genai", ModuleType("google.genai")
    monkeypatch.setitem(sys.modules, name, old)
    for version in ("1.99.1", "unknown"):
        monkeypatch.setattr(old, "__version__", version, raising=False)
        with pytest.raises(MissingPackage) as caught:
            sdk.load_sdk(name, "extra")
        package = name.replace(".", "-")
        assert str(caught.value) == (
            f"{package} {version} is installed, {sdk.LEAST_MAJORS[package]} or later is needed; "
            "install it with: pip install 'pytest-bias[extra]'"
        )
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match="google-genai is not installed"):
        sdk.load_sdk(name, "extra")


def test_secrets_are_hidden_in_every_form() -> None:
    secrets = sdk.Secrets("k/e y+1", "", url="https://joe:p%40ss@example.org/v1?token=t%2Bken&v=1")
    said = "k/e y+1 k%2Fe%20y%2B1 k%2Fe+y%2B1 p@ss p%40ss joe:p@ss t+ken t%2Bken v=1"
    assert secrets.hidden(said) == "*** *** *** *** *** *** *** *** v=1"
    assert secrets.hidden("1 of 2 at https://example.org") == "1 of 2 at https://example.org"
    short, key = sdk.Secrets("ollama"), "sk-aB3d/E6gH"
    assert short.hidden("no 'ollama' for ollama3, ollama") == "no '***' for ollama3, ***"
    assert short.purged({"ollama": "ollama"}) == {"ollama": "ollama"}
    found = sdk.Secrets(key).purged(
        {"a": [f"x{key}y", 5, None, {"b": "SK-AB3D/E6GH sk-aB3d\\/E6gH"}], key: True}
    )
    assert found == {"a": ["x***y", 5, None, {"b": "*** ***"}], "***": True}
    assert repr(secrets) == "Secrets(…)"
    for shown in (ProviderContext({"OPENAI_API_KEY": key}), Endpoint("mine", key)):
        assert key not in repr(shown)


QUOTED = 'sk-pl/an"ted-é\n'


@pytest.mark.parametrize(
    "said",
    [
        repr(QUOTED),
        repr(f"Bearer {QUOTED}".encode()),
        json.dumps(QUOTED),
        json.dumps(QUOTED).replace("/", "\\/"),
    ],
)
def test_secrets_are_hidden_as_they_are_quoted(said: str) -> None:
    hidden = sdk.Secrets(QUOTED).hidden(said)
    assert "***" in hidden
    assert not any(part in hidden for part in ("sk-pl", "ted-"))


@given(st.binary(max_size=7), st.binary(max_size=7))
def test_long_keys_are_found_encoded_wherever_in_a_text_they_stand(
    before: bytes, after: bytes
) -> None:
    key = "sk-aB3d?E6gH/9~"
    text = before + key.encode() + after
    for encode in (b64encode, urlsafe_b64encode, b16encode):
        told = encode(text).decode()
        for form in {told, told.lower() if encode is b16encode else told}:
            hidden = sdk.Secrets(key).hidden(form)
            assert hidden.count("***") == 1
            # Of the letters that are left, each holds something else as well.
            assert len(hidden) - 3 <= len(encode(before)) + len(encode(after)) + 4


def test_a_number_that_none_can_be_stands_as_it_was_sent() -> None:
    digits = "9" * 5000
    text = f'[NaN, {{"a": -Infinity}}, 1e999, {digits}, 1{"0" * 299}]'
    assert sdk.parsed(text) == [
        {"number": "NaN"},
        {"a": {"number": "-Infinity"}},
        {"number": "1e999"},
        {"number": digits},
        10**299,
    ]


WAITS: list[tuple[dict[str, str], float | None]] = [
    ({"Retry-After": " 1.5 "}, 1.5),
    ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
    ({"retry-after-ms": "x", "retry-after": "1"}, 1.0),
    ({"retry-after": "Mon, 02 Nov 2020 12:00:05 GMT"}, 0.0),
    ({"retry-after": "tomorrow"}, None),
    ({"retry-after": "-1"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "1e400", "retry-after-ms": "9" * 5000}, None),
]


@pytest.mark.parametrize(("headers", "seconds"), WAITS)
def test_how_long_a_provider_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert sdk.retry_after(headers) == seconds
