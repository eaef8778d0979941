"""What a design gives a hypothesis, in words: for the plan and for reports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ..findings import units_called
from ..prospects import POWER, Outlook, Prospect


def prospect_words(prospect: Prospect) -> str:
    """Units, what can be cleared and what can be found."""
    return " ".join(_sentences(prospect))


def _sentences(prospect: Prospect) -> Iterator[str]:
    what = f"{prospect.hypothesis} (claim {prospect.claim}"
    what += "" if prospect.margin is None else f", margin {prospect.margin:g}"
    if prospect.problem:
        yield f"{what}): no verdict is possible: {prospect.problem}."
        return
    if prospect.per_group is None:
        without = "it has no margin, so nothing can be cleared and "
        yield f"{what}): {without if prospect.margin is None else ''}no power is computed."
        return
    groups = "" if prospect.paired else " per group"
    worth = "" if prospect.paired or prospect.equal else "as precise as "
    yield f"{what}): {worth}{prospect.per_group:,} {units_called(prospect.unit_name)}{groups}."
    if prospect.margin is None:
        yield "Without a margin nothing can be cleared."
    elif not prospect.clears:
        yield f"With so few {units_called(prospect.unit_name)} nothing can be cleared."
    if prospect.largest_sd is not None:
        of = "a reply within its cell" if prospect.unit_name == "replies" else "one value per unit"
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


def _chances(outlooks: list[Outlook]) -> str:
    parts = []
    for outlook in outlooks:
        if outlook.effect == 0:
            parts.append(f"CLEAR {outlook.clear:.2f} at no effect")
        else:
            times = "the margin" if outlook.effect == 1 else f"{outlook.effect:g} margins"
            parts.append(f"BIASED {outlook.biased:.2f} at {times}")
    return ", ".join(parts)
