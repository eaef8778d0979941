"""Small experiments, replies and recordings that the tests of the core are made of."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_bias.cassettes.format import Provenance
from pytest_bias.cassettes.recorder import Recorder
from pytest_bias.cassettes.store import Cassette, cassette_path, packed_path, write_cassette
from pytest_bias.contrasts.estimate import Arm, Estimate
from pytest_bias.contrasts.layout import REPLIES
from pytest_bias.errors import InvalidReply
from pytest_bias.experiments.design import Condition, Factor, Trial
from pytest_bias.experiments.driver import drive_at_once
from pytest_bias.experiments.experiment import Experiment, ModelRoles, plan
from pytest_bias.experiments.measures import Measure, MeasureValue
from pytest_bias.experiments.messages import Completion, Place, Request
from pytest_bias.experiments.protocol import Protocol as TrialProtocol
from pytest_bias.experiments.protocol import Reply, Subject
from pytest_bias.experiments.records import Outcome, Record, Recording, Records
from pytest_bias.experiments.replay import PendingRequest, Tracer, one_by_one, replay
from pytest_bias.stats.results import Interval

MODEL = "openai/tiny"
PROVENANCE = Provenance(simulated=False, wire="made by hand", recorded_with="the tests")


class Score(BaseModel):
    """A structured reply of one number."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    score: int


async def ask_once(trial: Trial, subject: Subject, _judge: Subject | None = None) -> Score:
    """The smallest protocol with a structured reply; it asks no judge, where there is one."""
    return (await subject.ask(f"Rate {trial['group']}.", reply=Score)).value


async def ask_twice(trial: Trial, subject: Subject) -> Score:
    """A conversation of two turns."""
    heard = await subject.ask(f"What of {trial['group']}?", system="Be brief.")
    return (await subject.ask("Now rate.", after=heard, reply=Score)).value


def experiment(protocol: TrialProtocol = ask_once, **changes: Any) -> Experiment:
    """An experiment of two conditions, ``a`` and ``b``."""
    given: dict[str, Any] = {
        "id": "tiny",
        "name": "Tiny",
        "factors": [Factor("group", {"a": "Ada", "b": "Bob"})],
        "measures": [Measure("score", bounds=(0, 10))],
        "replicates": 3,
    }
    return Experiment(protocol=protocol, **(given | changes))


def completion(text: str, finish: str = "stop") -> Completion:
    """A completion with a body as a provider would send it."""
    return Completion(
        text=text,
        finish=finish,
        served_model="tiny-1",
        usage={"input": 3, "output": 1},
        latency=0.25,
        recorded_at="2026-01-02T03:04:05+00:00",
        body={"choices": [{"message": {"content": text}}]},
    )


Say = Callable[[Request, Place], str | Completion | Exception]


@dataclass
class Script:
    """An executor whose replies are scripted; runs with and without an event loop."""

    say: Say
    live: bool = False
    finish: str = "stop"
    places: list[Place] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    rejected: list[tuple[Place, str]] = field(default_factory=list)

    async def perform(self, request: Request, place: Place) -> Completion:
        """Reply as scripted."""
        self.places.append(place)
        self.requests.append(request)
        if self.live:
            await asyncio.sleep(0)
        said = self.say(request, place)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Completion) else completion(said, self.finish)

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        """Await all, in order or at once."""
        if self.live:
            return list(await asyncio.gather(*awaitables, return_exceptions=True))
        return await one_by_one(awaitables)

    def reject(self, place: Place, invalid: InvalidReply) -> None:
        """Note it."""
        self.rejected.append((place, invalid.reason))

    def accept(self, request: Request, reply: Reply[Any]) -> None:
        """Take no note of what is valid."""


class Taker(Tracer):
    """Carries out a trial from a script, and hands every reply to be kept."""

    def __init__(
        self,
        of: Experiment,
        trial: Trial,
        say: Say,
        keep: Callable[[PendingRequest, Completion], object],
        roles: ModelRoles | str = MODEL,
    ) -> None:
        super().__init__(of, roles, trial)
        self._say = say
        self._keep = keep

    async def perform(self, request: Request, place: Place) -> Completion:
        """Reply, and have the reply kept."""
        said = self._say(request, place)
        reply = completion(said) if isinstance(said, str) else said
        assert isinstance(reply, Completion)
        kept = self._keep(self.note(request, place), reply)
        if isawaitable(kept):
            await kept
        return reply

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        """Await one after another."""
        return await one_by_one(awaitables)


