"""How often verdicts err: simulated subjects, drawn anew, with known effects planted in them.

    python plugin/benchmarks/error_rates.py DRAWS --grid gate       a minute of a core
    python plugin/benchmarks/error_rates.py DRAWS --grid full       six core-hours
    python plugin/benchmarks/error_rates.py DRAWS --table bias_tests/calibration.json
    python plugin/benchmarks/error_rates.py DRAWS --cell cv-screening even 100 even

In each draw a subject answers a whole gate design in this process; protocol, driver, parser,
measures, analysis and gate are those of a recording. Each is a line of DRAWS (JSON Lines, packed
if the name ends in .gz), and what stands there is not drawn again: an interrupted run goes on with
the same command. The seed decides all chance. The rates are printed; one that breaks its bound
makes the exit status 1. A cell is an experiment, a subject, a number of draws, and the subject
accepted before, if each draw is to be an upgrade. docs/error_rates.md says what can be planted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest_bias as bias
from benchmarks.common import note, say
from pytest_bias.baselines.accepted import beside_entry
from pytest_bias.baselines.entries import Acceptance, Entry, entry_of, is_stopped
from pytest_bias.baselines.fingerprints import design_digest, fingerprint_of
from pytest_bias.contrasts.cases import Registered
from pytest_bias.contrasts.declared import has_exemplars, levels_of, outcomes_of
from pytest_bias.contrasts.pairs import PairContrast
from pytest_bias.contrasts.power import compared_by
from pytest_bias.experiments.canonical import compact, digest
from pytest_bias.experiments.design import Trial, is_control
from pytest_bias.experiments.experiment import Players, simulated_text
from pytest_bias.experiments.measures import MISSING
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.records import Outcome, Recording, record_of
from pytest_bias.experiments.replay import Wanted, carry_out
from pytest_bias.providers.simulated import judge_of_simulated
from pytest_bias.settings.cores import cores
from pytest_bias.verdicts.analysis import Analysis, analyse
from pytest_bias.workbench.analyses import Workbench
from pytest_bias.workbench.configuration import configured
from pytest_bias.workbench.suite import registry_of, suite_modules

EVEN, BIASED, SUITE = "even", "biased", "suite"
ALPHA = 0.05
BLOCK = 10  # draws that are made together, each an upgrade of the one before it
CREEP = 4  # steps of .4 margins after which a creeping bias must have been stopped
TOLD = 0.2  # share of units from which on a bias must not be CLEAR; of fewer CLEAR says how many
QUICK = 500  # trials of an experiment up to which more is drawn in the gate
PLANT = r"\+(?:(vary|step|informative|noise|rare)(0?\.\d+)?:)?([^@=]+)(?:@([^=]+))?=(-?[\d.]+)"
ACCEPTANCE = Acceptance(reason="benchmark", owner="benchmark", until="9999-12-31")
NO_RECORDING = Recording(
    cassette="", checksum="", simulated=True, wire="", recorded_with="", interactions=None
)

Line = Mapping[str, Any]
"""One draw of one experiment, or one rate, as JSON."""
Side = Mapping[str, Sequence[str]]
"""Factor, or name of the items → levels at which an effect is planted."""


@dataclass(frozen=True, slots=True)
class Plant:
    """One thing that is planted: how, in what, at which level, how much, in which share."""

    how: str
    name: str
    at: str
    amount: float
    share: float = 1.0


@cache
def plants_of(subject: str) -> tuple[Plant, ...]:
    """What is planted in a subject."""
    if not re.fullmatch(f"[^+]+(?:{PLANT})*", subject):
        sys.exit(f"{subject}: write even+HYPOTHESIS=MARGINS+…")
    return tuple(
        Plant(name if name in ("missing", "judge") else how, name, at, float(n), float(share or 1))
        for how, share, name, at, n in re.findall(PLANT, subject)
    )


class Planting:
    """Plants in the trials of one draw, whose name decides all chance, at a step of upgrades."""

    def __init__(self, of: Registered, subject: str, draw: str, step: int) -> None:
        self.of, self.draw, self.plants = of, draw, plants_of(subject)
        self.effects: list[tuple[Plant, str, float, list[Side], list[str]]] = []
        for plant in self.plants:
            if plant.how in ("missing", "judge"):
                self.effects.append((plant, plant.how, plant.amount, [{}], []))
            if plant.how in ("missing", "judge", "noise", "informative"):
                continue
            key, amount = planted_in(of, plant, step if plant.how == "step" else 1)
            claim: Any = of.hypotheses[plant.name]
            at, compared = sides(of, plant), compared_by(claim)
            units = [each for each in compared if has_exemplars(of.experiment, each)] or compared
            if claim.target == "population":
                units = [*claim.units_of(of.experiment, compared)]
            if plant.how == "vary" and {*compared} & {*units}:  # the units of every side do
                at = [{name: levels_of(levels) for name, levels in claim.at.items()}]
            self.effects.append((plant, key, amount, at, units))

    def dice(self, what: str) -> Random:
        """Chance that is the same whenever this draw asks for the same."""
        return Random(int(digest(f"{self.draw}:{what}"), 16))  # noqa: S311  (no secret)

    def in_trial(self, trial: Trial) -> tuple[dict[str, float], bool]:
        """What is planted in a trial, by measure, and whether its replies are empty."""
        experiment, planted, share = self.of.experiment, dict[str, float](), 0.0
        control = is_control(trial.condition, experiment.factors)
        control |= experiment.items is not None and trial.item in experiment.items.controls
        for plant, key, amount, at, units in self.effects:
            # Half of an interaction is in each of two cells: then no factor alone has an effect.
            here = sum(_stands(trial, side) for side in at) / len(at)
            if key == MISSING:
                share += amount * here
                continue
            if plant.how in ("vary", "rare") and here:
                unit = tuple(f"{_level(trial, n)}/{trial.exemplars.get(n, '')}" for n in units)
                dice = self.dice(f"{plant}:{unit}")
                if plant.how == "vary":
                    here = dice.gauss(0.0, abs(amount)) / amount
                else:
                    here = (dice.random() < plant.share) / plant.share
            if here and (key == "judge" or not control):
                planted[key] = planted.get(key, 0.0) + amount * here
        return planted, bool(share) and self.dice(f"lost:{trial.id}").random() < share

    def afterwards(
        self, outcomes: list[Outcome], emptied: Callable[[Trial], Outcome]
    ) -> list[Outcome]:
        """The outcomes once values are shuffled, or the highest ones ``emptied``."""
        for plant in self.plants:
            if plant.how not in ("noise", "informative"):
                continue
            rows = [record_of(each, self.of.experiment.measures) for each in outcomes]
            valid = [place for place, row in enumerate(rows) if row.missing is None]
            if plant.how == "noise":
                values = self._shuffled([rows[place].values for place in valid], plant.name)
                for place, value in zip(valid, values, strict=True):
                    new = {**rows[place].values, plant.name: value}
                    outcomes[place] = replace(outcomes[place], values=new)
                continue
            claim: Any = self.of.hypotheses[plant.name]
            side = sides(self.of, plant)[0]
            among = [place for place in valid if _stands(rows[place].trial, side)]
            number = plant.amount * sum(_stands(row.trial, side) for row in rows)
            ranked = sorted((rows[place].values[claim.measure], place) for place in among)
            for _, place in ranked[len(ranked) - round(number) :]:
                outcomes[place] = emptied(outcomes[place].trial)
        return outcomes

    def _shuffled(self, rows: Sequence[Mapping[str, Any]], measure: str) -> list[Any]:
        """The values of a measure in another order; of picks, as many others of those shown."""
        dice = self.dice(f"noise:{measure}")
        for each in self.of.hypotheses.values():
            if isinstance(each, bias.Selection) and each.selected == measure:
                shown = ((row[each.shown].split(), len(row[measure].split())) for row in rows)
                return [" ".join(dice.sample(pool, number)) for pool, number in shown]
        return dice.sample([row[measure] for row in rows], len(rows))


def planted_in(of: Registered, plant: Plant, times: int = 1) -> tuple[str, float]:
    """The key of a measure in :attr:`SimulatedPrompt.planted`, and so many margins of it."""
    claim: Any = of.hypotheses[plant.name]
    measure, upward = getattr(claim, "measure", ""), claim.direction == "positive"
    amount = times * plant.amount * (1 if upward or measure == MISSING else -1)
    if isinstance(claim, bias.Selection):
        measure = f"{claim.selected}*{'+'.join(levels_of(claim.group))}"
    elif isinstance(claim, bias.RateRatio):
        measure = f"{measure}*"
    return measure, amount * (math.log(claim.margin) if "*" in measure else claim.margin)


def sides(of: Registered, plant: Plant) -> list[Side]:
    """The levels an effect is planted at; of an interaction, those of two opposite cells."""
    experiment, claim = of.experiment, of.hypotheses[plant.name]
    found: list[dict[str, Sequence[str]]] = [{}]
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
        found += (
            [{n: levels_of(p[1]) for n, p in pairs if p}] if all(claim.factors.values()) else []
        )
    at = {name: levels_of(levels) for name, levels in getattr(claim, "at", {}).items()}
    if plant.at:
        names = [factor.name for factor in experiment.factors]
        names += [experiment.items.name] if experiment.items is not None else []
        at[next(n for n in names if plant.at in experiment.levels(n))] = (plant.at,)
    return [side | at for side in found]


def truth_of(of: Registered, name: str, subject: str) -> float | None:
    """The value of an estimand in a subject; None if it is not known, or has no sign."""
    claim: Any = of.hypotheses[name]
    levels = [getattr(claim, "group", ""), *getattr(claim, "factors", {}).values()]
    if subject.partition("+")[0] != EVEN or isinstance(claim, bias.TotalGap) or None in levels:
        return None
    planted = 0.0
    for plant in plants_of(subject):
        own, other = plant.name == name, of.hypotheses.get(plant.name)
        if plant.how in ("missing", "judge"):
            continue
        if own and plant.how == "vary" and claim.target == "population":
            continue  # units differ, and on average nothing is added
        if own and plant.how in ("", "rare") and not plant.at:
            planted += planted_in(of, plant)[1]
        elif other is None or own or touches(other, claim, plant.at):
            return None
    return math.exp(planted) if isinstance(claim, bias.RateRatio | bias.Selection) else planted


def touches(one: Any, other: Any, at: str = "") -> bool:
    """Return whether what is planted in one (``at`` one level) may move the other's estimate.

    It does not if they are about other measures, or differences between levels of other factors:
    conditions are crossed, so that it stands on both sides alike.
    """
    first, second = outcomes_of(one), outcomes_of(other)
    multiplied = any(isinstance(each, bias.RateRatio | bias.Selection) for each in (one, other))
    shared = {*compared_by(one), *one.at} & {*compared_by(other), *other.at}
    return MISSING in first | second or bool(first & second and (at or multiplied or shared))


def _stands(trial: Trial, side: Side) -> bool:
    return all(_level(trial, name) in levels for name, levels in side.items())


def _level(trial: Trial, name: str) -> str:
    return trial.condition.levels[name] if name in trial.condition.levels else str(trial.item)


class GridCell(NamedTuple):
    """An experiment with a subject, how often it is drawn, and who was accepted before."""

    experiment: str
    subject: str
    draws: int
    accepted: str = ""


Block = tuple[GridCell, int, Sequence[int]]
"""A cell, the first draw of a block of it, and the draws that are to be made in it."""


class Bench:
    """An experiment of a suite under its gate design: what no draw changes is made once."""

    def __init__(self, declared: Workbench, name: str) -> None:
        self.of = declared.registry[name]
        self.allocation = declared.allocation(name)
        experiment, claims = self.of.experiment, self.of.hypotheses.items()
        self.design = experiment.design()
        self.digest = design_digest(self.of, self.design, self.allocation)
        self.told = {n: fingerprint_of(experiment, self.design, claim, "") for n, claim in claims}
        trials = bias.plan(experiment, self.design)
        self.trials = [(trial, compact(trial.identity, sort_keys=True)) for trial in trials]

    def drawn(self, subject: str, draw: str, step: int = 0) -> Analysis:
        """The analysis of one draw; ``draw`` decides all chance, ``step`` how large steps are."""
        name, experiment = subject.partition("+")[0], self.of.experiment
        players = Players(f"simulated/{name}", judge_of_simulated(name))
        planting = Planting(self.of, subject, draw, step)

        def outcome(trial: Trial, identity: str, given: dict[str, float], lost: object) -> Outcome:
            shared = int(digest(f"{draw}:{identity}")[:15], 16)

            def answer(wanted: Wanted) -> Completion | None:
                who = players.model(wanted.request.to).partition("/")[2]
                at = f"{wanted.place.branch}:{wanted.place.turn}:{wanted.place.attempt}"
                seed = int(digest(f"{draw}:{identity}:{at}")[:15], 16)
                prompt = bias.SimulatedPrompt(
                    who, wanted.request.messages, seed, given, trial=shared
                )
                assert experiment.simulated is not None  # noqa: S101  (no other is drawn)
                text = "" if lost else simulated_text(experiment.simulated, prompt)
                return None if text is None else Completion(text, "stop", who, latency=0.0)

            return carry_out(experiment, players, trial, answer)

        outcomes = [outcome(*trial, *planting.in_trial(trial[0])) for trial in self.trials]
        outcomes = planting.afterwards(outcomes, lambda trial: outcome(trial, "", {}, lost=True))
        return analyse(
            experiment,
            self.design,
            players.subject,
            outcomes,
            hypotheses=tuple(self.of.hypotheses.values()),
            controls=tuple(self.of.controls.values()),
            recording=replace(NO_RECORDING, checksum=digest(f"{subject}:{draw}")),
            allocation=self.allocation,
        )

    def accepted(self, analysis: Analysis, before: Mapping[str, Entry]) -> dict[str, Entry]:
        """The verdicts of a draw, accepted after those ``before``."""
        made = partial(entry_of, recording=analysis.recording, acceptance=ACCEPTANCE)
        given = ((v, self.told[v.id], before.get(v.id)) for v in analysis.verdicts)
        return {v.id: made(v, fingerprint=told, before=old) for v, told, old in given}

    def stopped(self, analysis: Analysis, accepted: Mapping[str, Entry]) -> dict[str, str]:
        """Hypothesis → what its verdict is beside the accepted one, if the gate stops it."""
        beside = partial(beside_entry, analysis, today="2000-01-01")
        found = {v.id: beside(v, self.told[v.id], accepted[v.id])[1] for v in analysis.verdicts}
        held = [v.id for v in analysis.verdicts if is_stopped(v.status, v.claim)]
        return {name: found[name].outcome for name in held if not found[name].tolerated}

    def line(self, cell: GridCell, draw: int, analysis: Analysis) -> dict[str, Any]:
        """The line of a draw."""
        verdicts = {}
        for verdict in analysis.verdicts:
            finding, measures = verdict.finding, outcomes_of(self.of.hypotheses[verdict.id])
            said: dict[str, Any] = {"status": verdict.status, "claim": verdict.claim}
            said["measures"] = sorted(measures)
            if finding is None:
                said["reason"] = verdict.reason
            else:
                at, published = finding.interval, finding.published
                said |= {
                    n: _short(getattr(finding, n)) for n in ("estimate", "p_alarm", "p_clear")
                }
                said["p_adjusted"] = _short(verdict.p_adjusted)
                said["interval"] = None if at is None else [_short(at.low), _short(at.high)]
                p = published.statistics.get("p") if published else None
                said |= {"published": _short(p)} if isinstance(p, float) else {}
            truth = truth_of(self.of, verdict.id, cell.subject)
            verdicts[verdict.id] = said if truth is None else said | {"truth": _short(truth)}
        found = {"experiment": cell.experiment, "subject": cell.subject, "draw": draw}
        found |= {"unseen": [control.id for control in analysis.unseen], "verdicts": verdicts}
        missing = sum(count.errors for count in analysis.counts) / analysis.trials
        calls = sum(count.interactions or 0 for count in analysis.counts)
        return found | {"missing": round(missing, 6), "calls": calls}

    def lines(self, seed: int, block: Block) -> Iterator[Line]:
        """Yield the lines of a block of draws.

        Each is held against a draw of the accepted subject: if that is the same, against the draw
        before it, and against the last that passed in a chain of upgrades.
        """
        cell, first, wanted = block
        same = cell.accepted == cell.subject
        stopped: dict[str, list[int]] = {}
        accepted: dict[str, Entry] = {}
        chained: dict[str, Entry] = {}
        for draw in range(first, wanted[-1] + 1) if same else wanted:
            if cell.accepted and (draw == first or not same):
                before = self.drawn(cell.accepted, f"{seed}:accepted:{draw}")
                accepted = chained = self.accepted(before, {})
            step = draw - first + 1
            analysis = self.drawn(cell.subject, f"{seed}:{draw}", step)
            line = self.line(cell, draw, analysis)
            if cell.accepted:
                line |= {"accepted": cell.accepted, "stopped": self.stopped(analysis, accepted)}
            if same:
                accepted = self.accepted(analysis, {})
                held, now = self.stopped(analysis, chained), self.accepted(analysis, chained)
                chained = {name: (chained if name in held else now)[name] for name in now}
                stopped |= {name: [*stopped.get(name, []), step] for name in held}
                line["chain"] = dict(stopped)
            if draw in wanted:
                yield line


def _short(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.6g}")


@cache
def declared_by(suite: str) -> Workbench:
    """What a suite declares, read once in a process."""
    return Workbench(configured(), registry_of(suite_modules(suite)))


@cache
def bench_of(suite: str, experiment: str) -> Bench:
    """An experiment of a suite, ready to be drawn."""
    return Bench(declared_by(suite), experiment)


def lines_of(suite: str, seed: int, block: Block) -> tuple[Block, list[Line]]:
    """A block and its lines, drawn in whatever process."""
    return block, [*bench_of(suite, block[0].experiment).lines(seed, block)]


def blocks_of(cells: Iterable[GridCell], lines: Iterable[Line]) -> list[Block]:
    """The blocks of cells in which draws are lacking, in order."""
    names = ("experiment", "subject", "accepted", "draw")
    there = {tuple(line.get(name, "") for name in names) for line in lines}
    blocks: list[Block] = []
    for cell in cells:
        for first in range(0, cell.draws, BLOCK):
            draws = range(first, min(cell.draws, first + BLOCK))
            key = (cell.experiment, cell.subject, cell.accepted)
            wanted = [draw for draw in draws if (*key, draw) not in there]
            blocks += [(cell, first, wanted)] if wanted else []
    return blocks


def read(path: Path) -> tuple[Line, list[Line]]:
    """The settings and the draws in a file."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        first, *lines = map(json.loads, file)
    return first, lines


