"""How often verdicts err: simulated subjects, drawn anew, with known effects planted in them.

    python plugin/benchmarks/error_rates.py DRAWS --draws 400 --seed 20261201 -j 2
    python plugin/benchmarks/error_rates.py DRAWS --summary

In each draw a subject answers the whole gate design of an experiment in this process: protocol,
parser, measures, analysis and upgrade gate are those of a recording. Each is a line of DRAWS (JSON
Lines, packed if the name ends in .gz), and what stands there is not drawn again: an interrupted
run goes on with the same command. The seed decides all chance. The shares are printed beside their
bounds; one that breaks its bound, or a row without its draws, makes the exit status 1.
docs/error_rates.md describes the rows.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from multiprocessing import Pool
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest_bias as bias
from benchmarks.common import Share, note, say
from pytest_bias.baselines.entries import Acceptance, Entry, entry_of, is_stopped
from pytest_bias.baselines.fingerprints import fingerprint_of
from pytest_bias.baselines.gate import compare
from pytest_bias.cassettes.staleness import copied_text
from pytest_bias.contrasts.cases import Registered
from pytest_bias.contrasts.declared import levels_of
from pytest_bias.contrasts.differences import PairContrast
from pytest_bias.experiments.canonical import compact, digest
from pytest_bias.experiments.design import Trial, is_control
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.measures import MISSING
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.records import Exchange, Outcome, Recording, records_of
from pytest_bias.experiments.replay import PendingRequest, carry_out
from pytest_bias.experiments.simulated import simulated_text
from pytest_bias.providers.simulated import judge_of_simulated
from pytest_bias.settings.given import cores
from pytest_bias.verdicts.analysis import Analysis, analyse
from pytest_bias.workbench.project import Project
from pytest_bias.workbench.suite import configured, registry_of, suite_modules

EVEN, BIASED, MESSY = "even", "biased", "messy"
CLEAN, TEMPERATURE_0, UPGRADE = "clean", "temperature 0", "biased, unchanged"
COPIES = "copies"
MARGIN, TWO, CELL = "one margin", "two margins", "two margins in one cell"
SUITE_ROWS = (CLEAN, MESSY, TEMPERATURE_0, UPGRADE, COPIES)
CLAIM_ROWS = (MARGIN, TWO, CELL)
BLOCK = 10  # draws that a process makes together
OF_A_KIND = 100  # draws of rows of one claim, shared over the claims of a kind; and of copies
PASSES = {CLEAN: (0.95, 0.9915), MESSY: (0.90, 0.983), TEMPERATURE_0: (0.95, None)}
"""Row → the least shares in which the suite passes, and each experiment."""
STOPPED = {CLEAN: 0.05, UPGRADE: 0.10}
"""Row → the most that an unchanged suite is stopped by the upgrade gate."""
UNSEEN = 0.10  # of the draws at temperature 0, the most whose one reply ignores a control
COPIED = 0.3  # share of the replies that a cache gives again
ACCEPTANCE = Acceptance(reason="benchmark", owner="benchmark", until="9999-12-31")
NO_RECORDING = Recording(
    cassette="", checksum="", simulated=True, wire="", recorded_with="", interactions=None
)

Line = Mapping[str, Any]  # one draw of one experiment, as JSON
KEY = itemgetter("row", "experiment", "plant")  # gets the key of a line's row, see Row.key
Side = dict[str, Sequence[str]]  # factor, or name of the items → levels with a planted effect


@dataclass(frozen=True, slots=True)
class Plant:
    """An effect in a hypothesis: so many of its margins, or that at one level of a factor."""

    hypothesis: str
    margins: float
    factor: str = ""
    level: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of subject in one experiment, how often it is drawn, and who was accepted before.

    ``kind``: that of its claim, where it is of one. ``frozen``: temperature 0; an item, and the
    first, second … name of a level, get one reply.
    """

    name: str
    experiment: str
    draws: int
    subject: str = EVEN
    plant: Plant | None = None
    accepted: str = ""
    frozen: bool = False
    kind: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What names its draws in a file."""
        planted = (self.plant.hypothesis, self.plant.level) if self.plant else ()
        return self.name, self.experiment, "@".join(filter(None, planted))


class Block(NamedTuple):
    """Draws of a row that one process makes: those ``wanted``, from ``first`` on."""

    row: Row
    first: int
    wanted: Sequence[int]


def rows_of(of: Registered, draws: int) -> Iterator[Row]:
    """Yield every row of an experiment."""
    name, few = of.experiment.id, min(draws, OF_A_KIND)
    yield Row(CLEAN, name, draws, accepted=EVEN)
    yield Row(MESSY, name, draws, subject=MESSY)
    yield Row(TEMPERATURE_0, name, draws, frozen=True)
    yield Row(UPGRADE, name, draws, subject=BIASED, accepted=BIASED)
    yield Row(COPIES, name, few)
    for claim in representatives(of):
        of_one = partial(Row, experiment=name, draws=few, kind=kind_of(of.hypotheses[claim]))
        if has_known_truth(of.hypotheses[claim]):
            yield of_one(MARGIN, plant=Plant(claim, 1), accepted=EVEN)
        yield of_one(TWO, plant=Plant(claim, 2))
        for factor in getattr(of.hypotheses[claim], "within", {}):
            controls = of.experiment.control_levels(factor)
            level = next(each for each in of.experiment.levels(factor) if each not in controls)
            yield of_one(CELL, plant=Plant(claim, 2, factor, level))


def shared(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of all experiments; those of one claim share the draws of their kind."""
    kinds = Counter((row.name, row.kind) for row in rows)
    most = {key: math.ceil(OF_A_KIND / number) for key, number in kinds.items()}
    return [replace(r, draws=min(r.draws, most[r.name, r.kind])) if r.kind else r for r in rows]


