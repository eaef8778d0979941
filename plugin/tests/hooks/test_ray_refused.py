"""What keeps an engine from recording is said before anything is called."""

from __future__ import annotations

import os
import re
import shutil
import sys

import pytest

from pytest_bias.cli.entry import main

from ..runs import suites_apart
from .suites import Suite


@suites_apart()
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--address", "ray://h:1"), "this process on one of its nodes"),
        (("--address", "127.0.0.1:1"), "no Ray cluster is reached there: .*refused"),
        (("--address", "nowhere"), "no Ray cluster is reached there"),
        (("--address", "local"), r"ray is not installed; .* 'pytest-bias\[ray\]'"),
        (("--shards", "0"), "must be 1 or more"),
        (("--record", "all"), "--record=all is for one process"),
    ],
)
def test_no_engine(
    suite: Suite, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    shutil.rmtree(suite.cassettes)
    suite.monkeypatch.setattr(os, "environ", {**os.environ})
    suite.monkeypatch.setitem(sys.modules, "ray", None)
    suite.monkeypatch.chdir(suite.path)
    assert main(["record", "game-coin", "--engine", "ray", *options]) == 2
    assert re.search(words, capsys.readouterr().err)


@suites_apart()
@pytest.mark.parametrize("option", [("--address", "auto"), ("--shards", "2")])
def test_of_an_engine_that_is_not_asked_for(
    suite: Suite, capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    suite.monkeypatch.chdir(suite.path)
    assert main(["record", "game-coin", *option]) == 2
    assert "needs --engine ray" in capsys.readouterr().err


@suites_apart()
def test_nothing_is_started_where_nothing_is_missing(suite: Suite) -> None:
    suite.monkeypatch.setitem(sys.modules, "ray", None)
    suite.monkeypatch.chdir(suite.path)
    assert main(["record", "game-coin", "--engine", "ray"]) == 0
