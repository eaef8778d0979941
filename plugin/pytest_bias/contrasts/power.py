"""Power: the chances that a design clears and finds, before a single reply is paid for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..experiments.design import Design
from ..experiments.experiment import Experiment
from ..experiments.measures import MISSING
from .declared import Claim, Hypothesis
from .estimate import ALPHA, Estimate
from .layout import FEWEST_TO_CLEAR, Layout, Units, why_not_clear
from .linear import shrinkage

if TYPE_CHECKING:
    from ..stats.equivalence import SideSummary
    from ..stats.power import Chances

MISSED = 0.05
"""Share of replies that are missing in the worse of the two plans."""

EFFECTS = (1.0, 2.0)
"""Effects, in margins, whose chance to be shown is reported."""

MOST_REPLICATES = 100_000
"""Most replicates that are proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """Chances of one hypothesis under a design.

    ``units`` are those of each side, ``needed`` how many of the smaller one clear anything at any
    spread. ``spread`` is the standard deviation of a unit (of events their rate) at which chances
    are told, as recorded or else declared. ``clear`` is the chance of CLEAR where there is no
    effect, with all replies and with 5 % missing; ``biased`` that of BIASED at :data:`EFFECTS`, at
    the ``alarm`` level of a first alarm of its experiment. Each is None where it is not known.
    ``problem`` says why it can have no verdict, or a claim to be clear not that one.
    """

    hypothesis: str
    claim: Claim
    margin: float | None
    unit: str
    units: tuple[int, ...]
    unit_name: Units
    needed: int
    alarm: float
    event: bool = False
    spread: float | None = None
    clear: tuple[float, float] | None = None
    biased: tuple[float, float] | None = None
    problem: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """A contrast under a design, or in one cell of it.

    ``margin`` is what clears it, ``beyond`` the effect that must be shown to be exceeded.
    """

    layout: Layout
    margin: float
    beyond: float = 0.0
    alarm: float = ALPHA

    def chances(self, spread: float, effect: float = 0.0, missing: float = 0.0) -> Chances:
        """Return the chances at a spread and a true effect, in margins."""
        from ..stats.power import verdict_chances  # noqa: PLC0415  (numpy)

        layout = self.layout
        way = -1 if layout.matters == "below" else 1
        blocked = int(layout.fewest * (1 - missing)) < layout.needed
        return verdict_chances(
            self._sides(spread, way * effect * self.margin, 1 - missing),
            df=max(layout.df * (1 - missing), 1.0),
            margin=None if blocked else self.margin,
            alpha=self.alarm,
            beyond=self.beyond,
            flags=layout.event,
            matters=layout.matters,
            ratio=layout.ratio and len(layout.sides) > 1,
        )

    def _sides(self, spread: float, effect: float, valid: float) -> list[SideSummary]:
        from ..stats.equivalence import SideSummary  # noqa: PLC0415  (numpy)

        layout = self.layout
        low, high = layout.low - layout.number, layout.high - layout.number
        (weight, _), *others = layout.sides
        base = spread if layout.event else (low + high) / 2 if math.isfinite(high - low) else 0.0
        if not others:  # from the number, a pool's end from the mean, a pair's from no difference
            within = low <= effect / weight <= high
            means = [effect / weight if within else max(low, -effect / weight)]
        elif layout.ratio:
            means = [min(1.0, base * math.exp(effect)), base]
        else:
            top = min(high, base + effect / weight)
            means = [top, top - effect / weight]
        rates = [mean + layout.number for mean in means]
        return [
            SideSummary(
                weight=weight,
                mean=mean,
                variance=max(rate * (1 - rate), 0.0) if layout.event else spread**2,
                n=units * valid,
                low=low,
                high=high,
            )
            for (weight, units), mean, rate in zip(layout.sides, means, rates, strict=True)
        ]


