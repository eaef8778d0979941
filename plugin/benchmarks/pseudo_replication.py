"""False alarms of methods that count replies, and of those that count units, simulated anew.

    python plugin/benchmarks/pseudo_replication.py [--simulations 4000] [--primary 1000]

Without any difference between groups, how often does each method alarm at α = .05 when replies
cluster by name or by prompt seed? Columns are intraclass correlations (ICC) of single replies.
The first six rows have been published with this project; a cell is off where it differs from the
published one by more than three standard errors of that difference (both tables are simulated).
The last three rows are the analyses that give this program's verdicts, from records to finding; a
cell is off where it is further than three standard errors from .05. Any cell off: exit status 1.

Rows on groups: 8 groups × 5 names × 18 replies, yes or no at a rate of .3. Every name has a rate
of its own from a beta distribution, which makes ICC the correlation of two replies to one name
(beta-binomial). That is the scale and the rate that give the published table: with a normal
latent variable chi-square alarms in .24 instead of .377 at ICC .05, and with a rate of .5 the
cluster-robust test in .38 instead of .445 at ICC .5.
Rows on seeds: two arms × 25 seeds × 10 replies, normal, with normal seed means.

Each p-value is that of the public function (or of statsmodels) called once per simulated table;
only the permutation of labels draws 999 relabellings here instead of 10,000.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy ships no types

from benchmarks.common import Share, note, say
from pytest_bias import Experiment, Factor, GroupContrast, MeanDifference, Measure
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.records import Record, Records
from pytest_bias.stats.classical import chi_square, one_way
from pytest_bias.stats.means import welch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_bias.contrasts.declared import Hypothesis
    from pytest_bias.experiments.design import Trial
    from pytest_bias.experiments.measures import MeasureValue
    from pytest_bias.experiments.protocol import Subject

    Numbers = NDArray[np.float64]

ALPHA = 0.05
SEED = 20_261_101
ICCS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
RATE = 0.3
GROUPS, NAMES, REPLIES = 8, 5, 18
SEEDS, REPLICATES = 25, 10
RESAMPLES = 999
FURTHEST = 3.0
PUBLISHED_RUNS = 2_000

PUBLISHED: Mapping[str, tuple[float, ...]] = {
    "chi-square on replies": (0.047, 0.377, 0.634, 0.880, 0.947, 0.988),
    "ANOVA on name means": (0.047, 0.050, 0.048, 0.051, 0.048, 0.055),
    "permutation of name labels": (0.046, 0.051, 0.046, 0.044, 0.046, 0.045),
    "cluster-robust (CR1) Wald F": (0.306, 0.305, 0.313, 0.337, 0.380, 0.445),
    "Welch on replies": (0.047, 0.102, 0.152, 0.240, 0.312, 0.407),
    "Welch on seed means": (0.048, 0.047, 0.046, 0.049, 0.052, 0.048),
}

_LABELS = [f"g{group}" for group in range(GROUPS)]


def events(rng: np.random.Generator, icc: float) -> Numbers:
    """Replies of one simulated table, 0 or 1, of shape (groups, names, replies)."""
    shape = (GROUPS, NAMES)
    rates = np.full(shape, RATE)
    if icc:
        size = 1 / icc - 1
        rates = rng.beta(RATE * size, (1 - RATE) * size, size=shape)
    return (rng.random((*shape, REPLIES)) < rates[:, :, None]).astype(np.float64)


def scores(rng: np.random.Generator, icc: float) -> Numbers:
    """Replies of one simulated table, of variance 1 and shape (arms, seeds, replicates)."""
    of_seeds = rng.standard_normal((2, SEEDS, 1)) * math.sqrt(icc)
    return of_seeds + rng.standard_normal((2, SEEDS, REPLICATES)) * math.sqrt(1 - icc)


def chi_square_p(yes: Numbers) -> float:
    """Pearson's chi-square of groups × replies, as if every reply were independent."""
    counts = yes.sum(axis=(1, 2)).astype(np.int64)
    return chi_square(np.column_stack([counts, NAMES * REPLIES - counts])).p


def anova_p(yes: Numbers) -> float:
    """One-way analysis of variance of the names' means."""
    return one_way(list(yes.mean(axis=2))).p