def append(path: Path, lines: Iterable[Line]) -> None:
    """Append lines to a file at once."""
    text = "".join(f"{compact(line, sort_keys=True)}\n" for line in lines).encode()
    with path.open("ab", buffering=0) as file:  # at once, so that no interruption cuts a line
        file.write(gzip.compress(text) if path.suffix == ".gz" else text)


def fill(path: Path, cells: Iterable[GridCell], suite: str, *, seed: int, jobs: int) -> None:
    """Make the draws of cells that a file lacks, and append each block as it is done."""
    names = [each.experiment.id for each in declared_by(suite).registry]
    digests = {name: bench_of(suite, name).digest for name in names}
    settings = {"format": 1, "seed": seed, "suite": suite, "designs": digests}
    if not path.exists():
        append(path, [settings])
    written, lines = read(path)
    if written != settings:
        sys.exit(f"{path}: drawn with other settings or designs; name another file")
    blocks = blocks_of(cells, lines)
    done, total, began = 0, sum(len(wanted) for _, _, wanted in blocks), time.monotonic()
    with Pool(jobs) as pool:
        made = pool.imap_unordered(partial(lines_of, suite, seed), blocks)
        for (cell, _, wanted), found in made:
            append(path, found)
            done += len(wanted)
            left = (time.monotonic() - began) / done * (total - done)
            note(f"{done} of {total} draws, {left:.0f} s left ({cell.experiment}, {cell.subject})")


