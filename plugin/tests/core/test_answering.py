"""Which names may answer for the model that was asked for, and which are shown beside it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from pytest_bias.errors import BadSetting
from pytest_bias.settings.model_names import answered_by, answered_words, other_model
from pytest_bias.settings.roster import ModelEntry, parse_roster

from ..helpers import there

ALIAS = ModelEntry(alias=True)


@pytest.mark.parametrize(
    ("model", "served"),
    [
        ("openai/gpt-5.1-2025-11-13", "gpt-5.1-2025-11-13"),
        ("lab/Qwen/Qwen3-8B", "qwen/qwen3-8b"),
        ("google/gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("google/models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("openai/gpt-5.1", ""),
        ("anthropic/claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"),
    ],
)
def test_its_own_name_may_answer_and_so_may_nobody_who_says_nothing(
    model: str, served: str
) -> None:
    assert other_model(model, [served], ModelEntry()) is None


@pytest.mark.parametrize(
    ("model", "served"),
    [
        ("openai/gpt-5.1", "gpt-5.1-2025-11-13"),
        ("openai/gpt-4", "gpt-4-0613"),
        ("anthropic/claude-sonnet-4", "claude-sonnet-4-20250514"),
        ("google/gemini-2.0-flash", "models/gemini-2.0-flash-001"),
    ],
)
def test_a_dated_snapshot_may_answer_for_an_alias_only(model: str, served: str) -> None:
    assert other_model(model, [served], ALIAS) is None
    assert other_model(model, [served], ModelEntry()) is not None


@pytest.mark.parametrize(
    ("model", "served"),
    [
        ("openai/gpt-5.1", "gpt-4o"),
        ("openai/gpt-5.1", "gpt-5.1-mini"),
        ("openai/gpt-5.1", "gpt-5.1-mini-2025-11-13"),
        ("openai/gpt-5.1", "gpt-5.1-2025-11-13-preview"),
        ("openai/gpt-5.1", "gpt-5"),
        ("openai/gpt-5.1-2025-11-13", "gpt-5.1-2026-01-01"),
        ("google/gemini-2.5-flash", "gemini-2.5-flash-lite"),
        ("google/gemini-2.5-flash", "gemini-3.5-flash-lite"),
        ("lab/llama-3-8b", "meta-llama/llama-3-8b"),
        ("lab/meta-llama/llama-3-8b", "llama-3-8b"),
        ("lab/meta-llama/llama-3-8b", "someone/llama-3-8b"),
        ("lab/llama", "/weights/llama.gguf"),
        ("anthropic/claude-3-5-haiku-latest", "claude-3-5-sonnet-20241022"),
        ("openai/gpt-5.1", "gpt-5.1-٢٠٢٥-١١-١٣"),
    ],
)
@pytest.mark.parametrize("entry", [ModelEntry(), ALIAS])
def test_any_other_name_is_another_model(model: str, served: str, entry: ModelEntry) -> None:
    found = other_model(model, [served, model.partition("/")[2]], entry)
    assert there(found).served == (served,)


def test_the_line_to_add_is_read_as_it_is_printed() -> None:
    """In the roster's own table, with what it allowed before; whatever is in the name."""
    model, served = "lab/llama", '/weights/"ll\\ama".gguf'
    entry = ModelEntry(served=frozenset({"llama-3"}))
    found = there(other_model(model, ["other", served], entry))
    assert found.line in str(found)
    assert 'under [models."lab/llama"] in the roster' in str(found)
    text = f'[models."{model}"]\n{found.line}\n'
    assert set(tomllib.loads(text)["models"][model]["served"]) == {"llama-3", "other", served}
    allowed = parse_roster(text, Path("bias_models.toml")).entry(model)
    assert other_model(model, [served, "OTHER"], allowed) is None


@pytest.mark.parametrize("value", ['"llama"', '[""]', '[" llama"]', "[1]", '["a\\nb"]'])
def test_the_roster_takes_a_list_of_names_and_nothing_else(value: str) -> None:
    with pytest.raises(BadSetting, match="served"):
        parse_roster(f'[models."lab/llama"]\nserved = {value}\n', Path("bias_models.toml"))


def test_names_are_shown_where_any_is_not_the_one_asked_for() -> None:
    assert answered_by("openai/one", ()) == ()
    assert answered_by("openai/one", ("one",)) == ()
    assert answered_by("openai/one", ("ONE",)) == ("ONE",)
    assert answered_by("openai/one", ("one", "one-2026-01-01")) == ("one", "one-2026-01-01")
    pairs = [("openai/one", "b"), ("openai/two", "two"), ("openai/one", "a"), ("openai/one", "a")]
    assert answered_words(pairs) == ("openai/one was answered by a, b",)
