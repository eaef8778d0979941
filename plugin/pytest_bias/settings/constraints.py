"""Constraints of what a roster says, in pydantic's words and without importing it.

Most runs have no roster, and pydantic takes as long to import as fifty trials to replay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from pydantic import ConfigDict, GetCoreSchemaHandler
    from pydantic_core import CoreSchema

CLOSED: ConfigDict = {"extra": "forbid"}
"""Configuration of a table whose keys are known."""


class Constraints:
    """What holds of a field beyond its type: arguments of pydantic's ``Field``."""

    def __init__(self, **constraints: Any) -> None:
        self._constraints = constraints

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the type with its constraints."""
        from pydantic import Field  # noqa: PLC0415  (only where something is read)

        return handler.generate_schema(Annotated[source, Field(**self._constraints)])


class Validated:
    """A check after that of the type, which raises ValueError for what it refuses."""

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the type with the check after it."""
        from pydantic_core import core_schema  # noqa: PLC0415

        return core_schema.no_info_after_validator_function(self._check, handler(source))


Truth = Annotated[bool, Constraints(strict=True)]
"""True or false, and no word or number for it."""
