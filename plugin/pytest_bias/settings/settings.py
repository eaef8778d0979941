"""What the user decided: options, then the environment, then ini, as one frozen value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from ..errors import BadSetting
from ..experiments.design import SCREEN
from .acceptance import Accept, read_accept
from .given import Given
from .old_model import read_old

RecordMode = Literal["none", "missing", "all"]
Gate = Literal["absolute", "off"]
OnInconclusive = Literal["fail", "pass"]

DEFAULT_REPORT = "bias-report.html"
DEFAULT_RESULTS = "bias-results.json"
DEFAULT_CASSETTES = "cassettes"
DEFAULT_ROSTER = "bias_models.toml"
DEFAULT_BASELINES = "bias_tests/baselines"
DEFAULT_LABELS = "bias_tests/labels"
DEFAULT_CONCURRENCY = 100
DEFAULT_TIMEOUT = 120.0
DEFAULT_LICENSE = "CC-BY-4.0"

_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a recording may not exceed.

    ``qpm`` are requests per minute and model (None: what the experiment and the roster say),
    ``max_calls`` counts every attempt and ``budget`` is in US dollars, both over all models
    together. ``concurrency`` are calls in flight per model, ``timeout`` seconds per attempt.
    """

    qpm: int | None = None
    max_calls: int | None = None
    budget: float | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = DEFAULT_TIMEOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one run; what was switched off is None (``report``, ``results``, ``baselines``).

    ``baseline`` is what the models are held against in place of their own baselines: the path of
    a baseline file, or another model. ``today`` is the day of the run as YYYY-MM-DD: the last on
    which an acceptance that ends then holds. ``max_age`` are the days that the oldest reply may
    have, None for any. ``job_summary`` is a file of the CI service to which
    the summary is added, ``annotations`` whether it is told in its own commands what fails.
    """

    models: tuple[str, ...]
    record: RecordMode = "none"
    record_in_ci: bool = False
    design: str = "gate"
    replicates: int | None = None
    cassettes: Path
    report: Path | None
    results: Path | None
    report_asked: bool = False
    results_asked: bool = False
    dataset: Path | None = None
    exports: Path | None = None
    dataset_license: str = DEFAULT_LICENSE
    gate: Gate = "absolute"
    inconclusive: OnInconclusive = "fail"
    simulated_url: str | None = None
    simulated_wire: str = "openai-chat"
    roster: Path | None = None
    env_file: Path | None = None
    judge: str | None = None
    limits: Limits = field(default_factory=Limits)
    order_seed: int = 0
    plan: bool = False
    plan_json: Path | None = None
    baselines: Path | None = None
    baseline: str | None = None
    max_age: int | None = None
    labels: Path | None = None
    accept: Accept | None = None
    summary: Path | None = None
    job_summary: Path | None = None
    annotations: bool = False
    today: str = ""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_settings(given: Given) -> Settings:
    """Check and combine what was given.

    Paths on the command line are relative to where pytest was called, paths in ini to rootdir.

    Raises
    ------
    BadSetting
        When a value is outside its domain.
    """
    report, report_asked = _output(given, "report", DEFAULT_REPORT)
    results, results_asked = _output(given, "results", DEFAULT_RESULTS)
    models = cast("Sequence[str]", given.options["model"] or given.ini["models"] or ())
    if len(set(models)) != len(models):
        raise BadSetting(option="--bias-model", value=" ".join(models), problem="names one twice")
    design = str(given.options["design"] or given.ini["design"] or "gate")
    old = read_old(given, models)
    if design == SCREEN and old is not None:
        problem = "does not go with --bias-design=screen: a screen compares nothing"
        raise BadSetting(option="--bias-baseline", value=old, problem=problem)
    return Settings(
        models=tuple(models),
        record=cast("RecordMode", _choice(given, "record", get_args(RecordMode))),
        record_in_ci=bool(given.options["record_in_ci"]),
        design=design,
        replicates=_whole(given, "replicates", least=1),
        cassettes=_path(given, "cassettes") or given.rootdir / DEFAULT_CASSETTES,
        report=report,
        results=results,
        report_asked=report_asked,
        results_asked=results_asked,
        dataset=_folder(given, "dataset"),
        exports=_folder(given, "exports"),
        dataset_license=_license(given),
        gate=cast("Gate", _choice(given, "gate", get_args(Gate))),
        inconclusive=cast(
            "OnInconclusive", _choice(given, "inconclusive", get_args(OnInconclusive))
        ),
        simulated_url=str(given.ini["simulated_url"] or "") or None,
        simulated_wire=str(given.ini.get("simulated_wire") or "openai-chat"),
        roster=_path(given, "roster") or _existing(given.rootdir / DEFAULT_ROSTER),
        env_file=_path(given, "env_file"),
        judge=str(given.options.get("judge") or given.ini.get("judge") or "") or None,
        limits=_limits(given),
        order_seed=_whole(given, "order_seed", least=0) or 0,
        plan=bool(given.options.get("plan") or given.options.get("plan_json")),
        plan_json=_path(given, "plan_json"),
        baselines=_baselines(given),
        baseline=old,
        max_age=None if _named(given, "max_age") == "off" else _whole(given, "max_age", least=0),
        labels=_labels(given),
        accept=read_accept(given, _baselines(given)),
        summary=None if _named(given, "summary") == "off" else _path(given, "summary"),
        job_summary=_job_summary(given),
        annotations=_annotations(given),
        today=given.today,
        environ=given.environ,
    )


def _folder(given: Given, name: str, default: Path | None = None) -> Path | None:
    """A folder; None where it is switched off, or neither named nor given by ``default``."""
    if (given.options.get(name) or given.ini.get(name)) == "off":
        return None
    return _path(given, name) or default


def _license(given: Given) -> str:
    """The licence of data sets; it becomes a part of their README."""
    value = str(given.ini.get("dataset_license") or DEFAULT_LICENSE)
    if not _SPDX.fullmatch(value):
        problem = f"must be an SPDX identifier, such as {DEFAULT_LICENSE}"
        raise BadSetting(option="bias_dataset_license", value=value, problem=problem)
    return value


def _baselines(given: Given) -> Path | None:
    return _folder(given, "baselines", given.rootdir / DEFAULT_BASELINES)


def _labels(given: Given) -> Path | None:
    """The folder of people's labels; one that is named must be there."""
    path = _folder(given, "labels", _existing(given.rootdir / DEFAULT_LABELS))
    if path is not None and not path.is_dir():
        raise BadSetting(option="--bias-labels", value=path, problem="is no folder")
    return path


