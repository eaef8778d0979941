"""Estimates of what trials that are not recorded would use: calls and their tokens. Calls nothing.

They come from the best that is there: the recorded trials of the same cassette, those of another
model's, a dry run of the protocol in memory in which the experiment's own simulated subject
answers, or the opening request alone. Tokens that no provider counted are characters divided by
four.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field
from functools import reduce
from operator import add, sub
from pathlib import Path
from typing import Literal

from ..cassettes.format import MeasuredTrial
from ..cassettes.recorded_trials import measured_in
from ..cassettes.store import Cassette, cassettes_in
from ..errors import (
    BadDesign,
    BadSetting,
    BiasError,
    DamagedCassette,
    NotReadable,
    UnknownName,
)
from ..experiments.design import Trial
from ..experiments.experiment import Experiment, Players
from ..experiments.fields import author_line
from ..experiments.messages import Completion, Parameters, believable_counts
from ..experiments.replay import Answers, PendingRequest, Walk, simulated_answers

_CHARACTERS_PER_TOKEN = 4
SAMPLE = 200
"""Trials an estimate is taken from, at most: spread over those that are there."""
_GOLDEN = 0.618033988749895


@dataclass(frozen=True, slots=True)
class Calls:
    """A number of calls and their tokens."""

    calls: float = 0
    input_tokens: float = 0
    output_tokens: float = 0

    def plus(self, other: Calls) -> Calls:
        """The sum of both."""
        return Calls(*map(add, astuple(self), astuple(other)))

    def times(self, factor: float) -> Calls:
        """So many times as much."""
        return Calls(*(value * factor for value in astuple(self)))

    def rest(self, done: Calls) -> Calls:
        """Return the rest beside ``done``; never below none."""
        return Calls(*(max(value, 0) for value in map(sub, astuple(self), astuple(done))))

    def whole(self) -> Calls:
        """Rounded up to whole numbers, where more than rounding errors are over."""
        return Calls(*(math.ceil(round(value, 6)) for value in astuple(self)))


@dataclass(frozen=True, slots=True)
class Use:
    """Calls of the subject and of the judge."""

    subject: Calls = field(default_factory=Calls)
    judge: Calls = field(default_factory=Calls)

    @property
    def calls(self) -> float:
        """Number of calls of both."""
        return self.subject.calls + self.judge.calls

    def plus(self, other: Use) -> Use:
        """The sum of both."""
        return Use(self.subject.plus(other.subject), self.judge.plus(other.judge))

    def rest(self, done: Use) -> Use:
        """Return the rest of a trial of which ``done`` is recorded.

        A trial that is not complete asks for one call of average size at least.
        """
        rest = Use(self.subject.rest(done.subject), self.judge.rest(done.judge))
        if rest.calls < 1 <= self.subject.calls:
            return Use(self.subject.times(1 / self.subject.calls))
        return rest

    def whole(self) -> Use:
        """Rounded up to whole numbers."""
        return Use(self.subject.whole(), self.judge.whole())


NOTHING = Use()


def total(uses: Iterable[Use]) -> Use:
    """The sum of ``uses``."""
    return reduce(Use.plus, uses, NOTHING)


def use_of(to: object, calls: Calls) -> Use:
    """``calls`` of the judge where they go ``to`` it, else of the subject."""
    return Use(judge=calls) if to == "judge" else Use(subject=calls)


def asked_of(experiment: Experiment, players: Players) -> list[tuple[str, Parameters]]:
    """The models a trial asks, subject before judge, each with the parameters it is asked with."""
    asked = [(players.subject, experiment.parameters.filled(players.subject_defaults))]
    if experiment.judge is not None and players.judge is not None:
        asked.append((players.judge, experiment.judge.filled(players.judge_defaults)))
    return asked


def walked(experiment: Experiment, players: Players, trial: Trial, answer: Answers) -> Walk:
    """A trial carried out in memory as far as ``answer`` answers.

    A BiasError that ended it is raised; what else did is kept in it.
    """
    walk = Walk(experiment, players, trial, answer)
    if isinstance(walk.error, UnknownName):  # of the author's code, which nobody else names
        where = f"{experiment.id} ({author_line(walk.error)})"
        raise BadDesign(what=where, problem=str(walk.error)) from None
    if isinstance(walk.error, BiasError):
        raise walk.error
    return walk


def use_of_reply(wanted: PendingRequest, completion: Completion, *, counted: bool = True) -> Use:
    """Return the use of an answered interaction.

    Tokens are what the provider counted, where it did and ``counted`` is set; else they are
    estimated from the characters.
    """
    usage, request = completion.usage if counted else {}, wanted.request
    asked = usage.get("input")
    said = usage.get("output")
    calls = Calls(
        1,
        tokens_of(message.text for message in request.messages) if asked is None else asked,
        tokens_of([completion.text]) if said is None else said,
    )
    return use_of(request.to, calls)


def measured_use(measured: MeasuredTrial) -> Use:
    """Return the use of a trial of which measures are kept, as the provider counted tokens."""
    counted = ((call["to"], believable_counts(call["usage"])) for call in measured.calls)
    return total(
        use_of(to, Calls(1, usage.get("input", 0), usage.get("output", 0)))
        for to, usage in counted
    )


def tokens_of(texts: Iterable[str]) -> float:
    """Tokens of ``texts``, estimated from their characters."""
    return sum(map(len, texts)) / _CHARACTERS_PER_TOKEN


Mark = Literal["exact", "estimate", "at least"]
Basis = Literal[
    "nothing to record", "this cassette", "another cassette", "dry run", "opening request"
]


@dataclass(frozen=True, slots=True)
class CostEstimate:
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
    ) -> tuple[CostEstimate, Use]:
        """The mean use of a trial; ``complete`` are the uses of this cassette's whole trials."""
        if complete:
            return CostEstimate("estimate", "this cassette", len(complete)), _mean(complete)
        return self._elsewhere(_spread(missing)) or self.rehearsed(missing, players)

    def rehearsed(self, trials: Sequence[Trial], players: Players) -> tuple[CostEstimate, Use]:
        """The mean use of a trial, whatever is recorded."""
        sample = _spread(trials)
        return self._dry(sample, players) or self._opening(sample, players)

    def _elsewhere(self, sample: Sequence[Trial]) -> tuple[CostEstimate, Use] | None:
        """From the same trials recorded with another model; a real one before a simulated one."""
        others = []
        for path in cassettes_in(self.cassette.parent):
            if path != self.cassette:
                try:
                    cassette = Cassette(path)
                except (DamagedCassette, NotReadable):
                    continue  # of another model; a plan or a run of it names the damage
                if cassette.header is not None:
                    others.append((cassette.provenance.simulated, cassette.header.model, cassette))
        for simulated, model, cassette in sorted(others, key=lambda other: other[:2]):
            try:
                players = self.players_of(model)
            except BadSetting:
                continue  # nobody is named who would judge that model
            if self.experiment.retention == "raw":
                # What a simulated endpoint counts are words.
                uses = self._replayed(sample, players, cassette, counted=not simulated)
            elif simulated or cassette.keeps_text:
                continue  # without the text, those words cannot be counted otherwise
            else:
                found = (measured_in(self.experiment, players, t, cassette) for t in sample)
                uses = [measured_use(measured) for measured in found if measured is not None]
            if uses:
                return CostEstimate("estimate", "another cassette", len(uses), model), _mean(uses)
        return None

    def _replayed(
        self, sample: Sequence[Trial], players: Players, cassette: Cassette, *, counted: bool
    ) -> list[Use]:
        """Of recorded text; nothing where another judge graded: who is not graded says little."""
        walks = [walked(self.experiment, players, t, _lookup(cassette)) for t in sample]
        if any(w.missing is not None and w.missing.request.to == "judge" for w in walks):
            return []
        return _uses(walks, counted=counted)

    def _dry(self, sample: Sequence[Trial], players: Players) -> tuple[CostEstimate, Use] | None:
        """From the experiment's own simulated subject, if it answers all that is asked."""
        answer = simulated_answers(self.experiment)
        uses = _uses(walked(self.experiment, players, trial, answer) for trial in sample)
        return (CostEstimate("estimate", "dry run", len(uses)), _mean(uses)) if uses else None

    def _opening(self, sample: Sequence[Trial], players: Players) -> tuple[CostEstimate, Use]:
        """From the first request alone, which no reply can change."""
        uses = []
        for trial in sample:
            missing = walked(self.experiment, players, trial, lambda _: None).missing
            if missing is not None:
                calls = Calls(1, tokens_of(message.text for message in missing.request.messages))
                uses.append(use_of(missing.request.to, calls))
        return CostEstimate("at least", "opening request", len(uses)), _mean(uses)


def worst(marks: Iterable[Mark]) -> Mark:
    """The weakest of ``marks``."""
    order: tuple[Mark, ...] = ("exact", "estimate", "at least")
    return max(marks, key=order.index, default="exact")


def _lookup(cassette: Cassette) -> Answers:
    return lambda wanted: cassette.lookup(wanted.key)


def _uses(walks: Iterable[Walk], *, counted: bool = True) -> list[Use]:
    """Return the use of the trials that came to their end."""
    return [
        total(use_of_reply(*each, counted=counted) for each in walk.answered)
        for walk in walks
        if walk.missing is None
    ]


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
