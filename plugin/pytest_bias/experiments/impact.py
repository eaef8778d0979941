"""Impact ratios an experiment asks for, as data: what is selected, and who is in which category.

A table of them describes: nothing in it is tested, and it never has a part in a verdict. It is
worked out in ``contrasts.impact`` and stands in the record of an audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import BadDesign
from .design import frozen_mapping
from .fields import need, need_mapping, need_several, need_text
from .figures import Shown


@dataclass(frozen=True, slots=True)
class Impact:
    """Rates of being selected, or of a high score, by sex, race and their intersection.

    Parameters
    ----------
    measure
        A flag: the selection. A number: a score, and selected is what lies above the median of the
        sample. With ids of items shown: the measure that holds the ids selected.
    among
        The factor, or the items by their name, whose levels are (the stimuli of) people; or the
        measure that holds the ids shown, as of :class:`~pytest_bias.Selection`.
    categories
        Axis ("sex", "race/ethnicity") → level or id → its category on it. What has none on an axis
        is counted as unknown there.
    outcome
        What being selected is, in words ("rated a good fit").
    selected
        The value of a flag that is the favourable one.
    at
        Factor → the levels to which the table is confined.
    """

    measure: str
    among: str
    categories: Mapping[str, Mapping[str, str]] = field(repr=False)
    outcome: str = ""
    selected: bool = field(default=True, kw_only=True)
    at: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        what = f"Impact({self.measure!r})"
        need_text(what, measure=self.measure, among=self.among, outcome=self.outcome)
        need(what, "selected", self.selected, bool, "true or false")
        for name in ("categories", "at"):
            need_mapping(what, name, getattr(self, name), "a mapping")
        of = {axis: frozen_mapping(levels) for axis, levels in self.categories.items()}
        if not of or any(len({*levels.values()}) < 2 for levels in of.values()):  # noqa: PLR2004
            raise BadDesign(what=what, problem="needs axes of two categories or more each")
        object.__setattr__(self, "categories", frozen_mapping(of))
        at = {name: need_several(what, "at", of, str, "levels") for name, of in self.at.items()}
        if empty := [name for name, levels in at.items() if not levels]:
            raise BadDesign(what=what, problem=f"at={empty[0]!r} names no level")
        object.__setattr__(self, "at", frozen_mapping(at))


def checked_impacts(
    impacts: Iterable[Impact], experiment: Shown, measures: Iterable[str]
) -> tuple[Impact, ...]:
    """``impacts`` of ``experiment``, each looked at.

    Raises BadDesign or UnknownName for what is none, or names what the experiment does not have.
    """
    what, known = f"Experiment({experiment.id!r})", set(measures)
    found = need_several(what, "impacts", impacts, Impact, "Impact(…)")
    for impact in found:
        experiment.measure(impact.measure)
        named = [*impact.at.items()]
        if impact.among not in known:
            named += [(impact.among, [*of]) for of in impact.categories.values()]
        for name, levels in named:
            if unknown := [level for level in levels if level not in experiment.levels(name)]:
                problem = f"{unknown[0]!r} is no level of {name!r}"
                raise BadDesign(what=f"Impact({impact.measure!r})", problem=problem)
    return found
