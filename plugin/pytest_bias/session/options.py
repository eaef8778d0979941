"""The plugin's options and ini keys, and how they become settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from ..report.escapes import terminal_text

if TYPE_CHECKING:
    from ..settings.settings import Settings

_INI: dict[str, tuple[str, Any, str]] = {
    "models": ("args", [], "models to test, as provider/model"),
    "record": ("string", "", "none, missing or all (see --bias-record)"),
    "design": ("string", "", "named design of the experiments (see --bias-design)"),
    "replicates": ("string", "", "replicates of every condition (see --bias-replicates)"),
    "cassettes": ("string", "", "folder of the cassettes, relative to rootdir"),
    "report": ("string", "", "path of the HTML report, or off"),
    "results": ("string", "", "path of the JSON results, or off"),
    "dataset": ("string", "", "folder of data sets to publish (see --bias-dataset), or off"),
    "exports": ("string", "", "folder of the experiments' own files (see --bias-exports), or off"),
    "dataset_license": ("string", "", "licence of data sets, by SPDX identifier (CC-BY-4.0)"),
    "baselines": ("string", "", "folder of accepted verdicts (see --bias-baselines), or off"),
    "baseline": ("string", "", "baseline file or model to hold against (see --bias-baseline)"),
    "max_age": ("string", "", "days until recordings are stale (see --bias-max-age), or off"),
    "labels": ("string", "", "folder of labels people gave (see --bias-labels), or off"),
    "summary": ("string", "", "path of a summary in Markdown (see --bias-summary), or off"),
    "annotations": ("string", "", "auto (default): annotate failures on GitHub Actions; or off"),
    "gate": ("string", "", "absolute (default) or off: report without failing"),
    "inconclusive": ("string", "", "fail (default) or pass: INCONCLUSIVE claims to be clear"),
    "simulated_url": ("string", "", "base URL of a running 'pytest-bias serve'"),
    "simulated_wire": ("string", "", "openai-chat (default), openai-responses, anthropic, google"),
    "roster": ("string", "", "file of models, limits and prices (default: bias_models.toml)"),
    "env_file": ("string", "", "file with keys (see --bias-env-file)"),
    "judge": ("string", "", "model that grades replies (see --bias-judge)"),
    "qpm": ("string", "", "requests per minute and model (see --bias-qpm)"),
    "max_calls": ("string", "", "calls a recording may make (see --bias-max-calls)"),
    "budget": ("string", "", "US dollars a recording may cost (see --bias-budget)"),
    "concurrency": ("string", "", "calls in flight per model (see --bias-concurrency)"),
    "timeout": ("string", "", "seconds until an attempt is given up (default: 120)"),
    "order_seed": ("string", "", "seed of the order in which trials are recorded"),
}

_OPTIONS = (
    *("model", "record", "record_in_ci", "design", "replicates", "cassettes"),
    "summary",
    *("report", "results", "dataset", "exports", "gate", "plan", "plan_json", "judge", "env_file"),
    *("qpm", "max_calls", "budget", "concurrency", "order_seed"),
    *("baselines", "baseline", "max_age", "labels"),
    *("accept", "accept_reason", "accept_owner", "accept_until"),
    *("accept_new_only", "accept_after"),
)
_ACCEPTING = (  # without an ini key
    *("accept", "accept_reason", "accept_owner", "accept_until"),
    *("accept_new_only", "accept_after"),
)
_LOOKING = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test")


def add_options(parser: pytest.Parser) -> None:
    """Add every option; but for those that accept, each has an ini key ``bias_<name>``."""
    group = parser.getgroup("bias", "bias hypotheses (pytest-bias)")
    add = group.addoption
    add(
        "--bias-model",
        action="append",
        metavar="PROVIDER/MODEL",
        help="model to test; repeat for several (ini: bias_models)",
    )
    add(
        "--bias-record",
        choices=("none", "missing", "all"),
        help="none: only replay (default); missing: call the model for what is not recorded; "
        "all: call it for everything",
    )
    add(
        "--bias-record-in-ci",
        action="store_true",
        help="allow recording where the environment variable CI is set",
    )
    add("--bias-design", metavar="NAME", help="named design: gate (default), documented, …")
    add("--bias-replicates", metavar="N", help="replicates of every condition")
    add("--bias-cassettes", metavar="DIR", help="folder of the cassettes (default: cassettes)")
    add(
        "--bias-report",
        metavar="PATH",
        help="where the HTML report goes (default: bias-report.html; off: nowhere)",
    )
    add(
        "--bias-results",
        metavar="PATH",
        help="where the JSON results go (default: bias-results.json; off: nowhere)",
    )
    add(
        "--bias-summary",
        metavar="PATH",
        help="write a summary in Markdown here; on GitHub Actions the job shows it in any case "
        "(off: nowhere)",
    )
    add(
        "--bias-dataset",
        metavar="DIR",
        help="write a data set per experiment and model here: labels and measures, no text",
    )
    add(
        "--bias-exports",
        metavar="DIR",
        help="write the files the experiments declare (exports=) here, from all records",
    )
    add(
        "--bias-gate",
        choices=("absolute", "off"),
        help="absolute: BIASED fails (default); off: report only",
    )
    add(
        "--bias-labels",
        metavar="DIR",
        help="folder of labels people gave, held beside the judge's ratings (default: "
        "bias_tests/labels where it exists; off: none)",
    )
    _add_accepting_options(add)
    _add_recording_options(add)
    for name, (kind, default, text) in _INI.items():
        parser.addini(f"bias_{name}", text, type=kind, default=default)  # type: ignore[arg-type]


def _add_accepting_options(add: Callable[..., None]) -> None:
    add(
        "--bias-baselines",
        metavar="DIR",
        help="folder of accepted verdicts (default: bias_tests/baselines; off: hold none against "
        "them)",
    )
    add(
        "--bias-baseline",
        metavar="OLD",
        help="hold the models against this baseline file, or against this other model and its "
        "recordings: the upgrade from OLD (ini: bias_baseline)",
    )
    add(
        "--bias-accept",
        action="store_true",
        help="accept this run's verdicts: write them into the baseline of each model",
    )
    add(
        "--bias-accept-new-only",
        action="store_true",
        help="with --bias-accept: only hypotheses without an accepted verdict; others keep theirs",
    )
    add(
        "--bias-max-age",
        metavar="DAYS",
        help="recordings of which a reply is older no longer represent the model (off: any age)",
    )
    add(
        "--bias-accept-after",
        metavar="PROVIDER/MODEL",
        help="with --bias-accept: the model is the successor of this one, and the best ever "
        "accepted of that counts on, so that small steps from version to version cannot add up",
    )
    add("--bias-accept-reason", metavar="TEXT", help="why what is not CLEAR is accepted")
    add("--bias-accept-owner", metavar="NAME", help="who accepts what is not CLEAR")
    add(
        "--bias-accept-until",
        metavar="YYYY-MM-DD",
        help="last day (UTC) on which what is not CLEAR is accepted",
    )


def _add_recording_options(add: Callable[..., None]) -> None:
    add("--bias-plan", action="store_true", help="print what a recording would do; run nothing")
    add("--bias-plan-json", metavar="PATH", help="write the plan as JSON; run nothing")
    add("--bias-qpm", metavar="N", help="at most N requests a minute of each model")
    add(
        "--bias-max-calls",
        metavar="N",
        help="kill switch: at most N calls in this run, every attempt counted",
    )
    add(
        "--bias-budget", metavar="USD", help="at most this much money in this run, over all models"
    )
    add("--bias-concurrency", metavar="N", help="at most N calls in flight per model (100)")
    add("--bias-order-seed", metavar="N", help="seed of the order of trials (0)")
    add("--bias-env-file", metavar="PATH", help="take keys from this .env file as well")
    add(
        "--bias-judge",
        metavar="PROVIDER/MODEL",
        help="model that grades replies; same: the model under test",
    )


def is_recording(config: pytest.Config) -> bool:
    """Whether this run may call models."""
    if is_planning(config):
        return False
    mode = config.getoption("bias_record") or config.getini("bias_record") or "none"
    return bool(mode != "none")


def is_planning(config: pytest.Config) -> bool:
    """Whether this run only says what a recording would do."""
    return bool(config.option.bias_plan or config.option.bias_plan_json)


def is_given(config: pytest.Config) -> bool:
    """Whether any setting of ours is given, on the command line or in ini."""
    return any(
        getattr(config.option, f"bias_{name}", None) or config.getini(f"bias_{name}")
        for name in _INI
    ) or any(getattr(config.option, f"bias_{name}") not in (None, False) for name in _ACCEPTING)


def is_used(config: pytest.Config) -> bool:
    """The same as far as it is known before options are: by the ini file, or what is typed."""
    return any(config.getini(f"bias_{name}") for name in _INI) or any(
        str(argument).startswith("--bias-") for argument in config.invocation_params.args
    )


def spare_cache(config: pytest.Config) -> None:
    """Let no verdict hang on pytest's cache, which a read-only checkout cannot have.

    Under ``filterwarnings = error`` its warning would end the session before a verdict is printed.
    What the user says of that warning himself holds.
    """
    name = "PytestCacheWarning"
    if not any(name in each for each in config.getini("filterwarnings")):
        config.addinivalue_line("filterwarnings", f"default::pytest.{name}")


def is_looking(config: pytest.Config) -> bool:
    """Whether this run only lists or plans: it runs no test, so there are no books to keep."""
    return is_planning(config) or any(getattr(config.option, name, False) for name in _LOOKING)


def undistribute(config: pytest.Config) -> None:
    """Turn xdist's distribution off when recording: one limiter, one budget, one writer."""
    option = config.option
    alone = is_recording(config) or is_planning(config)
    if not alone or not hasattr(option, "numprocesses"):
        return
    if option.numprocesses or option.tx or option.dist != "no" or option.distload:
        option.bias_undistributed = True
        option.numprocesses, option.dist, option.tx, option.distload = 0, "no", [], False