def always_five(request: Request, place: Place) -> str:
    """A valid reply to everything."""
    return '{"score": 5}' if request.schema else f"turn {place.turn}"


def record(
    folder: Path,
    of: Experiment,
    say: Say = always_five,
    *,
    trials: Sequence[Trial] | None = None,
    merge: bool = True,
) -> Path:
    """Record ``of`` as :data:`MODEL` without any provider; the cassette's path."""
    path = cassette_path(folder, of.id, MODEL)
    recorder = Recorder(Cassette(path), PROVENANCE)
    _take(recorder, of, plan(of, of.design()) if trials is None else trials, say)
    recorder.close(merge=merge)
    return path


def pack(path: Path) -> Path:
    """Pack a cassette, as ``gzip -n`` does."""
    packed = packed_path(path)
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
    return packed


def interrupt(
    cassette: Cassette,
    of: Experiment,
    trials: Iterable[Trial],
    say: Say = always_five,
    *,
    provenance: Provenance = PROVENANCE,
    scope: Sequence[str] = (),
) -> None:
    """Record trials into the journal, and be killed."""
    recorder = Recorder(cassette, provenance, scope)
    _take(recorder, of, trials, say)
    assert recorder._file is not None
    recorder._file.close()


def _take(recorder: Recorder, of: Experiment, trials: Iterable[Trial], say: Say) -> None:
    """Carry out trials, and have their replies kept."""
    for trial in trials:
        taker = Taker(of, trial, say, recorder.add)
        with suppress(InvalidReply):
            drive_at_once(taker.start(), taker)


def outcomes_of(of: Experiment, path: Path) -> list[Outcome]:
    """Every trial of ``of``, replayed from a cassette."""
    cassette = Cassette(path)
    return [replay(of, MODEL, trial, cassette.lookup) for trial in plan(of, of.design())]


def condition(of: Experiment, name: str) -> Condition:
    """The condition with that id."""
    return next(c for c in of.conditions if c.id == name)


def rows(
    of: Experiment, values: Mapping[str, Sequence[MeasureValue | None]], measure: str = "score"
) -> Records:
    """Records made by hand: condition → values; None is a refusal."""
    return Records(
        tuple(
            Record(
                Trial(condition(of, name), replicate=number),
                {} if value is None else {measure: value},
                "refusal" if value is None else None,
            )
            for name, given in values.items()
            for number, value in enumerate(given, start=1)
        )
    )


def finding(**changes: Any) -> Estimate:
    """A difference of a month, alarming: what rules and baselines are tried on."""
    arm = Arm(level="high", value="9", units=120, replies=120, missing={}, mean=6.0)
    given: dict[str, Any] = {
        "quantity": "mean difference",
        "measure": "months",
        "unit": "months",
        "factor": "demand",
        "contrast": "high − low",
        "arms": (arm, replace(arm, level="low", value="3", mean=5.0)),
        "estimate": 1.0,
        "interval": Interval(low=0.5, high=1.5, level=0.95),
        "p_alarm": 0.001,
        "p_clear": 0.9,
        "margin": 0.6,
        "method": "Welch's t test",
        "target": "fixed",
        "scope": "this vignette",
        "units": 240,
        "replies": 240,
        "fewest": 120,
        "unit_name": REPLIES,
    }
    return Estimate(**(given | changes))


def recording(**changes: Any) -> Recording:
    """Where replies came from, by somebody who made them by hand."""
    given: dict[str, Any] = {
        "cassette": "tiny/openai--tiny",
        "checksum": "0" * 64,
        "simulated": False,
        "wire": PROVENANCE.wire,
        "recorded_with": PROVENANCE.recorded_with,
        "interactions": 240,
    }
    return Recording(**(given | changes))


def rewrite(path: Path, provenance: Provenance) -> None:
    """Write a cassette again as if all of it had another provenance."""
    cassette = Cassette(path)
    cassette._provenances = {"": [provenance]}
    write_cassette(cassette)
