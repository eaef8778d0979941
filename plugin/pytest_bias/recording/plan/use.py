"""The use of a trial carried out in memory: calls and their tokens. Calls nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, field
from functools import reduce
from operator import add, sub

from ...cassettes.measured import MeasuredTrial
from ...errors import BiasError, InvalidReply
from ...experiments.design import Trial
from ...experiments.driver import run
from ...experiments.experiment import Experiment, Players
from ...experiments.messages import Completion, Place, Request, believable_counts
from ...experiments.replay import Answered, Answers, Unrecorded, Wanted

_CHARACTERS_PER_TOKEN = 4


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


class Walk(Answered):
    """One trial carried out in memory as far as ``answer`` answers; nothing is called.

    ``complete`` is whether it came to its end, ``missing`` the interaction at which it did not.
    """

    def __init__(
        self, experiment: Experiment, players: Players, trial: Trial, answer: Answers
    ) -> None:
        super().__init__(experiment, players, trial, answer)
        self._answered: list[tuple[Wanted, Completion]] = []
        self.missing: Wanted | None = None
        try:
            run(self.start(), self)
        except Unrecorded as unrecorded:
            self.missing = unrecorded.wanted
        except InvalidReply:
            pass  # a trial that is missing by its replies is recorded all the same
        except BiasError:
            raise
        except Exception:  # noqa: BLE001, S110  (the protocol's own error: its case will show it)
            pass

    @property
    def complete(self) -> bool:
        """Return whether every interaction was answered."""
        return self.missing is None

    @property
    def keys(self) -> list[str]:
        """Keys of the interactions that were answered."""
        return [wanted.key for wanted, _ in self._answered]

    def use(self, counts: Callable[[str], bool] | None = None, *, counted: bool = True) -> Use:
        """Return the use of the answered interactions (whose keys ``counts``).

        Tokens are what the provider counted, where it did and ``counted`` is set; else they are
        estimated from the characters.
        """
        return total(
            use_of(wanted.request.to, _calls_of(wanted.request, completion, counted=counted))
            for wanted, completion in self._answered
            if counts is None or counts(wanted.key)
        )

    async def perform(self, request: Request, place: Place) -> Completion:
        """Answer, or end the trial."""
        completion = await super().perform(request, place)
        self._answered.append((self.interactions[-1], completion))
        return completion


def _calls_of(request: Request, completion: Completion, *, counted: bool) -> Calls:
    usage = completion.usage if counted else {}
    asked = usage.get("input")
    said = usage.get("output")
    return Calls(
        1,
        tokens_of(message.text for message in request.messages) if asked is None else asked,
        tokens_of([completion.text]) if said is None else said,
    )


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
