"""Age and origin of recordings, by which they stand for their model or no longer do.

A change of prompts is no concern of this module: an interaction's key is made of the request, so
what would be asked otherwise today is not recorded, and is told by :mod:`.cassettes.misses`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from typing import get_args

from ..errors import StaleRecordings
from ..experiments.messages import ModelRole
from ..experiments.records import Exchange, Outcome, Recording
from ..settings.model_names import other_model
from ..settings.roster import Roster

_SLACK = 1
"""Days by which two clocks may disagree before one of them is called wrong."""


def dated(
    recording: Recording, exchanges: Iterable[Exchange], copied: str = "", cut: str = ""
) -> Recording:
    """``recording`` with the dates and served models of the replies that count.

    ``copied`` says which of them are copies, ``cut`` which prompts the server has cut.
    """
    counts = Counter((each.to, each.served_model, each.recorded_at) for each in exchanges)
    moments = {at: _moment(at) for _, _, at in counts}
    known = {at: moment for at, moment in moments.items() if at and moment}
    undated = sum(n for (_, _, at), n in counts.items() if moments[at] is None)
    # A provider that does not say who answered is no other model.
    served = {
        role: tuple(sorted({name for to, name, _ in counts if to == role and name}))
        for role in ("subject", "judge")
    }
    # A program answers today as it did then, so the day says nothing of it.
    ages = not recording.simulated
    return replace(
        recording,
        served=served["subject"],
        judge_served=served["judge"],
        oldest=min(known, key=lambda at: known[at], default="") if ages else "",
        newest=max(known, key=lambda at: known[at], default="") if recording.published else "",
        undated=undated if ages else 0,
        copied=copied,
        cut=cut,
    )


def stale(
    experiment: str,
    model: str,
    recording: Recording,
    *,
    cassette: str,
    roster: Roster,
    max_age: int | None,
    today: str,
) -> StaleRecordings | None:
    """Return the reason why recordings no longer represent ``model``; None where there is none.

    ``cassette`` says where they stand, ``roster`` what the user knows of the models, ``max_age``
    the number of days that the oldest reply may have, None for any; ``today`` is YYYY-MM-DD in
    UTC, or empty where the day does not matter, as of an old model that others are held against.
    """
    reasons = [*_others(model, recording, roster)]
    ages, shut_down = not recording.simulated, roster.entry(model).shut_down
    if ages and max_age is not None:
        reasons += _aged(recording, max_age, date.fromisoformat(today))
    if gone := ages and shut_down is not None and str(shut_down) <= today:
        reasons.append(
            f"the model was shut down on {shut_down}, as the roster says, so nobody is served by "
            "it. Test the model that took its place; without a gate (ini file: bias_gate=off) "
            "this one is looked at all the same"
        )
    published = recording.published is not None
    # Nobody can ask again what others did; of copies the reason says how.
    again = bool(reasons) and not (published or gone)
    if recording.copied:
        reasons.append(
            f"{recording.copied}. A copy is no reply of the model's: switch the cache of "
            "responses off, and --bias-record=missing records these trials again"
        )
    reasons += filter(None, (recording.cut, recording.mixture))
    if not reasons:
        return None
    return StaleRecordings(
        experiment=experiment,
        model=model,
        cassette=cassette,
        reasons=reasons,
        again=again,
        published=published,
    )


def served_otherwise(
    experiment: str, model: str, recording: Recording, *, accepted: Sequence[str]
) -> StaleRecordings | None:
    """Return the refusal of replies of another model than the accepted one of this name; or None.

    ``accepted`` are the served models of the baseline; nothing is said where either side knows of
    none.
    """
    before, now = sorted(accepted), sorted(recording.served)
    if not before or not now or before == now:
        return None
    reason = (
        f"{' and '.join(now)} answered under this name, and the accepted baseline is of "
        f"{' and '.join(before)}. Where the new one is meant, accept it (--bias-accept)"
    )
    cassette = f"cassette: {recording.cassette}"
    return StaleRecordings(experiment=experiment, model=model, cassette=cassette, reasons=[reason])


def _others(model: str, recording: Recording, roster: Roster) -> Iterator[str]:
    """Name each reason for which a reply is another model's, as the subject or as the judge."""
    answered = [(model, model, recording.served)]
    if recording.judge is not None:
        answered.append((recording.judge, f"the judge {recording.judge}", recording.judge_served))
    for asked, who, served in answered:
        if len(served) > 1:
            yield f"{len(served)} models answered as {who}: {', '.join(served)}"
        if other := other_model(asked, served, roster.entry(asked)):
            yield other


def _aged(recording: Recording, max_age: int, today: date) -> Iterator[str]:
    days = f"{max_age} day{'s' * (max_age != 1)}"
    if recording.undated:
        yield (
            f"{recording.undated} replies do not say when they were recorded, so nobody knows "
            f"whether they are older than {days} (bias_max_age)"
        )
    moment = _moment(recording.oldest)
    if moment is None:
        return
    age = (today - moment.date()).days
    if age > max_age:
        yield (
            f"the oldest reply that counts was recorded on {moment.date()}, more than "
            f"{days} ago (bias_max_age)"
        )
    elif age < -_SLACK:
        yield (
            f"every reply that counts was recorded on {moment.date()} or later, which is yet to "
            "come: a clock is wrong, so their age is unknown (bias_max_age)"
        )


