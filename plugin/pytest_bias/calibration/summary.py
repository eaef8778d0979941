"""Draws summed up: how often verdicts err beside what they may, with the Monte Carlo error."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap
from typing import Any, Literal

from ..baselines.gate import is_stopped
from ..experiments.canonical import compact, plain
from .file import Line, is_permuted
from .planting import Plant, PlantedSubject

SUITE = "suite"
"""What stands for all experiments of a suite together."""

PASSES = "passes"
UNCHANGED = "unchanged, stopped"

BoundSide = Literal["at most", "at least", ""]

_UNBIASED, _BIASED = "even", "biased"
_CHAIN = 10
_CHAINED: Mapping[str, Any] = {"relation": "at most", "bound": 0.25}
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
    accepted: str
    what: str
    hypothesis: str
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


def rates(settings: Line, lines: Sequence[Line], subjects: Sequence[str]) -> list[Rate]:
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
        subject = PlantedSubject(text, subjects)
        for experiment, drawn in by_experiment.items():
            found += _of_experiment(experiment, subject, accepted, drawn)
        if set(by_experiment) == set(settings["designs"]) and len(by_experiment) > 1:
            found += _of_suite(subject, accepted, by_experiment)
    for experiment, drawn in permuted.items():
        alarms = [*map(_alarms, drawn)]
        found.append(
            Rate(
                experiment=experiment,
                subject=f"{len({line['subject'] for line in drawn})} recordings, permuted",
                accepted="",
                what="any BIASED",
                hypothesis="",
                hits=sum(alarms),
                draws=len(alarms),
                relation="at most",
                bound=0.05,
                published=_published(drawn),
            )
        )
    return found


def _published(drawn: Sequence[Line]) -> float | None:
    """The share of draws in which the published method has p ≤ .05 of a claim that gates."""
    told = [
        [v["published"] for v in line["verdicts"].values() if "published" in v and _gates(v)]
        for line in drawn
    ]
    found = [min(each) <= 0.05 for each in told if each]  # noqa: PLR2004
    return sum(found) / len(found) if found else None


def _gates(said: Mapping[str, Any]) -> bool:
    return bool(said["claim"] != "describe")


def _of_experiment(
    experiment: str, subject: PlantedSubject, accepted: str, drawn: Sequence[Line]
) -> Iterator[Rate]:
    def rate(what: str, holds: Iterable[bool], hypothesis: str = "", **more: Any) -> Rate:
        each = list(holds)
        return Rate(
            experiment=experiment,
            subject=str(subject),
            accepted=accepted,
            what=what,
            hypothesis=hypothesis,
            hits=sum(each),
            draws=len(each),
            **more,
        )

    yield rate(
        "any BIASED",
        map(_alarms, drawn),
        published=_published(drawn),
        **_alarm_bound(subject),
    )
    yield rate(PASSES, map(_passes, drawn), **_pass_bound(subject))
    yield from _of_upgrades(rate, subject, accepted, drawn)
    for name in drawn[0]["verdicts"]:
        said = [line["verdicts"][name] for line in drawn]
        if said[0]["claim"] == "describe":
            continue
        planted = [p for p in subject.plants if p.name == name]
        for status in ("CLEAR", "BIASED"):
            bound = _verdict_bound(subject, planted, status, said[0])
            if not (bound or planted or subject.text in (_UNBIASED, _BIASED)):
                continue  # what is planted elsewhere says of this what the unbiased one does
            published = [each["published"] <= 0.05 for each in said if "published" in each]  # noqa: PLR2004
            yield rate(
                status,
                (each["status"] == status for each in said),
                name,
                published=sum(published) / len(published) if published else None,
                **bound,
            )
        known = [each for each in said if each.get("truth") is not None and each.get("interval")]
        if known and (planted or not subject.plants):
            covers = (e["interval"][0] <= e["truth"] <= e["interval"][1] for e in known)
            yield rate("covers", covers, name, relation="at least", bound=0.93)
        if any(p.amount >= 2 and not p.how and (p.at or known) for p in planted):  # noqa: PLR2004
            stops = (is_stopped(each["status"], each["claim"]) for each in said)
            yield rate("stops", stops, name, relation="at least", bound=0.95)


def _of_upgrades(
    rate: Callable[..., Rate], subject: PlantedSubject, accepted: str, drawn: Sequence[Line]
) -> Iterator[Rate]:
    held = [line for line in drawn if "stopped" in line]
    if not held:
        return
    whole = [line for line in held if line["draw"] % _CHAIN == _CHAIN - 1 and "chain" in line]
    chains = [line["chain"] for line in whole]
    steps = [plant for plant in subject.plants if plant.how == "step"]
    if steps:
        for plant in steps:
            early = (min(chain.get(plant.name, [_CHAIN + 1])) <= _CREEP for chain in chains)
            yield rate(
                f"stopped by step {_CREEP}", early, plant.name, relation="at least", bound=0.98
            )
        return
    if str(subject) == accepted:
        bound = 0.05 if subject.name == _UNBIASED else 0.10
        yield rate(
            UNCHANGED,
            (bool(line["stopped"]) for line in held),
            relation="at most",
            bound=None if subject.plants else bound,
        )
        for name in sorted({name for line in held for name in line["stopped"]}):
            yield rate(UNCHANGED, (name in line["stopped"] for line in held), name)
        what = f"one of {_CHAIN} unchanged, stopped"
        yield from [rate(what, map(bool, chains))] if chains else ()
        for name in sorted({name for chain in chains for name in chain}):
            yield rate(what, (name in chain for chain in chains), name, **_CHAINED)
        return
    for plant in subject.plants:
        if plant.name in held[0]["verdicts"]:
            clear = held[0]["verdicts"][plant.name]["claim"] == "clear" and not plant.how
            yield rate(
                "worse, stopped",
                (plant.name in line["stopped"] for line in held),
                plant.name,
                relation="at least" if clear and plant.amount >= 1 else "",
                bound=0.90 if clear and plant.amount >= 1 else None,
            )


def _of_suite(
    subject: PlantedSubject, accepted: str, by_experiment: Mapping[str, Sequence[Line]]
) -> Iterator[Rate]:
    """Of the draws that every experiment has."""
    numbered = [{line["draw"]: line for line in drawn} for drawn in by_experiment.values()]
    common = sorted(set.intersection(*map(set, numbered)))
    together = [[drawn[number] for drawn in numbered] for number in common]
    if not together:
        return

    def rate(what: str, holds: Iterable[bool], **more: Any) -> Rate:
        each = list(holds)
        return Rate(
            experiment=SUITE,
            subject=str(subject),
            accepted=accepted,
            what=what,
            hypothesis="",
            hits=sum(each),
            draws=len(each),
            **more,
        )

    yield rate(
        "any BIASED", (any(map(_alarms, each)) for each in together), **_alarm_bound(subject)
    )
    yield rate(PASSES, (all(map(_passes, each)) for each in together), **_pass_bound(subject))
    if all("stopped" in line for line in together[0]) and str(subject) == accepted:
        stopped = (any(line["stopped"] for line in each) for each in together)
        relation: BoundSide = "at most" if subject.text == _UNBIASED else ""
        yield rate(UNCHANGED, stopped, relation=relation, bound=0.10 if relation else None)


def _alarms(line: Line) -> bool:
    return any(
        each["status"] == "BIASED" and each["claim"] != "describe"
        for each in line["verdicts"].values()
    )


def _passes(line: Line) -> bool:
    stops = (is_stopped(each["status"], each["claim"]) for each in line["verdicts"].values())
    return not line["unseen"] and not any(stops)


def _is_null(subject: PlantedSubject) -> bool:
    """Return whether nothing differs between any conditions, whatever else is planted."""
    return subject.name == _UNBIASED and all(
        plant.how in ("missing", "judge", "noise") for plant in subject.plants
    )


def _alarm_bound(subject: PlantedSubject) -> Mapping[str, Any]:
    return {"relation": "at most", "bound": 0.05} if _is_null(subject) else {}


def _pass_bound(subject: PlantedSubject) -> Mapping[str, Any]:
    if subject.text == _UNBIASED:
        return {"relation": "at least", "bound": 0.90}
    return {}


def _verdict_bound(
    subject: PlantedSubject, planted: Sequence[Plant], status: str, said: Mapping[str, Any]
) -> Mapping[str, Any]:
    """At its margin a claim must not be CLEAR, nor one on a measure that is noise.

    What is planted in one group is not so much of a spread of groups, whose value is not known.
    """
    if status != "CLEAR":
        return {}
    many = [p for p in planted if p.how == "" or (p.how == "rare" and p.share >= _TOLD)]
    known = said.get("truth") is not None
    at_margin = [p for p in many if known and p.amount >= 1 and not p.at]
    noise = [p for p in subject.plants if p.how == "noise" and p.name in said["measures"]]
    return {"relation": "at most", "bound": 0.05} if at_margin or noise else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Of one claim, what is said at so many planted margins: its power, and how it errs.

    ``points`` are margins, shares of CLEAR and of BIASED, and draws, in ascending order.
    """

    experiment: str
    hypothesis: str
    points: tuple[tuple[float, float, float, int], ...]


