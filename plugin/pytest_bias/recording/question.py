"""One question to a model outside any experiment, within the same limits as a recording."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ..experiments.messages import DROPPABLE, Completion, Request
from ..providers.base import open_provider, split_model
from .caller import CallTerms
from .collector import Terms, caller_of
from .limits import Spending, Stop
from .process import quiet_sdks


def answer_of(model: str, request: Request, terms: Terms) -> Completion:
    """The reply of ``model`` (``provider/model``) to one request.

    Limits, budget and retries are those of ``terms``; what the model refuses is left out.

    Raises BiasError when no reply comes back: a failed call, a cap, a missing key or package.
    """
    with quiet_sdks():
        return asyncio.run(_answer(model, request, terms))


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
