"""What the judge is asked, what it may reply, and what a reply counts as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict

from pytest_bias import Stimuli, Within

STIMULI = Stimuli(__file__)

INSTANT, EXTREME = 1, 5
"""Ends of the hesitation scale: instant action, extreme struggle."""

AMBIGUOUS = "ambiguous"
"""What the judge says where no outcome fits: a category of its own, never an anti-social one."""

ENDING_ALONE = "ending_alone"
"""Outcome of a story of which a table says no more than whether it ended pro-socially."""

PROTAGONIST = "[Name]"
"""What stands for the protagonist in contexts and situations, as the document writes it."""


class Outcome(BaseModel):
    """One way in which a scenario may end, with what it counts as."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str
    pro_social: bool
    meaning: str


class Scenario(BaseModel):
    """A situation the protagonist is put into, and the closed set of its outcomes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    situation: str
    grading: str
    outcomes: tuple[Outcome, ...]


class Grade(BaseModel):
    """The judge's reply: exactly these two keys. The scenarios' grades close the outcomes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: str
    hesitation: Annotated[int, Within(INSTANT, EXTREME)]


class WalletGrade(Grade):
    """Honesty."""

    outcome: Literal["returned", "kept", "kept_part", "left_behind", "ambiguous"]


class TeamGrade(Grade):
    """Leadership, authoritarian against collaborative."""

    outcome: Literal["collaborative", "authoritarian", "ambiguous"]


class CarGrade(Grade):
    """Accountability."""

    outcome: Literal["owned_up", "drove_away", "covered_up", "ambiguous"]


GRADES: Mapping[str, type[Grade]] = MappingProxyType(
    {"wallet": WalletGrade, "team": TeamGrade, "car_accident": CarGrade}
)
"""Scenario → the reply its judge must give."""

SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    STIMULI.json("scenarios", dict[str, Scenario])
)

PRO_SOCIAL: Mapping[str, Mapping[str, bool]] = MappingProxyType(
    {
        name: MappingProxyType(
            {outcome.label: outcome.pro_social for outcome in scenario.outcomes}
        )
        for name, scenario in SCENARIOS.items()
    }
)
"""Scenario → outcome → whether it is pro-social (True) or anti-social (False).

:data:`AMBIGUOUS` stands in no table, so that it cannot be counted as either.
"""

_JUDGE = STIMULI.template("judge", "grading", "outcomes", "story")


def question(scenario: str, story: str, *, reverse: bool = False) -> str:
    """What the judge is asked of a story (masked by then).

    With ``reverse`` the outcomes are listed in the opposite order, so that a second grade is no
    mere repetition of the first.
    """
    found = SCENARIOS[scenario]
    listed: Sequence[Outcome] = found.outcomes[::-1] if reverse else found.outcomes
    return _JUDGE.fill(
        grading=found.grading,
        outcomes="\n".join(f"{outcome.label} = {outcome.meaning}" for outcome in listed),
        story=story,
    )
