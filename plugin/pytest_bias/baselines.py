"""Accepted verdicts of a model, as values and as text.

A baseline holds, for each hypothesis of a model, the verdict somebody accepted, and the
fingerprint of the design it was reached with: verdicts of different designs are never compared.
"""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from .analysis import Recording
from .canonical import digest, dumps, plain
from .contrasts import Claim
from .errors import BiasError, Unserialisable
from .estimates import Interval
from .findings import Scale
from .fingerprints import differences, encodable
from .verdicts import Status, Verdict

FORMAT = 1

_SHOWN = 12
"""Differences that are listed."""
_OF_FINDING = (
    *("estimate", "interval", "se", "df", "scale", "margin", "target", "scope"),
    *("p_alarm", "p_clear"),
)
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


class DamagedBaseline(BiasError):
    """A baseline file is not what was written: cut, edited, or of another format or model."""

    def __init__(self, *, path: object, problem: str) -> None:
        self.path = str(path)
        self.problem = problem
        super().__init__(
            f"{path}: {problem}. Restore the file from version control, or delete it and accept "
            "the model's verdicts again (--bias-accept)."
        )


class BaselineDiffers(BiasError):
    """The accepted verdict of a hypothesis was reached with another design."""

    def __init__(self, *, verdict: Verdict, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        listed = [f"  {difference}" for difference in self.differences[:_SHOWN]]
        if more := len(self.differences) - len(listed):
            listed.append(f"  and {more} more")
        super().__init__(
            "\n".join(
                [
                    f"{verdict.experiment} × {verdict.model}, {verdict.id}: the accepted verdict",
                    "was reached with another design, so this one cannot be held against it:",
                    *listed,
                    "Accept the verdict of the new design (--bias-accept), or run without",
                    "baselines (--bias-baselines=off).",
                ]
            )
        )


# --- values -----------------------------------------------------------------------------------

_STRICT: Mapping[str, object] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Who accepted a verdict that is not CLEAR, why, and the last day on which that holds."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    reason: str
    owner: str
    until: str

    def __str__(self) -> str:
        return f"accepted by {self.owner} until {self.until}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimated:
    """The smallest estimate ever accepted with one design: small steps must not add up."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    estimate: float
    se: float
    df: float
    cassette: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An accepted verdict; ``cassette`` is the checksum of the replies it rests on.

    What a finding would say is None where there was none.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    status: Status
    words: str
    claim: Claim
    estimate: float | None
    interval: Interval | None
    se: float | None
    df: float | None
    scale: Scale | None
    margin: float | None
    target: str | None
    scope: str | None
    p_alarm: float | None
    p_adjusted: float | None
    p_clear: float | None
    units: int
    cassette: str
    judge: str | None
    accepted: Acceptance | None
    best: Estimated | None
    fingerprint: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The accepted verdicts of one model: experiment → hypothesis → entry."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = _STRICT

    model: str
    simulated: bool
    verdicts: Mapping[str, Mapping[str, Entry]]

    def entry(self, experiment: str, hypothesis: str) -> Entry | None:
        """The entry of a hypothesis; None when it was never accepted."""
        return self.verdicts.get(experiment, {}).get(hypothesis)


def entry_of(
    verdict: Verdict,
    recording: Recording,
    fingerprint: Mapping[str, object],
    *,
    acceptance: Acceptance | None,
    before: Entry | None,
) -> Entry:
    """The entry of a verdict that is accepted now; ``before`` is the one it replaces."""
    entry = Entry(
        status=verdict.status,
        words=verdict.words,
        claim=verdict.claim,
        **{name: getattr(verdict.finding, name, None) for name in _OF_FINDING},
        p_adjusted=verdict.p_adjusted,
        units=getattr(verdict.finding, "units", 0),
        cassette=recording.checksum,
        judge=recording.judge,
        accepted=None if verdict.status == "CLEAR" or not verdict.gates else acceptance,
        best=None,
        fingerprint=fingerprint,
    )
    same = before is not None and not differences(before.fingerprint, fingerprint)
    return replace(entry, best=_best(entry, before.best if before and same else None))


def _best(entry: Entry, before: Estimated | None) -> Estimated | None:
    if entry.estimate is None or entry.se is None or entry.df is None or entry.scale == "ratio":
        return before  # a ratio's standard error is that of its logarithm
    if before is not None and abs(before.estimate) <= abs(entry.estimate):
        return before
    return Estimated(estimate=entry.estimate, se=entry.se, df=entry.df, cassette=entry.cassette)


# --- text -------------------------------------------------------------------------------------


def baseline_text(baseline: Baseline) -> str:
    """The file of a baseline: sorted and indented, the same for the same values on any day."""
    value = {"format": FORMAT, **_object(encodable(plain(baseline, "baseline")))}
    whole = {**value, "checksum": digest(dumps(value))}
    text = json.dumps(whole, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n"


def baseline_from(text: str, path: object) -> Baseline:
    """The baseline a file holds; ``path`` names it in errors.

    Raises
    ------
    DamagedBaseline
        When the text is not what :func:`baseline_text` wrote, or was written in another format.
    """
    try:
        value = _object(json.loads(text, object_pairs_hook=_unique))
    except (ValueError, RecursionError) as error:
        raise DamagedBaseline(path=path, problem=f"it is no baseline ({error})") from None
    written = value.pop("format", None)
    if type(written) is not int or written != FORMAT:
        problem = f"its format is {written!r}, this version of pytest-bias reads {FORMAT}"
        raise DamagedBaseline(path=path, problem=problem)
    checksum = value.pop("checksum", None)
    try:
        known = digest(dumps({"format": written, **value}))
    except (Unserialisable, RecursionError) as error:
        raise DamagedBaseline(path=path, problem=f"it is no baseline ({error})") from None
    if checksum != known:
        problem = "its checksum is not that of its content: it was edited, merged or cut by hand"
        raise DamagedBaseline(path=path, problem=problem)
    return _validated(value, path)


def _validated(value: Mapping[str, object], path: object) -> Baseline:
    """The baseline, every field of the type it must have."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415  (takes a while to build)

    try:
        found = TypeAdapter(Baseline).validate_json(dumps(value), strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = f"{place or 'it'} is not as it was written ({first['msg']})"
        raise DamagedBaseline(path=path, problem=problem) from None
    for experiment, entries in found.verdicts.items():
        for name, entry in entries.items():
            if problem := _ill_accepted(entry):
                raise DamagedBaseline(path=path, problem=f"{experiment}, {name}: {problem}")
    return found


def _ill_accepted(entry: Entry) -> str:
    """What is wrong with how an entry was accepted; empty when nothing is."""
    accepted = entry.accepted
    needless = entry.status == "CLEAR" or entry.claim == "describe"
    if (accepted is None) != needless:
        return f"{entry.status}, and {'nobody' if accepted is None else 'somebody'} accepted it"
    if accepted is None:
        return ""
    if not accepted.owner.strip() or not accepted.reason.strip():
        return "accepted without an owner or a reason"
    return "" if is_day(accepted.until) else f"{accepted.until!r} is no date (YYYY-MM-DD)"


def is_day(text: str) -> bool:
    """Whether ``text`` is a day of the calendar as YYYY-MM-DD: such texts sort as days do."""
    found = _DAY.fullmatch(text)
    if found is None or not text.isascii():
        return False
    year, month, day = map(int, found.groups())
    return year >= 1 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]  # noqa: PLR2004  (months)


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one place")
    return found


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("a JSON object is needed")  # noqa: TRY004  (as json says it)
    return value
