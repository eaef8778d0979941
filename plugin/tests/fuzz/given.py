"""Targets that others write: rosters, labels, and replies of providers and models."""

from __future__ import annotations

import csv
import io
import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from pytest_bias.cassettes.format import decode_interaction, encode_interaction, interaction_of
from pytest_bias.errors import BiasError, CallFailed, InvalidReply
from pytest_bias.experiments.design import LABEL
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.records import Records, record_of
from pytest_bias.experiments.replay import PendingRequest, carry_out
from pytest_bias.experiments.replies import accept_object
from pytest_bias.providers.adapter import completion
from pytest_bias.providers.anthropic_messages import AnthropicMessages
from pytest_bias.providers.codex import Ran, completion_of
from pytest_bias.providers.failures import reply_failure
from pytest_bias.providers.google_contents import GoogleContents
from pytest_bias.providers.openai import OpenAIChat, OpenAIResponses
from pytest_bias.providers.sdk import Secrets, parsed
from pytest_bias.settings.roster import Roster as ReadRoster
from pytest_bias.settings.roster import read_roster
from pytest_bias.verdicts.judge_agreement import Labels as LabelsOfPeople
from pytest_bias.verdicts.judge_agreement import agreement_with_people
from pytest_bias.workbench.datasets import labels_path, read_labels

from .games import GAMES, MODEL, PLANTED, Rating
from .harness import Target

GAME = GAMES["fuzz-raw"]


class Roster(Target[ReadRoster]):
    """A damaged roster says what stands in it, or is an error that names the file.

    Every limit and price is a number that may be one, and no error repeats a key.
    """

    name = "roster"

    def read(self, origin: str, data: bytes) -> ReadRoster:
        path = self.scratch / origin
        path.write_bytes(data)
        return read_roster(path)

    def blames(self, origin: str, error: BiasError) -> bool:
        return super().blames(origin, error) and PLANTED not in str(error)

    def why_wrong(self, origin: str, data: bytes, found: ReadRoster) -> str:  # noqa: ARG002
        raw = tomllib.loads((self.scratch / origin).read_text(encoding="utf-8"))
        models: Mapping[str, dict[str, Any]] = raw.get("models", {})
        if models.keys() != found.models.keys():
            return "it has other models than the file"
        if raw.get("endpoints", {}).keys() != found.endpoints.keys():
            return "it has other endpoints than the file"
        if raw.get("judges", {}).get("order", []) != list(found.judges):
            return "it has other judges than the file"
        for name, said in models.items():
            entry = asdict(found.models[name])
            for key, value in said.items():
                kept = entry[key]
                if key in ("refuses", "served"):
                    value, kept = set(value), set(kept)  # noqa: PLW2901  (compared without order)
                if kept != value or isinstance(kept, bool) != isinstance(value, bool):
                    return f"{name} {key} is {kept!r}, and the file says {value!r}"
            numbers = [
                v for v in (*entry.values(), *(entry["price"] or {}).values()) if _is_number(v)
            ]
            if not all(0 <= v <= 10**12 for v in numbers):
                return f"{name} has a number that can be none: {numbers}"
        return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Labels(Target[LabelsOfPeople | None]):
    """Damaged labels are all those that stand in the file, or an error that names it.

    Each belongs to one trial of the experiment, and can be held against what the judge said.
    """

    name = "labels"

    def read(self, origin: str, data: bytes) -> LabelsOfPeople | None:
        path = labels_path(self.scratch, GAME.id, MODEL)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        labels = read_labels(self.scratch, GAME, GAME.design(), MODEL, {})
        assert origin
        agreement_with_people(GAME, self._records, labels)
        return labels

    @property
    def _records(self) -> Records:
        def say(wanted: PendingRequest) -> Completion:
            text = '{"score": 5}' if wanted.request.schema else "so"
            return Completion(text, "stop", "even")

        trials = plan(GAME, GAME.design())[:1]
        outcomes = [carry_out(GAME, MODEL, trial, say) for trial in trials]
        return Records(tuple(record_of(each, GAME.measures) for each in outcomes))

    def why_wrong(self, origin: str, data: bytes, found: LabelsOfPeople | None) -> str:  # noqa: ARG002
        if found is None:
            return "there are no labels"
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
        rows = [[cell.strip() for cell in row] for row in rows if any(map(str.strip, row))]
        header, *body = rows
        stands = sorted(
            (row[header.index("trial")], name, cell)
            for row in body
            for name, cell in zip(header, row, strict=True)
            if name != "trial" and cell
        )
        read = sorted((each.trial, each.measure, each.text) for each in found.cells)
        if read != stands:
            return "other labels are read than stand in the file"
        trials = {trial.id.rpartition("#")[0] for trial in plan(GAME, GAME.design())}
        return "" if {t.rpartition("#")[0] for t, _, _ in read} <= trials else "of no trial"


