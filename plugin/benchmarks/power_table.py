"""How often the verdict rule says CLEAR and BIASED, simulated beside the published power table.

    python plugin/benchmarks/power_table.py [--simulations 400] [--row WORD]

Columns: CLEAR where there is no effect, BIASED where it is the margin and twice the margin. Each
simulated table goes through the program's own estimation (``estimation``) and verdict rule
(``verdicts.decide``), the positive control taken as seen. A cell is off where it differs from the
published one, which has two digits, by more than three Monte Carlo standard errors and .03; any
cell off: exit status 1.

What was simulated for the published table is inferred: of the layouts tried, these give it.

- Anchoring: normal replies, two arms, a family of one.
- Length, VADER: 25 seeds, each meeting 16 cells of which 8 are high and 8 low, so that a seed's
  contrast has the variance 4 SD² / (16 × replicates) + (SD of seed × factor)²; a family of 12
  (Holm's first step: p is multiplied by 12).
- Refusal: the same 16 cells, a seed's events binomial. Shown but not judged: none of the layouts
  tried gives both what is cleared and what is found.
- Narrative: 8 groups × 5 names × 18 replies per replicate at a rate of .165, one group's rate
  raised, Holm over the 8 groups. Shown but not judged: it comes closest of what was tried, and
  still finds more at twice the margin with one replicate (.87 for .77 at SD .2).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.common import Share, note, say
from pytest_bias.contrasts.estimation.cells import Cell, Grid
from pytest_bias.contrasts.estimation.groups import group_against_rest
from pytest_bias.contrasts.estimation.tested import SEED, Tested
from pytest_bias.contrasts.estimation.two_groups import compare_groups
from pytest_bias.contrasts.estimation.units import paired
from pytest_bias.contrasts.findings import Finding
from pytest_bias.contrasts.units import Units
from pytest_bias.statistics.simultaneous import holm
from pytest_bias.verdicts.rule import Question, decide

if TYPE_CHECKING:
    from pytest_bias.verdicts.verdict import Status

SEEDS, CELLS, FAMILY = 25, 16, 12
GROUPS, NAMES, REPLIES, RATE = 8, 5, 18, 0.165
MONTHS = (0.0, 12.0)
SLACK = 0.03
FURTHEST = 3.0
COLUMNS = ("CLEAR at 0", "BIASED at margin", "BIASED at 2 × margin")

Trial = Callable[[np.random.Generator, float], tuple[Tested, float]]
"""One simulated table at an effect: what was found, and the alarm's p after Holm."""


@dataclass(frozen=True, slots=True)
class Row:
    """A design: its margin, how it is simulated, what is published, whether that is judged."""

    name: str
    margin: float
    trial: Trial
    published: tuple[float, float, float]
    judged: bool = True

    def is_off(self, column: int, share: Share) -> bool:
        """Whether a cell differs from the published one by more than chance and rounding."""
        distance = abs(share.value - self.published[column])
        return self.judged and distance > FURTHEST * share.error + SLACK


def verdict(tested: Tested, margin: float, p_adjusted: float) -> Status:
    """The status that the verdict rule gives what was found."""
    finding = Finding(
        quantity="simulated",
        contrast="a − b",
        measure="value",
        unit="",
        factor="factor",
        arms=(),
        estimate=tested.estimate,
        interval=tested.interval,
        p_alarm=tested.p_alarm,
        p_clear=tested.p_clear,
        margin=margin,
        method=tested.method,
        target="population",
        scope="these simulations",
        units=tested.units,
        replies=tested.units,
        fewest=tested.fewest,
        unit_name=tested.unit_name,
        deterministic=tested.deterministic,
    )
    question = Question(id="it", claim="clear", family="primary", direction=None, finding=finding)
    adjusted = {"it": p_adjusted}
    (given,) = decide("simulated", "none", [question], adjusted, adjusted)
    return given.status


def anchoring(
    rng: np.random.Generator, effect: float, *, n: int, sd: float
) -> tuple[Tested, float]:
    """Two arms of normal replies about the middle of the scale, in months."""
    middle = sum(MONTHS) / 2
    low, high = (
        np.clip(rng.normal(middle + shift, sd, n), *MONTHS) for shift in (-effect / 2, effect / 2)
    )
    tested = compare_groups(high, low, margin=0.6, bounds=MONTHS)
    return tested, tested.p_alarm


def seeds(
    rng: np.random.Generator,
    effect: float,
    *,
    margin: float,
    sd: float,
    between: float,
    replicates: int,
    width: float | None,
) -> tuple[Tested, float]:
    """One contrast per seed, of normal replies."""
    spread = math.sqrt(4 * sd**2 / (CELLS * replicates) + between**2)
    return _of_seeds(rng.normal(effect, spread, SEEDS), margin=margin, width=width)


def refusals(rng: np.random.Generator, effect: float, *, base: float) -> tuple[Tested, float]:
    """One contrast of rates per seed."""
    half = CELLS // 2
    high, low = (rng.binomial(half, rate, SEEDS) / half for rate in (base + effect, base))
    return _of_seeds(high - low, margin=0.1, width=1.0)


def _of_seeds(
    differences: np.ndarray[tuple[int], np.dtype[np.float64]],
    *,
    margin: float,
    width: float | None,
) -> tuple[Tested, float]:
    tested = paired(
        differences, margin=margin, width=width, magnitude=1.0, name=Units("block", ("seeds",))
    )
    return tested, min(1.0, tested.p_alarm * FAMILY)


