"""The HTML report: one file that needs nothing else and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping

from .numbers import writable
from .page import page_of
from .view import RunView


def report_html(view: RunView) -> str:
    """The page of a run. The same run gives the same bytes: no clock, no path, no network."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  (only here)

    environment = Environment(
        loader=PackageLoader("pytest_bias", "report/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["nested"] = lambda value: isinstance(value, Mapping)
    environment.tests["listed"] = lambda value: isinstance(value, list | tuple)
    return writable(environment.get_template("report.html.j2").render(page=page_of(view)))