def representatives(of: Registered) -> list[str]:
    """Return the first gating claim with a margin of every family, kind and measure."""
    found: dict[tuple[str, ...], str] = {}
    for name, each in dict[str, Any](of.hypotheses).items():
        if each.claim != "describe" and getattr(each, "margin", None):
            key = (each.family, type(each).__name__, measure_of(each), each.claim)
            found.setdefault(key, name)
    return list(found.values())


def kind_of(claim: Any) -> str:
    """Return the kind under which the draws of a claim are pooled."""
    kind = "missing replies" if measure_of(claim) == MISSING else type(claim).__name__
    return f"{kind} ({claim.claim or 'detect'})"


def measure_of(claim: Any) -> str:
    """Return the measure a claim is about; '' where it has none."""
    return str(getattr(claim, "measure", ""))


def has_known_truth(claim: Any) -> bool:
    """Return whether what is planted is the estimand, which has no sign in "any group"."""
    levels = [getattr(claim, "group", ""), *getattr(claim, "factors", {}).values()]
    return not isinstance(claim, bias.TotalGap) and None not in levels


def planted_in(of: Registered, plant: Plant) -> tuple[str, float]:
    """Return the key of a measure in :attr:`SimulatedPrompt.planted`, and what it moves by."""
    claim: Any = of.hypotheses[plant.hypothesis]
    measure, upward = measure_of(claim), claim.direction == "positive"
    margins = plant.margins if upward or measure == MISSING else -plant.margins
    if isinstance(claim, bias.Selection):
        measure = f"{claim.selected}*{'+'.join(levels_of(claim.group))}"
    elif isinstance(claim, bias.RateRatio):
        measure = f"{measure}*"
    return measure, margins * (math.log(claim.margin) if "*" in measure else claim.margin)


def sides(of: Registered, plant: Plant) -> list[Side]:
    """Return where an effect is planted; of an interaction, in two opposite cells."""
    experiment, claim = of.experiment, of.hypotheses[plant.hypothesis]
    found: list[Side] = [{}]
    if isinstance(claim, PairContrast):
        found = [{claim.factor: claim.levels[0]}]
    elif isinstance(claim, bias.GroupContrast):
        group = claim.group or (claim.among or experiment.levels(claim.factor))[0]
        found = [{claim.factor: (group,)}]
    elif isinstance(claim, bias.TotalGap):
        found = [{claim.factor: levels_of(claim.gaps[0][0])}]
    elif isinstance(claim, bias.Interaction):
        pairs = claim.factors.items()
        found = [{n: levels_of(p[0] if p else experiment.levels(n)[0]) for n, p in pairs}]
        if all(claim.factors.values()):
            found.append({n: levels_of(p[1]) for n, p in pairs if p})
    at = {name: levels_of(levels) for name, levels in getattr(claim, "at", {}).items()}
    at |= {plant.factor: (plant.level,)} if plant.factor else {}
    return [side | at for side in found]


