"""What models may be held against, as the user asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bias.errors import BadSetting
from pytest_bias.settings.given import Given
from pytest_bias.settings.settings import read_old

MODELS = ("simulated/drifted",)


def given(tmp_path: Path, *, ini: str = "", **options: Any) -> Given:
    return Given(
        options=options,
        ini={"baseline": ini},
        environ={},
        rootdir=tmp_path / "root",
        invocation_dir=tmp_path / "here",
    )


def test_nothing_is_asked_for_unless_it_is(tmp_path: Path) -> None:
    assert read_old(given(tmp_path), MODELS) is None
    assert read_old(given(tmp_path, ini="a/b", baseline="off"), MODELS) is None


def test_a_path_is_taken_from_where_it_was_written(tmp_path: Path) -> None:
    for folder in ("root", "here"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "old.json").touch()
    assert read_old(given(tmp_path, baseline="old.json"), MODELS) == str(
        tmp_path / "here" / "old.json"
    )
    assert read_old(given(tmp_path, ini="old.json"), MODELS) == str(tmp_path / "root" / "old.json")


def test_what_is_no_file_is_read_as_a_model(tmp_path: Path) -> None:
    assert read_old(given(tmp_path, baseline="openai/gpt.json"), MODELS) == "openai/gpt.json"
    assert read_old(given(tmp_path, ini="simulated/biased"), MODELS) == "simulated/biased"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"baseline": "a/b", "baselines": "kept"}, "takes the place of --bias-baselines"),
        ({"baseline": "a/b", "accept": True}, "does not go with --bias-accept"),
        ({"ini": "a/b", "accept": True}, "does not go with --bias-accept"),
        ({"baseline": MODELS[0]}, "is the model under test itself"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, asked: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadSetting, match=words):
        read_old(given(tmp_path, **asked), MODELS)
