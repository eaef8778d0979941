"""Power of a design for a hypothesis, in words: for the plan and for reports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ..contrasts.power import POWER, Outlook, Passing, Prospect
from ..contrasts.units import REPLIES

UPGRADE_GATE = "Upgrade gate"
_STOPS = "WARNING: the upgrade gate would stop an unchanged model in"


def prospect_words(prospect: Prospect) -> str:
    """Units, what can be cleared and what can be found."""
    return " ".join(_sentences(prospect))


def _sentences(prospect: Prospect) -> Iterator[str]:
    what = f"{prospect.hypothesis} (claim {prospect.claim}"
    what += "" if prospect.margin is None else f", margin {prospect.margin:g}"
    if prospect.problem:
        yield f"{what}): no verdict is possible: {prospect.problem}."
        return
    if not prospect.controlled and prospect.claim == "clear":
        yield f"{what}): it can never be CLEAR: the experiment has no positive control."
        return
    if prospect.per_group is None:
        without = "it has no margin, so nothing can be cleared and "
        clears = " to clear or find" if prospect.passing else ""
        yield f"{what}): {without if prospect.margin is None else ''}no power{clears} is computed."
        yield from _of_the_gate(prospect)
        return
    groups = "" if prospect.paired else " per group"
    worth = "" if prospect.paired or prospect.equal else "as precise as "
    yield f"{what}): {worth}{prospect.per_group:,} {prospect.unit_name.several}{groups}."
    if why := _why_not_clear(prospect):
        yield why
    if prospect.largest_sd is not None:
        of = "a reply within its cell" if prospect.unit_name == REPLIES else "one value per unit"
        unit = f" {prospect.unit}" if prospect.unit else ""
        yield (
            f"Where nothing differs it clears with probability {POWER:.2f} or more if the "
            f"standard deviation of {of} is at most {prospect.largest_sd:.3g}{unit}."
        )
    for (rate,), outlooks in groupby(prospect.outlooks, key=lambda each: (each.rate,)):
        if rate is not None:
            at = f"At a base rate of {100 * rate:.0f} %"
        else:
            at = f"At the standard deviation recorded, {prospect.sd:.2f}"
        yield f"{at}: {_chances(list(outlooks))}."
    yield from _of_the_gate(prospect)


def _why_not_clear(prospect: Prospect) -> str:
    """Say why nothing can be cleared; '' where something can."""
    if prospect.margin is None:
        return "Without a margin nothing can be cleared."
    if prospect.screens:
        return "A screen clears nothing."
    if not prospect.controlled:
        return "Without a positive control nothing can be cleared."
    if not prospect.clears:
        return f"With so few {prospect.unit_name.several} nothing can be cleared."
    return ""


def _of_the_gate(prospect: Prospect) -> Iterator[str]:
    """Say how sure the upgrade gate is to pass a model that has not changed."""
    whole = f"{UPGRADE_GATE}{', unpaired' if prospect.pairs else ''}"
    for (sd, rate), passing in groupby(prospect.passing, key=lambda each: (each.sd, each.rate)):
        if rate is not None:
            at = f" at a base rate of {100 * rate:.0f} %"
        elif sd is not None and prospect.sd is None:
            at = f" at that standard deviation, {sd:.3g}"
        else:
            at = ""
        chances = list(passing)
        parts = [_passing(each) for each in chances]
        yield f"{whole}{at}: an unchanged model passes {', '.join(parts)}."
        for each in chances:
            if each.likely and each.passes < POWER:
                yield f"{_STOPS} {_of_ten(each)}."
    if prospect.gate_sd is not None:
        yield (
            f"It passes with probability {POWER:.2f} or more up to a standard deviation of "
            f"{prospect.gate_sd:.3g}."
        )
    if prospect.pairs and prospect.passing:
        yield "Paired it is surer the more alike the models' units are, which nobody knows before."


def _passing(passing: Passing) -> str:
    if passing.effect == 0:
        return f"{passing.passes:.2f} without an effect"
    return f"{passing.passes:.2f} with one of {passing.effect:g} margins"


def _of_ten(passing: Passing) -> str:
    """Such as "3 of 10 runs"; never none, as this is said only where it matters."""
    stopped = max(1, round(10 * (1 - passing.passes)))
    return "nearly every run" if stopped == 10 else f"{stopped} of 10 runs"  # noqa: PLR2004


def _chances(outlooks: list[Outlook]) -> str:
    parts = []
    for outlook in outlooks:
        if outlook.effect == 0:
            parts.append(f"CLEAR {outlook.clear:.2f} at no effect")
        else:
            times = "the margin" if outlook.effect == 1 else f"{outlook.effect:g} margins"
            parts.append(f"BIASED {outlook.biased:.2f} at {times}")
    return ", ".join(parts)
