"""The hooks that pytest-bias offers to plugins and ``conftest.py`` files.

Results are handed out in the process that decides, in no worker of xdist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..providers.base import Factory
    from ..report.run import RunResult


@pytest.hookspec
def pytest_bias_results(config: pytest.Config, view: RunResult) -> Iterable[Path] | None:
    """Take the results of a run, once all of it is judged and before a report is written.

    Return the paths of the files that were written, or nothing. An error leaves the run without a
    verdict: what is missing must not look like a run in order.

    Parameters
    ----------
    config
        The session's configuration.
    view
        The run: its analyses with every verdict, and how complete it is. Its problems are those
        so far: an implementation marked ``trylast`` has those of other plugins among them.
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