def gate(of: Registered) -> Iterator[GridCell]:
    """A few draws of an experiment, more if it takes little: a minute of a core for a suite."""
    experiment = of.experiment
    sampled = experiment.items is not None or any(f.exemplars for f in experiment.factors)
    quick = not sampled and len(experiment.conditions) * experiment.replicates <= QUICK
    yield GridCell(experiment.id, EVEN, 30 if quick else 2, EVEN)
    for name in representatives(of) if quick else ():
        yield planted(of, [f"{name}=1"], 30)
        yield planted(of, [f"{name}=2"], 15)


def full(of: Registered, table: Iterable[Line]) -> Iterator[GridCell]:
    """The cells that a table has of an experiment; those to begin with if it has none."""
    name = of.experiment.id
    own = [each for each in table if (each["experiment"], each["what"]) == (name, "passes")]
    yield from [GridCell(name, r["subject"], r["draws"], r.get("accepted", "")) for r in own]
    if not own:
        yield GridCell(name, EVEN, 400, EVEN)
        yield GridCell(name, BIASED, 100, BIASED)
        yield planted(of, ["missing=0.03"], 30)
        for claim in representatives(of):
            yield planted(of, [f"{claim}=1"], 40, EVEN)
            for margins, draws in (("2", 30), ("1", 100), ("0.5", 30)):
                yield planted(of, [f"{claim}={margins}"], draws)


