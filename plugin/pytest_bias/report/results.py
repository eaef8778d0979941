"""Results for other programs: ``bias-results.json``, and JUnit's XML.

The file is byte for byte the same in any order and on any day.
"""

from __future__ import annotations

import json

from ..errors import BiasError, NotReadable
from ..experiments.canonical import compact, digest, parsed_as, plain
from ..stats.results import Interval
from ..verdicts.verdict import Verdict
from .run import RunResult

FORMAT = 10

_VALUES = (*("accepted", "analyses", "failing", "judged", "leniencies", "scope", "upgrade"),)
_WORDS = ("partial", "broken", "failures", "lost", "problems", "stale")


def results_text(run: RunResult) -> str:
    """The results as indented JSON: no clock, no path, no effect of order."""
    value: dict[str, object] = {
        "format": FORMAT,
        "pytest_bias": run.version,
        "suite": run.suite,
        "standing": run.standing,
        "cases": dict(run.cases),
        "exit_status": run.exit_status,
    }
    value |= {name: list(getattr(run, name)) for name in _WORDS}
    value |= {name: plain(getattr(run, name), name) for name in _VALUES}
    if run.expired:  # files that have none are read as they always were
        value["expired"] = plain(run.expired, "expired")
    value["digest"] = digest(compact(value, sort_keys=True))
    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=True, allow_nan=False)
    return f"{text}\n"


def read_results(text: str, path: str) -> RunResult:
    """The run from the text :func:`results_text` made of it; ``path`` names it in errors.

    Raises NotReadable when the text is not what was written: cut off, changed by hand, or of
    another format.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"it is no JSON ({error}); it may be cut off"
        raise _unread(path, problem) from error
    if not isinstance(raw, dict) or "pytest_bias" not in raw:
        raise _unread(path, "these are no results of pytest-bias")
    if raw.get("format") != FORMAT:
        raise _unread(path, f"its format is {raw.get('format')}, this version reads {FORMAT}")
    fields = {name: raw.get(name) for name in (*_VALUES, *_WORDS, "exit_status")}
    fields["expired"] = raw.get("expired", [])
    cases = raw.get("cases")
    fields["cases"] = sorted(cases.items()) if isinstance(cases, dict) else cases
    fields["version"] = raw["pytest_bias"]
    try:
        run = parsed_as(RunResult, compact(fields))
        again = results_text(run)
    # Values refuse what they cannot be in errors of their own, which name no file.
    except (BiasError, ValueError, RecursionError) as error:
        raise _unread(path, f"a part of it is missing or makes no sense: {error}") from error
    if again != text:
        raise _unread(path, "it was changed after it was written")
    return run


def _unread(path: str, problem: str) -> NotReadable:
    return NotReadable(path=path, problem=problem, hint="Run the tests again that have written it")


# --- JUnit ------------------------------------------------------------------------------------


def properties_of(verdict: Verdict, baseline: str) -> tuple[tuple[str, str], ...]:
    """The numbers of a verdict as report properties.

    ``baseline`` says how it compares with what was accepted, if it does.
    """
    finding = verdict.finding
    properties: dict[str, object] = {
        "experiment": verdict.experiment,
        "model": verdict.model,
        "hypothesis": verdict.id,
        "verdict": verdict.words,
        "title": verdict.title or None,
    }
    if finding is not None:
        properties |= {
            "estimate": finding.estimate,
            "p_alarm": finding.p_alarm,
            "units": finding.units,
            "interval": _ends(finding.interval),
            "decides": _ends(verdict.shown[0] if verdict.shown else None),
            "level": verdict.shown[0].level if verdict.shown else None,
            "margin": finding.margin,
            "scale": finding.scale,
            "p_clear": finding.p_clear,
        }
    properties["baseline"] = baseline or None
    return tuple((f"bias_{name}", str(v)) for name, v in properties.items() if v is not None)


def _ends(interval: Interval | None) -> str | None:
    return None if interval is None else f"[{interval.low!r}, {interval.high!r}]"
