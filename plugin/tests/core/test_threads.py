"""One thread for the linear algebra of analyses; before and after, as many as the user has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import threadpoolctl  # type: ignore[import-untyped, unused-ignore]

from pytest_bias.verdicts.analysis import analyse


def threads() -> set[int]:
    found = [each for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]
    assert found, "numpy has no linear algebra of a kind that can be limited"
    return {each["num_threads"] for each in found}


def test_an_analysis_has_one_thread_and_no_other_code() -> None:
    class Counting(SimpleNamespace):
        """Stands in for what is analysed: the first thing that is asked of it counts."""

        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(threads())

    of: Any = Counting()
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        with pytest.raises(RuntimeError) as seen:
            analyse(of, of, "", (), hypotheses=(), controls=(), recording=of, allocation=of)
        assert threads() == {2}
    assert seen.value.args == ({1},)