def planted(of: Registered, plants: Iterable[str], draws: int, accepted: str = "") -> GridCell:
    """A cell of the unbiased subject with so much planted in it."""
    return GridCell(of.experiment.id, "+".join([EVEN, *plants]), draws, accepted)


def representatives(of: Registered) -> list[str]:
    """The first gating claim with a margin of every family, kind and measure."""
    found: dict[tuple[str, ...], str] = {}
    for name, each in dict[str, Any](of.hypotheses).items():
        if each.claim != "describe" and getattr(each, "margin", None):
            measure = getattr(each, "measure", "")
            found.setdefault((each.family, type(each).__name__, measure, each.claim), name)
    return list(found.values())


class Rates:
    """Makes the rates of one cell, with so many Monte Carlo errors of grace for their bounds."""

    def __init__(self, errors: float, experiment: str, subject: str, accepted: str = "") -> None:
        self.about = {"experiment": experiment, "subject": subject, "accepted": accepted}
        self.errors, self.subject, self.plants = errors, subject, plants_of(subject)
        self.same = bool(accepted) and accepted == subject
        self.unbiased = subject.partition("+")[0] == EVEN
        self.steps = [plant.name for plant in self.plants if plant.how == "step"]
        lone = len(self.plants) == 1 and _is_two_margins(self.plants[0])
        self.is_lone = lone and self.unbiased

    def rate(
        self,
        what: str,
        happens: Iterable[object],
        name: str = "",
        *,
        p: Iterable[float] = (),
        most: float | None = None,
        least: float | None = None,
    ) -> Line:
        """The share of draws in which it happens, and in which the published ``p`` are small."""
        each, small = [*map(bool, happens)], [one <= ALPHA for one in p]
        share, bound = sum(each) / len(each), most if least is None else least
        error, at = (math.sqrt(q * (1 - q) / len(each)) for q in (share, bound or 0.0))
        over = 0.0 if bound is None else share - bound if least is None else bound - share
        relation = "" if bound is None else "at most" if least is None else "at least"
        published = sum(small) / len(small) if small else None
        found = {"what": what, "hypothesis": name, "hits": sum(each), "draws": len(each)}
        found |= self.about | {"relation": relation, "bound": bound, "published": published}
        found = {key: value for key, value in found.items() if value not in ("", None)}
        return found | {"error": round(error, 4), "holds": over <= self.errors * max(error, at)}

    def alarms(self, drawn: Sequence[Line], most: float | None) -> Line:
        """How often any claim is BIASED, and any has a small p by the published method."""
        gate = [[v for v in d["verdicts"].values() if v["claim"] != "describe"] for d in drawn]
        told = ([v["published"] for v in each if "published" in v] for each in gate)
        biased = (any(v["status"] == "BIASED" for v in each) for each in gate)
        return self.rate("any BIASED", biased, most=most, p=(min(each) for each in told if each))

    def of_all(self, drawn: Sequence[Line]) -> Iterator[Line]:
        """What is said of all claims together."""
        suite, bare = self.about["experiment"] == SUITE, self.subject == EVEN
        null = all(plant.how in ("missing", "judge", "noise") for plant in self.plants)
        yield self.alarms(drawn, ALPHA if null and self.unbiased else None)
        stops = [any(map(_stops, line["verdicts"].values())) for line in drawn]
        passes = (not each and not line["unseen"] for each, line in zip(stops, drawn, strict=True))
        yield self.rate("passes", passes, least=0.90 if bare else None)
        if self.is_lone:  # by a verdict: a control that is not seen would stop the run
            yield self.rate("stopped by no claim", (not each for each in stops), most=0.05)
        held = [line["stopped"] for line in drawn if "stopped" in line]
        if held and self.same and not self.steps:
            bound = 0.10 if suite or not bare else 0.05
            bounded = bare or not (self.plants or suite)
            yield self.rate("unchanged, stopped", held, most=bound if bounded else None)

    def of_claims(self, drawn: Sequence[Line]) -> Iterator[Line]:
        """What is said of each claim that gates."""
        names = drawn[0]["verdicts"]
        for name, first in names.items():
            said = [line["verdicts"][name] for line in drawn]
            own = [plant for plant in self.plants if plant.name == name]
            if first["claim"] == "describe":
                continue
            known = [e for e in said if e.get("truth") is not None and e.get("interval")]
            few = any(plant.how == "rare" and plant.share < TOLD for plant in own)
            full = [plant for plant in own if plant.how in ("", "rare") and not plant.at]
            at_margin = not few and any(plant.amount >= 1 for plant in full) and "truth" in first
            noise = any(q.how == "noise" and q.name in first["measures"] for q in self.plants)
            lost = any(plant.how == "informative" for plant in own)
            for status, wrong in (("CLEAR", at_margin or noise), ("BIASED", lost)):
                if wrong or own or not any(plant.name in names for plant in self.plants):
                    hits, most = (e["status"] == status for e in said), 0.05 if wrong else None
                    p = [each["published"] for each in said if "published" in each]
                    yield self.rate(status, hits, name, most=most, p=p)
            if known and (own or all(plant.name == "missing" for plant in self.plants)):
                covers = (e["interval"][0] <= e["truth"] <= e["interval"][1] for e in known)
                yield self.rate("covers", covers, name, least=None if few else 0.93)
            if any(_is_two_margins(plant) and (plant.at or known) for plant in own):
                least = None if self.is_lone else 0.95  # alone: of the run
                yield self.rate("stops", map(_stops, said), name, least=least)

    def of_upgrades(self, drawn: Sequence[Line]) -> Iterator[Line]:
        """What the upgrade gate makes of each claim, and of ten upgrades in a row."""
        held = [line for line in drawn if "stopped" in line]
        whole = [d["chain"] for d in held if "chain" in d and d["draw"] % BLOCK == BLOCK - 1]
        for name in self.steps:
            early = (min(chain.get(name, [BLOCK + 1])) <= CREEP for chain in whole)
            yield self.rate(f"stopped by step {CREEP}", early, name, least=0.98)
        if held and not self.same:
            for plant in [plant for plant in self.plants if plant.name in held[0]["verdicts"]]:
                clear = held[0]["verdicts"][plant.name]["claim"] == "clear" and not plant.how
                least = 0.90 if clear and plant.amount >= 1 else None
                worse = (plant.name in line["stopped"] for line in held)
                yield self.rate("worse, stopped", worse, plant.name, least=least)
        elif held and not self.steps:
            for name in sorted({name for line in held for name in line["stopped"]}):
                hits = (name in line["stopped"] for line in held)
                yield self.rate("unchanged, stopped", hits, name)
            what = f"one of {BLOCK} unchanged, stopped"
            yield from [self.rate(what, whole)] if whole else ()
            for name in sorted({name for chain in whole for name in chain}):
                yield self.rate(what, (name in chain for chain in whole), name, most=0.25)


