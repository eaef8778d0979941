"""The result of a run, from which every report is made; and what other programs read of it.

``bias-results.json`` is byte for byte the same in any order and on any day.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape
from pathlib import Path
from typing import Literal

from ..errors import BiasError, NotReadable
from ..experiments.canonical import compact, digest, parsed_as, plain
from ..stats.results import Interval
from ..verdicts.analysis import Analysis
from ..verdicts.verdict import HypothesisName, Status, Verdict
from .upgrade_table import Upgrade, UpgradeRow

FORMAT = 10

_VALUES = (*("accepted", "analyses", "failing", "judged", "leniencies", "scope", "upgrade"),)
_WORDS = ("partial", "broken", "failures", "lost", "problems", "stale")

SuiteVerdict = Literal["PASS", "FAIL", "INCONCLUSIVE", "NOT JUDGED", "NO VERDICT"]
"""The outcome of a run in its results; :data:`.wording.OUTCOMES` has its printed words."""

SOON = 14
"""Days before its end from which on a run warns of an acceptance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedVerdict:
    """A verdict the gate stopped and let through, as somebody had accepted it."""

    experiment: str
    model: str
    id: str
    status: Status
    reason: str
    owner: str
    until: str

    def __str__(self) -> str:
        return f"accepted by {self.owner} until {self.until}"

    def ends_soon(self, today: str) -> bool:
        """True if it holds today (YYYY-MM-DD) and has :data:`SOON` days left or less."""
        if not today or self.until < today:
            return False
        return date.fromisoformat(self.until) - date.fromisoformat(today) <= timedelta(days=SOON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The settings of a run; ``varied`` names those its ini file configures otherwise."""

    models: tuple[str, ...]
    design: str
    replicates: int | None
    gate: str
    inconclusive: str
    varied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run: its analyses, sorted, and how complete it is.

    ``partial`` says why the run does not cover the whole suite (empty when it does), ``lost``
    names selected cases without a result, ``cases`` maps each reported case to its outcome.
    ``judged`` names the hypotheses that were among the cases, as (experiment, model, id), None for
    all of them: others are analysed too, since they share families and controls with these.
    ``broken`` names cases that failed by themselves and not by the gate. ``leniencies`` says why
    a FAIL or INCONCLUSIVE may not fail the run, ``accepted`` which verdicts do not, sorted;
    ``ending`` those of them whose acceptance ends soon, ``expired`` what failed as it has ended.
    ``failing`` names the hypotheses, as in ``judged``, that failed the run. ``upgrade`` is how the
    verdicts compare with those of an old model. ``stale`` says which recordings no longer
    represent their model, where nothing fails for it. ``failures`` names what else failed in the
    session: ordinary tests, and modules that could not be imported. ``exit_status`` is how it
    ended. ``notes`` and the paths ``written`` are printed and are not in the results.
    """

    analyses: tuple[Analysis, ...]
    cases: tuple[tuple[str, str], ...]
    lost: tuple[str, ...]
    partial: tuple[str, ...]
    problems: tuple[str, ...]
    version: str
    judged: tuple[HypothesisName, ...] | None = None
    broken: tuple[str, ...] = ()
    leniencies: tuple[str, ...] = ()
    accepted: tuple[AcceptedVerdict, ...] = ()
    ending: tuple[AcceptedVerdict, ...] = ()
    expired: tuple[AcceptedVerdict, ...] = ()
    failing: tuple[HypothesisName, ...] = ()
    scope: Scope | None = None
    upgrade: Upgrade | None = None
    stale: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    exit_status: int = 0
    notes: tuple[str, ...] = ()
    written: tuple[Path, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all hypotheses."""
        return tuple(verdict for analysis in self.analyses for verdict in analysis.verdicts)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were analysed."""
        return tuple(dict.fromkeys(analysis.model for analysis in self.analyses))

    @property
    def selected(self) -> tuple[Verdict, ...]:
        """The verdicts of the hypotheses that were among the cases."""
        return tuple(verdict for verdict in self.verdicts if self.is_judged(verdict))

    @property
    def gating(self) -> tuple[Verdict, ...]:
        """Those of them that gate."""
        return tuple(verdict for verdict in self.selected if verdict.gates)

    @property
    def stops(self) -> tuple[Verdict, ...]:
        """Those of these that failed the run."""
        return tuple(verdict for verdict in self.gating if verdict.named in self.failing)

    @property
    def fewer(self) -> tuple[str, ...]:
        """Reasons why something of the suite is left out, and not only judged otherwise."""
        varied = self.scope.varied if self.scope is not None else ()
        return tuple(words for words in self.partial if words not in varied)

    @property
    def simulated(self) -> tuple[str, ...]:
        """The models that are simulated subjects."""
        old = self.upgrade.simulated if self.upgrade is not None else ()
        return tuple(sorted({*(a.model for a in self.analyses if a.simulated), *old}))

    @property
    def suite(self) -> SuiteVerdict:
        """FAIL on any BIASED, PASS only if every claim to be clear is CLEAR and no case failed.

        NOT JUDGED where nothing went wrong and no hypothesis that gates was among the cases. A
        positive control that was not seen leaves nothing better than INCONCLUSIVE.
        """
        if self.lost or self.problems:
            return "NO VERDICT"
        suite = suite_verdict(self.selected) if self.gating else "NOT JUDGED"
        if self.not_seen and suite != "FAIL":
            suite = "INCONCLUSIVE"
        return "NO VERDICT" if self.broken and suite != "FAIL" else suite

    @property
    def not_seen(self) -> bool:
        """True if a positive control that was recorded was not seen."""
        return any(analysis.not_seen for analysis in self.analyses)

    @property
    def known_in_old(self) -> int:
        """Number of verdicts that are let through as the old model shows them too."""
        return sum(self.known(verdict) is not None for verdict in self.verdicts)

    @property
    def stands(self) -> bool:
        """True if the suite passes, or only what is accepted or known keeps it from that.

        Against another model, what that model shows too is known, and nobody has accepted it.
        """
        if self.suite not in ("FAIL", "INCONCLUSIVE") or self.broken or self.not_seen:
            return self.suite == "PASS"
        rest = [
            verdict
            for verdict in self.selected
            if self.acceptance(verdict) is None and self.known(verdict) is None
        ]
        return bool(self.accepted or self.known_in_old) and suite_verdict(rest) == "PASS"

    @property
    def standing(self) -> str:
        """The suite's verdict; PASS with so many accepted or known, where it stands."""
        if self.suite == "PASS" or not self.stands:
            return self.suite
        counts = ((len(self.accepted), "accepted"), (self.known_in_old, "known"))
        return f"PASS with {' and '.join(f'{n} {how}' for n, how in counts if n)}"

    @property
    def passes(self) -> bool:
        """True if the session may end well, as far as bias goes; its exit status follows.

        A FAIL or INCONCLUSIVE that somebody let pass (the gate is off, an xfail, an acceptance)
        passes; a case that failed for whatever reason does not, nor an upgrade that is stopped,
        nor a whole run that judged no hypothesis.
        """
        if self.upgrade is not None and self.upgrade.stopped:
            return False
        if self.suite == "NO VERDICT" or "failed" in dict(self.cases).values():
            return False
        if self.suite == "NOT JUDGED":
            return bool(self.partial or self.judged is None or self.judged)
        if self.stands:
            return True
        return bool(self.leniencies or self.accepted)

    def acceptance(self, verdict: Verdict) -> AcceptedVerdict | None:
        """Return the acceptance of a verdict that the gate stopped; None where there is none."""
        of = (a for a in self.accepted if (a.experiment, a.model, a.id) == verdict.named)
        return next(of, None)

    def known(self, verdict: Verdict) -> UpgradeRow | None:
        """Return the row that lets a stopped verdict through, as the old model shows it too.

        None where it is not, and where somebody has accepted it.
        """
        rows = self.upgrade.rows if self.upgrade is not None else ()
        found = next((row for row in rows if row.passes and row.named == verdict.named), None)
        return found if self.acceptance(verdict) is None else None

    def is_judged(self, verdict: Verdict) -> bool:
        """True if a hypothesis was among the cases of this run."""
        return self.judged is None or verdict.named in self.judged


def suite_verdict(verdicts: Sequence[Verdict]) -> SuiteVerdict:
    """The intersection–union rule over hypotheses: no adjustment of clearances is needed.

    What is only described has no part in it.
    """
    if any(verdict.status == "BIASED" and verdict.gates for verdict in verdicts):
        return "FAIL"
    if all(verdict.status == "CLEAR" for verdict in verdicts if verdict.claim == "clear"):
        return "PASS"
    return "INCONCLUSIVE"


# --- for other programs -----------------------------------------------------------------------


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


# --- JUnit and pytest-html --------------------------------------------------------------------


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


def row_html(properties: Iterable[tuple[str, object]]) -> str:
    """Title, verdict and estimate of a hypothesis for its row in pytest-html; else empty."""
    values = dict(properties)
    if "bias_verdict" not in values:
        return ""
    lines = [values.get("bias_title", ""), values["bias_verdict"]]
    if "bias_decides" in values:
        estimate = f"estimate {float(str(values['bias_estimate'])):z.4g}"
        low, high = map(float, str(values["bias_decides"])[1:-1].split(", "))
        level = 100 * float(str(values["bias_level"]))
        lines.append(f"{estimate}, {level:.4g} % interval [{low:z.4g}, {high:z.4g}]")
    return f"<div>{'<br>'.join(escape(str(line)) for line in lines if line)}</div>"
