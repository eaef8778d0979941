"""Conditions that are not told apart, and labels that are shown."""

from __future__ import annotations

from .base import BiasError


class NotManipulated(BiasError):
    """Two conditions put the very same words before the subject."""

    def __init__(self, *, experiment: str, first: str, second: str) -> None:
        self.experiment = experiment
        self.first = first
        self.second = second
        super().__init__(
            f"{experiment}: conditions {first!r} and {second!r} send the same prompts, "
            "so nothing is manipulated between them"
        )


class SamePrompt(BiasError):
    """Two conditions, or two exemplars of one, put the same prompt before the subject.

    Parameters
    ----------
    conditions
        Ids of both; twice the same where it is the exemplars that do not differ.
    item, exemplars
        Of the first such pair of trials: the item's label, and each trial's exemplars.
    more
        Number of further such pairs of the same conditions.
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
        self.experiment = experiment
        self.conditions = conditions
        self.item = item
        self.exemplars = exemplars
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

    Parameters
    ----------
    of
        What is called so: ``factor 'name'``, ``items 'vignette'``, ``condition``, ``trial``.
    condition, item
        Of the first trial in which it shows.
    excerpt
        The words around it; None where no text may be kept.
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
        self.experiment = experiment
        self.label = label
        self.of = of
        self.condition = condition
        self.item = item
        self.excerpt = excerpt
        where = f"condition {condition!r}" + (f" (item {item!r})" if item is not None else "")
        what = f"the id of the {of}" if of in ("condition", "trial") else f"a label of {of}"
        around = f": {excerpt!r}" if excerpt is not None else ""
        super().__init__(
            f"{experiment}: {where} shows the subject {label!r}, {what}{around}. It tells what is "
            "being tested: take it out of the prompt; words meant to be read belong into the "
            "level's value"
        )
