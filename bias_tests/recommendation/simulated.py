"""How the simulated subjects recommend posts: from the prompt's words and the seed alone.

They are programs, not models, and nothing here says anything about any model. What is planted, as
factors of a post's chance to be picked next, under the two styles ``general`` and ``neutral``:

=======  =====================  =================================
subject  women's posts          posts by members of minorities
=======  =====================  =================================
even     none                   none
biased   × 0.57                 none
drifted  none                   × 0.57
=======  =====================  =================================

As ten of a hundred are picked, a factor of 0.57 comes to a selection ratio near 0.6. ``drifted``
is an upgrade of ``biased``: what that held against women is gone, and something against minorities
has come. It also prefers what stands first, by a factor of 2.7 from the first post to the last,
under every style: order is random, so no group gains by it.

Under every style a post has a weight made of what its text shows (heated words, length, a link, an
emoji, a tag, warm words) as ``stimuli/simulated.json`` has it, whoever wrote it. Ten are drawn one
after another with chances in proportion to the exponential of the weight (Plackett & Luce), by
adding a Gumbel deviate to each and taking the highest. Authors are known by what the author line
says, and by nothing else. One reply in a hundred is invalid.

Where a selection ratio is planted for calibration (:attr:`SimulatedPrompt.planted`), the group's
weights are moved until its expected ratio in this pool is multiplied by as much.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_bias import SimulatedPrompt, Stimuli, dice

HELD_AGAINST = 0.57
"""Factor of the chance of a post whose author is disadvantaged."""

FIRST_TO_LAST = 1.0
"""What ``drifted`` takes off a weight from the first post shown to the last."""

INVALID_SHARE = 0.01

PLANTED: Mapping[str, str | None] = MappingProxyType(
    {"even": None, "biased": "female", "drifted": "minority"}
)
"""Subject → the authors whose posts have less of a chance under ``general`` and ``neutral``."""

PLANTED_UNDER = ("general", "neutral")

_STIMULI = Stimuli(__file__)
_POSTS = re.compile(r"^POSTS\n(.*)\nEND OF POSTS$", re.DOTALL | re.MULTILINE)
_WANTED = re.compile(r"^Pick exactly (\d+) different posts", re.MULTILINE)
_CALLED = re.compile(r"^\[?([^\]\s]+)\] (\w+)")
_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")


class _Script(BaseModel):
    """What simulated subjects look for in posts, and what they say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    heated: tuple[str, ...]
    warm: tuple[str, ...]
    weights: dict[str, dict[str, float]]
    words_for_picks: str
    refusal: str


_SCRIPT = _STIMULI.json("simulated", _Script)
_REQUESTS = _STIMULI.json("requests", dict[str, str])
_AUTHORS = _STIMULI.json("authors", dict[str, Any])
_WOMEN = frozenset(_AUTHORS["names"]["female"])
_MINORITIES = tuple(_AUTHORS["minority"]["yes"])
_LEFT = tuple(_AUTHORS["leaning"]["left"])


def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


_HEATED, _WARM = _any_of(_SCRIPT.heated), _any_of(_SCRIPT.warm)


@dataclass(frozen=True, slots=True)
class _Read:
    """What a subject takes from a post: its id, who wrote it, and its weight by style."""

    id: str
    authors: frozenset[str]
    weights: Mapping[str, float]


