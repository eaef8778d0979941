"""Selected against reported cases: a run whose books do not balance gives no verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

CASE = "bias_case"
"""Report property that names the case; set when it is collected."""

RESULT = "bias_result"
"""Report property with the outcome of a case as JSON text of our own encoder."""

NOT_RECORDED = "bias_not_recorded"
"""Report property with the explanation of what is not recorded."""


@dataclass(slots=True)
class Ledger:
    """What was selected and what was reported, as the process that decides sees it."""

    selected: list[str] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    not_recorded: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def select(self, cases: Iterable[str]) -> None:
        """Take note of the selected cases."""
        self.selected = list(cases)

    def report(self, properties: Iterable[tuple[str, object]], when: str, outcome: str) -> None:
        """Take note of a report; only those of bias cases count, a rerun replaces what it reruns.

        ``outcome`` is pytest's (passed, failed, skipped, rerun); a case is settled by its call, or
        by a set-up that did not pass, and a tear-down that fails unsettles it again.
        """
        found = dict(properties)
        case = found.get(CASE)
        if not isinstance(case, str) or outcome == "rerun":
            return
        if when == "call" or outcome != "passed":
            self.outcomes[case] = outcome
        explanation = found.get(NOT_RECORDED)
        if isinstance(explanation, str):
            self.not_recorded[case] = explanation
        text = found.get(RESULT)
        if when == "call" and isinstance(text, str):
            self.results[case] = cast("Mapping[str, Any]", json.loads(text))

    @property
    def lost(self) -> tuple[str, ...]:
        """Selected cases of which no usable report arrived, sorted.

        A case that passed without saying what it found counts as lost: nothing was tested.
        """
        return tuple(
            sorted(
                case
                for case in self.selected
                if case not in self.outcomes
                or (self.outcomes[case] == "passed" and case not in self.results)
            )
        )

    @property
    def active(self) -> bool:
        """Whether this session has to do with bias at all."""
        return bool(self.selected or self.outcomes or self.problems)
