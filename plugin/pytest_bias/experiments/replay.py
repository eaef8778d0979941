"""A trial carried out without any call: from recordings, or by a simulated subject beforehand.

What makes a protocol impossible to replay (a clock, randomness, a foreign await) shows in the
rehearsal for nothing. Where there is no simulated subject, or it does not answer all that is
asked, the first recorded trial has to show it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import BadDesign, BiasError, InvalidReply, NotReplayable
from .design import Trial
from .driver import drive_at_once
from .experiment import Experiment, ModelRoles
from .masking import check_blind
from .messages import Completion, Message, Place, Request, identity_of, interaction_key, trial_seed
from .protocol import Reply
from .records import Exchange, Outcome
from .simulated import SimulatedPrompt, simulated_text

Lookup = Callable[[str], Completion | None]
"""From an interaction's key to what was recorded under it."""


Answers = Callable[["PendingRequest"], Completion | None]
"""From an interaction to its reply; None when there is none."""

SUBJECT = "even"
"""The simulated subject that rehearses: the one without bias."""

JUDGE = "judge"
"""The program that grades simulated subjects: one for all, or else they could not be compared."""


class Unrecorded(BiasError):
    """A trial asks for an interaction that was not recorded."""

    def __init__(self, pending: PendingRequest) -> None:
        self.pending = pending
        super().__init__(f"trial {pending.trial.id} is not recorded")


@dataclass(frozen=True)
class PendingRequest:
    """An interaction that a trial asks ``model`` for.

    ``instrument`` is that of its experiment (:attr:`.Experiment.instrument`).
    """

    instrument: str
    model: str
    trial: Trial
    place: Place
    request: Request

    @cached_property
    def key(self) -> str:
        """The key of the interaction; many are asked for that nobody looks up."""
        return interaction_key(self.instrument, self.trial, self.place, self.model, self.request)


class Tracer:
    """Notes the interactions of one trial while it is carried out, live or on replay."""

    def __init__(self, experiment: Experiment, roles: ModelRoles | str, trial: Trial) -> None:
        self.experiment = experiment
        self.roles = ModelRoles(roles) if isinstance(roles, str) else roles
        self.trial = trial
        self.interactions: list[PendingRequest] = []
        self.invalid: list[tuple[Place, str]] = []
        self.lenient = "subject" in experiment.read_leniently(self.roles)
        self.bare = True
        self.answered: list[tuple[PendingRequest, Completion]] = []

    def note(self, request: Request, place: Place) -> PendingRequest:
        """Add one interaction.

        Raises JudgeNotBlind before anything is sent, when it would tell the judge what it must not
        know.
        """
        check_blind(self.experiment, self.trial, request)
        model = self.roles.model(request.to)
        pending = PendingRequest(self.experiment.instrument, model, self.trial, place, request)
        self.interactions.append(pending)
        return pending

    def start(self) -> Coroutine[Any, Any, object]:
        """The trial's coroutine, which this executor is to carry out."""
        return self.experiment.start(self.trial, self.roles)

    def reject(self, place: Place, invalid: InvalidReply) -> None:
        """Take note that the reply at ``place`` was not valid."""
        self.invalid.append((place, invalid.reason))

    def accept(self, request: Request, reply: Reply[Any]) -> None:
        """Take note of a valid reply of the subject that did not come bare."""
        self.bare &= reply.bare or request.to != "subject"

    def outcome(self, result: object, missing: str | None) -> Outcome:
        """The outcome of the trial once its protocol has ended, whatever the order of calls."""
        ordered = sorted(self.interactions, key=lambda pending: place_order(pending.place))
        self.invalid.sort(key=lambda pair: place_order(pair[0]))
        reasons = dict(self.invalid)
        said = sorted(self.answered, key=lambda pair: place_order(pair[0].place))
        return Outcome(
            trial=self.trial,
            result=result,
            missing=missing,
            invalid=tuple(reason for _, reason in self.invalid),
            interactions=len(ordered),
            prompts=tuple(
                text
                for pending in ordered
                if pending.place.attempt == 1
                for text in new_prompt_texts(pending.request, self.roles)
            ),
            format_kept=self.bare if self.lenient or not self.bare else None,
            exchanges=tuple(exchange_of(*each, reasons.get(each[0].place, "")) for each in said),
        )


async def one_by_one(awaitables: Sequence[Awaitable[object]]) -> list[object]:
    """Await one after another; results and exceptions in order."""
    outcomes: list[object] = []
    for awaitable in awaitables:
        try:
            outcomes.append(await awaitable)
        except Exception as error:  # noqa: BLE001  (raised in argument order later)
            outcomes.append(error)
    try:
        return outcomes
    finally:
        del outcomes  # an error's traceback holds this frame: they would keep each other


