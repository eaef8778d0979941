"""The settings of a run as one frozen value: limits, shard, acceptance, baseline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Literal, cast

from ..errors import BadSetting
from ..experiments.canonical import digest
from ..experiments.design import Trial
from .given import Given, is_folder
from .options import OFF, OPTIONS

FILE_SUFFIX = ".json"

RecordMode = Literal["none", "missing", "all"]
Gate = Literal["absolute", "off"]
OnInconclusive = Literal["fail", "pass"]

_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")
_WORDS = ("reason", "owner", "until")
_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """Acceptance of a run's verdicts; why, who and until when where some are not CLEAR.

    ``after`` is the model whose successor the accepted one is; empty where there is none.
    """

    reason: str = ""
    owner: str = ""
    until: str = ""
    after: str = ""

    @property
    def lacking(self) -> tuple[str, ...]:
        """The missing options, without which only CLEAR can be accepted."""
        return tuple(f"--bias-accept-{name}" for name in _WORDS if not getattr(self, name))


def read_accept(given: Given, baselines: Path | None, after: str) -> Accept | None:
    """The acceptance that is requested; None where none is.

    Raises BadSetting where a text is empty, or other settings contradict it.
    """
    typed = {name: given.raw(f"accept_{name}") for name in _WORDS}
    texts = {name: " ".join(str(text).split()) for name, text in typed.items() if text is not None}
    accepts = given.is_typed("accept")
    for name, text in texts.items():
        if not text or not accepts:
            option = f"accept_{name}"
            raise given.refusal(option, "goes with --bias-accept" if text else "says nothing")
    if not accepts:
        return None
    if "until" in texts and not is_day(texts["until"]):
        raise given.refusal("accept_until", "must be a day, as YYYY-MM-DD")
    if "until" in texts and texts["until"] < given.today:
        raise given.refusal("accept_until", f"is before today, {given.today}")
    later = "what is recorded is accepted later, when it has been looked at"
    for name, clashes, why in (
        ("record", given.text("record") != "none", later),
        ("plan", given.is_typed("plan"), "a plan runs no case"),
        ("baselines", baselines is None, "there is nowhere to write to"),
    ):
        if clashes:
            raise given.refusal(name, f"does not go with --bias-accept: {why}")
    return Accept(**texts, after=after)


def is_day(text: str) -> bool:
    """True for a day as YYYY-MM-DD."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def read_old(given: Given, models: Sequence[str]) -> str | None:
    """The baseline: the path of a file that exists, or else a model; None where neither is given.

    Raises BadSetting together with other baselines, for a file that accepts, and for a model under
    test.
    """
    typed, value = given.is_typed("baseline"), given.text("baseline")
    if value in ("", OFF):
        return None
    if typed and given.is_typed("baselines") and not given.is_typed("accept"):
        raise given.refusal("baseline", "takes the place of --bias-baselines; give one of them")
    path = (given.invocation_dir if typed else given.rootdir) / value
    accepts = given.is_typed("accept")
    if accepts and path.suffix == FILE_SUFFIX:
        raise given.refusal("baseline", "name the old model with --bias-accept, not its file")
    if names_file(path):
        return str(path)
    if value in models:
        problem = "is the model under test itself; name its baseline file to compare with that"
        if accepts:
            problem = (
                "is the model under test itself, which needs none to be accepted: leave it out"
            )
        raise given.refusal("baseline", problem)
    return value


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``number``-th (from 1) of ``of`` parts of every experiment's trials.

    The part of a trial follows from the experiment and the trial alone, whatever is recorded or
    selected: shards are disjoint, each trial is in one, and the same one tomorrow.
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part(self, experiment_id: str, trials: Iterable[Trial]) -> tuple[Trial, ...]:
        """The trials that are in this shard, in their order."""
        return tuple(
            trial
            for trial in trials
            if int(digest(f"{experiment_id}\n{trial.id}"), 16) % self.of == self.number - 1
        )

    def share(self, total: int) -> int:
        """Share of a ``total``; the shares of all shards add up to it."""
        return total // self.of + (self.number <= total % self.of)


def read_shard(text: str) -> Shard:
    """Read ``K/N``; BadSetting where it is none."""
    match = _SHARD.fullmatch(text)
    shard = Shard(*map(int, match.groups())) if match else Shard(0, 0)
    if not 1 <= shard.number <= shard.of:
        problem = "must be K/N, the K-th of N shards, with K from 1 to N"
        raise BadSetting(option="--bias-shard", value=text, problem=problem)
    return shard


