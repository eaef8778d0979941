"""``pytest-bias list`` and ``show``: what a project's experiments ask, and with what power.

Nothing is called and no recording is read: what is said of calls and power holds before any reply.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadSetting, BiasError, UnknownName
from ..experiments.canonical import plain
from ..experiments.design import SCREEN, Design, trials_of
from ..experiments.experiment import GATE, Players, plan
from ..experiments.replay import JUDGE, SUBJECT, Walk, new_messages, simulated_reply
from ..recording.estimate import Estimator
from ..report.plan_text import SIGNS, prospects_words, wrapped
from ..settings.budget import read_budget
from ..verdicts.analysis import gating_families
from ..workbench.configuration import configured
from ..workbench.plans import prospects_of
from ..workbench.suite import declared_for, registry_of, suite_modules
from . import tell, tell_json

if TYPE_CHECKING:
    from ..contrasts.cases import Registered, Registry
    from ..contrasts.power import Prospect
    from ..experiments.design import Condition, Trial
    from ..experiments.experiment import Experiment

_PLAYERS = Players(f"simulated/{SUBJECT}", f"simulated/{JUDGE}")
_SOURCE = 60
_LISTED, _FIRST = 12, 4
_HEADINGS = ("experiment", "trials", "calls", "of a judge", "gating", "described", "source")


def _list(given: argparse.Namespace) -> int:
    found = [_summary(entry) for entry in _registry(given.suite)]
    if given.json:
        tell_json(plain(found))
        return 0
    rows = [_HEADINGS]
    for each in found:
        calls = each["calls"]
        sign = SIGNS[calls["mark"]]
        counts = (each["trials"], each["gating"], each["described"])
        source = textwrap.shorten(each["source"] or each["name"], _SOURCE, placeholder=" …")
        asked = [f"{sign if calls[who] else ''}{calls[who]:,}" for who in ("subject", "judge")]
        trials, *claims = (f"{count:,}" for count in counts)
        rows.append((each["id"], trials, *asked, *claims, source))
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEADINGS))]
    for name, *figures, source in rows:
        columns = "  ".join(map(str.rjust, figures, widths[1:-1]))
        tell(f"{name:{widths[0]}}  {columns}  {source}")
    return 0


def _show(given: argparse.Namespace) -> int:
    registry, ids = declared_for([given.experiment], given.suite)
    if len(ids) > 1:
        problem = f"declares several experiments; name one: {', '.join(sorted(ids))}"
        raise BadSetting(option="EXPERIMENT", value=given.experiment, problem=problem)
    entry = registry[ids[0]]
    trial = _trial(entry.experiment, given.condition or (), given.item)
    found = {**_summary(entry), **_declared(entry), "prompts": _prompts(entry.experiment, trial)}
    if given.json:
        tell_json(plain(found))
        return 0
    for line in _page(found):
        tell(line)
    return 0


def _registry(suite: str) -> Registry:
    """The declarations of a suite; BadSetting for one that declares nothing."""
    registry = registry_of(suite_modules(suite))
    if not [*registry]:
        problem = "it declares no hypothesis; pytest-bias init or new puts experiments there"
        raise BadSetting(option="--suite", value=suite, problem=problem)
    return registry


def _summary(entry: Registered) -> dict[str, Any]:
    """The line of the list that is about an experiment."""
    experiment, design = entry.experiment, entry.experiment.design()
    trials = plan(experiment, design)
    estimator = Estimator(experiment, Path(), lambda _: _PLAYERS)
    estimate, use = estimator.rehearsed(trials, _PLAYERS)
    subject, judge = (each.times(len(trials)).whole() for each in (use.subject, use.judge))
    claims = [hypothesis.claim for hypothesis in entry.hypotheses.values()]
    described = claims.count("describe")
    return {
        "id": experiment.id,
        "name": experiment.name,
        "source": experiment.source,
        "module": entry.module,
        "trials": len(trials),
        "calls": {
            "subject": int(subject.calls),
            "judge": int(judge.calls),
            "mark": estimate.mark,
        },
        "gating": len(claims) - described,
        "described": described,
    }


def _declared(entry: Registered) -> dict[str, Any]:
    """All that is declared, and the power of the gate design.

    Raises BadSetting where the error budget does not provide for it.
    """
    experiment, design = entry.experiment, entry.experiment.design()
    alarms, prospects = _power_of(entry, design)
    items = experiment.items
    sizes = (design, experiment.design(SCREEN), *experiment.designs.values())
    return {
        "factors": [
            {
                **_fields(each, "name", "unit"),
                "levels": [*each.levels],
                "controls": [*each.controls],
                "exemplars": {level: len(names) for level, names in each.exemplars.items()},
            }
            for each in experiment.factors
        ],
        "items": items
        and {"name": items.name, "levels": [*items.items], "controls": [*items.controls]},
        "conditions": [condition.id for condition in experiment.conditions_of(design)],
        "designs": {
            each.name: {"trials": len(plan(experiment, each)), **_fields(each, "replicates")}
            for each in sizes
        },
        "measures": [
            {**_fields(each, "name", "meaning", "unit", "bounds"), "categories": each.listed}
            for each in experiment.measures
        ],
        "controls": [
            {
                **_fields(each, "id", "licenses", "unseen"),
                "title": getattr(each.contrast, "title", ""),
            }
            for each in entry.controls.values()
        ],
        "alarms": alarms,
        "hypotheses": [
            {
                **_fields(
                    entry.hypotheses[each.hypothesis], "title", "family", "scope", "measure"
                ),
                "power": each,
            }
            for each in prospects
        ],
    }


def _power_of(entry: Registered, design: Design) -> tuple[float, tuple[Prospect, ...]]:
    """The false alarms an experiment may raise, and what a design gives each hypothesis."""
    families = gating_families(entry.hypotheses.values())
    allocation = read_budget(configured().error_budget).of(entry.experiment.id, families)
    return allocation.alpha, prospects_of(entry, design, allocation, {})


def _power(given: argparse.Namespace) -> int:
    """Say the power of each experiment in the sizes that are asked for."""
    registry, ids = declared_for(given.experiments, given.suite)
    rows: list[dict[str, Any]] = []
    for id_ in ids:
        entry = registry[id_]
        for size in given.replicates or [None]:
            design = entry.experiment.design(given.design or GATE, size)
            trials, (alarms, prospects) = plan(entry.experiment, design), _power_of(entry, design)
            of = {"experiment": id_, "design": design.name, "replicates": design.replicates}
            rows.append({**of, "trials": len(trials), "alarms": alarms, "power": prospects})
    if given.json:
        tell_json(plain(rows))
        return 0
    for row in rows:
        size = f"{row['design']} design: {row['trials']:,} trials"
        tell(f"{row['experiment']} ({size}; false alarms: at most {row['alarms']:.3g} over all)")
        for words in prospects_words(row["power"]):
            tell("\n".join(wrapped(words, "  ")))
    return 0


def _fields(thing: object, *names: str) -> dict[str, Any]:
    """Some attributes of what may be of the user's own kind, None where it has them not."""
    return {name: getattr(thing, name, None) for name in names}


