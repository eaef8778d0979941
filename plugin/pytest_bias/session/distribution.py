"""Distribution of cases over xdist's workers, where the user has not chosen any himself."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from xdist.scheduler.load import LoadScheduling

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest
    from xdist.workermanage import WorkerController

    from .state import State


class ExperimentScheduling(LoadScheduling):
    """Balances tests as ``--dist load`` does, and keeps the work of one analysis in one worker.

    The cases of an experiment with one model share its recordings and its analysis: a second
    worker would import and read all of it to ask for what the first has made. Other tests go one
    by one, as they do without it. Nothing but time depends on it.
    """

    def __init__(self, config: pytest.Config, log: Any, state: State) -> None:
        super().__init__(config, log)
        self._state = state
        self._group: list[str] | None = None

    def _send_tests(self, node: WorkerController, num: int) -> None:
        """Send at least ``num`` of the pending tests, the last of them with all of its group."""
        if self._group is None:
            self._group = self._grouped()
        group, end = self._group, min(num, len(self.pending))
        while 0 < end < len(self.pending):
            last, following = group[self.pending[end - 1]], group[self.pending[end]]
            if not last or last != following:
                break
            end += 1
        super()._send_tests(node, end)

    def _grouped(self) -> list[str]:
        """Bring the pending tests of a group together, the largest first; gives their groups."""
        told = self._state.workspace.read_selected()
        groups: Mapping[str, str] = {} if told is None else told.groups
        group = [groups.get(name, "") for name in self.collection or ()]
        size = Counter(group)
        self.pending.sort(key=lambda at: (not group[at], -size[group[at]], group[at], at))
        return group
