"""The check that no request tells a judge whose reply it grades.

It is of the request as it would be sent, whatever a protocol did to make it, and nothing a
protocol catches: a judge that is told is an error, live, in rehearsal and on replay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape

from ..errors import JudgeNotBlind
from .canonical import by_identity, plain
from .design import Trial
from .experiment import Experiment
from .judges import texts_hidden
from .masking import name_in
from .messages import Request

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
"""A character as JSON may have it; HTML's are read by the library."""


def check_blind(experiment: Experiment, trial: Trial, request: Request) -> None:
    """Raise JudgeNotBlind when ``request`` tells the judge what it must not know of ``trial``."""
    if not experiment.blind or request.to != "judge":
        return
    sent = list(_sent(request))
    for name in experiment.blind:
        level, exemplar = trial.condition.levels[name], trial.exemplars.get(name)
        # The exemplar in hand; of a factor without any, what the level's value says.
        hidden = (
            (exemplar, exemplar.upper())
            if exemplar
            else texts_hidden(experiment.factor(name), level)
        )
        for place, text in sent:
            if (told := name_in(text, hidden)) is not None:
                raise JudgeNotBlind(
                    experiment=experiment.id,
                    trial=trial.id,
                    factor=name,
                    level=level,
                    name=told if experiment.retention == "raw" else None,
                    place=place,
                )


def _sent(request: Request) -> Iterator[tuple[str, str]]:
    """All that is sent, and what to call each part."""
    for number, message in enumerate(request.messages, start=1):
        place = f"message {number} ({message.role})"
        yield place, message.text
        read = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), unescape(message.text))
        if read != message.text:
            yield place, read
    if request.schema is not None:
        yield "the reply's schema", f"{request.schema_name}\n{_schema_text(request.schema)}"


@by_identity
def _schema_text(schema: Mapping[str, object]) -> str:
    return json.dumps(plain(schema), ensure_ascii=False)
