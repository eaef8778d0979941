"""A trial carried out with the experiment's own simulated subject, before anything is paid.

What makes a protocol impossible to replay (a clock, randomness, a foreign await) shows here for
nothing. Where there is no simulated subject, or it does not answer all that is asked, the first
recorded trial has to show it.
"""

from __future__ import annotations

from ..errors import BiasError
from .design import Trial
from .experiment import Experiment, Players, SimulatedPrompt
from .keys import trial_seed
from .messages import Completion
from .replay import Unrecorded, Wanted, carry_out, check_replay

SUBJECT = "even"
"""The simulated subject that rehearses: the one without bias."""

JUDGE = "judge"
"""The program that grades simulated subjects: one for all, or else they could not be compared."""


def rehearse(experiment: Experiment, players: Players, trial: Trial) -> int:
    """Number of calls of ``trial``, carried out and replayed in memory; nothing is called.

    0 says nothing about the protocol: the simulated subject was no help.

    Raises
    ------
    ForeignAwait
        When the protocol awaits anything but ``ask()`` and ``together()``.
    ReplayDiffers
        When replaying it differs.
    """
    replies: dict[str, Completion] = {}

    def answer(wanted: Wanted) -> Completion | None:
        completion = simulated_reply(experiment, wanted)
        if completion is not None:
            replies[wanted.key] = completion
        return completion

    try:
        first = carry_out(experiment, players, trial, answer)
        check_replay(experiment, players, trial, replies.get, first)
    except Unrecorded:
        return 0
    except BiasError:
        raise
    except Exception:  # noqa: BLE001  (the author's code: a recorded trial will show it)
        return 0
    return first.interactions


def simulated_reply(experiment: Experiment, wanted: Wanted) -> Completion | None:
    """Return the reply of the simulated subject or judge; None when it gives none."""
    if experiment.simulated is None:
        return None
    name = JUDGE if wanted.request.to == "judge" else SUBJECT
    seed = trial_seed(experiment.id, wanted.trial, wanted.place)
    try:
        text = experiment.simulated(SimulatedPrompt(name, wanted.request.messages, seed))
    except Exception:  # noqa: BLE001  (the author's code: it is as good as no reply)
        return None
    return None if text is None else Completion(text, "stop", name, latency=0.0)
