"""Draws summed up: how often verdicts err beside what they may, with the Monte Carlo error."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap
from typing import Any, Literal

from ..baselines.entries import is_stopped
from ..experiments.canonical import compact, plain
from .file import Line, is_permuted
from .planting import Plant, PlantedSubject

SUITE = "suite"
"""What stands for all experiments of a suite together."""

PASSES = "passes"
UNCHANGED = "unchanged, stopped"

BoundSide = Literal["at most", "at least", ""]

_UNBIASED = "even"
_CHAIN = 10
_ALPHA = 0.05
_CHAINED = 0.25
"""What ten unchanged upgrades of one claim may be stopped."""
_TOLD = 0.2
"""Share of units from which on a bias must not be CLEAR; of a smaller one CLEAR itself says how
many there may be, as none of those that were drawn need have it."""
_CREEP = 4
"""Steps of .4 margins after which a creeping bias must have been stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share of draws: of which experiment (or the suite) and subject, and of what.

    ``hypothesis`` is empty for what is said of all together. ``bound`` is what the share must keep
    (``relation`` empty: it is only reported), ``published`` the share in which the published
    method has p ≤ .05 on the same draws.
    """

    experiment: str
    subject: str
    accepted: str = ""
    what: str
    hypothesis: str = ""
    hits: int
    draws: int
    relation: BoundSide = ""
    bound: float | None = None
    published: float | None = None

    @property
    def share(self) -> float:
        """The share."""
        return self.hits / self.draws

    @property
    def error(self) -> float:
        """Its Monte Carlo standard error."""
        return math.sqrt(self.share * (1 - self.share) / self.draws)

    def holds(self, errors: float = 2.0) -> bool:
        """Return whether the bound is kept, with so many Monte Carlo errors of grace.

        The error is that at the bound where it is larger: of no hit at all in three draws nothing
        follows.
        """
        if self.bound is None:
            return True
        at_bound = math.sqrt(self.bound * (1 - self.bound) / self.draws)
        grace = errors * max(self.error, at_bound)
        if self.relation == "at most":
            return self.share <= self.bound + grace
        return self.share >= self.bound - grace


def rates(settings: Line, lines: Sequence[Line]) -> list[Rate]:
    """All that the draws of a file say."""
    cells: defaultdict[tuple[str, str], defaultdict[str, list[Line]]]
    cells = defaultdict(lambda: defaultdict(list))
    for line in sorted(lines, key=lambda each: (each["experiment"], each["draw"])):
        cells[line["subject"], line.get("accepted", "")][line["experiment"]].append(line)
    found: list[Rate] = []
    permuted: defaultdict[str, list[Line]] = defaultdict(list)
    for (text, accepted), by_experiment in cells.items():
        if is_permuted(text):
            for experiment, drawn in by_experiment.items():
                permuted[experiment] += drawn
            continue
        subject = PlantedSubject(text)
        for experiment, drawn in by_experiment.items():
            cell = _Cell(experiment, text, accepted)
            found += [*_of_all(cell, subject, drawn, 0.05), *_of_upgrades(cell, subject, drawn)]
            found += _of_claims(cell, subject, drawn)
        if set(by_experiment) == set(settings["designs"]) and len(by_experiment) > 1:
            together = [*_together(by_experiment)]
            found += _of_all(_Cell(SUITE, text, accepted), subject, together, 0.10)
    for experiment, drawn in permuted.items():
        models = len({line["subject"] for line in drawn})
        found.append(_Cell(experiment, f"{models} recordings, permuted", "").alarms(drawn, 0.05))
    return found


@dataclass(frozen=True, slots=True)
class _Cell:
    """Makes the rates of one cell's draws."""

    experiment: str
    subject: str
    accepted: str

    def rate(
        self,
        what: str,
        holds: Iterable[bool],
        hypothesis: str = "",
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        published: float | None = None,
    ) -> Rate:
        each = list(holds)
        return Rate(
            experiment=self.experiment,
            subject=self.subject,
            accepted=self.accepted,
            what=what,
            hypothesis=hypothesis,
            hits=sum(each),
            draws=len(each),
            relation="at most" if at_most is not None else "at least" if at_least else "",
            bound=at_least if at_most is None else at_most,
            published=published,
        )

    def alarms(self, drawn: Sequence[Line], at_most: float | None) -> Rate:
        """Any BIASED, beside what the published method finds of claims that gate."""
        told = [
            [v["published"] for v in line["verdicts"].values() if "published" in v and _gates(v)]
            for line in drawn
        ]
        published = _share(min(each) <= _ALPHA for each in told if each)
        held = map(_alarms, drawn)
        return self.rate("any BIASED", held, at_most=at_most, published=published)


