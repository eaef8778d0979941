"""Common parts of the adapters of vendors' SDKs: loading, keeping secrets, headers."""

from __future__ import annotations

import html
import importlib
import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from types import ModuleType
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus, urlsplit

from ..errors import MissingPackage

LEAST_MAJORS = {"openai": 3, "anthropic": 2, "google-genai": 3}
"""Distribution of an SDK → the least major version that is understood, as in pyproject.toml."""

_SEEDS = 2**31  # vendors take seeds that fit a signed number of 32 bits

_LONGEST_PROBLEM = 500

_DEEPEST = 100  # levels of a reply body; those that vendors document have about ten

_LONGEST_WHOLE = 300
"""Digits of a whole number that a float still holds."""

SHORTEST_SECRET = 8
"""Characters of a key from which on it is hidden in replies, and within words."""

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_USER_IN_URL = re.compile(r"(?<=://)[^\s'\"]{0,300}@")

_PERCENT = re.compile("%..")
_URL_SAFE = str.maketrans("+/", "-_")

_SHORTEST_QUERY_VALUE = 4
"""Shorter values in a URL's query are no credentials, and hiding them would garble every text."""


# --- loading ----------------------------------------------------------------------------------


def load_sdk(package: str, extra: str) -> ModuleType:
    """Import an SDK by its import name (``google.genai``), now and not before.

    Raises MissingPackage when it is not installed, or is older than what ``extra`` of this package
    asks for.
    """
    distribution = package.replace(".", "-")
    try:
        module = importlib.import_module(package)
    except ModuleNotFoundError as error:
        # What is missing may be a package that the SDK itself needs.
        missing = error.name or package
        own = package == missing or package.startswith(f"{missing}.")
        raise MissingPackage(package=distribution if own else missing, extra=extra) from None
    version = str(getattr(module, "__version__", "0"))
    least = LEAST_MAJORS.get(distribution, 0)
    major = version.partition(".")[0]
    if not major.isdecimal() or int(major) < least:
        raise MissingPackage(package=distribution, extra=extra, found=version, least=least)
    return module


# --- secrets ----------------------------------------------------------------------------------


class Secrets:
    """Texts that must not be shown: keys, and whatever may be a credential in a base URL.

    ``values`` are keys and tokens; empty ones are left out. One of less than
    :data:`SHORTEST_SECRET` characters is a placeholder more often than a key, and may be part of
    any word: it is hidden where it stands as a whole word. Of the base URL ``url`` the user,
    password and query count as secret, as they stand and decoded.
    """

    __slots__ = ("_all", "_long")

    def __init__(self, *values: str, url: str = "") -> None:
        forms, of_url = {form for value in values for form in _forms(value)}, set(_in_url(url))
        long = {form for form in forms | of_url if len(form) >= SHORTEST_SECRET}
        self._long = _any_of(long)
        self._all = _any_of(long | of_url, forms - long - of_url)

    def __repr__(self) -> str:
        return "Secrets(…)"

    def hidden(self, text: str) -> str:
        """``text`` with every secret replaced by ``***``."""
        return text if self._all is None else self._all.sub("***", text)

    def purged(self, value: object) -> object:
        """A parsed reply with ``***`` for every long secret in its texts and names.

        Short ones stay: a reply without the word ``stop`` could not be read.

        Raises ValueError when ``value`` is nested too deeply to be stored.
        """
        if self._long is None:
            return value
        try:
            return _purged(self._long, value)
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def redacted(self, text: str) -> str:
        """``text`` as a problem may quote it: without secrets, on one line and not a page long."""
        text = " ".join(self.hidden(text).split())
        return text if len(text) <= _LONGEST_PROBLEM else f"{text[:_LONGEST_PROBLEM]} …"


def named_secrets(environ: Mapping[str, str]) -> list[str]:
    """Values in ``environ`` that may be credentials, by the ends of their names."""
    return [value for name, value in environ.items() if _SECRET_NAME.search(name)]


def redacted_by_environment(environ: Mapping[str, str], text: str) -> str:
    """``text`` as a problem may quote it: without what in ``environ`` may be a credential.

    Users and passwords go from every URL, as from that of a proxy.
    """
    return Secrets(*named_secrets(environ)).redacted(_USER_IN_URL.sub("***@", text))


def is_url(url: str) -> bool:
    """True if ``url`` is an http(s) URL with a host, and a port that can be one."""
    try:
        parts = urlsplit(url)
        port = parts.port  # raises for what is no number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0