def carry_out(
    experiment: Experiment, roles: ModelRoles | str, trial: Trial, answer: Answers
) -> Outcome:
    """Carry out ``trial`` with what ``answer`` gives; ``roles`` may be the subject's name.

    Raises Unrecorded when ``answer`` has nothing for an interaction; NotReplayable when its
    protocol awaits anything but ``ask()`` and ``together()``; BadDesign when it gives a result and
    asks the subject nothing.
    """
    walk = Walk(experiment, roles, trial, answer)
    if walk.error is not None:
        raise walk.error
    if walk.missing is not None:
        raise Unrecorded(walk.missing)
    return walk.outcome(walk.result, walk.invalid_as)


def replay(
    experiment: Experiment, roles: ModelRoles | str, trial: Trial, lookup: Lookup
) -> Outcome:
    """Carry out ``trial`` from recordings: :func:`carry_out` with what is recorded."""
    return carry_out(experiment, roles, trial, lambda pending: lookup(pending.key))


def check_replay(
    experiment: Experiment, roles: ModelRoles, trial: Trial, lookup: Lookup, first: Outcome
) -> None:
    """Replay what has just been carried out, and compare.

    Raises NotReplayable when anything is another than in ``first``.
    """
    try:
        again = replay(experiment, roles, trial, lookup)
    except Unrecorded as unrecorded:
        turn = unrecorded.pending.place.turn
        problem = f"its question at turn {turn} is another"
        raise replay_differs(experiment, trial, problem) from unrecorded
    for what in ("missing", "invalid", "interactions", "prompts", "result", "format_kept"):
        if getattr(first, what) != getattr(again, what):
            raise replay_differs(experiment, trial, f"its {what} is another")


def replay_differs(experiment: Experiment, trial: Trial, problem: str) -> NotReplayable:
    """The error for a trial whose replay, straight after it was carried out, differs."""
    return NotReplayable(
        f"{experiment.id}, trial {trial.id}: replaying it straight away differs "
        f"({problem}). The protocol depends on something that is not recorded (a clock, "
        "randomness, state kept between trials, an await other than ask() and together()). "
        "Nothing more is called; what was recorded is kept."
    )