def _share(holds: Iterable[bool]) -> float | None:
    each = list(holds)
    return sum(each) / len(each) if each else None


def _gates(said: Mapping[str, Any]) -> bool:
    return bool(said["claim"] != "describe")


def _together(by_experiment: Mapping[str, Sequence[Line]]) -> Iterator[Line]:
    """The draws that every experiment has, each as one line."""
    numbered = [{line["draw"]: line for line in drawn} for drawn in by_experiment.values()]
    for draw in sorted(set.intersection(*map(set, numbered))):
        lines = [drawn[draw] for drawn in numbered]
        verdicts = {(n, name): v for n, x in enumerate(lines) for name, v in x["verdicts"].items()}
        whole = {
            "draw": draw,
            "verdicts": verdicts,
            "unseen": [u for x in lines for u in x["unseen"]],
        }
        if all("stopped" in line for line in lines):
            whole["stopped"] = [name for line in lines for name in line["stopped"]]
        yield whole


def _of_all(
    cell: _Cell, subject: PlantedSubject, drawn: Sequence[Line], stopped: float
) -> Iterator[Rate]:
    """What is said of all claims together; of unchanged upgrades ``stopped`` at most."""
    if not drawn:
        return
    yield cell.alarms(drawn, 0.05 if _is_null(subject) else None)
    unbiased = subject.text == _UNBIASED
    yield cell.rate(PASSES, map(_passes, drawn), at_least=0.90 if unbiased else None)
    if _is_lone(subject):
        # By a verdict: a control that is not seen would stop the run and find nothing.
        missed = (not _stops(line) for line in drawn)
        yield cell.rate("stopped by no claim", missed, at_most=0.05)
    held = [line for line in drawn if "stopped" in line]
    if held and cell.accepted == subject.text and not _steps(subject):
        bounded = not subject.plants and (unbiased or cell.experiment != SUITE)
        at_most = (stopped if unbiased else 0.10) if bounded else None
        yield cell.rate(UNCHANGED, (bool(line["stopped"]) for line in held), at_most=at_most)


def _of_claims(cell: _Cell, subject: PlantedSubject, drawn: Sequence[Line]) -> Iterator[Rate]:
    """The sentences on each claim that gates."""
    names = drawn[0]["verdicts"]
    for name in names:
        said = [line["verdicts"][name] for line in drawn]
        if not _gates(said[0]):
            continue
        planted = [p for p in subject.plants if p.name == name]
        for status in ("CLEAR", "BIASED"):
            if status == "CLEAR":
                never = _never_clear(subject, planted, said[0])
            else:
                never = any(plant.how == "informative" for plant in planted)
            bound = 0.05 if never else None
            if not (bound or planted) and any(p.name in names for p in subject.plants):
                continue  # what is planted in another says of this what the unbiased one does
            published = _share(each["published"] <= _ALPHA for each in said if "published" in each)
            held = (each["status"] == status for each in said)
            yield cell.rate(status, held, name, at_most=bound, published=published)
        known = [each for each in said if each.get("truth") is not None and each.get("interval")]
        if known and (planted or all(plant.name == "missing" for plant in subject.plants)):
            covers = (e["interval"][0] <= e["truth"] <= e["interval"][1] for e in known)
            few = any(plant.how == "rare" and plant.share < _TOLD for plant in planted)
            yield cell.rate("covers", covers, name, at_least=None if few else 0.93)
        if any(_is_two_margins(p) and (p.at or known) for p in planted):
            stops = (is_stopped(each["status"], each["claim"]) for each in said)
            at_least = None if _is_lone(subject) else 0.95  # alone: of the run
            yield cell.rate("stops", stops, name, at_least=at_least)


