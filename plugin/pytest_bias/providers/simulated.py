"""Simulated subjects: programs that stand in for models and answer in this process.

A reply is a function of the subject's name, the messages and the per-trial seed alone, so that a
recording can be made again. Ids and times in its body are constant for the same reason. Limits,
budget and journal hold for it as for any model.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, get_args

from ..errors import CallFailed
from ..experiments.canonical import compact, digest
from ..experiments.messages import Completion, Request
from ..experiments.replay import JUDGE
from ..experiments.simulated import (
    MESSY,
    MESSY_JUDGE,
    SimulatedAnswer,
    SimulatedPrompt,
    simulated_text,
)
from .base import SIMULATED, Call, Provider, ProviderContext

SubjectName = Literal["even", "biased", "drifted"]
"""``even`` has no bias, ``biased`` has known ones, ``drifted`` is an upgrade of ``biased`` that
fixes one and worsens another. Each experiment's ``simulated.py`` declares what is planted."""

SUBJECTS: tuple[str, ...] = get_args(SubjectName)

MODELS: tuple[str, ...] = (*SUBJECTS, MESSY)
"""Those, and ``messy``: ``even`` with the ordinary mess of a model."""

JUDGES: tuple[str, ...] = (JUDGE, MESSY_JUDGE)
"""The programs that grade subjects and are none: that of all others, and that of ``messy``."""

PROGRAMS: tuple[str, ...] = (*MODELS, *JUDGES)
"""All that can be called."""

WIRE = "no SDK: answered in the recording process"
"""What a cassette says these replies came through."""

_ID_LENGTH = 24


def dice(subject: str, seed: int) -> random.Random:
    """Random numbers of a subject for one per-trial seed: the same for the same two, always."""
    return random.Random(int(digest(f"{subject}:{seed}"), 16))  # noqa: S311  (no secret)


def judge_of_simulated(subject: str) -> str:
    """The model that grades a simulated subject, which is named without its provider."""
    return f"{SIMULATED}/{MESSY_JUDGE if subject == MESSY else JUDGE}"


def open_simulated(context: ProviderContext) -> Provider:
    """Subjects that answer as the experiments' ``simulated`` functions do."""
    return _Simulated(context.answers)


class _Simulated:
    """Asks ``answers`` in turn; the first that recognises a prompt answers it."""

    def __init__(self, answers: Sequence[SimulatedAnswer]) -> None:
        import asyncio  # noqa: PLC0415  (an offline run never needs it)

        self._answers = answers
        self._turn = asyncio.Lock()  # authors' functions need not be safe for threads

    def wire(self, model: str) -> str:  # noqa: ARG002  (alike for all)
        return WIRE

    async def complete(self, model: str, request: Request, call: Call) -> Completion:
        from .sdk import now  # noqa: PLC0415  (not where nothing is recorded)

        prompt = SimulatedPrompt(model, request.messages, call.seed, trial=call.trial)
        async with self._turn:
            began = time.perf_counter()
            text = await self._in_a_thread(prompt, call.timeout)
        body = reply_body(prompt, text)
        return Completion(
            text=text,
            finish="stop",
            served_model=model,
            usage=dict(zip(("input", "output"), word_counts(prompt, text), strict=True)),
            latency=round(time.perf_counter() - began, 6),
            recorded_at=now(),
            body=body,
            dropped=tuple(sorted(request.sent & call.dropped)),
        )

    async def aclose(self) -> None:
        """Nothing was opened."""

    async def _in_a_thread(self, prompt: SimulatedPrompt, seconds: float) -> str:
        """The reply, while signals and other calls are heard.

        The thread is a daemon: a function that never returns keeps no process from ending.
        """
        import asyncio  # noqa: PLC0415  (as above)
        from concurrent.futures import Future, InvalidStateError  # noqa: PLC0415

        future: Future[str] = Future()

        def work() -> None:
            with suppress(InvalidStateError, RuntimeError):  # cancelled; the loop is closed
                try:
                    future.set_result(self._text(prompt))
                except BaseException as error:  # noqa: BLE001  (raised where it is awaited)
                    future.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError:
            problem = f"the simulated subject did not answer within {seconds:g} s (bias_timeout)"
            name = f"{SIMULATED}/{prompt.subject}"
            raise CallFailed(model=name, problem=problem, kind="fatal") from None

    def _text(self, prompt: SimulatedPrompt) -> str:
        try:
            replies = (simulated_text(answer, prompt) for answer in self._answers)
            text = next((each for each in replies if each is not None), None)
        except Exception as error:  # noqa: BLE001  (an experiment's own code: say what it raised)
            problem = f"the simulated subject failed: {type(error).__name__}: {error}"
        else:
            if text is not None:
                return text
            problem = (
                "no simulated subject recognises this prompt; give the experiment a function "
                "simulated=… that answers it (see SimulatedPrompt)"
            )
        name = f"{SIMULATED}/{prompt.subject}"
        raise CallFailed(model=name, problem=problem, kind="fatal")


def reply_body(prompt: SimulatedPrompt, text: str) -> dict[str, object]:
    """The body of a reply, in the form of OpenAI's chat completions.

    Committed cassettes hold such bodies: they stay as they are, byte for byte.
    """
    messages = digest(compact([message.text for message in prompt.messages]))
    name = digest(f"{prompt.subject}:{prompt.seed}:{messages}")[:_ID_LENGTH]
    sent, replied = word_counts(prompt, text)
    return {
        "id": f"chatcmpl-simulated-{name}",
        "object": "chat.completion",
        "created": 0,
        "model": prompt.subject,
        "system_fingerprint": "pytest-bias-simulated",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": sent,
            "completion_tokens": replied,
            "total_tokens": sent + replied,
        },
    }


def word_counts(prompt: SimulatedPrompt, text: str) -> tuple[int, int]:
    """Words in the prompt and in the reply, which stand in for tokens."""
    sent = sum(len(message.text.split()) for message in prompt.messages)
    return sent, len(text.split())
