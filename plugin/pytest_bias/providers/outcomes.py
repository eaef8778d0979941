"""Errors that are the outcome of their prompt: a filter's, a prompt too long, a broken schema.

They are no failure of the call: the next prompt may be answered. What vendors, gateways and
servers say is known from their documentation, or from what their users report in public.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from .failures import error_details, error_message, error_of
from .sdk import parsed

_FILTERED, _TOO_LONG, _BROKEN = "content_filter", "prompt_too_long", "schema_broken"

_CODES = {
    code: end
    for end, codes in {
        _FILTERED: "content_filter content_policy_violation bio_policy moderation_blocked "
        "misalignment_policy_violation responsibleaipolicyviolation data_inspection_failed "
        "datainspectionfailed sensitive_words_detected prompt_blocked prohibited_content "
        "guardrail_intervened 1301 1026 1027",
        _TOO_LONG: "context_length_exceeded string_above_max_length exceed_context_size_error "
        "tokens_limit_reached prompt_too_long model_max_prompt_tokens_exceeded",
    }.items()
    for code in codes.split()
}
"""A vendor's own word for an error → what it is of its prompt: those of Azure, OpenAI, Alibaba,
new-api, Google, Zhipu, MiniMax, llama.cpp and GitHub."""

# What says it of a prompt or reply, whatever the status.
_BY_NAME = re.compile(
    r"ContentPolicyViolation|DataInspectionFailed|content exists risk|敏感内容|"
    r"prompt was flagged|output blocked by content filtering|blocked entity detected|"
    r"guardrail checks [^.]{0,20}in the config failed",
    re.IGNORECASE,
)
# A filter acts, and says by what it does.
_ACTS = re.compile(
    r"violat|flagged|block|reject|trigger|detect|refus|filtered|contain|interven|inspect|comply",
    re.IGNORECASE,
)
_BY_WHAT = re.compile(
    r"(?:content|usage|safety|acceptable.use|responsible.ai)(?: \w+)? "
    r"(?:polic(?:y|ies)|guidelines|practices|rules|filters?|system)|data inspection|"
    r"(?:prompt|response)(?: pattern)?(?: is| was)? blocked|"
    r"(?:unsafe|unlawful|illegal|inappropriate|harmful|(?<!-)sensitive)(?: or \w+)? "
    r"(?:content|words?|information|prompt|input|output)",
    re.IGNORECASE,
)
# Parts of gateways, which may be down or set wrongly: they must act on what was said.
_GUARDS = re.compile(r"moderation|guardrail|safety_check", re.IGNORECASE)
_STOPPED = r"(?:violat|flagged|block|filtered|trigger|interven)"
_SAID = r"\b(?:prompt|content|input|output|message|response|reply)s?\b"
_GUARDED = re.compile(
    rf"{_SAID}[^.]{{0,60}}{_STOPPED}|{_STOPPED}[^.]{{0,60}}{_SAID}|"
    r"\brequest (?:was |is |has been )?(?:blocked|flagged) by|"
    r"violat\w* (?:\w+ ){0,2}(?:moderation|guardrail)|guardrail[ _]interven",
    re.IGNORECASE,
)
_OUT_OF_ORDER = re.compile(
    r"rate.?limit|unavailable|timed? ?out|failed to satisfy|"
    r"(?:unknown|unrecogni[sz]ed|unexpected|unsupported) (?:\w+ )?"
    r"(?:field|parameter|argument|property|key|value|setting)",
    re.IGNORECASE,
)
"""A rate, an outage or a wrong setting, of filters too."""

_DENIED = re.compile(
    r"\b(?:account|organi[sz]ation|resource|access|project|subscription|key)\b[^.]{0,40}"
    r"(?:disabled|deactivated|suspended|terminated|banned|blocked|revoked|restricted)|"
    r"\b(?:account|organi[sz]ation) (?:has been|was|is) \w+|"
    r"\b(?:you|users?|IP(?: address)?)(?: \S*[\d'\"]\S*)? (?:have been|has been|was|were|is|are) "
    r"(?:\w+ly )?(?:disabled|suspended|banned|blocked|restricted|flagged|denied|limited)",
    re.IGNORECASE,
)
"""What is refused to the user, whatever the prompt, for policies too."""

_LENGTH = r"(?:context[ _](?:length|window|size|limit)|prompt|input|messages)"
_NO_ROOM = re.compile(
    r"ContextWindowExceeded|maximum (?:allowed )?(?:context|prompt|model|input) length|"
    rf"\b{_LENGTH}\b[^.]{{0,60}}(?:exceed|too long|longer than|too many tokens)|"
    r"exceed[^.]{0,60}(?:context (?:length|window|size|limit)|model token limit)|"
    r"reduce the length of the (?:messages|input|prompt)|too many input tokens|"
    r"`inputs`[^.]{0,40} must (?:have less than|be <=)|context (?:the )?overflow",
    re.IGNORECASE,
)
_IN_TOKENS = re.compile(r"token|length|context|long|size|characters", re.IGNORECASE)
_OF_ANOTHER = re.compile(
    r"max\w*_tokens\W[^.]{0,40}(?:too large|exceed)|per.(?:minute|day)", re.IGNORECASE
)
"""What is too much here is the limit of the reply, or a rate."""

_SHARES = re.compile(
    r"(?<!\d)(\d+) (?:in the messages|in your prompt|of text input|`inputs` tokens)[^)]{0,80}?"
    r"(?<!\d)(\d+) (?:(?:in|for) the (?:completion|output)|`max_new_tokens`)|"
    r"`max_tokens` exceed context limit: (\d+) \+ (\d+)"
)
"""Tokens of the prompt, and those that are kept for the reply."""

_REPLIES = {"choices", "output", "content", "candidates"}
"""Fields of a body that is a reply, at one vendor or another."""


def prompt_outcome(body: object, status: int = HTTPStatus.OK) -> tuple[str, str] | None:
    """Text and end of the reply that ``body`` stands for, an error; None where it is no outcome.

    ``status`` is the response's: what servers say of rates and failures of their own, in words
    that are not known, is no filter's. The text is the model's own where a gateway refused it, as
    no JSON of the schema, else ''.
    """
    if isinstance(body, list) and len(body) == 1:  # as Google's gateways send it
        body = body[0]
    if not isinstance(body, dict):
        return None
    error = error_of(body) or ({} if _REPLIES & body.keys() else body) or _of_choice(body)
    details, message = error_details(error), error_message(error)
    said = details.get("failed_generation")  # Groq's
    if isinstance(said, str):
        return said, _BROKEN
    if _is_of_limit(message):
        return None
    known = (_CODES[code] for code in _codes(details) if code in _CODES)
    passing = any(map(_is_passing, (status, details.get("code"))))
    end = next(known, None) or _in_words(message, passing=passing)
    return ("", end) if end else prompt_outcome(_quoted(details), status)


def _of_choice(body: Mapping[str, Any]) -> object:
    """The error that stands in a reply's only choice, as OpenRouter sends it."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice.get("error") if isinstance(choice, dict) else None