def _is_lone(subject: PlantedSubject) -> bool:
    """Return whether two margins in one claim are all that an unbiased subject has."""
    plants = subject.plants
    return subject.name == _UNBIASED and len(plants) == 1 and _is_two_margins(plants[0])


def _is_two_margins(plant: Plant) -> bool:
    return plant.amount >= 2 and not plant.how  # noqa: PLR2004


def _steps(subject: PlantedSubject) -> list[Plant]:
    return [plant for plant in subject.plants if plant.how == "step"]


def _of_upgrades(cell: _Cell, subject: PlantedSubject, drawn: Sequence[Line]) -> Iterator[Rate]:
    """What the upgrade gate makes of each claim, and of ten upgrades in a row."""
    held = [line for line in drawn if "stopped" in line]
    if not held:
        return
    whole = [line for line in held if line["draw"] % _CHAIN == _CHAIN - 1 and "chain" in line]
    chains = [line["chain"] for line in whole]
    if steps := _steps(subject):
        for plant in steps:
            early = (min(chain.get(plant.name, [_CHAIN + 1])) <= _CREEP for chain in chains)
            yield cell.rate(f"stopped by step {_CREEP}", early, plant.name, at_least=0.98)
    elif subject.text == cell.accepted:
        for name in sorted({name for line in held for name in line["stopped"]}):
            yield cell.rate(UNCHANGED, (name in line["stopped"] for line in held), name)
        what = f"one of {_CHAIN} unchanged, stopped"
        yield from [cell.rate(what, map(bool, chains))] if chains else ()
        for name in sorted({name for chain in chains for name in chain}):
            yield cell.rate(what, (name in chain for chain in chains), name, at_most=_CHAINED)
    else:
        for plant in subject.plants:
            if plant.name in (verdicts := held[0]["verdicts"]):
                clear = verdicts[plant.name]["claim"] == "clear" and not plant.how
                least = 0.90 if clear and plant.amount >= 1 else None
                worse = (plant.name in line["stopped"] for line in held)
                yield cell.rate("worse, stopped", worse, plant.name, at_least=least)


def _alarms(line: Line) -> bool:
    return any(each["status"] == "BIASED" and _gates(each) for each in line["verdicts"].values())


def _passes(line: Line) -> bool:
    return not line["unseen"] and not _stops(line)


def _stops(line: Line) -> bool:
    return any(is_stopped(each["status"], each["claim"]) for each in line["verdicts"].values())


def _is_null(subject: PlantedSubject) -> bool:
    """Return whether nothing differs between any conditions, whatever else is planted."""
    return subject.name == _UNBIASED and all(
        plant.how in ("missing", "judge", "noise") for plant in subject.plants
    )


def _never_clear(
    subject: PlantedSubject, planted: Sequence[Plant], said: Mapping[str, Any]
) -> bool:
    """Return whether a claim is at its margin, or on a measure that is noise.

    What is planted in one group is not so much of a spread of groups, whose value is not known.
    """
    many = [p for p in planted if p.how == "" or (p.how == "rare" and p.share >= _TOLD)]
    known = said.get("truth") is not None
    at_margin = any(known and p.amount >= 1 and not p.at for p in many)
    return at_margin or any(
        p.how == "noise" and p.name in said["measures"] for p in subject.plants
    )


Curve = Mapping[str, Any]
"""Of one claim (``experiment``, ``hypothesis``) the ``points``: at so many planted margins the
shares of CLEAR and of BIASED, and the draws; its power, and how it errs. As JSON."""


