"""Casting: from model names, the judge setting and the roster to the roles of a trial."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from ..errors import BadSetting, UnknownName
from ..experiments.experiment import Experiment, ModelRoles
from ..experiments.messages import ModelRole
from ..experiments.replay import JUDGE
from ..settings.model_entry import ModelEntry
from ..settings.roster import LOCAL, PUBLISHED, TABLE, Roster, is_tabled, is_unpinned
from ..settings.settings import Settings
from .base import check_added, is_simulated, split_model
from .simulated import JUDGES, MODELS, PROGRAMS, judge_of_simulated

SAME = "same"
"""Setting of the judge under which every subject grades its own replies."""

SIMULATED_JUDGE = f"simulated/{JUDGE}"
"""Who grades simulated subjects but ``messy``: a program that does nothing else."""


def roles_of(
    experiment: Experiment, subject: str, settings: Settings, roster: Roster
) -> ModelRoles:
    """The models of a trial of ``experiment`` with ``subject``.

    Raises BadSetting when the experiment needs a judge and none is named, or one whose
    name may come to mean another model while verdicts gate.
    """
    entry = roster.entry(subject)
    roles = ModelRoles(
        subject,
        subject_defaults=roster.defaults(subject),
        subject_system=entry.system,
        lenient=_lenient(subject=entry),
    )
    if experiment.judge is None:
        return roles
    judge = judge_of(subject, settings.judge, roster)
    named = settings.judge is not None
    _check_pinned(judge, settings, roster, "--bias-judge" if named else "[judges] of the roster")
    graded = roster.entry(judge)
    lenient = _lenient(subject=entry, judge=graded)
    return replace(roles, judge=judge, judge_defaults=roster.defaults(judge), lenient=lenient)


def _lenient(**entries: ModelEntry) -> frozenset[ModelRole]:
    """The roles whose replies the roster has read leniently."""
    return frozenset(
        cast("ModelRole", who) for who, entry in entries.items() if entry.replies == "lenient"
    )


def judge_of(subject: str, setting: str | None, roster: Roster) -> str:
    """The model that grades ``subject``: the one named, or else the roster's first other one.

    Of a simulated subject it is a program of its own, whatever the roster says.
    """
    if setting == SAME:
        return subject
    if setting is not None:
        return setting
    if is_simulated(subject):
        return judge_of_simulated(subject.partition("/")[2])
    judge = roster.judge_of(subject)
    if judge is None:
        problem = (
            f"the replies of {subject} are graded by a model, and no other one is named; give "
            "PROVIDER/MODEL here or in order under [judges] of the roster, or say same"
        )
        raise BadSetting(option="--bias-judge", value=None, problem=problem)
    return judge


def check_models(settings: Settings, roster: Roster, models: Iterable[str]) -> None:
    """Refuse names of no provider or subject, and, where verdicts gate, names that may change.

    Raises BadSetting or UnknownName for the first name that will not do.
    """
    check_added(settings.providers)
    own = {*roster.endpoints, *settings.providers}
    for model in models:
        split_model(model, {*own, PUBLISHED, TABLE})
        if is_simulated(model) and model.partition("/")[2] in JUDGES:
            problem = (
                "this program grades simulated subjects and is none; test one of "
                f"{', '.join(f'simulated/{subject}' for subject in MODELS)}"
            )
            raise BadSetting(option="--bias-model", value=model, problem=problem)
        _check_exists(model, MODELS, roster)
        if not is_tabled(model):  # what was recorded does not change under its name
            _check_pinned(model, settings, roster, "--bias-model")
    if settings.judge not in (None, SAME):
        try:
            split_model(settings.judge, own)
            _check_exists(settings.judge, PROGRAMS, roster)
        except BadSetting as error:
            raise BadSetting(
                option="--bias-judge", value=settings.judge, problem=error.problem
            ) from None
        _check_pinned(settings.judge, settings, roster, "--bias-judge")


def _check_exists(model: str, programs: Iterable[str], roster: Roster) -> None:
    """Refuse a simulated subject that is none of ``programs``, and an unknown local model."""
    provider, _, name = model.partition("/")
    if is_simulated(model) and name not in programs:
        names = [f"simulated/{each}" for each in programs]
        raise UnknownName(kind="simulated subject", name=model, known=names)
    if provider == LOCAL and name not in roster.local:
        hint = f"a GGUF file, or a package with one, is named in the roster, as [local.{name}]"
        raise UnknownName(kind="local model", name=name, known=roster.local, hint=hint)


def _check_pinned(model: str, settings: Settings, roster: Roster, option: str) -> None:
    """Refuse a name that may mean another model tomorrow, where verdicts gate."""
    if settings.gate != "off" and is_unpinned(model, roster.entry(model)):
        problem = (
            "this name may mean another model tomorrow, so no verdict can be compared with it; "
            "name a dated version, or report without a gate (--bias-gate=off)"
        )
        raise BadSetting(option=option, value=model, problem=problem)
