"""What was asked, and what the published method says, for readers without statistics."""

from __future__ import annotations

from collections.abc import Iterator

from ..contrasts.estimate import Estimate, p_text
from .decide import is_shown
from .verdict import Verdict
from .wording import margin_text, unit_text

_CLAIMS = {
    "clear": "The design is sized to clear it.",
    "detect": "The design can only find a large effect; leaving it undecided is no failure.",
    "describe": "It is described only: whatever is found, it fails no run.",
}


def explanation(verdict: Verdict) -> tuple[str, ...]:
    """What was asked, and what the published method says beside the verdict: a sentence each."""
    finding = verdict.finding
    asked = () if finding is None else (_question(verdict, finding),)
    return (*asked, *_published(verdict))


def _question(verdict: Verdict, finding: Estimate) -> str:
    about = (
        "this very set" if finding.target == "fixed" else "taken as a sample of others like them"
    )
    what = "Ratios from" if finding.scale == "ratio" else "Effects within"
    margin = (
        "No margin is declared, so an effect can be found but never cleared."
        if finding.margin is None
        else f"{what} {margin_text(finding)}{unit_text(finding)} do not matter."
    )
    if verdict.why and finding.margin is not None:
        margin += f" Why that margin: {verdict.why.rstrip('.')}."
    return (
        f"Asked about {finding.measure}: {finding.contrast} ({finding.quantity}), for "
        f"{finding.scope} ({about}). {margin} "
        f"{_CLAIMS[verdict.claim]}"
    )


def _published(verdict: Verdict) -> Iterator[str]:
    """Report what the published method says, which never decides."""
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
    elif isinstance(p, float):
        effect = "an effect" if is_shown(p) else "no effect"
        yield (
            f"{named}: {p_text(p)}, which it calls {effect}. It asks whether there is any, and "
            "decides nothing; the verdict asks whether it matters."
        )
