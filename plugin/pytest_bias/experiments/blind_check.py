"""The check that no request tells a judge whose reply it grades.

It is of the request as it would be sent, whatever a protocol did to make it, and nothing a
protocol catches: a judge that is told is an error, live, in rehearsal and on replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..errors import JudgeNotBlind
from .canonical import by_identity, compact
from .design import Trial
from .experiment import Experiment
from .judges import texts_hidden
from .masking import shown, unescaped
from .messages import Request


def check_blind(experiment: Experiment, trial: Trial, request: Request) -> None:
    """Raise JudgeNotBlind when ``request`` tells the judge what it must not know of ``trial``."""
    if not experiment.blind or request.to != "judge":
        return
    places = list(_places(request))
    for name in experiment.blind:
        level = trial.condition.levels[name]
        # The exemplar in hand; of a factor without any, what the level's value says.
        exemplar = trial.exemplars.get(name)
        hidden = texts_hidden(experiment.factor(name), level)
        if exemplar:
            hidden = (exemplar, exemplar.upper())
        for place, text in places:
            told = shown(text, hidden)
            if told is not None:
                raise JudgeNotBlind(
                    experiment=experiment.id,
                    trial=trial.id,
                    factor=name,
                    level=level,
                    name=told if experiment.retention == "raw" else None,
                    place=place,
                )


def _places(request: Request) -> Iterator[tuple[str, str]]:
    """All that is sent, and what to call each part."""
    for number, message in enumerate(request.messages, start=1):
        place = f"message {number} ({message.role})"
        yield place, message.text
        if (read := unescaped(message.text)) != message.text:
            yield place, read
    if request.schema is not None:
        yield "the reply's schema", f"{request.schema_name}\n{_words(request.schema)}"


@by_identity
def _words(schema: Mapping[str, object]) -> str:
    return _readable(schema)


def _readable(value: object) -> str:
    """The words of a schema, its keys among them, a line each."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}\n{_readable(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(_readable, value))
    return value if isinstance(value, str) else compact(value)
