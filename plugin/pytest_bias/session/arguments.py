"""Values of our options that pytest took for tests, before it knew the options.

It looks for rootdir and the ini file before a plugin has named its options. A path that exists and
stands apart from such an option (``--bias-results r.json``) is then a test like any other, and
where it lies elsewhere, so do rootdir, the roster and every report.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from itertools import pairwise

import pytest


def check_rootdir(config: pytest.Config) -> None:
    """Refuse a path whose place moved rootdir; UsageError says how it is written instead."""
    taken = list(_apart(config))
    if not taken:
        return
    from _pytest.config.findpaths import determine_setup  # noqa: PLC0415  (only with such a path)

    option = config.known_args_namespace
    meant = determine_setup(
        inifile=option.inifilename,
        override_ini=option.override_ini,
        args=option.file_or_dir,
        rootdir_cmd_arg=option.rootdir or None,
        invocation_dir=config.invocation_params.dir,
    )
    if meant[:2] == (config.rootpath, config.inipath):
        return
    from ..errors import BadSetting  # noqa: PLC0415

    name, value = taken[0]
    problem = (
        "write it so, with '='; apart from its option pytest takes a path that exists for a test, "
        "and looks for its ini file from there on "
        f"(it found {config.inipath or 'none'}, not {meant[1] or 'none'})"
    )
    raise pytest.UsageError(str(BadSetting(option=name, value=value, problem=problem)))


def typed(config: pytest.Config) -> list[str]:
    """Return all that is typed for this run, after the command or in PYTEST_ADDOPTS."""
    variable = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    return [*variable, *map(str, config.invocation_params.args)]


def _apart(config: pytest.Config) -> Iterator[tuple[str, str]]:
    """Our options that are followed by something that exists, and is none of the tests."""
    here, given = config.invocation_params.dir, typed(config)
    for name, value in pairwise(given):
        if (
            name.startswith("--bias-")
            and "=" not in name
            and value not in config.known_args_namespace.file_or_dir
            and os.path.exists(here / value)  # noqa: PTH110  (pathlib raises)
        ):
            yield name, value
