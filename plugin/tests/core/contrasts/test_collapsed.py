"""Cells without a variance of their own are joined: single trials, and where one has no value."""

from __future__ import annotations

import numpy as np

from pytest_bias.contrasts.cells import Cell, Grid, collapsed


def cell(level: str, style: str, item: str, name: str, *values: float, lost: int = 0) -> Cell:
    return Cell(
        labels={"tone": level, "style": style, "item": item},
        members={"tone": name},
        values=np.array(values),
        reasons={"refusal": lost} if lost else {},
    )


def grid(*cells: Cell) -> Grid:
    return Grid(cells=cells, bounds=(0.0, 1.0), flags=True)


def test_single_trials_are_joined_over_all_that_is_not_compared() -> None:
    single = grid(
        cell("high", "formal", "a", "Ann", 1.0),
        cell("high", "plain", "a", "Bob", lost=1),
        cell("high", "plain", "b", "Ann", 0.0),
        cell("low", "formal", "a", "Cem", 0.0),
        cell("low", "plain", "a", "Dan", 1.0),
    )
    found = collapsed(single, ["tone", "item"]).cells
    assert [each.name for each in found] == ["high/a", "high/b", "low/a"]
    assert [each.values.tolist() for each in found] == [[1.0], [0.0], [0.0, 1.0]]
    assert [each.missing for each in found] == [1, 0, 0]


def test_a_cell_without_a_value_joins_the_other_exemplars() -> None:
    several = grid(
        cell("high", "formal", "a", "Ann", 1.0, 0.0),
        cell("high", "formal", "a", "Bob", lost=2),
        cell("low", "formal", "a", "Cem", 0.0, 1.0),
        cell("low", "formal", "a", "Dan", 1.0, 1.0),
    )
    found = collapsed(several, ["tone", "item"]).cells
    assert [each.name for each in found] == ["high/formal/a", "low/formal/a"]
    assert [each.values.size for each in found] == [2, 4]


def test_cells_with_replies_of_their_own_stay() -> None:
    whole = grid(
        cell("high", "formal", "a", "Ann", 1.0, 0.0), cell("low", "formal", "a", "Cem", 1.0, 1.0)
    )
    assert collapsed(whole, ["tone"]) is whole
