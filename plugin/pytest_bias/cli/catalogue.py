"""``pytest-bias list``: experiments with their sizes, prompts and hypotheses."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import BadSetting, BiasError, UnknownName
from ..experiments.design import Design
from ..experiments.experiment import ModelRoles, plan
from ..experiments.replay import JUDGE, SUBJECT, Walk, new_messages, simulated_reply
from ..recording.estimate import rehearsed_use, whole_calls
from ..report.recording_text import SIGNS, wrapped
from ..workbench.suite import declared_for
from . import tell, tell_json

if TYPE_CHECKING:
    from ..contrasts.cases import Registered
    from ..experiments.experiment import Experiment

_PLAYERS = ModelRoles(f"simulated/{SUBJECT}", f"simulated/{JUDGE}")
_SOURCE = 60
_LISTED, _FIRST = 12, 4
_HEADINGS = ("experiment", "trials", "calls", "of a judge", "gating", "described", "source")


def _list(given: argparse.Namespace) -> int:
    registry, ids = declared_for(given.experiments, given.suite)
    if not ids:
        problem = "it declares no hypothesis; pytest-bias init or new puts experiments there"
        raise BadSetting(option="--suite", value=given.suite, problem=problem)
    rows = [_summary(registry[id_]) for id_ in ids]
    if given.json:
        tell_json(rows)
    elif len(ids) == 1 and given.experiments:
        for line in _page(registry[ids[0]], rows[0]["calls"], given.trial):
            tell(line)
    elif given.trial:
        problem = f"name one experiment that has it: {', '.join(sorted(ids))}"
        raise BadSetting(option="--trial", value=given.trial, problem=problem)
    else:
        _tell_table(rows)
    return 0


def _summary(entry: Registered) -> dict[str, Any]:
    experiment = entry.experiment
    trials = plan(experiment, experiment.design())
    estimate, use = rehearsed_use(experiment, trials, _PLAYERS)
    subject, judge = whole_calls(use * len(trials))
    claims = [hypothesis.claim for hypothesis in entry.hypotheses.values()]
    described = claims.count("describe")
    return {
        "id": experiment.id,
        "name": experiment.name,
        "source": experiment.source,
        "module": entry.module,
        "trials": len(trials),
        "calls": {"subject": subject.calls, "judge": judge.calls, "mark": estimate.mark},
        "gating": len(claims) - described,
        "described": described,
    }


def _tell_table(rows: Sequence[Mapping[str, Any]]) -> None:
    table = [_HEADINGS]
    for each in rows:
        calls = each["calls"]
        sign = SIGNS[calls["mark"]]
        numbers = (f"{each[name]:,}" for name in ("trials", "gating", "described"))
        source = textwrap.shorten(each["source"] or each["name"], _SOURCE, placeholder=" …")
        of = [f"{sign if calls[who] else ''}{calls[who]:,}" for who in ("subject", "judge")]
        trials, gating, described = numbers
        table.append((each["id"], trials, *of, gating, described, source))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *figures, source in table:
        columns = "  ".join(map(str.rjust, figures, widths[1:-1]))
        tell(f"{name:{widths[0]}}  {columns}  {source}")


def _page(entry: Registered, calls: Mapping[str, Any], trial: str) -> Iterator[str]:
    """An experiment as it is declared, and the prompts of a trial."""
    experiment = entry.experiment
    conversation = [*_conversation(experiment, trial)]
    yield f"{experiment.id}: {experiment.name}"
    if experiment.source:
        yield from wrapped(f"source: {experiment.source}", "  ")
    yield from ("", "design")
    for line in _design(experiment, calls):
        yield from wrapped(line, "  ")
    yield from ("", *conversation, "", "measures")
    for measure in experiment.measures:
        domain = [f"{measure.bounds[0]:g} to {measure.bounds[1]:g}"] if measure.bounds else []
        domain += [_some(measure.listed)] * bool(measure.listed) + [measure.unit]
        meaning = f": {measure.meaning}" if measure.meaning else ""
        values = f" ({' '.join(filter(None, domain))})" if any(domain) else ""
        yield from wrapped(f"{measure.name}{meaning}{values}", "  ")
    yield from ("", "positive controls, without which nothing on their measures is CLEAR")
    for control in entry.controls.values():
        unseen = f" Unseen: {control.if_not_seen}." if control.if_not_seen else ""
        about = f"{control.id}, for {', '.join(control.licenses)}: "
        yield from wrapped(f"{about}{control.contrast.title}{unseen}", "  ")
    yield from ("", "hypotheses")
    for each in entry.hypotheses.values():
        margin = "" if each.margin is None else f", margin {each.margin:g}"
        why = f" Why that margin: {each.why}" if each.why else ""
        yield from wrapped(f"{each.id} (claim {each.claim}{margin}): {each.title}{why}", "  ")


def _design(experiment: Experiment, calls: Mapping[str, Any]) -> Iterator[str]:
    """The factors, items and sizes, a line each."""
    for factor in experiment.factors:
        unit = f" ({factor.unit})" if factor.unit else ""
        counts = {level: len(names) for level, names in factor.exemplars.items()}
        levels = [f"{n} ({counts[n]} exemplars)" if n in counts else n for n in factor.levels]
        yield f"{factor.name}{unit}: {_some(levels)}{_controls(factor.controls)}"
    if (items := experiment.items) is not None:
        yield f"{items.name}: {_some([*items.items])}{_controls(items.controls)}"
    gate = experiment.design()
    yield f"conditions: {_some([each.id for each in experiment.conditions_of(gate)])}"
    for each in (gate, *experiment.designs.values()):
        trials = len(plan(experiment, each))
        yield f"{each.name}: {trials:,} trials, replicates: {each.replicates:,}"
    sign = SIGNS[calls["mark"]]
    judged = f", and {sign}{calls['judge']:,} of a judge" if calls["judge"] else ""
    yield f"calls of the gate design: {sign}{calls['subject']:,}{judged}"


def _controls(levels: Iterable[str]) -> str:
    return f"; for controls {_some([*levels])}" if levels else ""


def _some(labels: Sequence[str]) -> str:
    """Labels, of many the first and their number."""
    if len(labels) <= _LISTED:
        return ", ".join(labels)
    return f"{', '.join(labels[:_FIRST])}, … ({len(labels):,})"


def _conversation(experiment: Experiment, text: str) -> Iterator[str]:
    """The prompts of the first trial with ``text`` in its id, as far as a simulated subject goes.

    Raises UnknownName where no trial has it, and BadSetting for what the author's own code raises.
    """
    trials = plan(experiment, Design(1, controls=1))
    trial = next((each for each in trials if text in each.id), None)
    if trial is None:
        known = [each.id for each in (*experiment.conditions, *experiment.control_conditions)]
        raise UnknownName(kind=f"trial of {experiment.id}", name=text, known=known)
    walk = Walk(experiment, _PLAYERS, trial, lambda wanted: simulated_reply(experiment, wanted))
    if isinstance(walk.error, BiasError):
        raise walk.error
    if walk.error is not None:
        problem = f"its protocol fails with {type(walk.error).__name__}: {walk.error}"
        raise BadSetting(option="EXPERIMENT", value=experiment.id, problem=problem) from walk.error
    replies = {wanted.key: completion.text for wanted, completion in walk.answered}
    yield f"prompts of trial {trial.id}"
    for number, wanted in enumerate(walk.requests, 1):
        for message in new_messages(wanted.request):
            yield f"  {number}, to the {wanted.request.to} ({message.role}):"
            yield textwrap.indent(message.text, "    ")
        if wanted.key in replies:
            yield from ("  a simulated reply:", textwrap.indent(replies[wanted.key], "    "))
        else:
            yield "  no simulated subject answers: what is asked next depends on the reply"