def host(url: str) -> str:
    """``scheme://host:port`` of ``url``: no path, no credentials, no query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def is_loopback(url: str | None) -> bool:
    """True if ``url`` leads to this machine, which no proxy of the environment is for."""
    name = urlsplit(url or "").hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _in_url(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    userinfo = parts.netloc.rpartition("@")[0]
    for secret in (userinfo, parts.password or "", parts.query):
        yield from _forms(secret)
    if userinfo:
        yield b64encode(unquote(userinfo).encode()).decode()  # as in a Basic Authorization header
    for _, value in parse_qsl(parts.query):
        if len(value) >= _SHORTEST_QUERY_VALUE:
            yield from _forms(value)


def _forms(secret: str) -> Iterator[str]:
    """``secret`` as it stands and stripped; with percent-escapes, and without; and as quoted.

    A long one encoded as well, and in other letters where it has a digit: else it may be a word.
    """
    for bare in {secret, secret.strip()} - {""}:
        data = bare.encode("utf-8", "surrogatepass")
        if len(bare) >= SHORTEST_SECRET:
            yield from _encoded(data)
            if any(map(str.isdigit, bare)):
                yield from (bare.lower(), bare.upper())
        for escaped in (quote(data, safe=""), quote_plus(data)):
            yield from (escaped, _PERCENT.sub(lambda found: found[0].lower(), escaped))
        yield bare
        yield from (bare[::-1], html.escape(bare), _as_entities(bare))
        yield from (unquote(bare), unquote_plus(bare))
        # Where Python quotes a text or its bytes, and in JSON.
        yield from (repr(bare)[1:-1], repr(data)[2:-1], ascii(bare)[1:-1])
        for escaped in (json.dumps(bare)[1:-1], json.dumps(bare, ensure_ascii=False)[1:-1]):
            yield from (escaped, escaped.replace("/", "\\/"))


def _as_entities(text: str) -> str:
    """``text`` with every character but letters and digits as a decimal HTML entity."""
    return "".join(c if c.isalnum() else f"&#{ord(c)};" for c in text)


def _encoded(data: bytes) -> Iterator[str]:
    """``data`` in hex and in base64, of a longer text as well: the letters that hold it alone."""
    yield from (data.hex(), data.hex().upper())
    for before in range(3):
        text = b64encode(bytes(before) + data).decode()
        letters = text[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
        yield from (letters, letters.translate(_URL_SAFE))


def _any_of(anywhere: Iterable[str], words: Iterable[str] = ()) -> re.Pattern[str] | None:
    """A pattern of these texts; ``words`` only where no letter or digit adjoins."""
    found = [(text, re.escape(text)) for text in anywhere if text]
    found += [(text, rf"(?<!\w){re.escape(text)}(?!\w)") for text in words if text]
    # The longest first: a password must not be cut out of the middle of "user:password".
    found.sort(key=lambda each: (-len(each[0]), each[0]))
    return re.compile("|".join(pattern for _, pattern in found)) if found else None


def _purged(secrets: re.Pattern[str], value: object) -> object:
    if isinstance(value, str):
        return secrets.sub("***", value)
    if isinstance(value, dict):
        return {secrets.sub("***", name): _purged(secrets, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_purged(secrets, inner) for inner in value]
    return value


# --- replies ----------------------------------------------------------------------------------


def parsed(text: str | bytes) -> object:
    """JSON ``text`` as a value.

    A number that none can be, for JSON has no NaN and no float is as large as 1e400, could not be
    stored and costs no paid reply: in its place stands what was sent, as ``{"number": "1e400"}``.

    Raises ValueError when it is not JSON, or is nested too deeply to be stored.
    """
    try:
        value: object = json.loads(
            text, parse_constant=_unread, parse_float=_finite, parse_int=_whole
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return value
    raise ValueError("nested too deeply")


def now() -> str:
    """The time in UTC, ISO 8601 to the second."""
    return datetime.now(tz=timezone.utc).isoformat(timespec="seconds")


def vendor_seed(seed: int) -> int:
    """A per-trial seed as vendors take it: from 0 up, in 31 bits."""
    return seed % _SEEDS


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply's headers ask to wait; None where they do not, or not sensibly.

    ``retry-after-ms`` is milliseconds, ``retry-after`` seconds, or a date of HTTP.
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        for text in (value for key, value in headers.items() if key.lower() == name):
            with suppress(ValueError):
                seconds = float(text) / unit
                if math.isfinite(seconds) and seconds >= 0:
                    return seconds
                continue
            with suppress(ValueError, TypeError):  # no date; or one without a zone
                ahead = parsedate_to_datetime(text) - datetime.now(tz=timezone.utc)
                return max(0.0, ahead.total_seconds())
    return None


_RESET = re.compile(r"x-ratelimit-reset[\w-]*['\"]?\s*[:,]\s*['\"]?(\d{10,13})\b", re.IGNORECASE)
_MILLISECONDS = 10**11


def reset_text(headers: Mapping[str, str], body: object) -> str:
    """``; the limit is reset at 2026-11-30 00:00 UTC``, by headers or body; '' where none says."""
    found = _RESET.search(f"{dict(headers)} {body}")
    if found is None:
        return ""
    seconds = int(found[1])
    seconds = seconds // 1000 if seconds >= _MILLISECONDS else seconds
    moment = datetime.fromtimestamp(seconds, tz=timezone.utc)
    return f"; the limit is reset at {moment:%Y-%m-%d %H:%M} UTC"


_CACHES = frozenset(
    {
        "x-cache",
        "x-cache-status",
        "cache-status",
        "cf-cache-status",
        "cf-aig-cache-status",
        "helicone-cache",
        "x-portkey-cache-status",
    }
)
"""Headers in which caches of responses say HIT or MISS; ``cache-status`` is that of RFC 9211."""
_HIT = re.compile(r"(?<![a-z])hit(?![a-z])", re.IGNORECASE)
ROUTED = "x-litellm-model-name"
"""The header in which LiteLLM names the model behind the requested one, as ``openai/even``.

The body has the requested name, whichever of several models answered."""
_CACHE_KEY = "x-litellm-cache-key"  # comes with what LiteLLM's cache gives, and with nothing else


def cache_header(headers: Mapping[str, str]) -> str:
    """The name of the header that says a cache gave this reply; '' where none does."""
    found = {name.lower(): value for name, value in headers.items()}
    hits = (name for name in found.keys() & _CACHES if _HIT.search(found[name]))
    return _CACHE_KEY if found.get(_CACHE_KEY) else min(hits, default="")


def _unread(text: str) -> dict[str, str]:
    return {"number": text}


def _finite(text: str) -> float | dict[str, str]:
    value = float(text)
    return value if math.isfinite(value) else _unread(text)


def _whole(text: str) -> int | dict[str, str]:
    return int(text) if len(text) <= _LONGEST_WHOLE else _unread(text)