def today() -> str:
    """The day as YYYY-MM-DD, the same everywhere: acceptances end with a day of UTC."""
    return datetime.now(tz=timezone.utc).date().isoformat()


def settings_of(config: pytest.Config) -> Settings:
    """The settings of this run.

    Raises
    ------
    BadSetting
        When a value is outside its domain.
    """
    from ..settings.given import Given  # noqa: PLC0415
    from ..settings.settings import read_settings  # noqa: PLC0415

    return read_settings(
        Given(
            options={name: config.getoption(f"bias_{name}") for name in _OPTIONS},
            ini={name: config.getini(f"bias_{name}") for name in _INI},
            environ=dict(os.environ),
            rootdir=config.rootpath,
            invocation_dir=config.invocation_params.dir,
            today=today(),
        )
    )


def check_settings(config: pytest.Config) -> None:
    """Refuse what can be refused before anything is collected; UsageError says why."""
    from ..errors import BiasError, RecordingRefused  # noqa: PLC0415
    from ..settings.roster import read_roster  # noqa: PLC0415

    try:
        settings = settings_of(config)
        if settings.dataset is not None:
            from ..report.parquet import check_installed  # noqa: PLC0415

            check_installed()
        if config.getoption("bias_baseline"):
            from ..baselines.upgrade import check_old  # noqa: PLC0415  (not for an ini key alone)

            check_old(settings)
        recording = settings.record != "none" and not settings.plan
        if recording and os.environ.get("CI") and not settings.record_in_ci:
            raise RecordingRefused(
                "CI is set, and recording costs money; add --bias-record-in-ci to allow it"
            )
        if config.getoption("bias_model") or recording or settings.plan:
            from ..providers.players import (  # noqa: PLC0415  (not for an ini key alone)
                check_models,
            )
            from ..settings.environment import read_environment  # noqa: PLC0415

            check_models(settings, read_roster(settings.roster), settings.models)
            read_environment(settings)
    except BiasError as error:
        raise pytest.UsageError(terminal_text(str(error))) from error
