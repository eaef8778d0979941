"""Shards of a recording: whole trials, divided by their content, for several processes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import BadSetting
from ..experiments.canonical import digest
from ..experiments.design import Trial

_WRITTEN = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``number``-th (from 1) of ``of`` parts of every experiment's trials.

    Whose a trial is follows from the experiment and the trial alone, never from what is recorded,
    selected or of what size the design is: shards are disjoint, each trial is in one, and the same
    one tomorrow. They are of about the same size, as draws are: of 360 trials a third has 120,
    give or take 9.
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part(self, experiment_id: str, trials: Iterable[Trial]) -> tuple[Trial, ...]:
        """Return the trials that are in this shard, in their order."""
        return tuple(
            trial
            for trial in trials
            if int(digest(f"{experiment_id}\n{trial.id}"), 16) % self.of == self.number - 1
        )

    def share(self, total: int) -> int:
        """Return this shard's share of a ``total``; those of all shards add up to it."""
        return total // self.of + (self.number <= total % self.of)


def read_shard(text: str) -> Shard:
    """Read ``K/N``; BadSetting where it is none."""
    found = _WRITTEN.fullmatch(text)
    shard = Shard(*map(int, found.groups())) if found else Shard(0, 0)
    if not 1 <= shard.number <= shard.of:
        problem = "must be K/N, the K-th of N shards, with K from 1 to N"
        raise BadSetting(option="--bias-shard", value=text, problem=problem)
    return shard
