"""Root of this repository's test sessions: pytester for the plugin's tests, pytest-html's report.

pytest-html writes only where it is told to; for a whole run of the suite this is the place.
"""

from __future__ import annotations

import os

import pytest

pytest_plugins = ["pytester"]

_NARROWING = ("keyword", "markexpr", "lf", "maxfail", "deselect", "collectonly", "bias_plan")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have pytest-html write its report beside ours after a run of the whole suite."""
    option = config.option
    if (
        config.pluginmanager.hasplugin("html")
        and not hasattr(config, "workerinput")
        and option.htmlpath is None
        and [argument.rstrip("/") for argument in config.args] == config.getini("testpaths")
        and not any(getattr(option, name, None) for name in _NARROWING)
        and os.access(config.rootpath, os.W_OK)
    ):
        option.htmlpath = str(config.rootpath / "pytest-report.html")
        option.self_contained_html = True
