"""Raw replies under the user's key: sealed when they are recorded, opened by an auditor."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from ..errors import BadSetting, DamagedCassette, MissingKey, MissingPackage
from .format import (
    RecordedInteraction,
    decode_interaction,
    encode_interaction,
    reply_facts,
    text_digest,
)
from .measured import MeasuredTrial, decode_sealed, keyed_hash
from .store import Cassette

KEY_VARIABLE = "PYTEST_BIAS_RETENTION_KEY"
"""Environment variable of the user's key: 32 bytes in URL-safe base64 (pytest-bias new-key)."""

_KEY_LENGTH = 32


class Seal:
    """Encrypts and decrypts with a key (Fernet: AES-128-CBC with HMAC-SHA-256).

    Raises MissingPackage when cryptography is not installed. Raises BadSetting when ``key`` is
    none.
    """

    def __init__(self, key: str) -> None:
        try:
            from cryptography.fernet import Fernet  # noqa: PLC0415  (an optional extra)
        except ModuleNotFoundError:
            raise MissingPackage(package="cryptography", extra="encryption") from None
        self.secret = key.encode("utf-8", "surrogateescape")
        check_key(self.secret)
        self._fernet = Fernet(self.secret)

    def sealed(
        self, interactions: Sequence[RecordedInteraction], texts: Mapping[str, str]
    ) -> bytes:
        """A token that holds the interactions of a trial and the texts (by digest) sent in it."""
        lines = [encode_interaction(interaction).decode() for interaction in interactions]
        return self._fernet.encrypt(json.dumps({"texts": texts, "lines": lines}).encode())

    def opened(
        self, token: bytes, path: str, number: int
    ) -> tuple[list[RecordedInteraction], Texts]:
        """Return the sealed interactions, and digest → text of what was sent.

        Raises BadSetting when it was sealed under another key.
        """
        from cryptography.fernet import InvalidToken  # noqa: PLC0415

        try:
            found = json.loads(self._fernet.decrypt(token))
        except InvalidToken:
            problem = f"is not the key under which line {number} of {path} was sealed"
            raise BadSetting(option=KEY_VARIABLE, value="…", problem=problem) from None
        lines = cast("Sequence[str]", found["lines"])
        return [decode_interaction(line.encode(), path, number) for line in lines], found["texts"]


Texts = Mapping[str, str]


def check_key(secret: bytes) -> None:
    """Raise BadSetting, which does not quote it, unless ``secret`` is a key."""
    try:
        decoded = base64.b64decode(secret, altchars=b"-_", validate=True)
    except ValueError:
        decoded = b""
    if len(decoded) != _KEY_LENGTH:
        problem = "is no key; make one: pytest-bias new-key"
        raise BadSetting(option=KEY_VARIABLE, value="…", problem=problem)


def seal_of(environ: Mapping[str, str]) -> Seal:
    """The seal under the key in ``environ``; MissingKey when there is none."""
    key = environ.get(KEY_VARIABLE, "")
    if not key:
        raise MissingKey(provider='retention="encrypted"', variable=KEY_VARIABLE)
    return Seal(key)


def unsealed(cassette: Cassette, seal: Seal) -> Iterator[Mapping[str, object]]:
    """Every sealed trial of a cassette, in its order: its key, and what was said, as JSON types.

    Raises BadSetting when one was sealed under another key. Raises DamagedCassette when what was
    sealed is not what its trial was measured from.
    """
    for line in cassette.sealed_lines():
        key, token = decode_sealed(*line)
        measured = cassette.measured(key)
        if measured is None:
            continue  # a killed recording left it without its trial, which was recorded again
        interactions, texts = seal.opened(token, line.path, line.number)
        if not _belongs(interactions, measured, seal.secret):
            problem = "what is sealed here is not what its trial was measured from"
            raise DamagedCassette(path=line.path, line=line.number, problem=problem)
        said = {text_digest(each.completion.text): each.completion.text for each in interactions}
        yield {
            "measured": key,
            "trial": dict(measured.trial),
            "interactions": [_readable(each, {**texts, **said}) for each in interactions],
        }


def _belongs(
    interactions: Sequence[RecordedInteraction], measured: MeasuredTrial, secret: bytes
) -> bool:
    """Return whether the replies are those whose keyed hashes stand with the measures."""
    hashes = [
        keyed_hash(secret, measured.key, number, each.completion.text)
        for number, each in enumerate(interactions, start=1)
    ]
    kept = [str(call.get("hash")) for call in measured.calls]
    return hmac.compare_digest("\n".join(hashes), "\n".join(kept))


def _readable(interaction: RecordedInteraction, texts: Texts) -> dict[str, object]:
    branch, turn, attempt = interaction.place
    completion = interaction.completion
    return {
        "key": interaction.key,
        "place": [list(branch), turn, attempt],
        "messages": [{"role": role, "text": texts[name]} for role, name in interaction.messages],
        "parameters": dict(interaction.parameters),
        "reply": {
            "text": completion.text,
            **reply_facts(completion),
            "body": dict(completion.body),
        },
    }


def new_key() -> str:
    """A fresh key for :data:`KEY_VARIABLE`; MissingPackage where cryptography is not there."""
    try:
        from cryptography.fernet import Fernet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingPackage(package="cryptography", extra="encryption") from None
    return Fernet.generate_key().decode()