def _moment(text: str | None) -> datetime | None:
    """A time in UTC, which is meant where no zone is given; None where there is none."""
    try:
        moment = datetime.fromisoformat(text or "")
        zone = moment.tzinfo or timezone.utc
        return moment.replace(tzinfo=zone).astimezone(timezone.utc)
    except (ValueError, OverflowError):  # a zone may lead out of the calendar
        return None


_SHOWN = 3
_LONG = 30  # words of a reply that is hardly given twice by chance


@dataclass(frozen=True, slots=True)
class Copy:
    """A reply of ``to`` in ``trial`` that is a copy; ``sign`` is what shows it."""

    to: ModelRole
    trial: str
    sign: str


@dataclass(slots=True)
class Copies:
    """The copies among replies that are met one after another.

    Ids count where they vary: a server that gives all its replies one id has none.
    """

    replies: int = 0
    _cached: list[Copy] = field(default_factory=list)
    _repeated: dict[ModelRole, list[Copy]] = field(default_factory=lambda: defaultdict(list))
    _ids: dict[ModelRole, set[str]] = field(default_factory=lambda: defaultdict(set))
    _first: dict[tuple[ModelRole, str, str], str] = field(default_factory=dict)

    def add(self, trial: str, said: Exchange) -> None:
        """Take note of one reply of ``trial``."""
        self.replies += 1
        named = (said.to, said.id, said.created)
        if said.cached:
            sign = f"the header {said.cached} came with it"
            self._cached.append(Copy(said.to, trial, sign))
        elif said.id and said.to == "subject" and self._first.get(named) == trial:
            pass  # the id of a conversation, which its turns share
        elif said.id and named in self._first:
            sign = f"it has the id and creation time of a reply in {self._first[named]}"
            self._repeated[said.to].append(Copy(said.to, trial, sign))
        elif said.id:
            self._first[named] = trial
            self._ids[said.to].add(said.id)

    def see(self, outcome: Outcome) -> None:
        """Take note of all replies of a trial."""
        for each in outcome.exchanges:
            self.add(outcome.trial.id, each)

    @property
    def unsure(self) -> bool:
        """Return whether an id came again, and no other one has come yet."""
        return any(len(self._ids[role]) == 1 for role in self._repeated)

    @property
    def found(self) -> list[Copy]:
        """The copies."""
        varied = (role for role, ids in self._ids.items() if len(ids) > 1)
        repeated = (copy for role in varied for copy in self._repeated.get(role, ()))
        return [*self._cached, *repeated]

    def of(self, role: ModelRole) -> list[Copy]:
        """The copies among the replies of one role."""
        return [copy for copy in self.found if copy.to == role]


def copied_text(outcomes: Iterable[Outcome]) -> str:
    """Sentence on how many replies are copies, the evidence, and the trials; '' without any."""
    copies = Copies()
    for outcome in outcomes:
        copies.see(outcome)
    found = copies.found
    if not found:
        return ""
    trials = list(dict.fromkeys(copy.trial for copy in found))
    more = f" and {len(trials) - _SHOWN} more" if len(trials) > _SHOWN else ""
    one = len(found) == 1
    return (
        f"{len(found)} of {copies.replies} replies {'is a copy' if one else 'are copies'} from a "
        f"cache (trial {', '.join(trials[:_SHOWN])}{more}; of the first, {found[0].sign})"
    )


_SHORTEST = 2_000
_MOST_CHARACTERS = 12
"""Characters of a token, of a long text at most: English has four, source code up to eight."""
_APART = 1.25


def is_cut(exchange: Exchange) -> bool:
    """True if the server counts far fewer tokens than the prompt can have."""
    size, counted = exchange.size, exchange.counted
    return size >= _SHORTEST and 0 < counted * _MOST_CHARACTERS < size


def cut_text(outcomes: Iterable[Outcome]) -> str:
    """Sentence on how many prompts the server has cut, and what to do; '' without any.

    That is where it counts far too few tokens, and where prompts of different lengths all have
    the largest number of tokens that it counts.
    """
    sent = [(o.trial.id, each) for o in outcomes for each in o.exchanges if each.size >= _SHORTEST]
    cut = [(trial, each) for trial, each in sent if is_cut(each)]
    for role in get_args(ModelRole):
        most = max((each.counted for _, each in sent if each.to == role), default=0)
        full = [(t, e) for t, e in sent if e.to == role and most and e.counted == most]
        sizes = [each.size for _, each in full]
        if sizes and max(sizes) > _APART * min(sizes):
            cut += [each for each in full if each not in cut]
    if not cut:
        return ""
    trial, first = cut[0]
    return (
        f"{len(cut)} of {len(sent)} long prompts were cut by the server: in trial {trial} it "
        f"counts {first.counted:,} tokens in {first.size:,} characters. {CUT_HINT}"
    )


CUT_HINT = (
    "Raise its context (Ollama: num_ctx, llama.cpp: --ctx-size, vLLM: --max-model-len), then "
    "record with --bias-record=all"
)


def long_replies(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """Count the subject's valid replies of 30 words or more, and the different ones of them."""
    replies = [
        said.reply
        for outcome in outcomes
        for said in outcome.exchanges
        if said.to == "subject" and not said.invalid and len(said.reply.split()) >= _LONG
    ]
    return len(replies), len(set(replies))
