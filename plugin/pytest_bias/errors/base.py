"""The base of everything raised for a user to read."""

from __future__ import annotations

from collections.abc import Mapping


class BiasError(Exception):
    """Base class of every error pytest-bias raises on purpose.

    ``short`` says it in a few words; empty where its first line does.
    """

    short: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it as it stands, since its fields are not its arguments."""
        return _as_it_stood, (type(self), self.args, dict(vars(self)))


def _as_it_stood(
    kind: type[BiasError], arguments: tuple[object, ...], fields: Mapping[str, object]
) -> BiasError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(fields)
    return error