def permutation_p(yes: Numbers) -> float:
    """The omnibus permutation of the names' labels."""
    found = stats.permutation_test(
        list(yes.mean(axis=2)),
        lambda *groups, axis: sum(group.mean(axis=axis) ** 2 for group in groups),
        vectorized=True,
        alternative="greater",
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def cluster_robust_p(yes: Numbers) -> float:
    """Wald F of a linear model of replies, its covariance clustered by name (CR1)."""
    # statsmodels takes a second to import, and ships no types
    from statsmodels import api  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    groups = np.repeat(np.arange(GROUPS), NAMES * REPLIES)
    columns = [np.ones(groups.size), *((groups == group) * 1.0 for group in range(1, GROUPS))]
    names = np.repeat(np.arange(GROUPS * NAMES), REPLIES)
    with warnings.catch_warnings():
        # Two groups whose names all have one rate: statsmodels then tests what is left.
        warnings.simplefilter("ignore")
        fitted = api.OLS(yes.ravel(), np.column_stack(columns)).fit(
            cov_type="cluster", cov_kwds={"groups": names}
        )
        return float(fitted.f_test(np.eye(GROUPS)[1:]).pvalue)


def welch_replies_p(values: Numbers) -> float:
    """Welch's t test of two arms, as if every reply were independent."""
    return welch(values[1].ravel(), values[0].ravel()).p


def welch_seeds_p(values: Numbers) -> float:
    """Welch's t test of the seeds' means."""
    return welch(values[1].mean(axis=1), values[0].mean(axis=1)).p


Table = Callable[[np.random.Generator, float], "Numbers"]
Test = Callable[["Numbers"], float]

TESTS: Mapping[str, tuple[Table, Test]] = {
    "chi-square on replies": (events, chi_square_p),
    "ANOVA on name means": (events, anova_p),
    "permutation of name labels": (events, permutation_p),
    "cluster-robust (CR1) Wald F": (events, cluster_robust_p),
    "Welch on replies": (scores, welch_replies_p),
    "Welch on seed means": (scores, welch_seeds_p),
}


async def _unasked(trial: Trial, subject: Subject) -> None:
    """No reply is ever asked for: records are made of simulated numbers."""


def _primary(
    factor: Factor, measure: Measure, replicates: int, contrast: Hypothesis, *, flags: bool
) -> Test:
    """The p-value of a hypothesis' own analysis, from records of every reply."""
    experiment = Experiment(
        id="pseudo-replication",
        name="Pseudo-replication",
        factors=[factor],
        protocol=_unasked,
        measures=[measure],
        replicates=replicates,
    )
    contrast.check(experiment)
    trials = plan(experiment, experiment.design())

    def p_of(values: Numbers) -> float:
        replies: list[MeasureValue] = values.ravel().astype(bool if flags else float).tolist()
        records = Records(
            tuple(
                Record(trial, {measure.name: reply}, None)
                for trial, reply in zip(trials, replies, strict=True)
            )
        )
        return contrast.analyse(experiment, records).p_alarm

    return p_of


def _sampled(name: str, levels: Sequence[str], members: int) -> Factor:
    sampled = {level: [f"{level} {n}" for n in range(members)] for level in levels}
    return Factor(name, {level: level for level in levels}, exemplars=sampled)


def primaries() -> Mapping[str, tuple[Table, Test]]:
    """The analyses that give verdicts, each with the tables it is tried on."""
    groups = _sampled("group", _LABELS, NAMES)
    arms = _sampled("arm", ["low", "high"], SEEDS)
    yes, score = Measure("yes", kind="flag"), Measure("score", kind="number")
    one = GroupContrast("yes", "group", group="g0", target="population", published=None)
    any_group = GroupContrast("yes", "group", target="population", published=None)
    means = MeanDifference(
        "score", "arm", high="high", low="low", target="population", published=None
    )
    return {
        "ours: one group, names": (events, _primary(groups, yes, REPLIES, one, flags=True)),
        "ours: any group, names": (events, _primary(groups, yes, REPLIES, any_group, flags=True)),
        "ours: two arms, seeds": (scores, _primary(arms, score, REPLICATES, means, flags=False)),
    }


def column(given: tuple[int, int, int]) -> dict[str, Share]:
    """Every row at one ICC: its place in the table, and the simulations of both kinds of rows."""
    place, simulations, primary = given
    icc = ICCS[place]
    found = {}
    rows = [(simulations, TESTS), (primary, primaries())]
    for number, (runs, (name, (table, test))) in enumerate(_flat(rows)):
        rng = np.random.default_rng([SEED, place, number])
        hits = sum(test(table(rng, icc)) <= ALPHA for _ in range(runs))
        found[name] = Share(hits, runs)
        note(f"ICC {icc:<4g} {name}: {found[name]}")
    return found


def _flat(
    rows: Sequence[tuple[int, Mapping[str, tuple[Table, Test]]]],
) -> Iterator[tuple[int, tuple[str, tuple[Table, Test]]]]:
    for runs, tests in rows:
        for test in tests.items():
            yield runs, test


def is_off(name: str, place: int, share: Share) -> bool:
    """Whether a cell departs from what is published, or from α, by more than chance explains."""
    if name in PUBLISHED:
        published = PUBLISHED[name][place]
        allowed = FURTHEST * share.error_beside(published, PUBLISHED_RUNS)
        return abs(share.value - published) > allowed
    return abs(share.value - ALPHA) > FURTHEST * math.sqrt(ALPHA * (1 - ALPHA) / share.runs)


def report(columns: Sequence[Mapping[str, Share]]) -> int:
    """Print the table beside the published one; the number of cells that are off."""
    say(f"{'ICC':30}" + "".join(f"{icc:>16g}" for icc in ICCS))
    found = 0
    for name in columns[0]:
        shares = [shares[name] for shares in columns]
        off = [is_off(name, place, share) for place, share in enumerate(shares)]
        found += sum(off)
        say(f"{name:30}" + "".join(f"{share!s:>16}" for share in shares))
        beside = PUBLISHED.get(name, (ALPHA,) * len(ICCS))
        words = "published" if name in PUBLISHED else "nominal"
        cells = [
            f"{number:.3f} {'OFF' if bad else 'ok':>3}"
            for number, bad in zip(beside, off, strict=True)
        ]
        say(f"{'  ' + words:30}" + "".join(f"{cell:>16}" for cell in cells))
    say(f"\n{found} of {len(columns) * len(columns[0])} cells off")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--simulations", type=int, default=4_000)
    parser.add_argument("--primary", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    work = [(place, given.simulations, given.primary) for place in range(len(ICCS))]
    if given.workers > 1:
        with ProcessPoolExecutor(given.workers, multiprocessing.get_context("spawn")) as pool:
            columns = list(pool.map(column, work))
    else:
        columns = list(map(column, work))
    say(
        f"false alarms at α = {ALPHA}: share ± Monte Carlo standard error; "
        f"{given.simulations:,} simulations per cell, {given.primary:,} of our own rows"
    )
    return 1 if report(columns) else 0


if __name__ == "__main__":
    sys.exit(main())
