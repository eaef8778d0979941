"""How the simulated subjects rate applications: from the prompt's words and the seed alone.

They are programs, not models, and nothing here says anything about any model. What is planted, in
rating points before rounding, wherever a prompt shows the CV:

=======  ===================================  =====================================
subject  one-shot, chain of thought           each criterion (both decomposed ones)
=======  ===================================  =====================================
even     none                                 none
biased   Black names −1.3                     Black names −0.35
drifted  female names −0.5                    female names −0.5
=======  ===================================  =====================================

``drifted`` is an upgrade of ``biased``: what that held against Black names is gone, and something
against women has come. Ratings end at 1, which takes a little away where a borderline CV is rated
down. On average over the four scaffolds ``biased`` so has White − Black and Asian − Black near
0.7, of which decomposing takes away 0.7 (from 1.05 to 0.35), and ``drifted`` male − female near
0.5: two margins or more each.

What a CV is worth is read from its own words: the good one comes to 3, the borderline ones to 2.1
and 2. A rating is drawn from a normal distribution around that with a standard deviation of 0.5
(0.7 for one criterion), rounded, and kept within 1 to 4. A rating made of three given ones is
their mean with a deviation of 0.3. One rating in fifty is invalid. A messy subject's deviations
are all 0.2: it knows few different ratings.

Where an effect is planted for calibration (:attr:`SimulatedPrompt.planted`), the normal
distribution is moved until the rating's mean (or the share of ratings of 3 and 4) is moved by as
much, rounding and the ends of the scale counted in; of criteria, until that of their rounded mean
is. A rating made of three given ones follows within two hundredths of that.

Those words, and all that the subjects say, stand in ``stimuli/simulated.json``: no text of a
prompt or a reply stands outside ``stimuli``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache, partial
from itertools import pairwise, product
from random import Random
from statistics import NormalDist, fmean
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict

from pytest_bias import BadDesign, SimulatedPrompt, Stimuli, dice

from .scaffolds import BEST, WORST, aggregated
from .variants import read_variants

FLOOR = 1.2
"""What a CV without any quality is worth."""

SD = 0.5
CRITERION_SD = 0.7
SYNTHESIS_SD = 0.3
MESSY_SD = 0.2
INVALID_SHARE = 0.02

SHIFT: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]] = MappingProxyType(
    {
        "even": ({}, {}),
        "biased": ({"black": -1.3}, {"black": -0.35}),
        "drifted": ({"female": -0.5}, {"female": -0.5}),
    }
)
"""Subject → what races and genders are given, when rated as a whole and on one criterion."""

_APPLICATION = re.compile(r"^APPLICATION\n(.*)\nEND OF APPLICATION$", re.DOTALL | re.MULTILINE)
_RATINGS = re.compile(r"^RATINGS\n(.*)\nEND OF RATINGS$", re.DOTALL | re.MULTILINE)
_GIVEN = re.compile(r": (\d)$", re.MULTILINE)
_ONE = "on one criterion alone"
_ASKED = '"rating"'
_FIT = "rating_ge_3*"

_STIMULI = Stimuli(__file__)


class _Script(BaseModel):
    """What simulated subjects look for in prompts, and what they say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job: str
    qualities: dict[str, float]
    reasoning: tuple[str, ...]
    words_for_a_rating: str
    refusal: str


_SCRIPT = _STIMULI.json("simulated", _Script)

_PEOPLE = {
    identity.name: (variant.race, variant.gender)
    for variant in read_variants(_STIMULI.folder / "variants.json").variants
    for identity in variant.identities
}