def _is_of_limit(message: str) -> bool:
    """True if the larger part of what is too long is kept for the reply: the setting is wrong."""
    shares = _SHARES.search(message)
    prompt, reply = map(int, filter(None, shares.groups())) if shares else (0, 0)
    return reply > prompt


def _is_passing(status: object) -> bool:
    """True for the status of a rate, or of a server's own failure."""
    known = str(status)
    return known == "429" or re.fullmatch(r"5\d\d", known) is not None


def _in_words(message: str, *, passing: bool) -> str | None:
    if _DENIED.search(message):
        return None
    if _BY_NAME.search(message):
        return _FILTERED
    if not (passing or _OUT_OF_ORDER.search(message)) and (
        (_GUARDS.search(message) and _GUARDED.search(message))
        or (_ACTS.search(message) and _BY_WHAT.search(message))
    ):
        return _FILTERED
    of_prompt = _IN_TOKENS.search(message) and not _OF_ANOTHER.search(message)
    return _TOO_LONG if of_prompt and _NO_ROOM.search(message) else None


def _codes(details: Mapping[str, Any]) -> list[str]:
    """The words for an error, and for what Azure says is within it."""
    inner = details.get("innererror")
    both = (details, inner if isinstance(inner, dict) else {})
    return [str(each[name]).lower() for each in both for name in ("code", "type") if name in each]


def _quoted(details: Mapping[str, Any]) -> object:
    """The error of the provider behind OpenRouter, which quotes it."""
    metadata = details.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    try:
        return parsed(raw) if isinstance(raw, str) else raw
    except ValueError:
        return {"message": raw}
