"""Prompt templates whose variables are checked when they are made, not when they are sent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from string import Template

from ..errors import BadTemplate
from .fields import need_text, shortly


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """Text with ``$variables`` (``string.Template`` syntax; ``$$`` is a dollar sign).

    Parameters
    ----------
    name
        Name of the template for messages, usually its file.
    text
        The text.
    variables
        Exactly the variables the text must use.

    Raises
    ------
    BadTemplate
        When the text uses a variable that is not given, or does not use one that is.
    """

    name: str
    text: str = field(repr=False)
    variables: Collection[str] = ()

    def __post_init__(self) -> None:
        need_text(f"PromptTemplate({shortly(self.name)})", text=self.text)
        template = Template(self.text)
        used = set(template.get_identifiers())
        if not template.is_valid():
            used.add("$ (a lone dollar sign: write $$)")
        object.__setattr__(self, "variables", frozenset(self.variables))
        self._check(unknown=used - set(self.variables), unused=set(self.variables) - used)

    def fill(self, /, **values: object) -> str:
        """The text with every variable replaced.

        Raises
        ------
        BadTemplate
            When the names of ``values`` are not exactly the variables.
        """
        given, known = set(values), set(self.variables)
        self._check(unknown=known - given, unused=given - known)
        return Template(self.text).substitute({name: str(value) for name, value in values.items()})

    def _check(self, *, unknown: Collection[str], unused: Collection[str]) -> None:
        if unknown or unused:
            raise BadTemplate(name=self.name, unknown=unknown, unused=unused)
