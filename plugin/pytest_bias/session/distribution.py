"""Distribution over xdist's workers, where the user has not chosen any; loaded in every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from .options import is_planning, is_recording, is_set

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

    from .workspace import Workspace

DISTRIBUTED = pytest.StashKey[bool]()
"""Whether the user chose how xdist distributes tests."""


def note_distribution(config: pytest.Config) -> None:
    """Note whether the user chose a distribution (``--dist``, ``-d``).

    Before xdist makes ``--dist load`` of ``-n`` alone.
    """
    option = config.option
    chosen = getattr(option, "dist", "no") != "no" or getattr(option, "distload", False)
    config.stash[DISTRIBUTED] = bool(chosen)


def undistribute(config: pytest.Config) -> None:
    """Turn xdist's distribution off when recording: one limiter, one budget, one writer."""
    option = config.option
    alone = is_recording(config) or is_planning(config)
    if not alone or not hasattr(option, "numprocesses"):
        return
    if option.numprocesses or option.tx or option.dist != "no" or option.distload:
        option.bias_undistributed = True
        option.numprocesses, option.dist, option.tx, option.distload = 0, "no", [], False


def limit_workers(config: pytest.Config) -> None:
    """Start no more xdist workers than cores where only bias cases are run.

    Each worker collects the suite, and each that analyses imports scipy: more than cores take
    longer. The user's own ``--dist`` keeps all workers.
    """
    requested = getattr(config.option, "numprocesses", None)
    if not isinstance(requested, int) or config.stash[DISTRIBUTED] or not is_set(config):
        return
    from ..settings.given import cores  # noqa: PLC0415
    from .suite import Suite  # noqa: PLC0415  (only where there are workers)

    most = max(cores(), 2)  # also on one core: a distributed run was requested
    if requested > most and Suite(config).has_only_cases:
        config.option.numprocesses, config.option.bias_requested_workers = most, requested


def experiment_scheduling(config: pytest.Config, log: Any, workspace: Workspace) -> Any:
    """Balance tests as ``--dist load`` does, and run the work of one analysis in one worker.

    The cases of an experiment with one model share its recordings and its analysis: a second
    worker would import and read all of it again. Other tests go one by one. Nothing but time
    depends on it.
    """
    from xdist.scheduler.load import LoadScheduling  # noqa: PLC0415  (optional)

    class ExperimentScheduling(LoadScheduling):
        group: list[str] | None = None

        def _send_tests(self, node: WorkerController, num: int) -> None:
            """Send at least ``num`` pending tests, the last of them with all of its group."""
            if self.group is None:
                self.group = self._sorted_groups()
            group, end = self.group, min(num, len(self.pending))
            while 0 < end < len(self.pending):
                last, following = group[self.pending[end - 1]], group[self.pending[end]]
                if not last or last != following:
                    break
                end += 1
            super()._send_tests(node, end)

        def _sorted_groups(self) -> list[str]:
            """Bring the pending tests of a group together, the largest first; gives the groups."""
            selected = workspace.read_selected()
            groups: Mapping[str, str] = {} if selected is None else selected.groups
            group = [groups.get(name, "") for name in self.collection or ()]
            size = Counter(group)
            self.pending.sort(key=lambda at: (not group[at], -size[group[at]], group[at], at))
            return group

    return ExperimentScheduling(config, log)
