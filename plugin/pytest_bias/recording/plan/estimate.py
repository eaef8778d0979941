"""Estimates of what trials that are not recorded would use, from the best that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...cassettes.places import cassettes_in
from ...cassettes.recorded_trials import measured_in
from ...cassettes.store import Cassette
from ...errors import BadSetting, DamagedCassette, NotReadable, TwoCassettes
from ...experiments.design import Trial
from ...experiments.experiment import Experiment, Players
from ...experiments.messages import Completion
from ...experiments.replay import Answers, Wanted, simulated_reply
from .use import Calls, Use, Walk, measured_use, tokens_of, total, use_of

SAMPLE = 200
"""Trials an estimate is taken from, at most: spread over those that are there."""

_GOLDEN = 0.618033988749895

Mark = Literal["exact", "estimate", "at least"]
Basis = Literal[
    "nothing to record", "this cassette", "another cassette", "dry run", "opening request"
]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The basis of figures: ``trials`` of ``basis``; ``model`` is another cassette's."""

    mark: Mark
    basis: Basis
    trials: int = 0
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Estimator:
    """Estimates what a trial of ``experiment`` uses.

    ``cassette`` is the path of the cassette that is planned, ``players_of`` says for a model with
    which the experiment was recorded who answered in its trials.
    """

    experiment: Experiment
    cassette: Path
    players_of: Callable[[str], Players]

    def per_trial(
        self, missing: Sequence[Trial], complete: Sequence[Use], players: Players
    ) -> tuple[Estimate, Use]:
        """The mean use of a trial; ``complete`` are the uses of this cassette's whole trials."""
        if complete:
            return Estimate("estimate", "this cassette", len(complete)), _mean(complete)
        sample = _spread(missing)
        return (
            self._elsewhere(sample) or self._dry(sample, players) or self._opening(sample, players)
        )

    def _elsewhere(self, sample: Sequence[Trial]) -> tuple[Estimate, Use] | None:
        """From the same trials recorded with another model; a real one before a simulated one."""
        others = []
        for path in cassettes_in(self.cassette.parent):
            if path != self.cassette:
                try:
                    cassette = Cassette(path)
                except (DamagedCassette, NotReadable, TwoCassettes):
                    continue  # of another model; a plan or a run of it names the damage
                if cassette.header is not None:
                    others.append((cassette.provenance.simulated, cassette.header.model, cassette))
        for simulated, model, cassette in sorted(others, key=lambda other: other[:2]):
            try:
                players = self.players_of(model)
            except BadSetting:
                continue  # nobody is named who would judge that model
            if self.experiment.retention == "raw":
                uses = _uses(
                    (Walk(self.experiment, players, trial, _lookup(cassette)) for trial in sample),
                    # What a simulated endpoint counts are words.
                    counted=not simulated,
                )
            elif simulated or cassette.keeps_text:
                continue  # without the text, those words cannot be counted otherwise
            else:
                found = (measured_in(self.experiment, players, t, cassette) for t in sample)
                uses = [measured_use(measured) for measured in found if measured is not None]
            if uses:
                return Estimate("estimate", "another cassette", len(uses), model), _mean(uses)
        return None

    def _dry(self, sample: Sequence[Trial], players: Players) -> tuple[Estimate, Use] | None:
        """From the experiment's own simulated subject, if it answers all that is asked."""

        def answer(wanted: Wanted) -> Completion | None:
            return simulated_reply(self.experiment, wanted)

        uses = _uses(Walk(self.experiment, players, trial, answer) for trial in sample)
        return (Estimate("estimate", "dry run", len(uses)), _mean(uses)) if uses else None

    def _opening(self, sample: Sequence[Trial], players: Players) -> tuple[Estimate, Use]:
        """From the first request alone, which no reply can change."""
        uses = []
        for trial in sample:
            missing = Walk(self.experiment, players, trial, lambda _: None).missing
            if missing is not None:
                calls = Calls(1, tokens_of(message.text for message in missing.request.messages))
                uses.append(use_of(missing.request.to, calls))
        return Estimate("at least", "opening request", len(uses)), _mean(uses)


def worst(marks: Iterable[Mark]) -> Mark:
    """The weakest of ``marks``."""
    order: tuple[Mark, ...] = ("exact", "estimate", "at least")
    return max(marks, key=order.index, default="exact")


def _lookup(cassette: Cassette) -> Answers:
    return lambda wanted: cassette.lookup(wanted.key)


def _uses(walks: Iterable[Walk], *, counted: bool = True) -> list[Use]:
    """Return the use of the trials that came to their end."""
    return [walk.use(counted=counted) for walk in walks if walk.complete]


def _mean(uses: Sequence[Use]) -> Use:
    share, use = 1 / max(len(uses), 1), total(uses)
    return Use(use.subject.times(share), use.judge.times(share))


def _spread(trials: Sequence[Trial]) -> Sequence[Trial]:
    """At most :data:`SAMPLE` of ``trials``, spread so that no factor or item falls out of step."""
    if len(trials) <= SAMPLE:
        return trials
    # Multiples of the golden ratio cover a range evenly and repeat no period of the design.
    places = {int(len(trials) * (number * _GOLDEN % 1)) for number in range(SAMPLE)}
    return [trials[place] for place in sorted(places)]
