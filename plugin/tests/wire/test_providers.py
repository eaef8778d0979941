from __future__ import annotations

import pytest

from pytest_bias.errors import BadSetting, UnknownName
from pytest_bias.providers.base import ProviderContext, is_simulated, split_model


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("openai/gpt-5.1", ("openai", "gpt-5.1")),
        ("simulated/even", ("simulated", "even")),
        ("openai/ft:gpt/mine", ("openai", "ft:gpt/mine")),
    ],
)
def test_names(name: str, pair: tuple[str, str]) -> None:
    assert split_model(name) == pair


@pytest.mark.parametrize("name", ["", "/", "gpt-5.1", "openai", "openai/", "/gpt", " openai/x "])
def test_bad_names(name: str) -> None:
    with pytest.raises(BadSetting, match="write it as provider/model"):
        split_model(name)


def test_unknown_providers() -> None:
    with pytest.raises(UnknownName, match="unknown provider 'opnai'; known: openai, simulated"):
        split_model("opnai/gpt")


def test_simulated_subjects_are_known_by_name() -> None:
    assert is_simulated("simulated/even")
    assert not is_simulated("openai/simulated")


def test_contexts_show_no_credentials() -> None:
    assert "sk-secret" not in repr(ProviderContext({"OPENAI_API_KEY": "sk-secret"}))