class Walk(Tracer):
    """One trial carried out in memory as far as ``answer`` answers; nothing is called.

    After ``limit`` replies it is given up.

    ``answered`` are its interactions with their replies, ``missing`` is the one at which there was
    none. It came to a ``result``, or was invalid for the reason ``invalid_as``; ``error`` is what
    else ended it: of the author's own, it is for the trial's case to show. A result for which the
    subject was asked nothing is BadDesign.
    """

    def __init__(
        self,
        experiment: Experiment,
        roles: ModelRoles | str,
        trial: Trial,
        answer: Answers,
        limit: int | None = None,
    ) -> None:
        super().__init__(experiment, roles, trial)
        self._answer, self._limit = answer, limit
        self.missing: PendingRequest | None = None
        self.result: object = None
        self.invalid_as: str | None = None
        self.error: BaseException | None = None
        try:
            self.result = drive_at_once(self.start(), self)
        except Unrecorded as unrecorded:
            self.missing = unrecorded.pending
        except InvalidReply as invalid:
            self.invalid_as = invalid.reason
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001  (the author's code, pytest.fail() too)
            self.error = error
        if self.valid and not any(each.request.to == "subject" for each in self.interactions):
            self.error = _no_request(self)

    @property
    def valid(self) -> bool:
        """Return whether it came to a result."""
        return self.missing is None and self.invalid_as is None and self.error is None

    @property
    def requests(self) -> tuple[PendingRequest, ...]:
        """All that was asked for, in reading order."""
        return tuple(sorted(self.interactions, key=lambda pending: place_order(pending.place)))

    async def perform(self, request: Request, place: Place) -> Completion:
        """Answer, or end the trial with Unrecorded."""
        pending = self.note(request, place)
        reached = self._limit is not None and len(self.answered) >= self._limit
        completion = None if reached else self._answer(pending)
        if completion is None:
            raise Unrecorded(pending)
        self.answered.append((pending, completion))
        return completion

    async def gather(self, awaitables: Sequence[Awaitable[object]]) -> list[object]:
        """Await one after another."""
        return await one_by_one(awaitables)


def opening(experiment: Experiment, roles: ModelRoles | str, trial: Trial) -> PendingRequest:
    """The first interaction a trial asks for, whatever is recorded.

    Raises BadDesign when it asks for none.
    """
    walk = Walk(experiment, roles, trial, lambda _: None)
    if walk.error is not None:
        raise walk.error
    if walk.missing is None:
        raise _no_request(walk)
    return walk.missing


def _no_request(walk: Walk) -> BadDesign:
    problem = f"trial {walk.trial.id} asks nothing of the subject"
    return BadDesign(what=walk.experiment.id, problem=problem)


def place_order(place: Place) -> tuple[tuple[int, ...], int]:
    """Sorts places in reading order: a branch's interactions stand where the branch began."""
    return ((*place.branch, place.turn), place.attempt)


def exchange_of(pending: PendingRequest, completion: Completion, invalid: str = "") -> Exchange:
    """A request with its reply; ``invalid`` is why the reply is not valid, or empty."""
    name, created = identity_of(completion.body)
    return Exchange(
        to=pending.request.to,
        place=pending.place,
        prompt=new_messages(pending.request) if pending.place.attempt == 1 else (),
        reply=completion.text,
        finish=completion.finish,
        served_model=completion.served_model,
        recorded_at=completion.recorded_at,
        latency=completion.latency,
        invalid=invalid,
        key=pending.key,
        id=name,
        created=created,
        cached=completion.cached,
        size=sum(len(message.text) for message in pending.request.messages),
        counted=completion.usage.get("input", 0),
        host=_name(completion.body.get("provider")) or completion.routed,
        build=_name(completion.body.get("system_fingerprint")),
    )


def _name(value: object) -> str:
    return value if isinstance(value, str) else ""


def new_messages(request: Request) -> tuple[Message, ...]:
    """The messages since the model spoke last."""
    messages = request.messages
    spoken = [i for i, message in enumerate(messages, 1) if message.role == "assistant"]
    return messages[spoken[-1] if spoken else 0 :]


def new_prompt_texts(request: Request, roles: ModelRoles) -> list[str]:
    """Texts of the messages since the model spoke last, less what the subject is always told."""
    new = new_messages(request)
    told = [message.text for message in new]
    always = roles.subject_system
    if always is not None and request.to == "subject" and len(new) == len(request.messages):
        told[0] = told[0].removeprefix(always).removeprefix("\n\n")
        return told if told[0] else told[1:]
    return told


def rehearse(experiment: Experiment, roles: ModelRoles, trial: Trial) -> int:
    """Number of calls of ``trial``, carried out and replayed in memory; nothing is called.

    0 says nothing about the protocol: the simulated subject was no help. Raises NotReplayable when
    the protocol awaits anything but ``ask()`` and ``together()``; NotReplayable when replaying it
    differs.
    """
    replies: dict[str, Completion] = {}

    def answer(pending: PendingRequest) -> Completion | None:
        completion = simulated_reply(experiment, pending)
        if completion is not None:
            replies[pending.key] = completion
        return completion

    try:
        first = carry_out(experiment, roles, trial, answer)
        check_replay(experiment, roles, trial, replies.get, first)
    except Unrecorded:
        return 0
    except BiasError:
        raise
    except Exception:  # noqa: BLE001  (the author's code: a recorded trial will show it)
        return 0
    return first.interactions


def simulated_answers(experiment: Experiment, seed: Trial | None = None) -> Answers:
    """The simulated subject's replies, drawn in every trial as in ``seed``, if there is one.

    With draws in common, replies differ only where the questions do.
    """

    def answer(pending: PendingRequest) -> Completion | None:
        drawn = None if seed is None else trial_seed(experiment.id, seed, pending.place)
        return simulated_reply(experiment, pending, drawn)

    return answer


def simulated_reply(
    experiment: Experiment, pending: PendingRequest, seed: int | None = None
) -> Completion | None:
    """Return the reply of the simulated subject or judge; None when it gives none.

    It draws by ``seed``, or else by that of its trial. Raises BadDesign when what it gives is no
    text.
    """
    if experiment.simulated is None:
        return None
    name = JUDGE if pending.request.to == "judge" else SUBJECT
    if seed is None:
        seed = trial_seed(experiment.id, pending.trial, pending.place)
    try:
        text = simulated_text(
            experiment.simulated, SimulatedPrompt(name, pending.request.messages, seed)
        )
    except BadDesign:
        raise
    except Exception:  # noqa: BLE001  (the author's code: it is as good as no reply)
        return None
    return None if text is None else Completion(text, "stop", name, latency=0.0)
