"""From a reply's text to a valid value, or to the reason for which there is none."""

from __future__ import annotations

import functools
import json
import math
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ..errors import BadDesign, InvalidReply
from .canonical import TwiceNamed, once_each
from .design import frozen
from .messages import NO_REPLY, TRUNCATED, Message

if TYPE_CHECKING:
    from pydantic import BaseModel, GetCoreSchemaHandler, ValidationError
    from pydantic_core import CoreSchema

ReplyPolicy = Literal["strict", "lenient"]
"""How a structured reply is read: ``lenient`` takes it out of what stands around it."""

Structured = TypeVar("Structured", bound="BaseModel")
Checked = TypeVar("Checked")


def refusal_phrases(*kinds: str) -> tuple[str, ...]:
    """Phrases of refusals in every language of ``refusals.json``.

    Of the kind ``phrases`` are those that refuse wherever they stand, of ``instead`` those that do
    in what stands in an answer's place.
    """
    languages = json.loads(cast("bytes", pkgutil.get_data(__package__, "refusals.json"))).values()
    return tuple(phrase for each in languages for kind in kinds for phrase in each[kind])


_REFUSING = "|".join(
    r"\s+".join(map(re.escape, phrase.split())) for phrase in refusal_phrases("phrases", "instead")
)
REFUSAL = re.compile(rf"(?<!\w)(?:{_REFUSING})(?!\w)".replace("'", "['’]"), re.IGNORECASE)
"""Words that mark a reply that could not be parsed as a refusal; never applied to valid ones."""

_JSON_STARTS = ("{", "[", "`")
"""A reply that begins so was meant to be the answer, fenced or not, and is no lecture."""

_BLANK = " \t\r\n\ufeff"
_NUMBER = re.compile(r"\d+")
_BRACKET = re.compile(r"[][{}]")
_INVISIBLE = dict.fromkeys(map(ord, "\u00a0\u200b\u202f\u2060\ufeff"), " ")

# Tags of models' own: DeepSeek, Qwen and most others, Seed, Magistral, Kimi, OpenThinker, Cohere,
# Gemma, MedGemma, Apertus, and the channels of gpt-oss, which servers may pass on without their
# marks.
_TAGS = r"(?i:(?:\w{1,20}[:_])?(?:think|thinking|thought))"
# Of models' habit: a closing tag without the opening one may be a heading's of the reply.
_WORDS = r"(?i:reasoning|thoughts|reflection|scratchpad|antthinking)"
_THOUGHT_BEGINS = re.compile(
    rf"[\s\ufeff]*(<{_TAGS}>|<{_WORDS}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|"
    r"<\|START_THINKING\|>|<\|inner_prefix\|>|<unused94>thought|<\|channel>thought|"
    r"<\|channel\|>(?:analysis|commentary)|analysis(?=[A-Z]))"
)
_THOUGHT_ENDS = re.compile(
    rf"</{_TAGS}>|</({_WORDS})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>|"
    r"<\|inner_suffix\|>|<unused95>|<channel\|>|"
    r"<\|channel\|>final(?: ?<\|constrain\|>\w+)?<\|message\|>|assistantfinal"
)
_ENDED = re.compile(r"(?:<\|\w+\|>|</s>|<eos>|<end_of_turn>|<turn\|>|<｜end▁of▁sentence｜>)\Z")
_LONGEST_MARK = 40
_MARKED = ("<", "THINK]", "think▷", "assistantfinal", "analysis")
"""In a text without any of these there is no tag and no mark."""

_PYDANTIC_REASONS = {
    "missing": "missing_field",
    "extra_forbidden": "extra_field",
    "literal_error": "unknown_option",
    "enum": "unknown_option",
    "greater_than": "out_of_range",
    "greater_than_equal": "out_of_range",
    "less_than": "out_of_range",
    "less_than_equal": "out_of_range",
    "finite_number": "out_of_range",
    "json_invalid": "not_json",  # what our own parser lets through: half of a surrogate pair
    "string_unicode": "not_json",
}


@dataclass(frozen=True, slots=True)
class Within:
    """Bounds of a number in a reply, which the schema that models see does not state.

    ``rating: Annotated[int, Within(1, 4)]`` refuses 0 and 5 as ``out_of_range``, like a bound of
    the field; but a stated range is itself an anchor.
    """

    low: float
    high: float

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the number's own schema, with the check after it."""
        from pydantic_core import core_schema  # noqa: PLC0415  (see accept_object)

        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, number: float) -> float:
        from pydantic_core import PydanticCustomError  # noqa: PLC0415

        if not self.low <= number <= self.high:
            raise PydanticCustomError("out_of_range", "not a possible value")
        return number


@functools.cache
def reply_schema(model: type[BaseModel]) -> Mapping[str, object]:
    """JSON schema of ``model`` with its aliases; cached, because making one takes long.

    Only what the author wrote for the model to read is in it: types, options and the descriptions
    of fields, not the titles pydantic makes up nor docstrings, which are for readers of the code.
    Raises BadDesign when ``model`` lets further keys pass: a reply has exactly its fields.
    """
    if model.model_config.get("extra") != "forbid":
        raise BadDesign(
            what=model.__name__,
            problem=(
                "a reply has exactly its fields and no others: set "
                'model_config = ConfigDict(extra="forbid")'
            ),
        )
    return cast("Mapping[str, object]", frozen(_plain_schema(model.model_json_schema())))


