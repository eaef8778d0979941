"""Which worker is sent which cases, without any worker."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_bias.session.distribution import ExperimentScheduling
from pytest_bias.session.options import is_distributed_by_choice
from pytest_bias.session.workspace import Selected, Workspace


class Worker:
    """What the scheduler knows of a worker."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.sent: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


class Log:
    """Takes what xdist would note down."""

    loadsched: Any = staticmethod(lambda *_words: None)


def distributed(folder: Path, tests: list[str], groups: dict[str, str]) -> list[list[str]]:
    """What each of two workers runs, when they take turns, in the order in which it was sent."""
    workspace = Workspace(folder)
    selected = Selected(
        cases=[*groups], unselected=[], refused="", notes=[], problems=[], groups=groups
    )
    workspace.write_selected(selected)
    config = SimpleNamespace(
        getvalue=lambda _name: ["popen", "popen"],
        getoption=lambda _name: None,
        rootpath=folder,
    )
    scheduling = ExperimentScheduling(
        cast("Any", config), Log(), cast("Any", SimpleNamespace(workspace=workspace))
    )
    workers = [cast("Any", Worker(name)) for name in ("one", "two")]
    for worker in workers:
        scheduling.add_node(worker)
    for worker in workers:
        scheduling.add_node_collection(worker, tests)
    scheduling.schedule()
    done = [0, 0]
    while any(done[at] < len(worker.sent) for at, worker in enumerate(workers)):
        for at, worker in enumerate(workers):
            if done[at] < len(worker.sent):
                scheduling.mark_test_complete(worker, worker.sent[done[at]])
                done[at] += 1
    assert scheduling.tests_finished
    return [[tests[index] for index in worker.sent] for worker in workers]


def test_the_work_of_an_analysis_goes_to_one_worker_and_all_of_it_is_done(tmp_path: Path) -> None:
    groups = {f"{name}-{number}": name for number in range(9) for name in ("coin", "card", "die")}
    tests = [*groups, *(f"other-{number}" for number in range(20))]
    sent = distributed(tmp_path, tests, groups)
    assert sorted(sent[0] + sent[1]) == sorted(tests)
    for name in ("coin", "card", "die"):
        where = {at for at, names in enumerate(sent) for each in names if each.startswith(name)}
        assert len(where) == 1, name
    for names in sent:
        assert any(each.startswith("other") for each in names)


def test_without_cases_tests_go_as_they_do_without_the_plugin(tmp_path: Path) -> None:
    tests = [f"other-{number}" for number in range(10)]
    one, two = distributed(tmp_path, tests, {})
    assert sorted(one + two) == tests
    assert abs(len(one) - len(two)) <= 2


@pytest.mark.parametrize(
    ("dist", "distload", "chosen"),
    [("no", False, False), ("load", False, True), ("loadfile", False, True), ("no", True, True)],
)
def test_who_says_how_to_distribute_is_asked_before_xdist_does(
    dist: str, *, distload: bool, chosen: bool
) -> None:
    option = SimpleNamespace(dist=dist, distload=distload, numprocesses=8)
    assert is_distributed_by_choice(cast("Any", SimpleNamespace(option=option))) is chosen
