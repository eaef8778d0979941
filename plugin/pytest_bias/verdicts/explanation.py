"""What was asked, and why the published method disagrees, for somebody who reads no statistics."""

from __future__ import annotations

from collections.abc import Iterator

from ..contrasts.estimate import Estimate, p_words
from ..contrasts.published import NOT_DEFINED
from .decide import is_shown
from .verdict import Verdict
from .wording import margin_words, unit_words

_CLAIMS = {
    "clear": "The design is sized to clear it.",
    "detect": "The design can only find a large effect; leaving it undecided is no failure.",
    "describe": "It is described only: whatever is found, it fails no run.",
}


def explanation(verdict: Verdict) -> tuple[str, ...]:
    """What was asked, and what the published method says beside the verdict: a sentence each."""
    finding = verdict.finding
    asked = () if finding is None else (_asked(verdict, finding),)
    return (*asked, *_beside_published(verdict))


def _asked(verdict: Verdict, finding: Estimate) -> str:
    about = (
        "this very set" if finding.target == "fixed" else "taken as a sample of others like them"
    )
    what = "Ratios from" if finding.scale == "ratio" else "Effects within"
    margin = (
        "No margin is declared, so an effect can be found but never cleared."
        if finding.margin is None
        else f"{what} {margin_words(finding)}{unit_words(finding)} do not matter."
    )
    if verdict.why and finding.margin is not None:
        margin += f" Why that margin: {verdict.why.rstrip('.')}."
    return (
        f"Asked about {finding.measure}: {finding.contrast} ({finding.quantity}), for "
        f"{finding.scope} ({about}). {margin} "
        f"{_CLAIMS[verdict.claim]}"
    )


def _beside_published(verdict: Verdict) -> Iterator[str]:
    """Say where and why the published method disagrees with the verdict, and what it says."""
    finding = verdict.finding
    published = verdict.published if finding is None else finding.published
    if published is None:
        return
    p = published.statistics.get("p")
    named = f"Published method ({published.method})"
    if finding is None:
        yield (
            f"{named}: it is computed all the same, on the replies there are. What it finds may "
            "be what is missing; it decides nothing."
        )
    elif NOT_DEFINED in published.statistics:
        yield f"{named}: it cannot be computed here ({published.statistics[NOT_DEFINED]})."
    elif not isinstance(p, float):
        yield f"{named}: it gives no p-value."
    elif is_shown(p):
        beside = _BESIDE_AN_EFFECT.get(verdict.status, f"; the verdict: {verdict.open_words}.")
        yield f"{named}: {p_words(p)}, which it calls an effect{beside}"
    else:
        yield f"{named}: {p_words(p)}, which it calls no effect{_BESIDE_NONE[verdict.status]}"


_BESIDE_NONE = {
    "CLEAR": "; the verdict says more: whatever there is lies within the margin.",
    "BIASED": "; the verdict's own test, which compares like with like, does find one.",
    "INCONCLUSIVE": "; that none was found does not show that there is none.",
}


_BESIDE_AN_EFFECT = {
    "CLEAR": "; the verdict is about size: whatever there is lies within the margin.",
    "BIASED": "; the verdict agrees.",
}
