"""The settings of a run, as one frozen value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from ..experiments.design import SCREEN
from .acceptance import Accept, read_accept
from .given import Given
from .old_model import read_old
from .options import OFF, OPTIONS

RecordMode = Literal["none", "missing", "all"]
Gate = Literal["absolute", "off"]
OnInconclusive = Literal["fail", "pass"]

_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits a recording may not exceed.

    ``qpm`` are requests per minute and model (None: what the experiment and the roster say),
    ``max_calls`` counts every attempt and ``budget`` is in US dollars, both over all models
    together. ``concurrency`` are calls in flight per model, ``timeout`` seconds per attempt.
    """

    qpm: int | None = None
    max_calls: int | None = None
    budget: float | None = None
    concurrency: int = int(OPTIONS["concurrency"].default)
    timeout: float = float(OPTIONS["timeout"].default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one run; what was switched off is None (``report``, ``results``, ``baselines``).

    ``baseline`` is what the models are held against in place of their own baselines: the path of
    a baseline file, or another model. ``today`` is the day of the run as YYYY-MM-DD: the last on
    which an acceptance that ends then holds. ``max_age`` are the days that the oldest reply may
    have, None for any. ``job_summary`` is a file of the CI service to which
    the summary is added, ``annotations`` whether it is told in its own commands what fails.
    ``providers`` are those that plugins add, by name.
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
    dataset_license: str = OPTIONS["dataset_license"].default
    gate: Gate = "absolute"
    inconclusive: OnInconclusive = "fail"
    simulated_url: str | None = None
    simulated_wire: str = OPTIONS["simulated_wire"].default
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
    providers: Mapping[str, object] = field(default_factory=dict, repr=False)


def read_settings(given: Given) -> Settings:
    """Check and combine what was given.

    Raises
    ------
    BadSetting
        When a value is outside its domain.
    """
    models = tuple(cast("Sequence[str]", given.raw("model") or ()))
    if len(set(models)) != len(models):
        raise given.refusal("model", "names one twice", " ".join(models))
    design = given.text("design")
    old = read_old(given, models)
    if design == SCREEN and old is not None:
        problem = "does not go with --bias-design=screen: a screen compares nothing"
        raise given.refusal("baseline", problem, old)
    cassettes, baselines = given.path("cassettes"), given.path("baselines")
    assert cassettes is not None  # noqa: S101  (they cannot be switched off)
    licence, labels = given.text("dataset_license"), given.path("labels")
    if not _SPDX.fullmatch(licence):
        example = OPTIONS["dataset_license"].default
        raise given.refusal("dataset_license", f"must be an SPDX identifier, such as {example}")
    if labels is not None and not labels.is_dir():
        raise given.refusal("labels", "is no folder", labels)
    job = given.environ.get("GITHUB_STEP_SUMMARY")
    on_github = given.environ.get("GITHUB_ACTIONS") == "true"
    return Settings(
        models=models,
        record=cast("RecordMode", given.choice("record")),
        record_in_ci=given.is_typed("record_in_ci"),
        design=design,
        replicates=given.whole("replicates"),
        cassettes=cassettes,
        report=given.path("report"),
        results=given.path("results"),
        report_asked=given.raw("report") is not None,
        results_asked=given.raw("results") is not None,
        dataset=given.path("dataset"),
        exports=given.path("exports"),
        dataset_license=licence,
        gate=cast("Gate", given.choice("gate")),
        inconclusive=cast("OnInconclusive", given.choice("inconclusive")),
        simulated_url=given.text("simulated_url") or None,
        simulated_wire=given.text("simulated_wire"),
        roster=given.path("roster"),
        env_file=given.path("env_file"),
        judge=given.text("judge") or None,
        limits=Limits(
            qpm=given.whole("qpm"),
            max_calls=given.whole("max_calls"),
            budget=given.number("budget"),
            concurrency=cast("int", given.whole("concurrency")),
            timeout=cast("float", given.number("timeout")),
        ),
        order_seed=cast("int", given.whole("order_seed")),
        plan=given.is_typed("plan") or given.is_typed("plan_json"),
        plan_json=given.path("plan_json"),
        baselines=baselines,
        baseline=old,
        max_age=given.whole("max_age"),
        labels=labels,
        accept=read_accept(given, baselines),
        summary=given.path("summary"),
        job_summary=Path(job) if job and given.text("summary") != OFF else None,
        annotations=given.choice("annotations") == "auto" and on_github,
        today=given.today,
        environ=given.environ,
    )