def curves(found: Sequence[Rate]) -> list[Curve]:
    """The curves of claims in which more than one effect was planted."""
    points: defaultdict[tuple[str, str], dict[float, dict[str, Any]]] = defaultdict(dict)
    for each in found:
        if not each.hypothesis or each.what not in ("CLEAR", "BIASED"):
            continue
        subject = PlantedSubject(each.subject)
        margins = sum(p.amount for p in subject.plants if p.name == each.hypothesis)
        other = any(p.how or p.at for p in subject.plants) or subject.name != _UNBIASED
        if other or (subject.plants and not margins):
            continue
        at = points[each.experiment, each.hypothesis].setdefault(margins, {"draws": 0})
        if at["draws"] <= each.draws:
            at |= {"margins": margins, "draws": each.draws, each.what.lower(): each.share}
    return [
        {"experiment": experiment, "hypothesis": name, "points": [at[n] for n in sorted(at)]}
        for (experiment, name), at in sorted(points.items())
        if len(at) > 1
    ]


def as_json(settings: Line, found: Sequence[Rate], curved: Sequence[Curve]) -> str:
    """The rates and curves as JSON, each in a line, with the designs they are of."""
    told = [
        {
            **{k: v for k, v in dict(plain(each)).items() if v not in ("", None)},  # type: ignore[call-overload]
            "error": round(each.error, 4),
            "holds": each.holds(),
        }
        for each in found
    ]
    parts = [f'"{name}":{compact(settings[name])}' for name in ("format", "seed", "designs")]
    for name, values in (("curves", curved), ("rates", told)):
        inside = ",\n".join(compact(value, sort_keys=True) for value in values)
        parts.append(f'"{name}":[\n{inside}\n]')
    return "{" + ",\n".join(parts) + "}\n"


def table(found: Sequence[Rate], errors: float) -> Iterator[str]:
    """Lines for the terminal: of each cell what is said of all, and of claims what is broken."""
    above = ""
    for each in found:
        holds = each.holds(errors)
        quiet = each.what == "covers" or each.bound is None
        if each.hypothesis and holds and quiet:
            continue
        about = each.subject + (f" after {each.accepted}" if each.accepted else "")
        heading = f"{each.experiment}: {about}"
        if heading != above:
            above = heading
            yield from _wrapped(heading.replace("+", " +"))
        bound = "" if each.bound is None else f", {each.relation} {each.bound:g}"
        name = f" ({each.hypothesis})" if each.hypothesis else ""
        beside = "" if each.published is None else f"; published p ≤ .05 in {each.published:.3f}"
        yield from _wrapped(
            f"  {'' if holds else 'BROKEN: '}{each.what}{name}: {each.share:.3f} ± "
            f"{each.error:.3f} of {each.draws}{bound}{beside}"
        )


def curve_table(curved: Sequence[Curve]) -> Iterator[str]:
    """Lines for the terminal: a claim in each, and how it is called at so many margins."""
    for experiment, group in groupby(curved, key=lambda each: each["experiment"]):
        rows = {each["hypothesis"]: {p["margins"]: p for p in each["points"]} for each in group}
        columns = sorted({at for points in rows.values() for at in points})
        widest = max(map(len, rows))
        yield from ("", f"{experiment}: CLEAR / BIASED at so many margins (of so many draws)")
        draws = [min(p[at]["draws"] for p in rows.values() if at in p) for at in columns]
        heads = (f"{at:g} ({n})".rjust(_CELL) for at, n in zip(columns, draws, strict=True))
        yield f"  {'':{widest}}{''.join(heads)}"
        for name, points in rows.items():
            said = (
                (points[at]["clear"], points[at]["biased"]) if at in points else ()
                for at in columns
            )
            cells = (" / ".join(f"{share:.2f}" for share in each).rjust(_CELL) for each in said)
            yield f"  {name:{widest}}{''.join(cells)}"


_CELL = 14


def _wrapped(text: str) -> list[str]:
    return wrap(text, 100, subsequent_indent="    ", drop_whitespace=True, break_on_hyphens=False)
