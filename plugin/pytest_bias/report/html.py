"""The HTML report (placeholder while wiring)."""

from .view import RunView


def report_html(view: RunView) -> str:
    return "<html></html>"