class Planting:
    """Plants an effect in the trials of one draw, whose name decides all chance."""

    def __init__(self, of: Registered, plant: Plant | None, draw: str) -> None:
        self.of, self.draw = of, draw
        self.sides = [] if plant is None else sides(of, plant)
        self.key, self.amount = ("", 0.0) if plant is None else planted_in(of, plant)

    def in_trial(self, trial: Trial) -> tuple[dict[str, float], bool]:
        """Return what is planted in a trial, by measure, and whether its replies are empty."""
        experiment, levels = self.of.experiment, trial.condition.levels
        control = is_control(trial.condition, experiment.factors)
        control |= experiment.items is not None and trial.item in experiment.items.controls
        stands = (all(levels.get(n, str(trial.item)) in s[n] for n in s) for s in self.sides)
        # Half of an interaction is in each of two cells: then no factor alone has an effect.
        here = sum(stands) / max(len(self.sides), 1)
        if self.key == MISSING:
            return {}, _seed(f"{self.draw}:lost:{trial.id}") < self.amount * here * 16**15
        return {self.key: self.amount * here} if here and not control else {}, False


def through_cache(outcomes: Sequence[Outcome], draw: str) -> Iterator[Outcome]:
    """Yield outcomes, some of them the first of their cell again: by its id, or by a header."""
    first: dict[object, Outcome] = {}
    headers = _seed(f"{draw}:headers") % 2 == 0
    for outcome in outcomes:
        trial, source = outcome.trial, first.setdefault(outcome.trial.cell, outcome)
        again = _seed(f"{draw}:copied:{trial.id}") < COPIED * 16**15 and source is not outcome
        given = source if again else outcome
        name, header = ("", "x-cache" * again) if headers else (given.trial.id, "")
        origin = Exchange(to="subject", id=name, cached=header)
        yield replace(given, trial=trial, exchanges=(origin,))


def _seed(text: str) -> int:
    return int(digest(text)[:15], 16)