def _trial(experiment: Experiment, asked: Sequence[str], item: str | None) -> Trial:
    """The first trial of the condition, and of the item, that are asked for.

    Raises UnknownName for what the experiment has not; BadSetting for what is never put together.
    """
    condition = _condition(experiment, asked)
    once = Design(1, controls=1)
    found = trials_of(condition, experiment.factors, experiment.items, once)
    if item is None:
        return next(found)
    if experiment.items is None:
        raise BadSetting(option="--item", value=item, problem=f"{experiment.id} has no items")
    known = (*experiment.items.items, *experiment.items.controls)
    if item not in known:
        raise UnknownName(kind=f"item of {experiment.id}", name=item, known=known)
    for trial in found:
        if trial.item == item:
            return trial
    problem = f"condition {condition.id} is a control's, and has the first item alone"
    raise BadSetting(option="--item", value=item, problem=problem)


def _condition(experiment: Experiment, asked: Sequence[str]) -> Condition:
    """The first condition with an id, or with all levels that are asked for."""
    conditions = (*experiment.conditions, *experiment.control_conditions)
    if len(asked) == 1 and "=" not in asked[0]:
        known = {condition.id: condition for condition in conditions}
        if asked[0] not in known:
            kind = f"condition of {experiment.id}"
            raise UnknownName(kind=kind, name=asked[0], known=known)
        return known[asked[0]]
    wanted: dict[str, str] = {}
    for text in asked:
        name, is_level, level = text.partition("=")
        if not is_level:
            problem = "write one id of a condition, or FACTOR=LEVEL for each factor that matters"
            raise BadSetting(option="--condition", value=text, problem=problem)
        levels = (*experiment.factor(name).levels, *experiment.factor(name).controls)
        if level not in levels:
            raise UnknownName(kind=f"level of {name}", name=level, known=levels)
        wanted[name] = level
    for condition in conditions:
        if wanted.items() <= condition.levels.items():
            return condition
    problem = "no condition has all of these: a control level is met with first levels alone"
    raise BadSetting(option="--condition", value=" ".join(asked), problem=problem)


