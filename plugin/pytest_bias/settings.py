"""What the user decided: options, then the environment, then ini, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from .errors import BadSetting

RecordMode = Literal["none", "missing", "all"]
Gate = Literal["absolute", "off"]
OnInconclusive = Literal["fail", "pass"]

DEFAULT_REPORT = "bias-report.html"
DEFAULT_RESULTS = "bias-results.json"
DEFAULT_CASSETTES = "cassettes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one run; ``report`` and ``results`` are None when switched off."""

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
    gate: Gate = "absolute"
    inconclusive: OnInconclusive = "fail"
    simulated_url: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Raw values: ``options`` of the command line (None where not given), ``ini`` of files."""

    options: Mapping[str, object]
    ini: Mapping[str, object]
    environ: Mapping[str, str] = field(repr=False)
    rootdir: Path
    invocation_dir: Path


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
        replicates=_replicates(given),
        cassettes=_path(given, "cassettes") or given.rootdir / DEFAULT_CASSETTES,
        report=report,
        results=results,
        report_asked=report_asked,
        results_asked=results_asked,
        gate=cast("Gate", _choice(given, "gate", get_args(Gate))),
        inconclusive=cast(
            "OnInconclusive", _choice(given, "inconclusive", get_args(OnInconclusive))
        ),
        simulated_url=str(given.ini["simulated_url"] or "") or None,
        environ=given.environ,
    )


def _choice(given: Given, name: str, allowed: Sequence[str]) -> str:
    value = str(given.options.get(name) or given.ini[name] or allowed[0])
    if value not in allowed:
        raise BadSetting(
            option=f"bias_{name}", value=value, problem=f"must be one of {', '.join(allowed)}"
        )
    return value


def _replicates(given: Given) -> int | None:
    value = given.options["replicates"] or given.ini["replicates"]
    if not value:
        return None
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise BadSetting(
            option="--bias-replicates", value=value, problem="must be a whole number from 1 up"
        )
    return number


def _path(given: Given, name: str) -> Path | None:
    if given.options[name]:
        return given.invocation_dir / str(given.options[name])
    if given.ini[name]:
        return given.rootdir / str(given.ini[name])
    return None


def _output(given: Given, name: str, default: str) -> tuple[Path | None, bool]:
    """Where an output goes, and whether the user named the place; "off" switches it off."""
    asked = given.options[name] or given.ini[name]
    if asked == "off":
        return None, True
    return _path(given, name) or given.rootdir / default, bool(asked)
