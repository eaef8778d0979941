"""Trials, prompts, replies and labels that are not what they must be."""

from __future__ import annotations

from .base import BiasError
from .designs import BadStimuli

_LONGEST = 60


class InvalidReply(BiasError):
    """A reply that cannot be measured; ``reason`` is the word under which the trial is missing."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


class ForeignAwait(BiasError):
    """A protocol awaited something else than ``ask()`` and ``together()``."""

    def __init__(self, *, protocol: str, where: str, what: str) -> None:
        self.where = where
        super().__init__(
            f"the protocol {protocol}() awaits {what} at {where}; a protocol may await only "
            "subject.ask() and together(), because nothing else can be replayed"
        )


class ReplayDiffers(BiasError):
    """A trial replayed straight after it was carried out did not give the same outcome."""

    def __init__(self, *, experiment: str, trial: str, problem: str) -> None:
        super().__init__(
            f"{experiment}, trial {trial}: replaying it straight away differs "
            f"({problem}). The protocol depends on something that is not recorded (a clock, "
            "randomness, state kept between trials, an await other than ask() and together()). "
            "Nothing more is called; what was recorded is kept."
        )


class JudgeNotBlind(BiasError):
    """The judge would be sent a name, or a level, that it must not know.

    ``factor`` and ``level`` say whose name it is, ``name`` has the words that are told (None where
    no text may be kept), ``place`` says where: ``message 2 (user)``, ``the reply's schema``.
    """

    def __init__(
        self, *, experiment: str, trial: str, factor: str, level: str, name: str | None, place: str
    ) -> None:
        self.trial = trial
        self.factor = factor
        self.level = level
        self.name = name
        self.place = place
        quoted = "" if name is None else f" {name if len(name) <= _LONGEST else name[:_LONGEST]!r}"
        super().__init__(
            f"{experiment}, trial {trial}: the judge would be told{quoted} (factor {factor!r}, "
            f"level {level!r}; in {place}), to which it must be blind; nothing is sent. Give it "
            "masked(text, [name]), or take the factor out of the experiment's blind="
        )


class BadLabels(BadStimuli):
    """A file of labels that people gave is not what it must be; its place as of stimuli."""


class SamePrompt(BiasError):
    """Two conditions, or two exemplars of one, put the same prompt before the subject.

    ``conditions`` are the ids of both, twice the same where it is the exemplars that do not
    differ; ``item`` and ``exemplars`` are those of the first such pair of trials, ``more`` counts
    the others.
    """

    def __init__(
        self,
        *,
        experiment: str,
        conditions: tuple[str, str],
        item: str | None,
        exemplars: tuple[tuple[str, ...], tuple[str, ...]],
        more: int = 0,
    ) -> None:
        self.conditions = conditions
        self.item = item
        self.more = more
        first, second = conditions
        one, two = (", ".join(map(repr, members)) for members in exemplars)
        among = [f"item {item!r}"] if item is not None else []
        if first != second:
            if one:
                among.append(f"exemplars {one} and {two}" if one != two else f"exemplars {one}")
            who, so = f"conditions {first!r} and {second!r}", "nothing is manipulated between them"
        else:
            who = f"in condition {first!r} the exemplars {one} and {two}"
            so = "they are no two units"
        where = f" ({'; '.join(among)})" if among else ""
        others = f"; {more} more of their trials are alike" if more else ""
        super().__init__(
            f"{experiment}: {who} put the same prompt before the subject{where}, so {so}{others}"
        )


class LabelShown(BiasError):
    """A prompt shows a label or an id, which tells the subject what is being tested.

    ``of`` is what is called so: ``factor 'name'``, ``items 'vignette'``, ``condition``, ``trial``.
    ``condition`` and ``item`` are those of the first trial in which it shows, ``excerpt`` the
    words around it, None where no text may be kept.
    """

    def __init__(
        self,
        *,
        experiment: str,
        label: str,
        of: str,
        condition: str,
        item: str | None,
        excerpt: str | None,
    ) -> None:
        self.label = label
        self.of = of
        self.item = item
        where = f"condition {condition!r}" + (f" (item {item!r})" if item is not None else "")
        what = f"the id of the {of}" if of in ("condition", "trial") else f"a label of {of}"
        around = f": {excerpt!r}" if excerpt is not None else ""
        super().__init__(
            f"{experiment}: {where} shows the subject {label!r}, {what}{around}. It tells what is "
            "being tested: take it out of the prompt; words meant to be read belong into the "
            "level's value"
        )