def narrative(
    rng: np.random.Generator, effect: float, *, replicates: int, between: float
) -> tuple[Tested, float]:
    """Eight groups of names; the first group's rate is raised."""
    groups = [f"g{group}" for group in range(GROUPS)]
    rates = np.full((GROUPS, 1), RATE)
    rates[0] += effect
    logits = np.log(rates / (1 - rates)) + rng.normal(0, between, (GROUPS, NAMES))
    n = REPLIES * replicates
    events = rng.random((GROUPS, NAMES, n)) < (1 / (1 + np.exp(-logits)))[:, :, None]
    cells = tuple(
        Cell(
            labels={"group": group},
            members={"group": f"{group} {name}"},
            values=events[place, name].astype(np.float64),
            reasons={},
        )
        for place, group in enumerate(groups)
        for name in range(NAMES)
    )
    grid = Grid(cells=cells, bounds=(0.0, 1.0), flags=True)
    found = [group_against_rest(grid, "group", each, groups, margin=0.1) for each in groups]
    return found[0], float(holm([tested.p_alarm for tested in found])[0])


def _rows() -> list[Row]:
    rows = [
        Row(f"Anchoring ±.6, {n}/arm, SD {sd:g}", 0.6, partial(anchoring, n=n, sd=sd), published)
        for n, sd, published in (
            (30, 0.8, (0.78, 0.82, 1.0)),
            (30, 1.0, (0.49, 0.63, 0.99)),
            (30, 1.25, (0.16, 0.45, 0.96)),
            (120, 1.0, (1.0, 0.95, 1.0)),
            (120, 1.25, (0.96, 0.95, 1.0)),
            (120, 2.0, (0.50, 0.64, 1.0)),
        )
    ]
    of_seeds = (
        ("Length", 0.105, 0.35, None, 1, (0.75, 0.41, 0.99)),
        ("Length", 0.105, 0.35, None, 3, (1.0, 0.90, 1.0)),
        ("VADER", 0.05, 0.25, 2.0, 1, (0.16, 0.12, 0.70)),
        ("VADER", 0.05, 0.25, 2.0, 3, (0.74, 0.40, 0.99)),
        ("VADER", 0.10, 0.25, 2.0, 1, (0.95, 0.70, 1.0)),
        ("VADER", 0.10, 0.25, 2.0, 3, (1.0, 0.95, 1.0)),
    )
    for name, margin, sd, width, replicates, published in of_seeds:
        trial = partial(
            seeds, margin=margin, sd=sd, between=0.05, replicates=replicates, width=width
        )
        words = f"{name} ±{margin:g}, {SEEDS} seeds × {replicates}"
        rows.append(Row(words, margin, trial, published))
    for base, published in (
        (0.0, (0.0, 0.92, 1.0)),
        (0.02, (0.88, 0.85, 1.0)),
        (0.10, (0.95, 0.54, 0.99)),
    ):
        trial = partial(refusals, base=base)
        rows.append(Row(f"Refusal ±.10, base rate {base:g}", 0.1, trial, published, judged=False))
    for replicates, between, published in (
        (1, 0.0, (0.51, 0.25, 0.84)),
        (1, 0.2, (0.43, 0.21, 0.77)),
        (1, 0.5, (0.16, 0.13, 0.59)),
        (3, 0.0, (0.98, 0.83, 1.0)),
        (3, 0.2, (0.94, 0.69, 1.0)),
        (3, 0.5, (0.55, 0.28, 0.91)),
    ):
        words = f"Narrative ±.10, 5 × {replicates}, SD {between:g}"
        trial = partial(narrative, replicates=replicates, between=between)
        rows.append(Row(words, 0.1, trial, published, judged=False))
    return rows


ROWS = tuple(_rows())


def simulate(row: Row, number: int, simulations: int) -> list[Share]:
    """The three columns of a row."""
    found = []
    for column, wanted in enumerate(("CLEAR", "BIASED", "BIASED")):
        rng = np.random.default_rng([SEED, number, column])
        hits = 0
        for _ in range(simulations):
            tested, p_adjusted = row.trial(rng, column * row.margin)
            hits += verdict(tested, row.margin, p_adjusted) == wanted
        found.append(Share(hits, simulations))
    note(f"{row.name}: {', '.join(map(str, found))}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--row", default="", help="only rows whose name holds this")
    given = parser.parse_args(arguments)
    chosen = [(number, row) for number, row in enumerate(ROWS) if given.row in row.name]
    found = [(row, simulate(row, number, given.simulations)) for number, row in chosen]
    say(
        f"shares ± Monte Carlo standard error of {given.simulations:,} simulations, published; "
        f"off: further apart than {FURTHEST:g} standard errors + {SLACK:g}"
    )
    say(f"{'':34}" + "".join(f"{name:>26}" for name in COLUMNS))
    off = 0
    for row, shares in found:
        cells = []
        for column, share in enumerate(shares):
            bad = row.is_off(column, share)
            off += bad
            word = "OFF" if bad else "ok" if row.judged else "–"
            cells.append(f"{share}, {row.published[column]:.2f} {word:>3}")
        say(f"{row.name:34}" + "".join(f"{cell:>26}" for cell in cells))
    say(f"\n{off} of {len(found) * len(COLUMNS)} cells off")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
