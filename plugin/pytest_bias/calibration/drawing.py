"""One fresh draw: a simulated subject answers a whole design in this process, and is judged.

Everything between prompt and verdict is what a recording goes through: the protocol under the one
driver, the reply's text, its parser, the measures, the analysis, the gate. What is left out does
not depend on the reply: HTTP, cassettes and keys.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..baselines.accepted import beside_entry
from ..baselines.entries import Acceptance, Entry, entry_of, is_stopped
from ..baselines.fingerprints import fingerprint_of
from ..contrasts.cases import Registered
from ..errors import BiasError, InvalidReply
from ..experiments.allocation import Allocation
from ..experiments.canonical import compact, digest, dumps
from ..experiments.design import Design, Trial
from ..experiments.driver import drive_at_once
from ..experiments.experiment import Players, SimulatedPrompt, plan, simulated_text
from ..experiments.keys import parameters_of
from ..experiments.messages import Completion, Place, Request
from ..experiments.protocol import Reply
from ..experiments.records import Outcome, Recording
from ..experiments.replay import JUDGE, one_by_one
from ..verdicts.analysis import Analysis, analyse
from .planting import JUDGE_ERROR, Instructions, PlantedSubject, Planting

_SEED_DIGITS = 15
_TODAY = "2000-01-01"
_ACCEPTED = Acceptance(reason="calibration", owner="calibration", until="9999-12-31")


class Unanswered(BiasError):
    """A simulated subject gives no reply to what an experiment asks of it."""

    def __init__(self, *, experiment: str, trial: str) -> None:
        super().__init__(
            f"{experiment}, trial {trial}: the simulated subject gives no reply, so nothing "
            "can be drawn; its function (simulated=) must answer all that the protocol asks"
        )


class NothingPlanted(BiasError):
    """A simulated subject never asks what is planted, so that its draws would show nothing."""

    def __init__(self, *, names: Sequence[str]) -> None:
        never = " and ".join(f"prompt.planted[{name!r}]" for name in names)
        super().__init__(
            f"simulated= never reads {never}, so nothing was planted; have it move what it draws "
            'from by that much ("What can be planted" in docs/calibration.md)'
        )


@dataclass(frozen=True, kw_only=True)
class Bench:
    """An experiment under one design, ready to be drawn: what no draw changes is made once."""

    registered: Registered
    design: Design
    allocation: Allocation

    @cached_property
    def trials(self) -> tuple[tuple[Trial, str], ...]:
        """The planned trials, each with the text that tells it from the others."""
        trials = plan(self.registered.experiment, self.design)
        return tuple((trial, compact(trial.identity, sort_keys=True)) for trial in trials)

    @cached_property
    def fingerprints(self) -> Mapping[str, Mapping[str, object]]:
        """Hypothesis → the fingerprint under which its verdicts compare."""
        experiment = self.registered.experiment
        return {
            name: fingerprint_of(experiment, self.design, hypothesis, "")
            for name, hypothesis in sorted(self.registered.hypotheses.items())
        }

    @cached_property
    def digest(self) -> str:
        """Names the design, its controls and all that is claimed: calibrated is this, no other.

        What is said to a model and what simulated subjects answer are not in it.
        """
        experiment, repeated = self.registered.experiment, self.design.controls
        read = [
            {each.name: sorted(each.controls) for each in experiment.factors},
            sorted(experiment.items.controls) if experiment.items is not None else None,
            {m.name: repr(m.error) for m in experiment.measures if m.error is not None},
            parameters_of(experiment.judge) if experiment.judge is not None else None,
        ]
        controls = {
            name: [fingerprint_of(experiment, self.design, each.contrast, ""), *each.licenses]
            for name, each in sorted(self.registered.controls.items())
        }
        decided = [experiment.id, self.fingerprints, controls, repeated, self.allocation.alpha]
        return digest(dumps([decided, read]))[:16]

    def analysis(self, subject: PlantedSubject, draw: str, place: int = 0) -> Analysis:
        """Draw once, and judge; ``draw`` decides all chance, ``place`` how far steps have come."""
        drawn = outcomes(self, subject, draw, place)
        return self.judged(drawn, f"simulated/{subject.name}", f"{subject}:{draw}")

    def judged(self, outcomes: Sequence[Outcome], model: str, name: str) -> Analysis:
        """The analysis of one draw's outcomes; ``name`` tells it from all others."""
        registered = self.registered
        return analyse(
            registered.experiment,
            self.design,
            model,
            outcomes,
            hypotheses=tuple(registered.hypotheses.values()),
            controls=tuple(registered.controls.values()),
            recording=Recording(
                cassette="",
                checksum=digest(name),
                simulated=True,
                wire="",
                recorded_with="",
                interactions=None,
            ),
            allocation=self.allocation,
            lean=True,
        )

    def entries(self, analysis: Analysis, before: Mapping[str, Entry]) -> dict[str, Entry]:
        """The verdicts of a draw, accepted after those ``before``."""
        return {
            verdict.id: entry_of(
                verdict,
                analysis.recording,
                self.fingerprints[verdict.id],
                acceptance=_ACCEPTED,
                before=before.get(verdict.id),
            )
            for verdict in analysis.verdicts
        }

    def upgraded(self, analysis: Analysis, accepted: Mapping[str, Entry]) -> dict[str, str]:
        """Hypothesis → how its verdict stands beside the accepted one, where the gate stops it."""
        stopped: dict[str, str] = {}
        for verdict in analysis.verdicts:
            name = verdict.id
            told, entry = self.fingerprints[name], accepted[name]
            _, beside = beside_entry(analysis, verdict, told, entry, today=_TODAY)
            if is_stopped(verdict.status, verdict.claim) and not beside.tolerated:
                stopped[name] = beside.outcome
        return stopped


