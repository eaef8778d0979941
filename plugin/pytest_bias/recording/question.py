"""One question to a model outside any experiment, within the same limits as a recording."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress

from ..errors import RecordingRefused
from ..experiments.messages import DROPPABLE, Completion, Request
from ..providers.base import open_provider, split_model
from .caller import CallTerms
from .collector import Terms, caller_of
from .limits import Spending, Stop
from .process import in_event_loop, quiet_sdks


def answer_of(model: str, request: Request, terms: Terms) -> Completion:
    """The reply of ``model`` (``provider/model``) to one request.

    Limits, budget and retries are those of ``terms``; what the model refuses is left out.

    Raises BiasError when no reply comes back: a failed call, a cap, a missing key or package.
    """
    if in_event_loop():
        raise RecordingRefused("this runs inside an event loop; run it from a shell")
    with quiet_sdks():
        reply = asyncio.run(_answer(model, request, terms))
    gc.collect()  # transports are freed here, as after a recording
    return reply


async def _answer(model: str, request: Request, terms: Terms) -> Completion:
    provider = open_provider(split_model(model, terms.context.own)[0], terms.context)
    try:
        spending = Spending(terms.limits.max_calls, terms.limits.budget)
        caller = caller_of(model, provider, terms, spending)
        await caller.prepare()
        caller.check_bounded(request.parameters)
        asked = CallTerms(terms.order_seed, DROPPABLE)
        with caller.throttle.pace.at_most(terms.limits.qpm):
            return await caller.call(request, asked, Stop())
    finally:
        with suppress(Exception):  # as in a recording: what was answered is answered
            await provider.aclose()
