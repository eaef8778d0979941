"""The hooks that pytest-bias offers to plugins and ``conftest.py`` files.

Its own data sets and exports go through them as well. Results are told in the process that
decides, in no worker of xdist; an error there leaves the run without a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..errors.said import Said
    from ..providers.base import Factory
    from ..report.view import RunView


@pytest.hookspec
def pytest_bias_results(config: pytest.Config, view: RunView) -> Said | None:
    """Take the results of a run, once all of it is judged and before a report is written.

    Return what was written, what the user is to know and what is wrong, or nothing. A problem
    leaves the run without a verdict: what is missing must not look like a run in order.

    Parameters
    ----------
    config
        The session's configuration.
    view
        The run: its analyses with every verdict, and how complete it is. Problems that other
        plugins return are not in it yet.
    """


@pytest.hookspec
def pytest_bias_providers(config: pytest.Config) -> Mapping[str, Factory] | None:
    """Return providers by the name that stands before the slash of ``provider/model``.

    Called in every process of a session, before anything is collected, so in plugins and in the
    ``conftest.py`` of rootdir or of the arguments. A factory is given the
    :class:`~..providers.base.ProviderContext` where a model is to be called, and not before. Names
    of the package's own providers are refused, and so is one that two plugins give.

    Parameters
    ----------
    config
        The session's configuration.
    """
