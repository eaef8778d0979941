"""The gate: how a verdict compares with the one in the baseline, if it passes, in what words.

One table says what comes out (:func:`outcome_of`), of what the verdict is now, what it was before
and what is *shown* of the change: that the effect is no worse, that it is worse, or neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..contrasts.estimate import ALPHA, p_text
from ..errors import BiasError, BiasFound, ControlNotSeen, Inconclusive
from ..experiments.canonical import Strict
from ..verdicts.verdict import Control, HypothesisName, Status, Verdict
from ..verdicts.wording import (
    arms_text,
    estimate_text,
    estimated,
    number_form,
    with_interval,
)
from .entries import Acceptance, Entry, Past, is_stopped
from .fingerprints import differences, first_of
from .noninferiority import Compared, compare_with_versions, compared

if TYPE_CHECKING:
    from ..contrasts.declared import Claim
    from ..settings.settings import Gate, OnInconclusive

Change = Literal[
    "",
    "as before",
    "improved",
    "known",
    "undecided",
    "new",
    "worse",
    "expired",
    "not in the baseline",
]
"""How a verdict compares with the one in the baseline; empty where there is nothing to compare."""

Growth = Literal["no worse", "worse", "neither"]
"""What is shown of an effect beside what was accepted."""

_LISTED = 12
"""Differences that an error lists."""
_ACCEPT = """Accept the verdict of the new design (--bias-accept), or run without
baselines (--bias-baselines=off)."""
_RECORD = """Record both with the same design, the same judge (--bias-judge) and the same
parameters (in the roster)."""


class BaselineDiffers(BiasError):
    """Raised where the verdict to compare with was reached with another design.

    It was accepted, or is that of another model, which ``old`` names.
    """

    def __init__(
        self, *, named: HypothesisName, differences: Sequence[str], old: str = ""
    ) -> None:
        experiment, model, hypothesis = named
        what = f"{old} was tested" if old else "the accepted verdict was reached"
        listed = first_of(differences, _LISTED, "\n  ")
        super().__init__(
            f"{experiment} × {model}, {hypothesis}: {what} with another design, other prompts or "
            "another judge,\nso the two cannot be compared (old → new):\n"
            f"  {listed}\n{_RECORD if old else _ACCEPT}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Strict):
    """A verdict compared with the baseline.

    ``outcome`` and ``words`` say how the two compare. ``tolerated`` is whether the gate lets the
    verdict through although it stops it: somebody accepted it, or the other model it is compared
    with shows as much. ``acceptance`` is the one that does so, or did until it expired.
    ``before`` is what it is compared with, without its units, ``compared`` the effects of both.
    Of a run that accepts, ``fingerprint`` is what the verdict depends on besides replies. Of an
    upgrade ``old`` is the digest of the old model's analysis, empty where there is none; None
    where there is no old model.
    """

    outcome: Change = ""
    words: str = ""
    acceptance: Acceptance | None = None
    tolerated: bool = False
    before: Past | None = None
    compared: Compared | None = None
    fingerprint: Mapping[str, object] | None = None
    old: str | None = None

    @property
    def accepted(self) -> Acceptance | None:
        """Return the acceptance that lets through what the gate stopped."""
        return self.acceptance if self.tolerated else None

    @property
    def expired(self) -> Acceptance | None:
        """Return the acceptance that did so until it ended, where nothing else has changed."""
        return self.acceptance if self.outcome == "expired" else None


ABSOLUTE = Comparison()
"""No baseline: the verdict alone decides."""


def compare(
    named: HypothesisName,
    new: Entry,
    old: Entry | None,
    *,
    today: str,
    against: str = "",
    known: int = 1,
) -> Comparison:
    """Compare what a hypothesis shows with what was accepted of it, or shown by another model.

    ``named`` stands in the error. ``old`` is None where there is nothing to hold ``new`` against.
    ``today`` (YYYY-MM-DD) is the day on which an acceptance must hold. ``against`` names the other
    model whose verdict ``old`` is: what that model shows as well is tolerated, though nobody
    accepted it. ``known`` is the number of the experiment's verdicts that were accepted although
    the gate stops them: "worse" is shown of each at its part of the suite's error rate.

    Raises BaselineDiffers when the two were reached with different designs.
    """
    if old is not None and (differ := differences(old.fingerprint, new.fingerprint)):
        raise BaselineDiffers(named=named, differences=differ, old=against)
    if new.claim == "describe":
        return ABSOLUTE
    if old is None:
        words = "this hypothesis is not in the baseline"
        return Comparison(outcome="not in the baseline", words=words)
    found, alpha = None, min(ALPHA, ALPHA * new.share) / max(1, known)
    if new.effect is not None and old.effect is not None:
        found = compare_with_versions(new.effect, old.versions, alpha=alpha)
    shown, why = _growth(new, old, found, alpha)
    outcome = outcome_of(new.claim, old.status, new.status, shown)
    tolerated = _is_tolerated(outcome, new, old, found)
    if (tolerated or outcome in ("worse", "undecided")) and is_stopped(new.status, new.claim):
        if old.accepted is not None and old.accepted.until < today:
            outcome, tolerated = "expired", False
        elif is_stopped(old.status, new.claim) and not (old.accepted or against):
            outcome, tolerated = "new", False
    return Comparison(
        outcome=outcome,
        words=_comparison_text(outcome, new, old, why, against),
        acceptance=old.accepted if tolerated or outcome == "expired" else None,
        tolerated=tolerated,
        before=replace(old.past, effect=old.effect and replace(old.effect, by_unit=())),
        compared=found,
    )


def outcome_of(claim: Claim, before: Status, now: Status, shown: Growth) -> Change:
    """Return the table: what comes of a claim's verdicts, and of what is shown of its effect.

    =============  ==================  =========  ==========================  =================
    now            before              shown      ``detect``                  ``clear``
    =============  ==================  =========  ==========================  =================
    CLEAR          CLEAR               anything   as before                   as before
    CLEAR          anything else       anything   improved                    improved
    BIASED         anything else       anything   **new**                     **new**
    any other      any                 worse      **worse** (of BIASED)       **worse**
    any other      any                 neither    undecided                   **undecided**
    BIASED         BIASED              no worse   known                       known
    INCONCLUSIVE   CLEAR               no worse   as before                   known
    INCONCLUSIVE   INCONCLUSIVE        no worse   as before                   known
    INCONCLUSIVE   BIASED              no worse   improved                    known
    =============  ==================  =========  ==========================  =================

    What stands in stars stops; an ``undecided`` claim to be clear does not where it was accepted:
    as INCONCLUSIVE, or as BIASED if the two effects can be compared.
    """
    if now == "CLEAR":
        return "as before" if before == "CLEAR" else "improved"
    if now == "BIASED" and before != "BIASED":
        return "new"
    if shown != "no worse":
        return "worse" if shown == "worse" else "undecided"
    if now == "BIASED" or claim == "clear":
        return "known"
    return "improved" if before == "BIASED" else "as before"


def _is_tolerated(outcome: Change, new: Entry, old: Entry, found: Compared | None) -> bool:
    """True if what the gate stops by itself is let through, while its acceptance lasts."""
    if outcome == "undecided":
        if new.claim == "detect":
            return new.status == "BIASED"
        if old.status == "BIASED":
            comparable = found is not None and found.how != "not comparable"
            return comparable and (bool(old.untrusted) or not new.untrusted)
        open_before = old.status == "INCONCLUSIVE" and old.accepted is not None
        return open_before and new.effect is not None
    return outcome == "known"


def _growth(new: Entry, old: Entry, found: Compared | None, alpha: float) -> tuple[Growth, str]:
    """What is shown of the change, and, where that is not "no worse", why."""
    now, before = new.effect, old.effect
    if found is None or now is None or before is None:
        nothing = "but now there is no estimate at all"
        why = nothing if now is None else "and there is no estimate to compare"
        return ("no worse", "") if now is before else ("neither", why)
    if found.how == "same replies":
        return "no worse", ""
    if new.untrusted and not old.untrusted:
        return "neither", f"but now nothing can be decided: {new.untrusted}"
    if (cells := _cell_growth(new, old, alpha))[0] != "no worse":
        return cells
    if found.no_worse or (new.cells and now.clears):
        return "no worse", ""
    form = number_form(
        now.margin, now.scale, (now.estimate, before.estimate), beside=(before.estimate,)
    )
    ours, than = (with_interval(effect.estimate, None, form) for effect in (now, before))
    if len(old.versions) > 1:
        than += f" and what was accepted before ({len(old.versions)} versions)"
    said = f"whether {ours} is worse than {than} is open"
    if found.worse:
        said = f"{ours} is shown to be worse than {than}"
    return "worse" if found.worse else "neither", f"but {said}: {found.words}"


def _cell_growth(new: Entry, old: Entry, alpha: float) -> tuple[Growth, str]:
    """What is shown of the cells that are not CLEAR now; a claim's cells share its ``alpha``.

    A claim that was CLEAR was so in every cell: one that is open now must be shown no worse.
    """
    shown: tuple[Growth, str] = "no worse", ""
    for name, before in old.cells.items():
        now = new.cells.get(name)
        was = f"it was CLEAR in {name} and" if before.clears else f"in {name} it"
        if now is None:
            if before.clears:
                shown = "neither", f"but {was} has too few replies there now"
            continue
        found = compared(now, before, alpha=alpha / len(old.cells))
        if now.clears or found.no_worse:
            continue
        if found.worse:
            return "worse", f"but {was} is shown to be worse: {found.words}"
        if old.status == "CLEAR":
            shown = "neither", f"but {was} is not shown to be no worse"
    return shown


def _comparison_text(outcome: Change, new: Entry, old: Entry, why: str, against: str) -> str:
    """Return how the two compare, in a sentence; empty where there is nothing to say."""
    accepted = old.accepted
    before = f"{against} is {old.words}" if against else f"it was {old.words}"
    who = before if accepted is None else f"{accepted} ({accepted.reason})"
    match outcome:
        case "improved":
            now = "" if new.status == "CLEAR" else ", and no bias is found now"
            return f"improved: {before}{now}{'' if against else '; accept the new baseline'}"
        case "new":
            return f"new: {against or 'what was accepted'} is {old.words}"
        case "expired":
            return f"{who}, which is past"
        case "worse" | "undecided":
            return f"{who}, {why}"
        case "known":
            known = before if accepted is None else f"{accepted}: {accepted.reason}"
            less = "; no worse than it was, but not shown to be CLEAR"
            return known if new.status == old.status else f"{known}{less}"
        case _:
            return ""


def stopped_by(
    verdict: Verdict,
    location: str,
    *,
    gate: Gate,
    inconclusive: OnInconclusive,
    comparison: Comparison = ABSOLUTE,
) -> BiasError | None:
    """Return the error the gate raises for ``verdict``; None when it passes.

    ``location`` names the replies. What is accepted (``comparison``) is stopped all the same:
    an xfail lets it through.
    """
    if not is_stopped(verdict.status, verdict.claim, gate=gate, inconclusive=inconclusive):
        return None
    kind = BiasFound if verdict.status == "BIASED" else Inconclusive
    error = kind(describe_verdict(verdict, location, comparison))
    short = f"{verdict.status} {estimated(verdict) or verdict.reason_text}"
    error.short = f"{comparison.outcome}, {short}" if comparison.outcome else short
    return error


def stopped_by_control(control: Control, location: str, *, gate: Gate) -> BiasError | None:
    """The error the gate raises for a control that is needed and was not seen; None otherwise."""
    if gate == "off" or control.seen or not (control.recorded and control.needed):
        return None
    return ControlNotSeen(
        f"positive control {control.id} was not seen: {control.reason}; {control.meaning}\n"
        f"  {estimate_text(control.finding) if control.finding else 'no estimate'}\n"
        f"  {location}"
    )


def describe_verdict(verdict: Verdict, location: str, comparison: Comparison = ABSOLUTE) -> str:
    """The verdict with its numbers, for a failure: first line first, all that decided below."""
    finding = verdict.finding
    lines = [f"{verdict.experiment} × {verdict.model}: {verdict.words}"]
    baseline = [f"  baseline: {comparison.words}"] if comparison.words else []
    if comparison.outcome == "expired":  # what is to be done is plain, and no number says it
        lines, baseline = lines + baseline, []
    lines += [f"  {verdict.title}"] if verdict.title else []
    lines.append(f"  hypothesis: {verdict.id} (claim: {verdict.claim})")
    if finding is not None:
        lines.append(f"  {estimate_text(finding, verdict.shown)}")
        lines.append(f"  {arms_text(finding)}")
        adjusted = "" if verdict.p_adjusted is None else p_text(verdict.p_adjusted)
        cleared = "" if finding.p_clear is None else f"; clearing: {p_text(finding.p_clear)}"
        lines.append(f"  alarm: {adjusted} (Holm){cleared}; {finding.method}")
    if verdict.next_step:
        lines.append(f"  {verdict.next_step}")
    return "\n".join([*lines, *baseline, f"  {location}"])