class Bench:
    """An experiment of a suite under its gate design: what no draw changes is made once."""

    def __init__(self, declared: Project, name: str) -> None:
        self.of = declared.registry[name]
        self.allocation = declared.allocation(name)
        experiment, claims = self.of.experiment, self.of.hypotheses.items()
        self.design = experiment.design()
        self.told = {n: fingerprint_of(experiment, self.design, claim, "") for n, claim in claims}
        self.digest = digest(compact(self.told, sort_keys=True))
        self.trials = plan(experiment, self.design)

    def drawn(self, row: Row, draw: str) -> Analysis:
        """Return the analysis of one draw; ``draw`` decides all chance."""
        experiment = self.of.experiment
        roles = ModelRoles(f"simulated/{row.subject}", judge_of_simulated(row.subject))
        planting = Planting(self.of, row.plant, draw)
        outcomes = [self._outcome(row, roles, planting, trial) for trial in self.trials]
        if row.name == COPIES:
            outcomes = [*through_cache(outcomes, draw)]
        return analyse(
            experiment,
            self.design,
            roles.subject,
            outcomes,
            records=records_of(outcomes, tuple(experiment.measures)).for_verdicts,
            hypotheses=tuple(self.of.hypotheses.values()),
            controls=tuple(self.of.controls.values()),
            recording=replace(
                NO_RECORDING,
                checksum=digest(f"{row.key}:{draw}"),
                copied=copied_text(outcomes),
            ),
            allocation=self.allocation,
        )

    def _outcome(self, row: Row, roles: ModelRoles, planting: Planting, trial: Trial) -> Outcome:
        answers = self.of.experiment.simulated
        assert answers is not None  # noqa: S101  (no other is drawn)
        planted, lost = planting.in_trial(trial)
        names = trial.exemplars.items()
        factors = {factor.name: factor.exemplars for factor in self.of.experiment.factors}
        places = [factors[n][trial.condition.levels[n]].index(name) for n, name in names]
        chance = f"{planting.draw}:{(trial.item, places) if row.frozen else trial.id}"

        def answer(wanted: PendingRequest) -> Completion | None:
            who = roles.model(wanted.request.to).partition("/")[2]
            at = f"{wanted.place.branch}:{wanted.place.turn}:{wanted.place.attempt}"
            told, seeds = wanted.request.messages, (_seed(f"{chance}:{at}"), _seed(chance))
            prompt = bias.SimulatedPrompt(who, told, seeds[0], planted, trial=seeds[1])
            text = "" if lost else simulated_text(answers, prompt)
            return None if text is None else Completion(text, "stop", who, latency=0.0)

        return carry_out(self.of.experiment, roles, trial, answer)

    def lines(self, seed: int, block: Block) -> Iterator[Line]:
        """Yield the lines of a block of draws.

        An upgrade is held against a draw of the accepted subject; where that is the same subject,
        against the draw before it.
        """
        row, accepted = block.row, dict[str, Entry]()
        name = ":".join((str(seed), *row.key))
        same = row.accepted == row.subject and row.plant is None
        if row.accepted:
            before = replace(row, subject=row.accepted, plant=None)
            accepted = self._accepted(self.drawn(before, f"{name}:accepted:{block.first}"))
        for draw in range(block.first, block.wanted[-1] + 1) if same else block.wanted:
            analysis = self.drawn(row, f"{name}:{draw}")
            if draw in block.wanted:
                line = self._line(row, draw, analysis)
                yield line | ({"worse": self._worse(analysis, accepted)} if accepted else {})
            if same:
                accepted = self._accepted(analysis)

    def _line(self, row: Row, draw: int, analysis: Analysis) -> dict[str, Any]:
        stops = {
            v.id: f"{v.status}: {v.reason.value}" if v.reason else v.status
            for v in analysis.verdicts
            if is_stopped(v.status, v.claim)
        }
        line: dict[str, Any] = dict(zip(("row", "experiment", "plant"), row.key, strict=True))
        line |= {"draw": draw, "stops": stops, "unseen": [each.id for each in analysis.not_seen]}
        if row.name == COPIES:
            line["given"] = sum(each.status != "INCONCLUSIVE" for each in analysis.verdicts)
        if row.plant is not None:
            line |= {"status": analysis.verdict(row.plant.hypothesis).status, "kind": row.kind}
        return line

    def _accepted(self, analysis: Analysis) -> dict[str, Entry]:
        made = partial(entry_of, recording=analysis.recording, acceptance=ACCEPTANCE)
        return {v.id: made(v, fingerprint=self.told[v.id]) for v in analysis.verdicts}

    def _worse(self, analysis: Analysis, accepted: Mapping[str, Entry]) -> dict[str, str]:
        """Return hypothesis → what its verdict is beside the accepted one, if the gate stops."""
        known = sum(each.accepted is not None for each in accepted.values())
        stopped = [v for v in analysis.verdicts if is_stopped(v.status, v.claim)]
        found = {}
        for v in stopped:
            new = entry_of(v, analysis.recording, self.told[v.id])
            old = accepted[v.id]
            found[v.id] = compare(v.named, new, old, today="2000-01-01", known=known)
        return {name: each.outcome for name, each in found.items() if not each.tolerated}


@cache
def declared_by(suite: str) -> Project:
    """What a suite declares, read once in a process."""
    return Project(configured(), registry_of(suite_modules(suite)))


@cache
def bench_of(suite: str, experiment: str) -> Bench:
    """An experiment of a suite, ready to be drawn; made once in a process."""
    return Bench(declared_by(suite), experiment)


def lines_of(suite: str, seed: int, block: Block) -> tuple[Block, list[Line]]:
    """Return a block and its lines, drawn in whatever process."""
    return block, [*bench_of(suite, block.row.experiment).lines(seed, block)]


def blocks_of(rows: Iterable[Row], lines: Iterable[Line]) -> list[Block]:
    """Return the blocks of rows in which draws are lacking: the first of each row come first."""
    there = {(*KEY(line), line["draw"]) for line in lines}
    blocks: list[Block] = []
    for row in rows:
        for first in range(0, row.draws, BLOCK):
            draws = range(first, min(row.draws, first + BLOCK))
            wanted = [draw for draw in draws if (*row.key, draw) not in there]
            blocks += [Block(row, first, wanted)] if wanted else []
    return sorted(blocks, key=lambda block: block.first)