def curves(found: Sequence[Rate], subjects: Sequence[str]) -> list[Curve]:
    """The curves of claims in which more than one effect was planted."""
    shares: defaultdict[tuple[str, str], dict[float, dict[str, Rate]]]
    shares = defaultdict(lambda: defaultdict(dict))
    for each in found:
        if not each.hypothesis or each.what not in ("CLEAR", "BIASED"):
            continue
        subject = PlantedSubject(each.subject, subjects)
        if subject.name != _UNBIASED or any(p.how or p.at for p in subject.plants):
            continue
        margins = sum(p.amount for p in subject.plants if p.name == each.hypothesis)
        if subject.plants and not margins:
            continue
        at = shares[each.experiment, each.hypothesis][margins]
        if each.what not in at or at[each.what].draws < each.draws:
            at[each.what] = each
    return [
        Curve(
            experiment=experiment,
            hypothesis=hypothesis,
            points=tuple(
                (margins, at["CLEAR"].share, at["BIASED"].share, at["CLEAR"].draws)
                for margins, at in sorted(by_margin.items())
            ),
        )
        for (experiment, hypothesis), by_margin in sorted(shares.items())
        if len(by_margin) > 1
    ]


def as_json(settings: Line, found: Sequence[Rate], curved: Sequence[Curve]) -> str:
    """The rates and curves as JSON, each in a line, with the designs they are of."""
    lines = {
        "curves": [
            {
                "experiment": each.experiment,
                "hypothesis": each.hypothesis,
                "points": [
                    {"margins": at, "clear": clear, "biased": biased, "draws": draws}
                    for at, clear, biased, draws in each.points
                ],
            }
            for each in curved
        ],
        "rates": [
            {
                **{k: v for k, v in dict(plain(each)).items() if v not in ("", None)},  # type: ignore[call-overload]
                "error": round(each.error, 4),
                "holds": each.holds(),
            }
            for each in found
        ],
    }
    parts = [f'"{name}":{compact(settings[name])}' for name in ("format", "seed", "designs")]
    for name, values in lines.items():
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
    for experiment, group in groupby(curved, key=lambda each: each.experiment):
        rows = list(group)
        draws: defaultdict[float, list[int]] = defaultdict(list)
        for at, _, _, n in (point for each in rows for point in each.points):
            draws[at].append(n)
        yield ""
        yield f"{experiment}: CLEAR / BIASED at so many margins (of so many draws)"
        widest = max(len(each.hypothesis) for each in rows)
        columns = sorted(draws)
        heads = (f"{at:g} ({min(draws[at])})".rjust(_CELL) for at in columns)
        yield f"  {'':{widest}}{''.join(heads)}"
        for each in rows:
            said = {at: f"{clear:.2f} / {biased:.2f}" for at, clear, biased, _ in each.points}
            cells = (said.get(at, "").rjust(_CELL) for at in columns)
            yield f"  {each.hypothesis:{widest}}{''.join(cells)}"


_CELL = 14


def _wrapped(text: str) -> list[str]:
    return wrap(text, 100, subsequent_indent="    ", drop_whitespace=True, break_on_hyphens=False)