def _choice(given: Given, name: str, allowed: Sequence[str]) -> str:
    value = str(given.options.get(name) or given.ini[name] or allowed[0])
    if value not in allowed:
        raise BadSetting(
            option=f"bias_{name}", value=value, problem=f"must be one of {', '.join(allowed)}"
        )
    return value


def _limits(given: Given) -> Limits:
    return Limits(
        qpm=_whole(given, "qpm", least=1),
        max_calls=_whole(given, "max_calls", least=0),
        budget=_number(given, "budget", least=0.0),
        concurrency=_whole(given, "concurrency", least=1) or DEFAULT_CONCURRENCY,
        timeout=_number(given, "timeout", least=0.001) or DEFAULT_TIMEOUT,
    )


def _whole(given: Given, name: str, *, least: int) -> int | None:
    """A whole number from ``least`` up, or None where none is given."""
    number = _number(given, name, least=least)
    if number is None:
        return None
    if not number.is_integer():
        raise _bad_number(name, number, f"a whole number from {least} up")
    return int(number)


def _number(given: Given, name: str, *, least: float) -> float | None:
    """A number from ``least`` up, or None where none is given."""
    value = given.options.get(name)
    if value is None or value == "":
        value = given.ini.get(name)
    if value is None or value == "":
        return None
    words = f"{'a whole number' if isinstance(least, int) else 'a number'} from {least:g} up"
    try:
        number = float(str(value))
    except ValueError:
        raise _bad_number(name, value, words) from None
    if not least <= number < math.inf:
        raise _bad_number(name, value, words)
    return number


def _bad_number(name: str, value: object, words: str) -> BadSetting:
    # It has no option.
    option = f"bias_{name}" if name == "timeout" else f"--bias-{name.replace('_', '-')}"
    return BadSetting(option=option, value=value, problem=f"must be {words}")


def _existing(path: Path) -> Path | None:
    return path if path.exists() else None


def _path(given: Given, name: str) -> Path | None:
    if given.options.get(name):
        return given.invocation_dir / str(given.options[name])
    if given.ini.get(name):
        return given.rootdir / str(given.ini[name])
    return None


def _named(given: Given, name: str) -> object:
    return given.options.get(name) or given.ini.get(name)


def _job_summary(given: Given) -> Path | None:
    """The file GitHub Actions shows beside a job; None elsewhere, and where it is off."""
    file = given.environ.get("GITHUB_STEP_SUMMARY")
    return Path(file) if file and _named(given, "summary") != "off" else None


def _annotations(given: Given) -> bool:
    """Whether the CI service that runs this takes workflow commands, and is to get them."""
    asked = str(given.ini.get("annotations") or "auto")
    if asked not in ("auto", "off"):
        raise BadSetting(option="bias_annotations", value=asked, problem="must be auto or off")
    return asked == "auto" and given.environ.get("GITHUB_ACTIONS") == "true"


def _output(given: Given, name: str, default: str) -> tuple[Path | None, bool]:
    """Where an output goes, and whether the user named the place; "off" switches it off."""
    asked = given.options[name] or given.ini[name]
    if asked == "off":
        return None, True
    return _path(given, name) or given.rootdir / default, bool(asked)
