"""The plan of a recording on the terminal: a table, what its figures rest on, and the command."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..contrasts.power import Prospect
from ..recording.estimate import CostEstimate, Mark
from ..recording.plan import PlanRow, PlanTotals, RecordingPlan
from ..verdicts.wording import allocation_words, number_as_given
from .view import simulated_words

WIDTH = 100
"""Columns the text keeps to, but for problems and for single words (a path) that are longer."""

_HEADINGS = (
    *("trials", "recorded", "missing", "calls", "judge"),
    *("tokens in", "tokens out", "cost", "minutes"),
)
SIGNS: dict[Mark, str] = {"exact": "", "estimate": "≈ ", "at least": "≥ "}
"""Before a figure, what it rests on."""

_CENT = 0.01
_COMPACT = 10_000_000


def plan_lines(plan: RecordingPlan) -> list[str]:
    """The plan in lines of :data:`WIDTH` columns."""
    lines = ["bias plan: what a recording would do; nothing was called and nothing was run"]
    body = [(_heading(row, plan), _cells(row), list(_notes(row))) for row in plan.rows]
    if len(plan.rows) > 1:
        total = f"total of {len(plan.rows)} (models side by side, the experiments of each in turn)"
        body.append((total, _cells(plan.totals), []))
    table = [_HEADINGS, *(cells for _, cells, _ in body)]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEADINGS))]
    if body:
        lines += ["", _aligned(_HEADINGS, widths)]
    for heading, cells, notes in body:
        lines += [*wrapped(heading, ""), _aligned(cells, widths)]
        for note in notes:
            lines += wrapped(note, "    ")
    for problem in plan.problems:
        # In one line, so that "file, line 3" can be found and clicked.
        lines += ["", f"problem: {problem}"]
    for text in _closing(plan):
        lines += ["", *wrapped(text, "")]
    return lines


def _heading(row: PlanRow, plan: RecordingPlan) -> str:
    anew = ", everything anew" if plan.mode == "all" else ""
    kind = ", simulated subject" if row.simulated else ""
    return f"{row.experiment} × {row.model} ({row.design} design{anew}{kind})"


def _cells(of: PlanRow | PlanTotals) -> tuple[str, ...]:
    mark: Mark = of.estimate.mark if isinstance(of, PlanRow) else of.mark
    # What has no price, or no limit, is not in a sum.
    costs: Mark = "at least" if of.unpriced else mark
    lasts: Mark = "at least" if isinstance(of, PlanTotals) and of.unlimited else mark
    said = of.subject.output_tokens + of.judge.output_tokens
    asked = of.subject.input_tokens + of.judge.input_tokens
    return (
        *(f"{n:,}" for n in (of.trials, of.recorded_trials, of.missing_trials)),
        *(_number(n, SIGNS[mark]) for n in (of.subject.calls, of.judge.calls, asked, said)),
        "no price" if of.cost is None else _money(of.cost, SIGNS[costs]),
        "no limit" if of.minutes is None else _minutes(of.minutes, SIGNS[lasts]),
    )


def _number(value: float, sign: str) -> str:
    if not value:
        # A judge nobody asks is no estimate; nor is what an opening request says of replies.
        return "0"
    if value >= _COMPACT:
        return f"{sign}{value / 1e6:,.1f} M"
    return f"{sign}{value:,.0f}"


def _money(dollars: float, sign: str) -> str:
    if not dollars:
        return "$0"
    return f"{sign}${dollars:.2g}" if dollars < _CENT else f"{sign}${dollars:,.2f}"


def _minutes(minutes: float, sign: str) -> str:
    return f"{sign}{minutes:,.1f}" if minutes else "0"


def _notes(row: PlanRow) -> Iterator[str]:
    if row.missing_trials:
        yield f"{_basis(row.estimate)}."
        if row.cost is None:
            names = " and ".join(row.unpriced)
            yield f"There is no price of {names} in the roster, so no cost is known."
    if row.judge.calls:
        yield f"Replies are graded by {row.judge_model}."
    if row.unpinned:
        yield f"{row.model} may mean another model tomorrow: name a dated version."
    for reason in row.outdated:
        yield f"Stale recordings, which no longer represent this model: {reason}."
    if row.outdated:
        yield "To record them anew: --bias-record=all."
    if row.unfinished:
        yield (
            "An interrupted --bias-record=all is left: a recording refuses until it is finished "
            "with all, or its .rerecording file is deleted."
        )
    if row.allocation is not None and row.allocation.families:
        yield f"{allocation_words(row.allocation)}."
    yield from passes_words(row.passes)
    yield from prospects_words(row.prospects)
    if row.stale_interactions:
        count = row.stale_interactions
        yield f"Stale interactions in the cassette, which no design asks for: {count:,}."


def _basis(estimate: CostEstimate) -> str:
    trials = f"{estimate.trials:,} trial{'s' * (estimate.trials != 1)}"
    match estimate.basis:
        case "this cassette":
            return f"Estimated from {trials} of this cassette"
        case "another cassette":
            return f"Estimated from {trials} recorded with {estimate.model}"
        case "dry run":
            return f"Estimated from a dry run of {trials}, answered by a simulated subject"
        case "opening request":
            return "Only the opening request of a trial is known: a lower bound, without replies"
        case "nothing to record":
            return "Nothing is to be recorded"


def _about_budget(budget: float, totals: PlanTotals) -> Iterator[str]:
    """Say what a budget would refuse, or else if it would last."""
    if totals.unpriced:
        yield f"--bias-budget refuses models without a price: {', '.join(totals.unpriced)}."
    if totals.unbounded:
        names = ", ".join(totals.unbounded)
        yield f"--bias-budget refuses, for want of max_output_tokens in the roster: {names}."
    if not (totals.unpriced or totals.unbounded) and (totals.cost or 0.0) > budget:
        yield f"--bias-budget={budget:.15g} would stop the recording before its end."


def _closing(plan: RecordingPlan) -> Iterator[str]:
    totals = plan.totals
    simulated = sorted({row.model for row in plan.rows if row.simulated})
    if simulated:
        yield simulated_words(simulated)
    if totals.mark != "exact":
        yield (
            "≈ marks an estimate, ≥ a lower bound. Tokens that no provider counted are characters "
            "divided by 4; failed attempts are not counted."
        )
    calls = totals.subject.calls + totals.judge.calls
    if plan.max_calls is not None and calls > plan.max_calls:
        yield f"--bias-max-calls={plan.max_calls} would stop the recording before its end."
    if plan.budget is not None:
        yield from _about_budget(plan.budget, totals)
    if totals.missing_trials:
        yield f"To record: pytest <the same arguments, no --bias-plan> --bias-record={plan.mode}"
    elif plan.rows and not plan.problems:
        yield "Everything is recorded: there is nothing to record."
    elif not plan.problems:
        yield "No bias case is selected: there is nothing to plan."


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    parts = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return f"  {'  '.join(parts)}"


def wrapped(text: str, indent: str) -> list[str]:
    """A text in lines of :data:`WIDTH` columns; no id and no path is broken."""
    return [
        line
        for part in text.splitlines()
        for line in textwrap.wrap(
            part,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def passes_words(chances: tuple[float, float] | None) -> Iterator[str]:
    """Say the chances that a model without bias passes, where they are known."""
    if chances is None:
        return
    whole, missing = map(_chance_words, chances)
    yield (
        f"A model without bias passes with probability {whole}, with 5 % of its replies missing "
        f"{missing} (its claims multiplied: a lower bound where they share replies)."
    )


def prospects_words(prospects: Iterable[Prospect]) -> Iterator[str]:
    """Units, what can be cleared and what can be found, once where all of it is alike."""
    alike: defaultdict[Prospect, list[str]] = defaultdict(list)
    for prospect in prospects:
        alike[replace(prospect, hypothesis="")].append(prospect.hypothesis)
    for prospect, names in alike.items():
        yield " ".join(_sentences(replace(prospect, hypothesis=", ".join(names))))


def _sentences(prospect: Prospect) -> Iterator[str]:
    what = f"{prospect.hypothesis} (claim {prospect.claim}"
    what += "" if prospect.margin is None else f", margin {number_as_given(prospect.margin)}"
    yield f"{what}): {_units(prospect)}."
    if prospect.why:
        yield f"Why that margin: {prospect.why.rstrip('.')}."
    if prospect.problem:
        yield f"{prospect.problem[0].upper()}{prospect.problem[1:]}."
        return
    if prospect.spread is not None and (prospect.clear or prospect.biased):
        yield f"{_spread(prospect, prospect.spread)}: {', '.join(_chances(prospect))}."


def _units(prospect: Prospect) -> str:
    sides = dict.fromkeys(prospect.units)
    paired = len(prospect.units) == 1
    of = " against ".join(f"{units:,}" for units in sides)
    words = f"{of} {prospect.unit_name.several}{'' if paired or len(sides) > 1 else ' a side'}"
    needs = f", {prospect.needed:,} are needed to clear anything"
    return f"{words}{needs if prospect.claim == 'clear' else ''}"


def _spread(prospect: Prospect, spread: float) -> str:
    if prospect.event:
        return f"A rate of {100 * spread:.3g} %"
    unit = f" {prospect.unit}" if prospect.unit else ""
    return f"An SD of {number_as_given(float(f'{spread:.3g}'))}{unit}"


def _chances(prospect: Prospect) -> Iterator[str]:
    if prospect.clear:
        whole, missing = map(_chance_words, prospect.clear)
        yield f"CLEAR {whole} at no effect ({missing} with 5 % missing)"
    if prospect.biased:
        one, two = map(_chance_words, prospect.biased)
        yield f"BIASED {one} at the margin and {two} at two"


def _chance_words(chance: float) -> str:
    """A probability to three digits, never rounded up to certainty."""
    return f"{math.floor(chance * 1000) / 1000:.3f}" if chance < 1 else "1.000"
