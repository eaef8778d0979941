from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.errors import BadSetting
from pytest_bias.settings.given import Given
from pytest_bias.settings.options import OPTIONS, Option
from pytest_bias.settings.settings import Settings, read_old, read_settings

ROOT, HERE = Path("/project"), Path("/project/sub")


def given(options: dict[str, object] | None = None, **ini: object) -> Given:
    return Given(
        options=options or {},
        ini=ini,
        environ={"OPENAI_API_KEY": "sk-secret"},
        rootdir=ROOT,
        invocation_dir=HERE,
    )


def settings(options: dict[str, object] | None = None, **ini: object) -> Settings:
    return read_settings(given(options, **ini))


def test_defaults() -> None:
    found = settings()
    assert found == Settings(
        models=(),
        cassettes=ROOT / "cassettes",
        report=ROOT / "bias-report.html",
        results=ROOT / "bias-results.json",
        baselines=ROOT / "bias_tests/baselines",
        environ={"OPENAI_API_KEY": "sk-secret"},
    )
    modes = (found.record, found.design, found.gate, found.inconclusive)
    assert modes == ("none", "gate", "absolute", "fail")


GIVEN: dict[str, tuple[dict[str, object], dict[str, object], str, object]] = {
    "model by option": (
        {"model": ["a/b", "c/d", "a/b"]},
        {"models": ["x/y"]},
        "models",
        ("a/b", "c/d"),
    ),
    "model by ini": ({}, {"models": ["x/y"]}, "models", ("x/y",)),
    "record by option": ({"record": "none"}, {"record": "all"}, "record", "none"),
    "replicates by option": ({"replicates": "12"}, {"replicates": "3"}, "replicates", 12),
    "cassettes by option": ({"cassettes": "c"}, {"cassettes": "d"}, "cassettes", HERE / "c"),
    "absolute path": ({"cassettes": "/c"}, {}, "cassettes", Path("/c")),
    "exports by ini": ({}, {"exports": "e"}, "exports", ROOT / "e"),
    "no report": ({"report": "off"}, {"report": "r.html"}, "report", None),
    "no results": ({}, {"results": "off"}, "results", None),
    "report asked for": ({"report": "r.html"}, {}, "report_asked", True),
    "gate": ({"gate": "off"}, {"gate": "absolute"}, "gate", "off"),
    "in CI": ({"record_in_ci": True}, {}, "record_in_ci", True),
}


@pytest.mark.parametrize(("options", "ini", "name", "value"), GIVEN.values(), ids=GIVEN)
def test_options_go_before_ini(
    options: dict[str, object], ini: dict[str, object], name: str, value: object
) -> None:
    assert getattr(settings(options, **ini), name) == value


WHOLE, ANY = "must be a whole number from", "must be a number from"
DOMAINS = {
    "record": (["yes"], "must be one of none, missing, all"),
    "gate": (["maybe"], "must be one of absolute, off"),
    "inconclusive": (["x"], "must be one of fail, pass"),
    "replicates": (["0", "-3", "1.5", "many"], f"{WHOLE} 1 up"),
    "max_calls": (["-1", "2.5", "many"], f"{WHOLE} 0 up"),
    "budget": (["-0.01", "nan", "inf", "$5"], f"{ANY} 0 up"),
    "qpm": (["0", "-600", "0.5"], f"{WHOLE} 1 up"),
    "concurrency": (["0", "all"], f"{WHOLE} 1 up"),
    "max_age": (["-1", "2.5", "old"], f"{WHOLE} 0 up"),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_values_outside_their_domain_are_refused(name: str) -> None:
    values, problem = DOMAINS[name]
    for value in values:
        given: Any = {name: value}
        for options, ini in ((given, {}), ({}, given)):
            with pytest.raises(BadSetting, match=re.escape(f"={value}: {problem}")):
                settings(options, **ini)


@pytest.mark.parametrize("name", ["report", "results", "summary"])
def test_an_output_in_place_of_a_python_module_is_refused(name: str) -> None:
    with pytest.raises(BadSetting, match=r"test_coin\.py: names a Python module"):
        settings({name: "bias_tests/coin/test_coin.py"})


FOLDERS = [o for o in OPTIONS.values() if o.takes == "DIR"]


@pytest.mark.parametrize("option", FOLDERS, ids=lambda option: option.name)
def test_a_file_where_a_folder_is_named_is_refused(option: Option, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    given: Any = {option.name: str(path)}
    for options, ini in ((given, {}), ({}, given)):
        with pytest.raises(BadSetting, match=f"{path}: is no folder"):
            settings(options, **ini)


def test_baselines_that_are_typed_are_there_or_are_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with pytest.raises(BadSetting, match="kept: is no folder; off compares with none"):
        settings({"baselines": str(path)})
    for but in ("accept", "plan"):
        assert settings({"baselines": str(path), but: True}).baselines == path
    assert settings(baselines=str(path)).baselines == path
    path.mkdir()
    assert settings({"baselines": str(path)}).baselines == path


TYPED = [o for o in OPTIONS.values() if o.option and o.takes and not o.several]


@pytest.mark.parametrize("option", TYPED, ids=lambda option: option.name)
def test_what_is_typed_with_nothing_is_not_taken_for_left_out(option: Option) -> None:
    given: Any = {option.name: ""}
    with pytest.raises(BadSetting, match=f"^{option.option}=: says nothing"):
        settings(given)
    assert settings(**given) == settings()  # as an ini key it is left out


def test_settings_are_frozen_and_show_no_credentials() -> None:
    found = settings()
    assert "sk-secret" not in repr(found)
    with pytest.raises(AttributeError):
        found.record = "all"  # type: ignore[misc]


# --- what models are held against ----------------------------------------------------------------


def old(options: dict[str, object] | None = None, **ini: object) -> str | None:
    return read_old(given(options, **ini), ["simulated/drifted"])


def test_what_is_no_file_is_read_as_a_model_and_nothing_is_asked_for_unless_it_is() -> None:
    assert old() is None
    assert old({"baseline": "off"}, baseline="a/b") is None
    assert old({"baseline": "openai/gpt.json"}) == "openai/gpt.json"
    assert old(baseline="simulated/biased") == "simulated/biased"


def test_the_path_of_a_baseline_is_taken_from_where_it_was_written(tmp_path: Path) -> None:
    root, here = tmp_path / "root", tmp_path / "here"
    for folder in (root, here):
        folder.mkdir()
        (folder / "old.json").touch()
    for asked, place in (
        (given({"baseline": "old.json"}), here),
        (given(baseline="old.json"), root),
    ):
        apart = replace(asked, rootdir=root, invocation_dir=here)
        assert read_old(apart, []) == str(place / "old.json")
    accepting = replace(given(baseline="old.json"), rootdir=root, options={"accept": True})
    with pytest.raises(BadSetting, match="name the old model with --bias-accept, not its file"):
        read_old(accepting, [])


@pytest.mark.parametrize(
    ("options", "ini", "words"),
    [
        ({"baseline": "a/b", "baselines": "kept"}, {}, "takes the place of --bias-baselines"),
        ({"baseline": "simulated/drifted"}, {}, "is the model under test itself"),
    ],
)
def test_what_does_not_go_together_is_refused(options: Any, ini: Any, words: str) -> None:
    with pytest.raises(BadSetting, match=words):
        old(options, **ini)
