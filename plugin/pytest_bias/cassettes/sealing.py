"""Raw replies under the user's key: sealed when they are recorded, opened by an auditor."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from ..errors import BadSetting, MissingKey, MissingPackage
from .format import Interaction, encode_interaction
from .measured import decode_sealed
from .store import Cassette

KEY_VARIABLE = "PYTEST_BIAS_RETENTION_KEY"
"""Environment variable of the user's key: 32 bytes in URL-safe base64 (pytest-bias new-key)."""


class Seal:
    """Encrypts and decrypts with a key (Fernet: AES-128-CBC with HMAC-SHA-256)."""

    def __init__(self, key: str) -> None:
        try:
            from cryptography.fernet import Fernet  # noqa: PLC0415  (an optional extra)
        except ModuleNotFoundError:
            raise MissingPackage(package="cryptography", extra="encryption") from None
        try:
            self._fernet = Fernet(key.encode())
        except ValueError:
            raise BadSetting(
                option=KEY_VARIABLE, value="…", problem="is no key; make one: pytest-bias new-key"
            ) from None

    def sealed(self, interactions: Sequence[Interaction], texts: Mapping[str, str]) -> bytes:
        """A token that holds the interactions of a trial and the texts of its messages."""
        lines = [encode_interaction(interaction).decode() for interaction in interactions]
        return self._fernet.encrypt(json.dumps({"texts": texts, "lines": lines}).encode())

    def opened(self, token: bytes) -> Mapping[str, object]:
        """What was sealed: ``texts`` (digest → text) and ``interactions``.

        Raises
        ------
        BadSetting
            When it was sealed under another key.
        """
        from cryptography.fernet import InvalidToken  # noqa: PLC0415

        try:
            found = json.loads(self._fernet.decrypt(token))
        except InvalidToken:
            problem = "is not the key under which this was sealed"
            raise BadSetting(option=KEY_VARIABLE, value="…", problem=problem) from None
        return {
            "texts": found["texts"],
            "interactions": [json.loads(line) for line in found["lines"]],
        }


def seal_of(environ: Mapping[str, str]) -> Seal:
    """The seal under the key in ``environ``; MissingKey when there is none."""
    key = environ.get(KEY_VARIABLE, "")
    if not key:
        raise MissingKey(provider='retention="encrypted"', variable=KEY_VARIABLE)
    return Seal(key)


def unsealed(cassette: Cassette, seal: Seal) -> Iterator[Mapping[str, object]]:
    """The raw interactions of every sealed trial of a cassette, in its order."""
    for line in cassette.sealed_lines():
        key, token = decode_sealed(*line)
        yield {"trial": key, **seal.opened(token)}


def new_key() -> str:
    """A fresh key for KEY_VARIABLE."""
    try:
        from cryptography.fernet import Fernet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingPackage(package="cryptography", extra="encryption") from None
    return Fernet.generate_key().decode()