def _shard(given: Given) -> Shard | None:
    """The part of the trials that is recorded or planned; None for all of them."""
    if given.raw("shard") is None:
        return None
    shard = read_shard(given.text("shard"))
    if given.text("record") == "all":
        problem = (
            "does not go with --bias-record=all, which replaces a recording as a whole; record "
            "what is missing in a folder of its own (--bias-cassettes=DIR)"
        )
        raise given.refusal("shard", problem)
    if given.text("record") == "none" and not given.is_typed("plan"):
        raise given.refusal("shard", "goes with --bias-record=missing or --bias-plan")
    return shard


def names_file(path: Path) -> bool:
    """True where a baseline file is there, or a link to one that may have to be fetched."""
    try:
        return path.suffix == FILE_SUFFIX and (path.is_file() or path.is_symlink())
    except OSError:  # a name no file can have, or a folder that may not be looked into
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits a recording may not exceed.

    ``qpm`` are requests per minute and model (None: as the experiment and the roster have it).
    ``max_calls`` counts every attempt and ``budget`` is in US dollars, both over all models;
    ``cap`` names the former in messages. ``concurrency`` are calls in flight per model,
    ``timeout`` seconds per attempt.
    """

    qpm: int | None = None
    max_calls: int | None = None
    budget: float | None = None
    concurrency: int = int(OPTIONS["concurrency"].default)
    timeout: float = float(OPTIONS["timeout"].default)
    cap: str = OPTIONS["max_calls"].option


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one run; what was switched off is None (``report``, ``results``, ``baselines``).

    ``baseline`` takes the place of the models' own baselines: the path of a baseline file, or
    another model. ``today`` is the day of the run as YYYY-MM-DD, ``max_age`` the days that the
    oldest reply may have. ``job_summary`` is a file of the CI service, to which the summary is
    added. ``providers`` are those that
    plugins add, by name.
    """

    models: tuple[str, ...]
    record: RecordMode = "none"
    record_in_ci: bool = False
    shard: Shard | None = None
    design: str = "gate"
    replicates: int | None = None
    cassettes: Path
    report: Path | None
    results: Path | None
    report_asked: bool = False
    results_asked: bool = False
    typed: frozenset[str] = frozenset()
    dataset: Path | None = None
    exports: Path | None = None
    dataset_license: str = OPTIONS["dataset_license"].default
    gate: Gate = "absolute"
    inconclusive: OnInconclusive = "fail"
    roster: Path | None = None
    env_file: Path | None = None
    judge: str | None = None
    limits: Limits = field(default_factory=Limits)
    plan: bool = False
    baselines: Path | None = None
    baseline: str | None = None
    baseline_asked: bool = False
    max_age: int | None = None
    labels: Path | None = None
    accept: Accept | None = None
    summary: Path | None = None
    job_summary: Path | None = None
    alpha: float = float(OPTIONS["alpha"].default)
    experiments: int = int(OPTIONS["experiments"].default)
    today: str = ""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    providers: Mapping[str, object] = field(default_factory=dict, repr=False)


def read_settings(given: Given) -> Settings:
    """Check and combine what was given.

    Raises BadSetting when a value is outside its domain.
    """
    models = tuple(dict.fromkeys(cast("Sequence[str]", given.raw("model") or ())))
    old = read_old(given, models)
    own = ("shard", "baseline", "accept")  # not read by the table alone
    names = [each.name for each in fields(Settings) if each.name in OPTIONS.keys() - {*own}]
    read = {name: given.value(name) for name in names}
    if not _SPDX.fullmatch(read["dataset_license"]):
        example = OPTIONS["dataset_license"].default
        raise given.refusal("dataset_license", f"must be an SPDX identifier, such as {example}")
    needed = {"labels": "is no folder"}
    if given.is_typed("baselines") and not (given.is_typed("plan") or given.is_typed("accept")):
        needed["baselines"] = f"is no folder; {OFF} compares with none"
    for name, problem in needed.items():
        if read[name] is not None and not is_folder(read[name]):
            raise given.refusal(name, problem, read[name])
    for name in ("report", "results", "summary"):
        if read[name] is not None and read[name].suffix == ".py":
            raise given.refusal(
                name, "names a Python module, which is not overwritten", read[name]
            )
    named = given.environ.get("GITHUB_STEP_SUMMARY")
    job_summary = Path(named) if named and given.text("summary") != OFF else None
    accepts = given.is_typed("accept")
    limits = OPTIONS.keys() & {each.name for each in fields(Limits)}
    return Settings(
        **read,
        models=models,
        shard=_shard(given),
        report_asked=given.raw("report") is not None,
        results_asked=given.raw("results") is not None,
        typed=frozenset(filter(given.is_typed, ("report", "results", "summary"))),
        limits=Limits(**{name: given.value(name) for name in limits}),
        baseline=None if accepts else old,
        baseline_asked=given.is_typed("baseline") and not accepts,
        accept=read_accept(given, read["baselines"], (accepts and old) or ""),
        job_summary=job_summary,
        today=given.today,
        environ=given.environ,
    )