def answer(prompt: SimulatedPrompt) -> str | None:
    """The reply, or None when the prompt shows no posts to pick from."""
    told = prompt.messages[-1].text
    found, wanted = _POSTS.search(told), _WANTED.search(told)
    if len(prompt.messages) > 1 or found is None or wanted is None:
        return None
    around = told[: found.start()] + told[found.end() :]
    style = next((name for name, request in _REQUESTS.items() if request in around), "general")
    rng = dice(prompt.subject, prompt.seed)
    posts = found.group(1).split("\n\n[")
    read = [_read(text) for text in posts]
    weights: list[float] = []
    for place, post in enumerate(read):
        weight = post.weights[style]
        if style in PLANTED_UNDER and PLANTED[prompt.subject] in post.authors:
            weight += math.log(HELD_AGAINST)
        if prompt.subject == "drifted":
            weight -= FIRST_TO_LAST * place / len(posts)
        weights.append(weight)
    number = int(wanted.group(1))
    for what, log_ratio in prompt.injected.items():
        members = [what.partition("*")[2] in post.authors for post in read]
        more = moved(weights, members, log_ratio, number)
        weights = [w + more * member for w, member in zip(weights, members, strict=True)]
    ranked = [(w + _gumbel(rng), post.id) for w, post in zip(weights, read, strict=True)]
    picked = [post for _, post in sorted(ranked, reverse=True)[:number]]
    return _said(picked, rng)


def moved(
    weights: Sequence[float], members: Sequence[bool], log_ratio: float, number: int
) -> float:
    """What must be added to the weights of ``members`` to multiply their selection ratio.

    The chance that a post is among the ``number`` picked is taken as 1 − exp(−t · exp(weight)),
    with t such that they sum to that number (the limit for large pools: Rosén 1972, Annals of
    Mathematical Statistics 43, 373–397).
    """
    import numpy as np  # noqa: PLC0415  (only where a size is planted)

    before = np.exp(weights)
    inside = np.array(members)
    if not 0 < inside.sum() < inside.size:
        return 0.0

    def logarithm(more: float) -> float:
        """Log selection ratio of members and others."""
        chances = before * np.where(inside, math.exp(more), 1.0)
        t = number / chances.sum()
        for _ in range(20):  # Newton's method, from below on a concave function
            left = np.exp(-t * chances)
            t += (number - (1 - left).sum()) / (chances * left).sum()
        picked = 1 - np.exp(-t * chances)
        return math.log(picked[inside].mean() / picked[~inside].mean())

    wanted = logarithm(0.0) + log_ratio
    more = log_ratio
    for _ in range(4):  # nearly linear, with a slope near .9
        more += (wanted - logarithm(more)) / 0.9
    return more


def weight_of(shown: str, style: str) -> float:
    """The weight of a post as it is shown, whoever wrote it."""
    return _read(shown).weights[style]


def _gumbel(rng: Random) -> float:
    return -math.log(-math.log(rng.random() or 0.5))


def _said(picked: list[str], rng: Random) -> str:
    if rng.random() >= INVALID_SHARE:
        return json.dumps({"posts": picked})
    return rng.choice(
        (
            json.dumps({"posts": picked[:-1]}),
            json.dumps({"posts": [*picked[:-1], picked[0]]}),
            json.dumps({"posts": [*picked[:-1], "x0000"]}),
            _SCRIPT.words_for_picks.format(first=picked[0], second=picked[-1]),
            _SCRIPT.refusal,
        )
    )


@lru_cache(maxsize=16_384)
def _read(post: str) -> _Read:
    """Kept, because a post comes back in many pools: what it says of itself never changes."""
    line, _, text = post.partition("\n")
    called = _CALLED.match(line)
    name, first = called.groups() if called else ("", "")
    authors = {"female"} if first in _WOMEN else set()
    authors |= {"minority"} if any(words in line for words in _MINORITIES) else set()
    authors |= {"left"} if any(words in line for words in _LEFT) else set()
    seen = {
        "heat": min(len(_HEATED.findall(text)), 2),
        "length": math.log(max(len(text), 1) / 150),
        "link": "https://" in text,
        "emoji": bool(_EMOJI.search(text)),
        "tag": " #" in text,
        "warm": bool(_WARM.search(text)),
    }
    return _Read(
        name,
        frozenset(authors),
        {
            style: sum(weight * seen[what] for what, weight in weights.items())
            for style, weights in _SCRIPT.weights.items()
        },
    )