def read(path: Path) -> tuple[Line, list[Line]]:
    """Return the settings and the draws in a file."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        first, *lines = map(json.loads, file)
    return first, lines


def append(path: Path, lines: Iterable[Line]) -> None:
    """Append lines to a file at once, so that no interruption cuts one."""
    text = "".join(f"{compact(line, sort_keys=True)}\n" for line in lines).encode()
    with path.open("ab", buffering=0) as file:
        file.write(gzip.compress(text) if path.suffix == ".gz" else text)


def fill(path: Path, rows: Iterable[Row], suite: str, *, seed: int, jobs: int) -> None:
    """Make the draws of rows that a file lacks, and append each block as it is done."""
    every = (each.experiment.id for each in declared_by(suite).registry)
    digests = {name: bench_of(suite, name).digest for name in every}
    settings = {"format": 2, "seed": seed, "suite": suite, "designs": digests}
    if not path.exists():
        append(path, [settings])
    written, lines = read(path)
    if written != settings:
        sys.exit(f"{path}: drawn with other settings or designs; name another file")
    blocks = blocks_of(rows, lines)
    done, total, began = 0, sum(len(block.wanted) for block in blocks), time.monotonic()
    with Pool(jobs) as pool:
        for block, found in pool.imap_unordered(partial(lines_of, suite, seed), blocks):
            append(path, found)
            done += len(block.wanted)
            left = (time.monotonic() - began) / done * (total - done)
            note(f"{done} of {total} draws, {left:.0f} s left ({', '.join(block.row.key)})")


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened to a subject, and the share it must not be beyond."""

    subject: str
    what: str
    share: Share
    most: float | None = None
    least: float | None = None

    @property
    def holds(self) -> bool:
        """Return whether it is within its bound and two Monte Carlo errors."""
        least, most = self.least or 0.0, 1.0 if self.most is None else self.most
        low, high = (2 * math.sqrt(b * (1 - b) / self.share.runs) for b in (least, most))
        return least - low <= self.share.value <= most + high

    def markdown(self) -> str:
        """Return it as a line of a table."""
        bound = "" if self.most is None else f"≤ {self.most:g}"
        bound = bound if self.least is None else f"≥ {self.least:g}"
        share = f"{self.share.value:.3f} ± {2 * self.share.error:.3f}"
        broken = "" if self.holds else " **broken**"
        return f"| {self.subject} | {self.what} | {bound} | {share}{broken} | {self.share.runs} |"


def rates(settings: Line, lines: Iterable[Line]) -> list[Rate]:
    """Return all shares of the table."""
    by_row = defaultdict[str, list[Line]](list)
    for line in lines:
        by_row[line["row"]].append(line)
    suite = (_of_suite(name, by_row[name], settings["designs"]) for name in SUITE_ROWS)
    claims = (_of_claims(name, by_row[name]) for name in CLAIM_ROWS)
    return [*chain(*suite, *claims)]


def _of_suite(name: str, lines: Sequence[Line], designs: Iterable[str]) -> Iterator[Rate]:
    """Yield the shares of a row of the suite, by draw and by experiment."""
    if name == TEMPERATURE_0:  # the one reply there is may be one that ignores a control
        yield from _left_out(name, lines)
        lines = [line for line in lines if not line["unseen"]]
    by_experiment = defaultdict[str, dict[int, Line]](dict)
    for line in lines:
        by_experiment[line["experiment"]][line["draw"]] = line
    whole = by_experiment.keys() == {*designs}
    numbers = set.intersection(*({*each} for each in by_experiment.values())) if whole else set()
    groups = {"suite": [[each[n] for each in by_experiment.values()] for n in sorted(numbers)]}
    for experiment, each in sorted(by_experiment.items()):
        groups[experiment] = [[line] for line in each.values()]
    for of, drawn in groups.items():
        is_suite = of == "suite"
        if name in (CLEAN, MESSY) and drawn:
            said = ([why for line in each for why in line["stops"].values()] for each in drawn)
            biased = _count(any("BIASED" in why for why in each) for each in said)
            yield Rate(name, f"{of}: any BIASED", biased, most=0.05 if is_suite else None)
        if name == COPIES and drawn:
            given = _count(any(line["given"] for line in each) for each in drawn)
            yield Rate(name, f"{of}: any verdict given", given, most=0.0)
        if name in PASSES and drawn:
            passes = _count(all(map(_passes, each)) for each in drawn)
            yield Rate(name, f"{of}: passes", passes, least=PASSES[name][not is_suite])
        if name in STOPPED and drawn:
            stopped = _count(any(line["worse"] for line in each) for each in drawn)
            most = STOPPED[name] if is_suite else None
            yield Rate(name, f"{of}: unchanged upgrade stopped", stopped, most=most)