def outcomes(
    bench: Bench, subject: PlantedSubject, draw: str, place: int = 0
) -> Sequence[Outcome]:
    """The outcomes of one draw, in the plan's order.

    Raises NothingPlanted where the simulated subject never looks at what is planted in a measure.
    """
    planting = Planting(bench.registered, subject, draw, place)
    offered: set[str] = set()
    read: set[str] = set()

    def carried_out(trial: Trial, identity: str, told: Instructions) -> Outcome:
        seed = f"{draw}:{identity}"
        return _Answering(bench, subject.name, told, trial, seed, offered, read).outcome()

    found = [carried_out(trial, identity, planting.of(trial)) for trial, identity in bench.trials]
    if unread := sorted(offered - read):
        raise NothingPlanted(names=unread)
    return planting.afterwards(
        found, lambda trial: carried_out(trial, "", Instructions({}, lost=True))
    )


class _Noted(Mapping[str, float]):
    """Effects planted in a trial; whatever is looked up in it is noted in ``read``."""

    def __init__(self, planted: Mapping[str, float], read: set[str]) -> None:
        self._planted, self._read = planted, read

    def __getitem__(self, name: str) -> float:
        self._read.add(name)
        return self._planted[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._planted)

    def __len__(self) -> int:
        return len(self._planted)

    def __or__(self, other: Mapping[str, float]) -> dict[str, float]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, float]) -> dict[str, float]:
        return {**other, **self}

    def copy(self) -> dict[str, float]:
        """Return a dictionary of them, as the others are."""
        return dict(self)

    def __reduce__(self) -> tuple[type[dict[str, float]], tuple[dict[str, float]]]:
        return dict, (dict(self),)  # to `copy` and `dataclasses.asdict`, too


@dataclass(slots=True)
class _Answering:
    """Answers one trial in the simulated subject's (and its judge's) stead.

    ``offered`` collects the names of what was planted in a prompt, ``read`` those looked up.
    """

    bench: Bench
    subject: str
    told: Instructions
    trial: Trial
    seed: str
    offered: set[str]
    read: set[str]
    calls: int = 0
    invalid: list[str] = field(default_factory=list)
    fenced: bool = False

    def outcome(self) -> Outcome:
        """The outcome of the trial."""
        experiment = self.bench.registered.experiment
        players = Players(f"simulated/{self.subject}", f"simulated/{JUDGE}")
        result, missing = None, None
        try:
            result = drive_at_once(experiment.start(self.trial, players), self)
        except InvalidReply as invalid:
            missing = invalid.reason
        return Outcome(
            trial=self.trial,
            result=result,
            missing=missing,
            invalid=tuple(self.invalid),
            interactions=self.calls,
            prompts=(),
            format_kept=not self.fenced if experiment.replies == "lenient" else None,
        )

    async def perform(self, request: Request, place: Place) -> Completion:
        self.calls += 1
        name = JUDGE if request.to == "judge" else self.subject
        if self.told.lost:
            return Completion("", "stop", name, latency=0.0)
        at = f"{place.branch}:{place.turn}:{place.attempt}"
        seed = int(digest(f"{self.seed}:{at}")[:_SEED_DIGITS], 16)
        # How often a judge errs is for the judge alone, which not every experiment has.
        own = {each for each in self.told.planted if each != JUDGE_ERROR or name == JUDGE}
        self.offered |= own
        planted = _Noted(self.told.planted, self.read)
        prompt = SimulatedPrompt(name, request.messages, seed, planted)
        answer = self.bench.registered.experiment.simulated
        text = None if answer is None else simulated_text(answer, prompt)
        if text is None:
            raise Unanswered(experiment=self.bench.registered.experiment.id, trial=self.trial.id)
        return Completion(text, "stop", name, latency=0.0)

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        return await one_by_one(awaitables)

    def accept(self, request: Request, reply: Reply[Any]) -> None:
        self.fenced |= reply.fenced and request.to == "subject"

    def reject(self, _place: Place, invalid: InvalidReply) -> None:
        self.invalid.append(invalid.reason)
