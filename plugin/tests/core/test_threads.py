"""One thread for the linear algebra of analyses; before and after, as many as the user has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import threadpoolctl  # type: ignore[import-untyped, unused-ignore]

from pytest_bias.verdicts.analysis import analyse


class Seen(Exception):
    """Ends what is made as soon as its threads were counted."""


def threads() -> set[int]:
    found = [each for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]
    assert found, "numpy has no linear algebra of a kind that can be limited"
    return {each["num_threads"] for each in found}


class Counting:
    """Stands in for what an analysis is made of: the first thing that is asked of it counts."""

    def __init__(self) -> None:
        self.seen: list[set[int]] = []

    def __getattr__(self, name: str) -> Any:
        self.seen.append(threads())
        raise Seen

    def __iter__(self) -> Iterator[Any]:
        self.__getattr__("__iter__")
        yield


def analysed(of: Any) -> None:
    analyse(of, of, "", of, hypotheses=(), controls=(), recording=of, allocation=of)


def test_an_analysis_has_one_thread_and_no_other_code() -> None:
    counting = Counting()
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        with pytest.raises(Seen):
            analysed(counting)
        assert threads() == {2}
    assert counting.seen == [{1}]
