"""The templates of the reports, and the words they know; HTML escapes whatever it is given."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from ..verdicts.decide import open_cells
from ..verdicts.wording import (
    allocation_words,
    interval_words,
    least_sure_words,
    margin_words,
    number_words,
)
from .escapes import code_markdown, flat_markdown, plain_markdown, visible_line, writable
from .wording import NOT_KNOWN, counts_words, notes_words, simulated_words

if TYPE_CHECKING:
    from jinja2 import Environment

_FILTERS = {
    "code": code_markdown,
    "flat": flat_markdown,
    "plain": plain_markdown,
    "quoted": partial(quote, safe=""),
}
_WORDS = (
    *(allocation_words, interval_words, least_sure_words, margin_words, number_words, open_cells),
    *(counts_words, notes_words, simulated_words),
)
"""Functions that templates call by their names."""


def rendered(template: str, **given: object) -> str:
    """A template with what it is given: no clock, no path, no network."""
    return writable(_environment().get_template(template).render(given))


@cache
def _environment() -> Environment:
    from jinja2 import (  # noqa: PLC0415  (only where a report is written)
        Environment,
        PackageLoader,
        StrictUndefined,
        nodes,
        pass_eval_context,
        select_autoescape,
    )

    @pass_eval_context
    def visible(context: nodes.EvalContext, value: object) -> object:
        # What is markup already is of our own making; Markdown has escapes of its own.
        own = not context.autoescape or hasattr(value, "__html__")
        return value if own else "\n".join(map(visible_line, str(value).split("\n")))

    environment = Environment(
        loader=PackageLoader("pytest_bias", "report/templates"),
        autoescape=select_autoescape(["html.j2"]),
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    environment.globals.update({function.__name__: function for function in _WORDS})
    environment.globals["not_known"] = NOT_KNOWN
    return environment
