"""An upgrade on the page: every hypothesis before and now, and what drifted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..baselines.table import (
    Upgrade,
    UpgradeRow,
    bound_words,
    counts_words,
    difference_words,
    drifted_value,
    notes_words,
    shipping_words,
)
from ..contrasts.findings import Compared
from ..verdicts.drift import Drift
from .numbers import unbroken

_NONE = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPage:
    """One hypothesis; ``anchor`` is where the page tells of it, empty where it does not."""

    row: UpgradeRow
    anchor: str
    title: str
    tone: str
    held: str
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftPage:
    """One quantity of an experiment, before and now."""

    experiment: str
    new: str
    what: str
    old: str
    now: str
    difference: str
    cells: int
    marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePage:
    """The section: the table, what stops the upgrade first, and the drift."""

    upgrade: Upgrade
    title: str
    verdict: str
    counts: str
    notes: tuple[str, ...]
    rows: tuple[RowPage, ...]
    drift: tuple[DriftPage, ...]

    @property
    def several(self) -> bool:
        """Return whether more than one model was held against the old one."""
        return len(self.upgrade.new) > 1

    @property
    def apart(self) -> tuple[RowPage, ...]:
        """The rows that are not as before."""
        return tuple(each for each in self.rows if each.row.outcome != "as before")

    @property
    def same(self) -> tuple[RowPage, ...]:
        """The rows that are."""
        return tuple(each for each in self.rows if each.row.outcome == "as before")


def upgrade_page(
    upgrade: Upgrade | None, anchors: Mapping[tuple[str, str, str], str], but: str = ""
) -> UpgradePage | None:
    """The section of an upgrade; ``anchors`` are by experiment, model and hypothesis.

    ``but`` says what keeps the upgrade from passing beside its rows.
    """
    if upgrade is None:
        return None
    return UpgradePage(
        upgrade=upgrade,
        title=f"{', '.join(upgrade.new)} compared with {upgrade.held_against}",
        verdict=f"{shipping_words(upgrade, but)}.",
        counts=counts_words(upgrade),
        notes=notes_words(upgrade),
        rows=tuple(_row(row, anchors) for row in upgrade.rows),
        drift=tuple(page for drift in upgrade.drift for page in _drift(drift)),
    )


def _row(row: UpgradeRow, anchors: Mapping[tuple[str, str, str], str]) -> RowPage:
    return RowPage(
        row=row,
        anchor=anchors.get((row.experiment, row.model, row.hypothesis), ""),
        title=row.title or (f"{row.measure}: {row.contrast}" if row.measure else row.hypothesis),
        tone=_tone(row),
        held=_held(row.compared),
        bound=_bound(row),
    )


def _tone(row: UpgradeRow) -> str:
    """The colour of an outcome: what stops the upgrade, what is known, what is well."""
    if row.fails:
        return "biased"
    return "inconclusive" if row.outcome in ("known", "worse", "new", "expired") else "clear"


def _held(compared: Compared | None) -> str:
    if compared is None:
        return _NONE
    return f"{compared.how}{f', {compared.units} units' if compared.units else ''}"


def _bound(row: UpgradeRow) -> str:
    bound, margin = (text.replace("a factor of ", "× ") for text in bound_words(row))
    if row.scale == "ratio":
        margin = f"× {margin}"
    return f"{unbroken(bound)} of {unbroken(margin)}" if bound else _NONE


def _drift(drift: Drift) -> Iterator[DriftPage]:
    for each in drift.quantities:
        yield DriftPage(
            experiment=drift.experiment,
            new=drift.new,
            what=each.what if each.unit.startswith("share") else each.unit,
            old=unbroken(drifted_value(each, each.old)),
            now=unbroken(drifted_value(each, each.new)),
            difference=unbroken(difference_words(each)),
            cells=each.cells,
            marked=each.marked,
        )