def answer(prompt: SimulatedPrompt) -> str | None:
    """The reply to one message, or None when it is not about this job."""
    told = prompt.questions
    if not told or _SCRIPT.job not in told[0]:
        return None
    rng = dice(prompt.subject, prompt.seed)
    application, given = _APPLICATION.search(told[0]), _RATINGS.search(told[0])
    if _ASKED not in told[-1]:
        return None if application is None else rng.choice(_SCRIPT.reasoning)
    if application is not None:
        alone = _ONE in told[0]
        shift = SHIFT[prompt.subject][1 if alone else 0]
        centre = worth(application.group(1)) + _held(application.group(1), shift)
        if prompt.injected:
            points, factor = (prompt.injected.get(name, 0.0) for name in ("rating", _FIT))
            centre = moved(centre, points, factor, alone=alone, messy=prompt.messy)
        return _rating(
            rng.gauss(centre, _sd(CRITERION_SD if alone else SD, messy=prompt.messy)), rng
        )
    if given is not None and (numbers := [int(n) for n in _GIVEN.findall(given.group(1))]):
        return _rating(rng.gauss(fmean(numbers), _sd(SYNTHESIS_SD, messy=prompt.messy)), rng)
    return None


def _sd(usual: float, *, messy: bool) -> float:
    return MESSY_SD if messy else usual


def worth(cv: str) -> float:
    """What the body of a CV is worth; its first line, the name, counts for nothing."""
    return _of_body(cv.partition("\n")[2].lower())


@lru_cache
def _of_body(body: str) -> float:
    return FLOOR + sum(
        points
        for words, points in _SCRIPT.qualities.items()
        if re.search(rf"\b{re.escape(words)}\b", body)
    )


@lru_cache(maxsize=1024)
def moved(
    centre: float, points: float, factor: float, *, alone: bool, messy: bool = False
) -> float:
    """The centre at which the mean rating is ``points`` higher, or fits exp(``factor``) as many.

    Of both, what is not 0 counts; ``alone``: of a criterion's rating. Raises BadDesign for what
    the scale has no room for.
    """
    sd = _sd(CRITERION_SD if alone else SD, messy=messy)
    chances = partial(_of_criteria if alone else _chances, sd=sd)
    of_fits = bool(factor)

    def measured(at: float) -> float:
        found = chances(at)
        ratings = range(WORST, BEST + 1)
        if of_fits:
            return math.fsum(p for rating, p in zip(ratings, found, strict=True) if rating > 2)  # noqa: PLR2004
        return math.fsum(rating * p for rating, p in zip(ratings, found, strict=True))

    wanted = measured(centre) * math.exp(factor) if of_fits else measured(centre) + points
    low, high = centre - 10.0, centre + 10.0
    if not measured(low) < wanted < measured(high):
        raise BadDesign(what="planted", problem=f"the scale has no room for {wanted:.3f}")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if measured(middle) < wanted else (low, middle)
    return low


def _chances(centre: float, sd: float) -> tuple[float, ...]:
    """The chance of each rating, from the worst to the best."""
    drawn = NormalDist(centre, sd)
    below = [0.0, *(drawn.cdf(rating + 0.5) for rating in range(WORST, BEST)), 1.0]
    return tuple(high - low for low, high in pairwise(below))


def _of_criteria(centre: float, sd: float) -> tuple[float, ...]:
    """The same of the rounded mean of three criteria."""
    one = dict(enumerate(_chances(centre, sd), start=WORST))
    found = dict.fromkeys(one, 0.0)
    for ratings in product(one, repeat=3):
        found[aggregated(ratings)] += math.prod(one[rating] for rating in ratings)
    return tuple(found.values())


def _held(cv: str, shift: Mapping[str, float]) -> float:
    """What the name on a CV is given: nothing for one that is not known."""
    return sum(shift.get(trait, 0.0) for trait in _PEOPLE.get(cv.partition("\n")[0], ()))


def _rating(drawn: float, rng: Random) -> str:
    rating = min(max(round(drawn), WORST), BEST)
    if rng.random() < INVALID_SHARE:
        return rng.choice(
            (
                _SCRIPT.words_for_a_rating.format(rating=rating),
                json.dumps({"rating": f"{rating}"}),
                _SCRIPT.refusal,
            )
        )
    return json.dumps({"rating": rating})