def _plain_schema(node: object) -> object:
    """A schema without made-up titles, and without descriptions of whole objects."""
    if isinstance(node, list):
        return [_plain_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    dropped = {"title", "description"} if "properties" in node else {"title"}
    return {
        name: (
            {key: _plain_schema(item) for key, item in value.items()}
            if name in ("properties", "$defs")
            else _plain_schema(value)
        )
        for name, value in node.items()
        if name not in dropped
    }


def spoken(text: str, asked: Sequence[str] = ()) -> str:
    """``text`` without thoughts before the reply and marks of its end after it.

    A thought may lack its opening tag, which a server put into the prompt, or its closing one,
    where the limit on tokens ended it: all of it is a thought then. Tags that one of the
    experiment's own texts in ``asked`` names are left alone.
    """
    if not any(mark in text for mark in _MARKED):
        return text
    rest, at = text, 0
    while end := _ENDED.search((bare := rest.rstrip())[-_LONGEST_MARK:]):
        rest = bare[: -len(end[0])].rstrip()
    while (end := _THOUGHT_ENDS.search(rest, at)) and not _is_json(rest[at:].strip(_BLANK)):
        opening = end[0].replace("/", "")
        if any(opening in each for each in asked):
            break
        if end[1] and not rest[at:].lstrip(_BLANK).startswith(opening):
            break
        at = end.end()
    begun = _THOUGHT_BEGINS.match(rest, at)
    if begun and not any(begun[1] in each for each in asked):
        at = len(rest)
    return rest[at:].strip(_BLANK) if at or len(rest) < len(text) else text


def bare_json(text: str) -> str | None:
    """Return the one JSON value in ``text`` with a fence, prose or invisible characters around.

    None where ``text`` is a JSON value itself, and where it holds none, any bracket beside it, or
    words of a refusal.
    """
    if _is_json(text):
        return None
    for plain_text in (text, text.translate(_INVISIBLE)):
        start = min((at for mark in "{[" if (at := plain_text.find(mark)) >= 0), default=None)
        if start is None:
            return None
        try:
            _, end = json.JSONDecoder().raw_decode(plain_text, start)
        except (ValueError, RecursionError):
            continue
        around = plain_text[:start] + plain_text[end:]
        if not _BRACKET.search(around) and not REFUSAL.search(around):
            return plain_text[start:end]
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def accept_text(text: str, finish: str, check: Callable[[str], None] | None = None) -> str:
    """``text`` itself when it says something, and ``check`` has nothing against it.

    Raises InvalidReply ``refusal``, ``content_filter`` … when the provider says so,
    ``unknown_end_WORD`` when it ended it by another WORD than its whole replies, ``empty`` for
    white space.
    """
    if finish not in ("stop", "length"):
        raise InvalidReply(finish if finish in NO_REPLY else f"unknown_end_{finish}")
    if not text.strip():
        raise InvalidReply(TRUNCATED if finish == "length" else "empty")
    _apply(check, text)
    return text


def accept_object(
    text: str,
    finish: str,
    model: type[Structured],
    check: Callable[[Structured], None] | None = None,
    *,
    conversation: Iterable[Message] = (),
) -> Structured:
    """``text`` as an object of ``model``: strict, one JSON object and nothing around it.

    A number that it repeats of what others said in the ``conversation`` before it is no answer.
    Raises InvalidReply with the reason (see
    :meth:`pytest_bias.experiments.protocol.Subject.ask`).
    """
    accept_text(text, finish)
    try:
        _STRICT.decode(text)
    except TwiceNamed as twice:
        raise InvalidReply("duplicate_field", str(twice)) from None
    except (ValueError, RecursionError):
        raise InvalidReply(_why_not_json(text, finish, conversation)) from None
    try:
        value = model.model_validate_json(text, strict=True)
    except ValueError as error:
        from pydantic import ValidationError  # noqa: PLC0415  (few replies are invalid)

        if not isinstance(error, ValidationError):
            raise
        raise _as_invalid(error) from None
    _apply(check, value)
    return value


def _apply(check: Callable[[Checked], None] | None, value: Checked) -> None:
    """Have ``check`` raise what it has against ``value``; whatever else it does says nothing."""
    result: object = None if check is None else check(value)
    if result is not None:
        raise BadDesign(
            what="ask()",
            problem=(
                f"check= returned a {type(result).__name__}; it must raise InvalidReply(reason) "
                "for a reply that does not pass, and return nothing"
            ),
        )


def _why_not_json(text: str, finish: str, conversation: Iterable[Message]) -> str:
    if finish == "length":
        return TRUNCATED
    repeated = (
        _NUMBER.findall(message.text) for message in conversation if message.role != "assistant"
    )
    own_numbers = set(_NUMBER.findall(text)).difference(*repeated)
    if own_numbers or text.lstrip(_BLANK)[:1] in _JSON_STARTS:
        return "not_json"
    return "refusal" if REFUSAL.search(text) else "no_number"


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise InvalidReply("out_of_range", "a number too large")
    return value


_STRICT = json.JSONDecoder(
    object_pairs_hook=once_each, parse_constant=_no_constant, parse_float=_finite
)


def _as_invalid(error: ValidationError) -> InvalidReply:
    """The first problem pydantic names; a validator's own error code is the reason."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    kind = first["type"]
    where = ".".join(str(part) for part in first["loc"])
    if kind in _PYDANTIC_REASONS:
        return InvalidReply(_PYDANTIC_REASONS[kind], where)
    if kind.endswith(("_type", "_parsing", "_from_float")):
        # The text was JSON of another shape (a list, a bare number): its field has no name.
        return InvalidReply("wrong_type", where or "not an object")
    return InvalidReply(kind, where)
