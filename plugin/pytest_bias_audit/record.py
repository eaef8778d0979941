"""The record of one model's bias tests as data, dated by its recordings: no clock and no path."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_bias import Verdict

NOTICE = (
    "Whoever ran the tests made this record. It is not an independent audit, and not the bias "
    "audit that New York City's Local Law 144 requires (6 RCNY § 5-300): its data are the stimuli "
    "of experiments, and nobody independent has looked at them."
)
_PROGRAM = "The subject is a program: nothing here says anything about a real model. "
_RUN = ("standing", "partial", "problems", "broken", "lost", "failures", "leniencies", "stale")
_ANALYSIS = ("experiment", "name", "source", "design", "replicates", "trials", "agreements")
_CONTROL = ("id", "asked", "seen", "reason", "licenses")
_VERDICT = (
    *("id", "title", "claim", "status", "label", "words", "open_words", "estimated", "p_adjusted"),
    "why",
)
_FINDING = (
    *("quantity", "contrast", "measure", "unit", "scale", "target", "scope", "margin"),
    *("estimate", "interval", "p_alarm", "p_clear", "method", "replies", "missing"),
)
_DESIGN = ("factors", "items", "design", "subject", "judge")  # of a fingerprint


def audit_record(view: Any, model: str, evidence: Iterable[Any]) -> dict[str, Any]:
    """The record of one model of a run as JSON; ``docs/audit.md`` says what each key is.

    ``view`` and ``evidence`` are those of the hook.
    """
    of = {each.experiment.id: each for each in evidence if each.model == model}
    analyses = tuple(each for each in view.analyses if each.model == model)
    dates = [date for each in of.values() for date in each.recorded]
    # A case that broke leaves no model a verdict, or, where the run fails, takes none away.
    of_model = replace(view, analyses=analyses, broken=()).suite
    simulated = model in view.simulated
    title = "Rehearsal with a simulated subject" if simulated else "Record of bias tests"
    record = {
        "format": 3,
        "title": f"{title}, {model}",
        "notice": f"{_PROGRAM * simulated}{NOTICE}",
        "independent_audit": False,
        "model": model,
        "simulated": simulated,
        "served": sorted({name for each in analyses for name in each.recording.served}),
        "recorded": {"oldest": min(dates, default=None), "newest": max(dates, default=None)},
        "verdict": view.suite if view.suite == "NO VERDICT" else of_model,
        "run": _of(view, (*_RUN, "scope")),
        "compared_with": None if view.upgrade is None else view.upgrade.old,
        "accepted": [plain(each) for each in view.accepted if each.model == model],
        "expired": [plain(each) for each in view.expired if each.model == model],
        "experiments": [_experiment(view, each, of[each.experiment]) for each in analyses],
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("pytest-bias", "numpy", "scipy")},
        },
    }
    return record | {"record_sha256": _digest(record)}


def plain(value: Any) -> Any:
    """``value`` as JSON: dataclasses and mappings as objects."""
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _of(value: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: plain(getattr(value, name)) for name in names}


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


def _experiment(view: Any, analysis: Any, evidence: Any) -> dict[str, Any]:
    declared = evidence.hypotheses
    first: Any = next(iter(declared.values()), {"fingerprint": {}})["fingerprint"]
    design = {name: first.get(name) for name in _DESIGN}
    document = Path(evidence.module).parent / "README.md"
    is_written = bool(evidence.module) and document.is_file()
    return {
        **_of(analysis, _ANALYSIS),
        "limitations": plain(analysis.metadata.get("limitations", [])),
        "recording": plain(analysis.recording) | {"file_sha256": evidence.file_sha256},
        "recorded": [*evidence.recorded],
        "missing": dict(sorted(evidence.records.missing.items())),
        "laid_down": design | {"sha256": _digest(design)},
        "preregistration": {
            "document_sha256": sha256(document.read_bytes()).hexdigest() if is_written else None,
            "hypotheses_sha256": _digest(declared),
        },
        "error_budget": plain(analysis.allocation) | {"alpha": analysis.allocation.alpha},
        "positive_controls": [_of(each, _CONTROL) for each in analysis.controls],
        "hypotheses": [
            _hypothesis(view, verdict, declared[verdict.id])
            for verdict in analysis.verdicts
            if view.is_judged(verdict)
        ],
    }


def _hypothesis(view: Any, verdict: Verdict, declared: Mapping[str, object]) -> dict[str, Any]:
    found = None
    if (finding := verdict.finding) is not None:
        found = _of(finding, _FINDING)
    stops = view.acceptance(verdict) is None and verdict.named in view.failing
    return {
        **_of(verdict, _VERDICT),
        "family": declared["family"],
        "stops": stops,
        "decided_by": plain(verdict.shown),
        "finding": found,
    }
