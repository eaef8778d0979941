"""What the user decided: options, then the environment, then ini, as one frozen value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal, cast, get_args

from .errors import BadSetting

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
class Accept:
    """That this run accepts its verdicts; why, who and until when where some are not CLEAR."""

    reason: str = ""
    owner: str = ""
    until: str = ""

    @property
    def lacking(self) -> tuple[str, ...]:
        """The options without which nothing but CLEAR can be accepted, and that are not given."""
        given = {"reason": self.reason, "owner": self.owner, "until": self.until}
        return tuple(f"--bias-accept-{name}" for name, value in given.items() if not value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one run; what was switched off is None (``report``, ``results``, ``baselines``).

    ``today`` is the day of the run as YYYY-MM-DD: the last on which an acceptance that ends then
    holds.
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
    labels: Path | None = None
    accept: Accept | None = None
    today: str = ""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Raw values: ``options`` of the command line (None where not given), ``ini`` of files."""

    options: Mapping[str, object]
    ini: Mapping[str, object]
    environ: Mapping[str, str] = field(repr=False)
    rootdir: Path
    invocation_dir: Path
    today: str = ""


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
    return Settings(
        models=tuple(models),
        record=cast("RecordMode", _choice(given, "record", get_args(RecordMode))),
        record_in_ci=bool(given.options["record_in_ci"]),
        design=str(given.options["design"] or given.ini["design"] or "gate"),
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
        labels=_labels(given),
        accept=_accept(given),
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


def _accept(given: Given) -> Accept | None:
    """What is to be accepted and in what words; BadSetting where that cannot be."""
    words = {name: given.options.get(f"accept_{name}") for name in ("reason", "owner", "until")}
    told = {name: " ".join(str(word).split()) for name, word in words.items() if word is not None}
    for name, word in told.items():
        option = f"--bias-accept-{name}"
        if not word:
            raise BadSetting(option=option, value=words[name], problem="says nothing")
        if not given.options.get("accept"):
            raise BadSetting(option=option, value=word, problem="goes with --bias-accept")
    if not given.options.get("accept"):
        return None
    if (until := told.get("until")) is not None:
        _check_day(until, given.today)
    record = given.options.get("record") or given.ini.get("record") or "none"
    for name, value, why in (
        ("record", record, "what is recorded is accepted later, when it has been looked at"),
        (
            "plan",
            given.options.get("plan") or given.options.get("plan_json"),
            "a plan runs no case",
        ),
        ("baselines", _baselines(given) is None and "off", "there is nowhere to write to"),
    ):
        if value and value != "none":
            problem = f"does not go with --bias-accept: {why}"
            raise BadSetting(option=f"--bias-{name}", value=value, problem=problem)
    return Accept(**told)


def _check_day(until: str, today: str) -> None:
    """Refuse an end that is no day, or is over."""
    problem = f"is before today, {today}" if until < today else ""
    try:
        date.fromisoformat(until if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", until) else "")
    except ValueError:
        problem = "must be a day, as YYYY-MM-DD"
    if problem:
        raise BadSetting(option="--bias-accept-until", value=until, problem=problem)


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


def _output(given: Given, name: str, default: str) -> tuple[Path | None, bool]:
    """Where an output goes, and whether the user named the place; "off" switches it off."""
    asked = given.options[name] or given.ini[name]
    if asked == "off":
        return None, True
    return _path(given, name) or given.rootdir / default, bool(asked)
