"""Which secret goes to which host: a roster is data, and may name any variable and any host.

A variable is sent to its vendor's own host and to this machine. Any other pair must be given by
who runs the command, in the environment, where neither a roster nor an ini file can put it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from ..errors import BadSetting
from ..settings.model_entry import EndpointEntry
from ..settings.roster import Roster
from .sdk import host, is_loopback

PAIRS = "PYTEST_BIAS_KEYS"
"""The variable of the environment with pairs ``VARIABLE=HOST``, separated by white space."""

OWN_URLS = {
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "google": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
}
"""Vendor → the variable that leads its calls elsewhere, and that of its key."""

NOT_OF_FILES = frozenset({PAIRS, *(variable for variable, _ in OWN_URLS.values())})
"""Variables that say where keys go: those of the environment count, and no file's."""

_HOSTS: Mapping[str, str] = {
    "ANTHROPIC_API_KEY": "api.anthropic.com",
    "AZURE_OPENAI_API_KEY": ".openai.azure.com",
    "DEEPSEEK_API_KEY": "api.deepseek.com",
    "GEMINI_API_KEY": "generativelanguage.googleapis.com",
    "GOOGLE_API_KEY": "generativelanguage.googleapis.com",
    "GROQ_API_KEY": "api.groq.com",
    "MISTRAL_API_KEY": "api.mistral.ai",
    "OPENAI_API_KEY": "api.openai.com",
    "OPENROUTER_API_KEY": "openrouter.ai",
    "XAI_API_KEY": "api.x.ai",
}
"""Variable → the host of its vendor; of one with a dot in front, all hosts below it."""


def check_sent(environ: Mapping[str, str], place: str, variable: str, url: str) -> None:
    """Refuse to send the key in ``variable`` to the host of ``url``, unless the pair is allowed.

    ``place`` is the key of the roster that asks for it. Raises BadSetting.
    """
    name = urlsplit(url).hostname or ""
    own = _HOSTS.get(variable, "")
    if is_loopback(url) or name == own or (own.startswith(".") and name.endswith(own)):
        return
    pair = f"{variable}={name}"
    if pair not in environ.get(PAIRS, "").split():
        problem = (
            f"this key would be sent to {name}, which is not known as its vendor; if you mean it, "
            f"run with {PAIRS}={pair} in the environment"
        )
        raise BadSetting(option=place, value=variable, problem=problem)


def check_encrypted(setting: str, url: str) -> None:
    """Refuse to send a key to ``url`` over plain HTTP, unless the host is a private address.

    Raises BadSetting.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or is_loopback(url):
        return
    try:
        private = ip_address(parts.hostname or "").is_private
    except ValueError:
        private = False
    if not private:
        problem = "a key is sent over plain HTTP to loopback and private addresses only; use https"
        raise BadSetting(option=setting, value=host(url), problem=problem)


def variables_of(name: str, endpoint: EndpointEntry) -> Iterator[tuple[str, str]]:
    """The variables that an endpoint is sent, each after the key of the roster that names it."""
    if endpoint.api_key_env is not None:
        yield f"[endpoints.{name}] api_key_env", endpoint.api_key_env
    for header, variable in sorted(endpoint.headers_env.items()):
        yield f"[endpoints.{name}] headers_env.{header}", variable


def destinations(
    models: Iterable[str], roster: Roster, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """For each endpoint of ``models`` where requests go, in which wire format, with which key.

    Of vendors only those that ``environ`` leads to another host.
    """
    lines = []
    for name in sorted({model.partition("/")[0] for model in models}):
        if (endpoint := roster.endpoints.get(name)) is not None:
            sent = ", ".join(variable for _, variable in variables_of(name, endpoint))
            key = f"key from {sent}" if sent else "no key"
            lines.append(f"{name}: {host(endpoint.base_url)}, {endpoint.wire}, {key}")
        elif url := environ.get((own := OWN_URLS.get(name, ("", "")))[0]):
            lines.append(f"{name}: {host(url)}, as {own[0]} says, key from {own[1]}")
    return tuple(lines)