def _prompts(experiment: Experiment, trial: Trial) -> dict[str, Any]:
    """All that is put before subject and judge in a trial, as far as a simulated subject answers.

    What the author's own code raises is a BadSetting here.
    """
    walk = Walk(experiment, _PLAYERS, trial, lambda wanted: simulated_reply(experiment, wanted))
    if isinstance(walk.error, BiasError):
        raise walk.error
    if walk.error is not None:
        problem = f"its protocol fails with {type(walk.error).__name__}: {walk.error}"
        raise BadSetting(option="EXPERIMENT", value=experiment.id, problem=problem) from walk.error
    replies = {wanted.key: completion.text for wanted, completion in walk.answered}
    asked = []
    for wanted in walk.asked:
        told = [_fields(each, "role", "text") for each in new_messages(wanted.request)]
        reply = replies.get(wanted.key)
        asked.append({"to": wanted.request.to, "told": told, "simulated_reply": reply})
    return {"trial": trial.id, "asked": asked}


def _page(found: Mapping[str, Any]) -> Iterator[str]:
    """An experiment in lines."""
    yield f"{found['id']}: {found['name']}"
    if found["source"]:
        yield from wrapped(f"source: {found['source']}", "  ")
    yield from ("", "design")
    for about in _design(found):
        yield from wrapped(about, "  ")
    yield from ("", f"prompts of trial {found['prompts']['trial']}")
    yield from _conversation(found["prompts"]["asked"])
    yield from ("", "measures")
    for measure in found["measures"]:
        bounds, categories = measure["bounds"], measure["categories"]
        domain = [f"{bounds[0]:g} to {bounds[1]:g}"] if bounds else []
        domain += [_some(categories)] * bool(categories) + [measure["unit"]]
        said = " ".join(filter(None, domain))
        meaning = f": {measure['meaning']}" if measure["meaning"] else ""
        yield from wrapped(f"{measure['name']}{meaning}{f' ({said})' if said else ''}", "  ")
    yield from ("", "positive controls, without which nothing on their measures is CLEAR")
    for control in found["controls"]:
        unseen = f" Unseen: {control['unseen']}." if control["unseen"] else ""
        about = (
            f"{control['id']}, for {', '.join(control['licenses'])}: {control['title']}{unseen}"
        )
        yield from wrapped(about, "  ")
    yield from ("", f"hypotheses (false alarms: at most {found['alarms']:.3g} over all that gate)")
    asserted: dict[str, list[Prospect]] = {}
    for hypothesis in found["hypotheses"]:
        asserted.setdefault(hypothesis["title"] or "", []).append(hypothesis["power"])
    for title, prospects in asserted.items():
        yield from wrapped(title, "  ")
        for words in prospects_words(prospects):
            yield from wrapped(words, "      ")


def _design(found: Mapping[str, Any]) -> Iterator[str]:
    """The factors, items and sizes, a line each."""
    for each in (*found["factors"], *filter(None, [found["items"]])):
        unit = f" ({each['unit']})" if each.get("unit") else ""
        sampled = each.get("exemplars")
        levels = [f"{n} ({sampled[n]} exemplars)" if sampled else n for n in each["levels"]]
        controls = f"; for controls {_some(each['controls'])}" if each["controls"] else ""
        yield f"{each['name']}{unit}: {_some(levels)}{controls}"
    yield f"conditions: {_some(found['conditions'])}"
    for name, size in found["designs"].items():
        yield f"{name}: {size['trials']:,} trials, replicates: {size['replicates']:,}"
    calls = found["calls"]
    judged = f", and {SIGNS[calls['mark']]}{calls['judge']:,} of a judge" if calls["judge"] else ""
    yield f"calls of the gate design: {SIGNS[calls['mark']]}{calls['subject']:,}{judged}"


def _conversation(asked: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for number, each in enumerate(asked, 1):
        for message in each["told"]:
            yield f"  {number}, to the {each['to']} ({message['role']}):"
            yield textwrap.indent(message["text"], "    ")
        reply = each["simulated_reply"]
        if reply is None:
            yield "  no simulated subject answers: what is asked next depends on the reply"
        else:
            yield from ("  a simulated reply:", textwrap.indent(reply, "    "))


def _some(labels: Sequence[str]) -> str:
    """Labels, of many the first and their number."""
    if len(labels) <= _LISTED:
        return ", ".join(labels)
    return f"{', '.join(labels[:_FIRST])}, … ({len(labels):,})"