_READERS: Mapping[str, Callable[[dict[str, Any]], Completion]] = {
    "anthropic.json": AnthropicMessages.read,
    "google.json": GoogleContents.read,
    "openai-chat.json": OpenAIChat.read,
    "openai-responses.json": OpenAIResponses.read,
}
_RESPONSE = SimpleNamespace(elapsed=timedelta(seconds=0.1), headers={})
_SECRETS = Secrets("a-key-of-somebody-0123456789")


class Replies(Target[Completion]):
    """A damaged reply body is a completion that a cassette can hold, or a failed call.

    A failure names the model. Text is text, an end is one of those known, counts are whole
    and not below 0.
    """

    name = "replies"

    def read(self, origin: str, data: bytes) -> Completion:
        text = data.decode("utf-8", "replace")  # as the transport decodes it
        if origin == "codex.jsonl":
            return completion_of(Ran(0, text, "", "5", 0.1), "m", Secrets())
        try:
            body = _SECRETS.purged(parsed(text))
        except ValueError as error:
            raise reply_failure("lab/m", "a reply", error) from error
        found = completion("lab/m", body, _RESPONSE, _READERS[origin], "a reply")
        if isinstance(found, Completion):
            return found
        raise found

    def blames(self, origin: str, error: BiasError) -> bool:
        return isinstance(error, CallFailed) and (
            "codex/m" if "codex" in origin else "lab/m"
        ) in str(error)

    def why_wrong(self, origin: str, data: bytes, found: Completion) -> str:  # noqa: ARG002
        texts: list[object] = [found.text, found.served_model]
        if not all(isinstance(text, str) for text in texts):
            return "its text, or its model, is none"
        if not LABEL.fullmatch(found.finish):
            return f"it ended as {found.finish!r}"
        if not all(type(count) is int and count >= 0 for count in found.usage.values()):
            return f"it counts {dict(found.usage)}"
        line = encode_interaction(interaction_of(self._wanted, found))
        again = decode_interaction(line, "path", 1).completion
        return "" if again == found else "a cassette gives another reply back"

    @property
    def _wanted(self) -> PendingRequest:
        seen: list[PendingRequest] = []

        def say(wanted: PendingRequest) -> Completion:
            seen.append(wanted)
            return Completion('{"score": 5}', "stop", "even")

        carry_out(GAME, MODEL, plan(GAME, GAME.design())[0], say)
        return seen[-1]


class Texts(Target[Rating]):
    """A damaged reply text gives exactly what stands in it, or is invalid for a reason."""

    name = "texts"

    def read(self, origin: str, data: bytes) -> Rating:
        assert origin
        return accept_object(data.decode("utf-8", "surrogateescape"), "stop", Rating)

    def blames(self, origin: str, error: BiasError) -> bool:
        return isinstance(error, InvalidReply) and bool(error.reason and origin)

    def why_wrong(self, origin: str, data: bytes, found: Rating) -> str:  # noqa: ARG002
        said = json.loads(data)
        values = found.model_dump()
        stands = {**Rating(score=0).model_dump(), **said}
        stands["weight"] = float(stands["weight"])  # a whole number is one, too
        if not math.isfinite(found.weight) or values != stands:
            return f"it is read as {values}"
        kinds = {name: type(values[name]) for name in said if name != "weight"}
        same = all(type(said[name]) is kind for name, kind in kinds.items())
        return "" if same else f"it is read as {values}"