def _is_two_margins(plant: Plant) -> bool:
    return plant.amount >= 2 and not plant.how  # noqa: PLR2004


def _stops(said: Line) -> bool:
    return is_stopped(said["status"], said["claim"])


def rates(settings: Line, lines: Iterable[Line], errors: float = 2.0) -> list[Line]:
    """All that draws say, with the bound that each share has to keep."""
    cells = defaultdict[tuple[str, str], dict[str, list[Line]]](dict)
    for line in sorted(lines, key=lambda each: (each["experiment"], each["draw"])):
        cell = cells[line["subject"], line.get("accepted", "")]
        cell.setdefault(line["experiment"], []).append(line)
    found: list[Line] = []
    permuted = defaultdict[str, list[Line]](list)
    for key, by_experiment in cells.items():
        for experiment, drawn in by_experiment.items():
            if "/" in key[0]:
                permuted[experiment] += drawn
                continue
            of = Rates(errors, experiment, *key)
            found += [*of.of_all(drawn), *of.of_upgrades(drawn), *of.of_claims(drawn)]
        if len(by_experiment) > 1 and by_experiment.keys() == settings["designs"].keys():
            together = [*_together(by_experiment.values())]
            found += Rates(errors, SUITE, *key).of_all(together) if together else ()
    for experiment, drawn in permuted.items():
        name = f"{len({line['subject'] for line in drawn})} recordings, permuted"
        found.append(Rates(errors, experiment, name).alarms(drawn, ALPHA))
    return found


