"""Options, ini keys and hooks as pytest takes them, the settings of a run, and its workers.

Loaded in every pytest run, so it imports nothing but the table of options.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..settings.options import OPTIONS

if TYPE_CHECKING:
    from ..providers.base import Factory
    from ..report.run import RunResult
    from ..settings.settings import Settings

_LOOKING = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")


def add_options(parser: pytest.Parser) -> None:
    """Add every option and ini key of the table."""
    group = parser.getgroup("bias", "bias hypotheses (pytest-bias)")
    for option in OPTIONS.values():
        takes: dict[str, Any] = {"action": "store_true"}
        if option.choices:
            takes = {"choices": option.choices}
        elif option.takes:
            takes = {"metavar": option.takes, "action": "append" if option.several else "store"}
        if option.option:
            # argparse takes % for a place to fill in.
            group.addoption(option.option, help=option.help.replace("%", "%%"), **takes)
        if option.ini and option.several:
            parser.addini(option.ini, option.help, type="args", default=[])
        elif option.ini:
            parser.addini(option.ini, option.help, type="string", default="")


def is_recording(config: pytest.Config) -> bool:
    """True if this run may call models."""
    if is_planning(config):
        return False
    mode = config.getoption("bias_record") or config.getini("bias_record") or "none"
    return bool(mode != "none")


def is_planning(config: pytest.Config) -> bool:
    """True if this run only says what a recording would do."""
    return bool(config.option.bias_plan)


def is_set(config: pytest.Config) -> bool:
    """True if any setting of ours is given, typed or in ini.

    What pytest has read of the options so far is enough: at first it knows ours by their prefix.
    """
    typed = {**vars(config.known_args_namespace), **vars(config.option)}
    return any(
        (option.option and typed.get(f"bias_{name}") not in (None, False))
        or (option.ini and config.getini(option.ini))
        for name, option in OPTIONS.items()
    )


def is_looking(config: pytest.Config) -> bool:
    """True if this run only lists, plans or records a part.

    It runs no test and has no result.
    """
    return is_planning(config) or is_listing(config) or bool(config.option.bias_shard)


def is_listing(config: pytest.Config) -> bool:
    """True if pytest only shows what it would do."""
    return any(getattr(config.option, name, False) for name in _LOOKING)


def settings_of(config: pytest.Config) -> Settings:
    """The settings of this run.

    Raises BadSetting when a value is outside its domain.
    """
    from ..settings.given import Given, today  # noqa: PLC0415
    from ..settings.settings import read_settings  # noqa: PLC0415

    typed = [name for name, option in OPTIONS.items() if option.option]
    keys = [option.ini for option in OPTIONS.values() if option.ini]
    settings = read_settings(
        Given(
            options={name: config.getoption(f"bias_{name}") for name in typed},
            ini={key.removeprefix("bias_"): config.getini(key) for key in keys},
            environ=dict(os.environ),
            rootdir=config.rootpath,
            invocation_dir=config.invocation_params.dir,
            today=today(),
        )
    )
    return replace(settings, providers=_added_providers(config))


def _added_providers(config: pytest.Config) -> dict[str, object]:
    """The providers of plugins, by name; BadSetting where two of them give one name."""
    from ..errors import BadSetting  # noqa: PLC0415

    added: dict[str, object] = {}
    for given in config.hook.pytest_bias_providers(config=config):
        if twice := sorted({*given} & {*added}):
            problem = "two plugins provide it"
            raise BadSetting(option="pytest_bias_providers", value=twice[0], problem=problem)
        added |= given
    return added


def check_settings(config: pytest.Config) -> None:
    """Refuse what can be refused before anything is collected; UsageError says why."""
    from ..errors import BiasError  # noqa: PLC0415
    from ..report.escapes import terminal_text  # noqa: PLC0415
    from ..settings.given import read_environment  # noqa: PLC0415
    from ..settings.roster import read_roster  # noqa: PLC0415

    try:
        settings = settings_of(config)
        if settings.dataset is not None:
            from ..tables.reader import arrow  # noqa: PLC0415

            arrow()
        if config.getoption("bias_baseline"):
            from ..baselines.accepted import old_baseline  # noqa: PLC0415  (not for an ini key alone)

            old_baseline(settings)
        recording = settings.record != "none" and not settings.plan
        if recording:
            from ..workbench.plans import check_ci  # noqa: PLC0415  (calls models)

            check_ci(settings)
        if config.getoption("bias_model") or recording or settings.plan:
            from ..providers.roles import (  # noqa: PLC0415  (not for an ini key alone)
                check_models,
            )

            check_models(settings, read_roster(settings.roster), settings.models)
            read_environment(settings.environ, settings.env_file)
    except BiasError as error:
        raise pytest.UsageError(terminal_text(str(error))) from error


# --- distribution over xdist's workers -----------------------------------------------------------

DISTRIBUTED = pytest.StashKey[bool]()
"""Whether the user chose how xdist distributes tests."""


def note_distribution(config: pytest.Config) -> None:
    """Note whether the user chose a distribution (``--dist``, ``-d``).

    Before xdist makes ``--dist load`` of ``-n`` alone.
    """
    option = config.option
    chosen = getattr(option, "dist", "no") != "no" or getattr(option, "distload", False)
    config.stash[DISTRIBUTED] = bool(chosen)


def undistribute(config: pytest.Config) -> None:
    """Turn xdist's distribution off when recording: one limiter, one budget, one writer."""
    option = config.option
    alone = is_recording(config) or is_planning(config)
    if not alone or not hasattr(option, "numprocesses"):
        return
    if option.numprocesses or option.tx or option.dist != "no" or option.distload:
        option.bias_undistributed = True
        option.numprocesses, option.dist, option.tx, option.distload = 0, "no", [], False


def limit_workers(config: pytest.Config) -> None:
    """Start no more xdist workers than cores where only bias cases are run.

    Each worker collects the suite, and each that analyses imports scipy: more than cores take
    longer. The user's own ``--dist`` keeps all workers.
    """
    requested = getattr(config.option, "numprocesses", None)
    if not isinstance(requested, int) or config.stash[DISTRIBUTED] or not is_set(config):
        return
    from ..settings.given import cores  # noqa: PLC0415
    from .suite import Suite  # noqa: PLC0415  (only where there are workers)

    most = max(cores(), 2)  # also on one core: a distributed run was requested
    if requested > most and Suite(config).has_only_cases:
        config.option.numprocesses, config.option.bias_requested_workers = most, requested


# --- hooks for plugins and conftest.py files, whose names begin with pytest_ ------------------


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