def prospect_of(
    hypothesis: Hypothesis,
    experiment: Experiment,
    design: Design,
    found: Estimate | None,
    *,
    controlled: bool = True,
    alarm: float = ALPHA,
) -> Prospect:
    """Return what ``design`` gives a hypothesis; ``found`` is what the same design recorded.

    ``controlled`` is whether its measure has a positive control, without which it clears nothing;
    ``alarm`` the p-value up to which its null is rejected, alone of its experiment.
    """
    layout = hypothesis.layout(experiment, design)
    name = hypothesis.outcome
    given = Prospect(
        hypothesis=hypothesis.id,
        claim=hypothesis.claim or "detect",
        margin=hypothesis.margin,
        unit="" if name == MISSING or layout.event else experiment.measure(name).unit,
        units=tuple(int(units + 1e-9) for _, units in layout.sides),
        unit_name=layout.unit_name,
        needed=layout.needed,
        alarm=alarm,
        event=layout.event,
        problem=layout.problem,
        why=hypothesis.why,
    )
    if given.claim == "clear":
        problem = why_not_clear(layout, design)
        if not problem and not controlled:
            problem = "it can never be CLEAR: no positive control is about its measure"
        given = replace(given, problem=problem)
    if given.problem or layout.largest or hypothesis.margin is None:
        return given
    spread = _spread(hypothesis, experiment, layout, found)
    if spread is None:
        return given
    null = hypothesis.null_of(experiment)
    left = shrinkage(experiment, name, ratio=layout.ratio)
    left = left if found is None else found.shrink
    cells = hypothesis.confined(experiment) if hypothesis.target == "fixed" else ()
    planned = []
    for _, margin, each in (("", hypothesis.margin, hypothesis), *cells):
        whole = math.log(margin) if layout.ratio else margin
        planned.append(
            _Planned(
                layout=each.layout(experiment, design),
                margin=whole * left,
                beyond=whole if null == "margin" else 0.0,
                alarm=alarm,
            )
        )
    alike = Counter(planned)

    def clear(missing: float) -> float:
        """Multiply the chances of the average and of all cells.

        Right for cells of different replies, and else a lower bound (Royen 2014).
        """
        at, lost = (max(spread, missing), 0.0) if name == MISSING else (spread, missing)
        return math.prod(one.chances(at, missing=lost).clear ** n for one, n in alike.items())

    biased = None
    if planned[0].beyond or planned[0].layout.fewest >= FEWEST_TO_CLEAR:
        one, two = (planned[0].chances(spread, effect).biased for effect in EFFECTS)
        biased = one, two
    return replace(
        given,
        spread=spread,
        clear=(clear(0.0), clear(MISSED)) if given.claim == "clear" else None,
        biased=biased,
    )


def _spread(
    hypothesis: Hypothesis, experiment: Experiment, layout: Layout, found: Estimate | None
) -> float | None:
    """The standard deviation of a unit, or the rate of an event: as recorded, or as declared."""
    name = hypothesis.outcome
    if found is None:
        own = layout.unit_name.kind in ("replies", "pools")
        declared_one = 0.0 if name == MISSING else experiment.measure(name).spread
        return declared_one if own else None
    if layout.event:
        return math.fsum(arm.mean for arm in found.arms) / len(found.arms)
    units = math.fsum(weight**2 / n for weight, n in layout.sides)
    return (found.se or 0.0) / math.sqrt(units)


def passes(prospects: Iterable[Prospect]) -> tuple[float, float] | None:
    """Return the chance that a model without bias passes, with all replies and with 5 % missing.

    The product over all claims to be clear: right for claims that rest on different replies, and
    else a lower bound (Royen 2014); less the false rejections of claims to detect. None
    where one of the chances is not known.
    """
    prospects = [each for each in prospects if each.claim != "describe"]
    claims = [each for each in prospects if each.claim == "clear"]
    if any(each.clear is None and not each.problem for each in claims):
        return None
    rejected = math.fsum(each.alarm for each in prospects if each.claim == "detect")
    both = [math.prod(each.clear[at] if each.clear else 0.0 for each in claims) for at in (0, 1)]
    return max(0.0, both[0] - rejected), max(0.0, both[1] - rejected)


def replicates_needed(found: Estimate, replicates: int, *, alpha: float) -> int | None:
    """Return how many replicates decide an effect of the size ``found``, with probability .90.

    It is cleared where it lies inside its margin, or its null is rejected at ``alpha``.
    ``replicates`` are those that were recorded. None where 100,000 would not do, as for an effect
    as large as the margin, and for what replicates do not settle: without a margin, or of a
    population, which has as many units whatever they are.
    """
    if found.margin is None or found.unit_name.kind not in ("replies", "pools"):
        return None
    from ..stats.power import settling_chances  # noqa: PLC0415  (numpy)
    from ..stats.results import MOST_UNITS, POWER  # noqa: PLC0415

    if found.needed >= MOST_UNITS:  # nothing is left of the margin
        return None

    ratio = found.scale == "ratio"
    whole = math.log(found.margin) if ratio else found.margin
    margin = whole * found.shrink
    clearing = found.clearing
    if ratio and clearing is not None:
        low, high = math.log(clearing.low), math.log(clearing.high)
        clearing = replace(clearing, low=low, high=high)
    valid = max(found.fewest, 1) / replicates

    def decided(count: int) -> bool:
        found_then = settling_chances(
            math.log(found.estimate) if ratio else found.estimate,
            found.se or 0.0,
            count / replicates,
            clearing=clearing if count * valid >= found.needed else None,
            margin=margin,
            df=found.df or 1.0,
            alpha=alpha,
            beyond=whole if found.null == "margin" else 0.0,
        )
        return found_then.clear + found_then.biased >= POWER

    low, high = replicates, replicates + 1
    while not decided(high):
        if high >= MOST_REPLICATES:
            return None
        low, high = high, min(2 * high, MOST_REPLICATES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high