def _together(drawn: Iterable[Sequence[Line]]) -> Iterator[Line]:
    """The draws that every experiment has, each as one line."""
    numbered = [{line["draw"]: line for line in each} for each in drawn]
    for draw in sorted(set.intersection(*map(set, numbered))):
        lines = [each[draw] for each in numbered]
        whole: dict[str, Any] = {"unseen": [name for line in lines for name in line["unseen"]]}
        whole["verdicts"] = dict(enumerate(v for x in lines for v in x["verdicts"].values()))
        if all("stopped" in line for line in lines):
            whole["stopped"] = [name for line in lines for name in line["stopped"]]
        yield whole


def as_json(settings: Line, found: Iterable[Line]) -> str:
    """The table as it is committed: a rate in each line, and the designs they are of."""
    parts = [f'"{name}":{compact(settings[name])}' for name in ("format", "seed", "designs")]
    inside = ",\n".join(compact(each, sort_keys=True) for each in found)
    return "{" + ",\n".join([*parts, f'"rates":[\n{inside}\n]']) + "}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw what is asked for, print the table, and return 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("draws", type=Path, help="file of draws")
    parser.add_argument("--grid", choices=("gate", "full"), help="draw what it lacks of a grid")
    parser.add_argument("--cell", nargs="+", help="EXPERIMENT SUBJECT DRAWS [ACCEPTED]")
    parser.add_argument("--suite", default="bias_tests", help="package of experiments")
    parser.add_argument("--seed", type=int, default=1, help="decides all chance")
    parser.add_argument("--jobs", type=int, default=cores(), help="processes")
    parser.add_argument("--table", type=Path, help="write the rates into this file")
    given = parser.parse_args(arguments)
    cells: list[GridCell] = []
    if given.cell:
        experiment, subject, draws, *accepted = given.cell
        cells.append(GridCell(experiment, subject, int(draws), *accepted))
    if given.grid:
        path = Path(given.suite, "calibration.json")
        table = json.loads(path.read_text("utf-8"))["rates"] if path.exists() else []
        grid = gate if given.grid == "gate" else partial(full, table=table)
        every = [each for each in declared_by(given.suite).registry if each.experiment.simulated]
        cells += [cell for each in every for cell in grid(each)]
    if cells:
        fill(given.draws, cells, given.suite, seed=given.seed, jobs=given.jobs)
    settings, lines = read(given.draws)
    found = rates(settings, lines, 3.0 if given.grid == "gate" else 2.0)  # few draws
    for each in found:
        name = ", ".join(each[n] for n in ("experiment", "subject", "hypothesis") if n in each)
        share = f"{each['hits'] / each['draws']:.3f} ± {each['error']:.3f} of {each['draws']}"
        bound = f", {each['relation']} {each['bound']:g}" if "bound" in each else ""
        say(f"{'' if each['holds'] else 'BROKEN: '}{name}: {each['what']}: {share}{bound}")
    if given.table:
        given.table.write_text(as_json(settings, found), encoding="utf-8")
    broken = sum(not each["holds"] for each in found)
    say(f"{broken} of {sum('bound' in each for each in found)} bounds are broken")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