def _left_out(name: str, lines: Sequence[Line]) -> Iterator[Rate]:
    """Yield the share of the draws of each experiment that leave a control unseen."""
    for of in sorted({line["experiment"] for line in lines}):
        unseen = _count(bool(line["unseen"]) for line in lines if line["experiment"] == of)
        yield Rate(name, f"{of}: control unseen, left out", unseen, most=UNSEEN)


def _of_claims(name: str, lines: Sequence[Line]) -> Iterator[Rate]:
    """Yield the shares of a row of single claims, by kind of contrast."""
    by_kind = defaultdict[str, list[Line]](list)
    for line in lines:
        by_kind[line["kind"]].append(line)
    for kind, drawn in sorted(by_kind.items()):
        if name != MARGIN:  # to detect missing replies is no claim about bias, and no bound
            most = None if kind == "missing replies (detect)" else 0.05
            yield Rate(name, f"{kind}: experiment passes", _count(map(_passes, drawn)), most=most)
            continue
        cleared = _count(line["status"] == "CLEAR" for line in drawn)
        yield Rate(name, f"{kind}: CLEAR", cleared, most=0.05)
        stopped = _count(line["plant"].partition("@")[0] in line["worse"] for line in drawn)
        least = 0.90 if "(clear)" in kind else None
        yield Rate(name, f"{kind}: upgrade from `even` stopped", stopped, least=least)


def _count(happens: Iterable[bool]) -> Share:
    each = [*happens]
    return Share(sum(each), len(each))


def _passes(line: Line) -> bool:
    return not line["stops"] and not line["unseen"]


def reasons(lines: Iterable[Line]) -> Iterator[str]:
    """Yield what stopped which row, and how often."""
    counts: Counter[str] = Counter()
    for line in lines:
        said = [f"{name} unseen" for name in line["unseen"]]
        if line["plant"]:
            said.append(f"is {line['status']}")
        else:
            said += [f"{name} {why}" for name, why in line["stops"].items()]
            said += [f"{name} upgrade {why}" for name, why in line.get("worse", {}).items()]
        counts.update(f"{', '.join(filter(None, KEY(line)))}: {each}" for each in said)
    yield from (f"{n} × {said}" for said, n in sorted(counts.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw what is asked for, print the table, and return 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file", type=Path, help="file of draws")
    parser.add_argument("--draws", type=int, default=0, help="how many each row is to have")
    parser.add_argument("--row", action="append", choices=(*SUITE_ROWS, *CLAIM_ROWS))
    parser.add_argument("--experiment", action="append", help="only these")
    parser.add_argument("--suite", default="bias_tests", help="package of experiments")
    parser.add_argument("--seed", type=int, default=1, help="decides all chance")
    parser.add_argument("-j", "--jobs", type=int, default=cores(), help="processes")
    parser.add_argument("--summary", action="store_true", help="print the table alone")
    given = parser.parse_args(arguments)
    every = (each for each in declared_by(given.suite).registry if each.experiment.simulated)
    rows = shared([row for each in every for row in rows_of(each, given.draws or 1)])
    rows = [row for row in rows if row.experiment in (given.experiment or [row.experiment])]
    rows = [row for row in rows if row.name in (given.row or [row.name])]
    if given.draws:
        fill(given.file, rows, given.suite, seed=given.seed, jobs=given.jobs)
    settings, lines = read(given.file)
    found = rates(settings, lines)
    lacking = [", ".join(filter(None, block.row.key)) for block in blocks_of(rows, lines)]
    say("| subject | what | bound | share ± 2 Monte Carlo errors | draws |\n|---|---|---|---|---|")
    for text in (*(each.markdown() for each in found), *([] if given.summary else reasons(lines))):
        say(text)
    for key in dict.fromkeys(lacking):
        say(f"not drawn: {key}")
    return int(bool(lacking) or not rows or not all(each.holds for each in found))


if __name__ == "__main__":
    sys.exit(main())
