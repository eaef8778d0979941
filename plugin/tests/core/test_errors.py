"""Errors word themselves, and travel between processes as they are."""

from __future__ import annotations

import copy
import pickle

import pytest

from pytest_bias import errors
from pytest_bias.errors import BadDesign, BiasError, BiasFound, IncompleteDesign, TooFewUnits

EXAMPLES = (
    BadDesign(what="Experiment('x')", problem="needs at least one factor"),
    TooFewUnits(group="demand=high", found=1, needed=5),
    IncompleteDesign(cells=["noir/black", "noir/white", "utopian/black", "utopian/white"]),
    BiasFound("anchoring × openai/m: BIASED"),
)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_can_be_pickled_and_copied(error: BiasError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301  (our own)
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_every_error_has_one_base() -> None:
    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    own = [kind for kind in kinds if kind.__module__ == errors.__name__]
    assert len(own) > 50
    assert all(issubclass(kind, BiasError) for kind in own)


def test_incomplete_designs_name_some_cells_and_count_the_rest() -> None:
    words = str(EXAMPLES[2])
    assert "noir/black, noir/white, utopian/black and 1 more" in words
    assert "incomplete design" in words
