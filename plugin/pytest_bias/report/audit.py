"""The record of one model's bias tests, to file: data, Markdown, and a fragment of a model card.

It is made from the view of a run and from what the processes that read the recordings left of each
experiment (:func:`part_of`). It is dated by its recordings: no clock, no path, no effect of order.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from ..contrasts.declared import Hypothesis
from ..contrasts.impact import impacts_of
from ..experiments.canonical import digest, dumps, plain
from ..experiments.experiment import Experiment
from ..experiments.records import Outcome, Record, Records
from ..settings.model_names import file_stem
from ..verdicts.analysis import Analysis, without_controls
from ..verdicts.verdict import Verdict, possible
from .jinja import rendered
from .numbers import most_recorded
from .results import results_text
from .view import RunView, simulated_words

FORMAT = 1

NOTICE = (
    "It is not an independent audit, and not the bias audit that New York City's Local Law 144 "
    "requires (6 RCNY § 5-300): its data are the stimuli of experiments, and nobody independent "
    "has looked at them."
)
RECORDED = "This is a record of bias tests, made by who ran them."
REHEARSED = "This is a rehearsal, made by who ran it."
RecordPart = Mapping[str, Any]

_RECORDING = (
    *("cassette", "checksum", "interactions", "interrupted", "retention", "wire"),
    *("recorded_with", "served", "undated", "published"),
)
_FINDING = (
    *("quantity", "contrast", "measure", "unit", "scale", "target", "scope", "margin"),
    *("estimate", "interval", "p_alarm", "p_clear", "method", "units", "replies", "missing"),
    "as_read",
)
_VERDICT = ("id", "title", "claim", "status", "label", "words", "reason", "p_adjusted", "why")
_RUN = ("partial", "problems", "broken", "lost", "failures", "leniencies", "stale")
_CONTROL = ("id", "asked", "seen", "reason", "licenses")
_ACCEPTED = ("experiment", "id", "status", "reason", "owner", "until")


def part_of(
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    rows: tuple[Record, ...],
    hypotheses: Iterable[Hypothesis],
    *,
    declared: Mapping[str, Mapping[str, object]],
    documents: Mapping[str, str],
    cassette_sha256: str,
) -> RecordPart:
    """What a record says of an experiment beside its analysis, as JSON.

    ``rows`` are those of ``outcomes``. ``declared`` has the fingerprint of every hypothesis,
    ``documents`` the SHA-256 of what was written before any model was asked, by name. Of prompts
    whose text is not kept there are digests alone.
    """
    hypotheses = tuple(hypotheses)
    records = without_controls(experiment, Records(rows, lean=True))
    prompts: dict[str, object] = {}
    for outcome in outcomes:
        if outcome.prompts and outcome.trial.condition.id not in prompts:
            texts = outcome.values is None
            prompts[outcome.trial.condition.id] = {
                "trial": outcome.trial.id,
                "sha256": [digest(p) if texts else p for p in outcome.prompts],
                "text": list(outcome.prompts) if texts else None,
            }
    dates = sorted(at for each in outcomes for o in each.origins if (at := o.at))
    items = experiment.items
    first = next(iter(declared.values()), {})
    told = [first.get(name) for name in ("factors", "items", "design", "subject", "judge")]
    whys = [(each.id, getattr(each, "title", ""), getattr(each, "why", "")) for each in hypotheses]
    value = {
        "design": {
            "factors": {each.name: [*each.levels, *each.controls] for each in experiment.factors},
            "items": [] if items is None else [*items.items, *items.controls],
            "sha256": digest(dumps(told, "design")),
        },
        "preregistration": {
            "documents": documents,
            "hypotheses_sha256": digest(dumps([declared, whys], "hypotheses")),
        },
        "families": {each.id: each.family for each in hypotheses},
        "impact_ratios": plain(impacts_of(experiment, records), "impact"),
        "prompts": prompts,
        "recorded": {"oldest": dates[0], "newest": dates[-1]} if dates else None,
        "cassette_sha256": cassette_sha256,
    }
    found: RecordPart = json.loads(json.dumps(value))
    return found


def audit_record(
    view: RunView,
    model: str,
    parts: Mapping[tuple[str, str], RecordPart],
    *,
    commit: str = "",
    job: str = "",
    results: str = "",
    history: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """The record of one model of a run as plain data; ``docs/audit.md`` says what each key is.

    ``parts`` are those of :func:`part_of`, by experiment and model; an experiment without one has
    neither prompts nor impact ratios. ``results`` is the text of the run's results, where it is
    at hand; ``history`` what was accepted of the model: experiment, id and words, oldest first.
    """
    analyses = [each for each in view.analyses if each.model == model]
    experiments = [
        _experiment(view, each, parts.get((each.experiment, model), {})) for each in analyses
    ]
    simulated = model in view.simulated
    dates = [
        each["recording"]["recorded"] for each in experiments if each["recording"]["recorded"]
    ]
    # A case that broke leaves no model a verdict, or, where the run fails, takes none away.
    of_model = replace(view, analyses=tuple(analyses), broken=()).suite
    kind, title, made = "record", "Record of bias tests", RECORDED
    if simulated:  # a rehearsal, and never called a record
        kind, title = "rehearsal", "Rehearsal with a simulated subject"
        made = f"{simulated_words([model])} {REHEARSED}"
    record: dict[str, Any] = {
        "format": FORMAT,
        "kind": kind,
        "title": f"{title}, {model}",
        "notice": f"{made} {NOTICE}",
        "independent_audit": False,
        "model": model,
        "simulated": simulated,
        "served": sorted({name for each in analyses for name in each.recording.served}),
        "recorded": {
            "oldest": min((each["oldest"] for each in dates), default=None),
            "newest": max((each["newest"] for each in dates), default=None),
        },
        "verdict": view.suite if view.suite == "NO VERDICT" else of_model,
        "run": {
            "standing": view.standing,
            **_of(view, _RUN),
            "scope": plain(view.scope, "scope"),
            "compared_with": None if view.upgrade is None else view.upgrade.old,
        },
        "acceptances": [
            {name: getattr(each, name) for name in _ACCEPTED} | {"in_force": each in view.accepted}
            for each in (*view.accepted, *view.expired)
            if each.model == model
        ],
        "history": [dict(each) for each in history],
        "experiments": experiments,
        "versions": {
            "pytest-bias": view.version,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy")},
        },
        "commit": commit or None,
        "job": job or None,
        "results_sha256": digest(results or results_text(view)),
    }
    return record | {"record_sha256": digest(dumps(record, "record"))}


def _of(value: object, names: Iterable[str]) -> dict[str, object]:
    """The fields of a value that a record has, as JSON."""
    return {name: plain(getattr(value, name), name) for name in names}


def _experiment(view: RunView, analysis: Analysis, part: RecordPart) -> dict[str, Any]:
    recording, allocation = analysis.recording, analysis.allocation
    missing = sum((Counter(count.missing) for count in analysis.counts), Counter[str]())
    families: dict[str, list[str]] = {}
    for name, family in part.get("families", {}).items():
        if family in allocation.families:
            families.setdefault(family, []).append(name)
    return {
        "experiment": analysis.experiment,
        "name": analysis.name,
        "source": analysis.source,
        "limitations": plain(analysis.metadata.get("limitations", []), "limitations"),
        "recording": {
            **_of(recording, _RECORDING),
            "file_sha256": part.get("cassette_sha256"),
            "recorded": {"oldest": recording.oldest, "newest": recording.newest}
            if recording.published is not None and recording.oldest
            else part.get("recorded"),
        },
        "asked": {
            "words": recording.asked,
            "parameters": plain(recording.config, "config"),
            "not_sent": list(recording.dropped),
        },
        "judge": recording.judge
        and {
            "model": recording.judge,
            "served": list(recording.judge_served),
            "agreements": plain(analysis.agreements, "agreements"),
        },
        "design": {
            "name": analysis.design,
            "replicates": analysis.replicates,
            "trials": analysis.trials,
            "missing": dict(sorted(missing.items())),
            **part.get("design", {}),
        },
        "preregistration": part.get("preregistration"),
        "error_budget": {
            **{name: getattr(allocation, name) for name in ("alarms", "share")},
            "families": dict(sorted(families.items())),
        },
        "positive_controls": [_of(c, _CONTROL) for c in analysis.controls],
        "hypotheses": [
            _hypothesis(view, verdict, part)
            for verdict in analysis.verdicts
            if view.is_judged(verdict)
        ],
        "impact_ratios": part.get("impact_ratios", []),
        "prompts": part.get("prompts", {}),
    }


def _hypothesis(view: RunView, verdict: Verdict, part: RecordPart) -> dict[str, Any]:
    stops = view.acceptance(verdict) is None and verdict.named in view.failing
    return {
        **_of(verdict, _VERDICT),
        "family": part.get("families", {}).get(verdict.id),
        "stops": stops,
        "decided_by": plain(verdict.shown, "shown"),
        "finding": verdict.finding and _of(verdict.finding, _FINDING),
    }


def model_index(record: Mapping[str, Any]) -> dict[str, Any]:
    """The estimates as the evaluation results of a model card, as Hugging Face reads them.

    Its ``model-index`` is what hubs and evaluation tools read of a card's front matter; other
    standards of model cards (Mitchell et al. 2019) are prose.
    """
    results = []
    for each in record["experiments"]:
        metrics = [
            {
                "type": finding["quantity"].replace(" ", "_"),
                "name": f"{hypothesis['title']} ({hypothesis['id']})".strip(),
                "value": possible(finding["estimate"], most_recorded(finding)),
                "config": hypothesis["id"],
                "args": {
                    "verdict": hypothesis["label"],
                    "margin": finding["margin"],
                },
            }
            for hypothesis in each["hypotheses"]
            if (finding := hypothesis["finding"]) is not None
        ]
        if metrics:
            of = {
                "type": each["experiment"],
                "name": each["name"],
                "config": each["design"]["name"],
            }
            task = {"type": "text-generation", "name": "bias tests"}
            results.append({"task": task, "dataset": of, "metrics": metrics})
    return {"model-index": [{"name": record["model"], "results": results}]}


def audit_files(record: Mapping[str, Any]) -> dict[str, str]:
    """The files of a record, by their names below the folder they are written to."""
    card = model_index(record)
    kind, cards = (
        ("rehearsal", "rehearsal-model-card")
        if record["simulated"]
        else ("bias-audit", "model-card")
    )
    folder = file_stem(record["model"])

    def text(value: object) -> str:
        return f"{json.dumps(value, indent=1, sort_keys=True, allow_nan=False)}\n"

    return {
        f"{folder}/{kind}.json": text(record),
        f"{folder}/{kind}.md": rendered("audit.md.j2", record=record),
        f"{folder}/{cards}.json": text({**card, "notice": record["notice"]}),
        f"{folder}/{cards}.md": rendered("model_card.md.j2", record=record, front=text(card)),
    }
