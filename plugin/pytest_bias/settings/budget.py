"""The error budget of a suite: how its false alarms are divided over experiments, before data.

One TOML file, committed beside the suite. It holds for each model alone, whatever is selected.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from ..errors import BadSetting
from ..experiments.allocation import ALARMS, Allocation
from ..experiments.design import frozen_mapping

_KEYS = {"alarms", "shares"}
_OF_SHARE = {"share", "families"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A suite's table: experiment → its allocation. Without a ``path`` there is none."""

    path: Path | None = None
    shares: Mapping[str, Allocation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", frozen_mapping(self.shares))

    def of(self, experiment: str, families: Collection[str]) -> Allocation:
        """Return the allocation of an experiment whose hypotheses that gate have ``families``.

        Raises BadSetting when the table names the experiment not at all, or with other families:
        an alarm nobody gave a share would come on top of the suite's.
        """
        if self.path is None:
            return Allocation(families=tuple(sorted(families)))
        if experiment not in self.shares:
            known = ", ".join(self.shares) or "none"
            where = f'[shares."{experiment}"]'
            problem = f"there is none; the table names: {known}. Give every experiment a share"
            raise _bad(self.path, where, problem)
        found = self.shares[experiment]
        where = f'[shares."{experiment}"] families'
        if lacking := sorted({*families} - {*found.families}):
            raise _bad(self.path, where, f"lacks {_listed(lacking)}, which its hypotheses have")
        if unknown := sorted({*found.families} - {*families}):
            raise _bad(
                self.path, where, f"names {_listed(unknown)}, which no hypothesis that gates has"
            )
        return found


def read_budget(path: Path | None) -> Budget:
    """Return the table in a file; for None that of a suite without one.

    Raises BadSetting when it cannot be read, or is no such table; it says where, and what is
    expected.
    """
    if path is None:
        return Budget()
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _bad(path, "the file", f"cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # no UTF-8 or no TOML
        raise _bad(path, "not TOML", str(error)) from None
    if unknown := sorted(raw.keys() - _KEYS):
        raise _bad(path, unknown[0], "is not known here; there are alarms and [shares]")
    alarms = raw.get("alarms", ALARMS)
    if type(alarms) not in (int, float) or not 0 < alarms <= ALARMS:
        raise _bad(path, "alarms", f"must be a number above 0, at most {ALARMS:g}")
    tables = raw.get("shares")
    if not isinstance(tables, dict) or not tables:
        raise _bad(path, "[shares]", 'needs a table for each experiment: [shares."its id"]')
    shares = {name: _share(table, f'[shares."{name}"]', path) for name, table in tables.items()}
    whole = sum(share for share, _ in shares.values())
    if whole > 1:
        raise _bad(path, "[shares]", f"all shares come to {whole}, which is more than 1")
    return Budget(
        path=path,
        shares={
            name: Allocation(
                alarms=float(alarms), share=float(share), families=families, tabled=True
            )
            for name, (share, families) in shares.items()
        },
    )


def _share(table: object, where: str, path: Path) -> tuple[Fraction, tuple[str, ...]]:
    """The share and the families of one table."""
    if not isinstance(table, dict) or table.keys() != _OF_SHARE:
        raise _bad(path, where, 'needs share = "1/6" (or another share) and families = ["…"]')
    given, families = table["share"], table["families"]
    try:
        share = Fraction(str(given)) if type(given) in (str, int, float) else Fraction(0)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise _bad(path, f"{where} share", 'must be above 0 and at most 1, such as "1/6" or 0.25')
    if not isinstance(families, list) or not all(isinstance(name, str) for name in families):
        raise _bad(path, f"{where} families", "must be a list of names")
    return share, tuple(sorted(set(families)))


def _listed(names: Collection[str]) -> str:
    return ", ".join(map(repr, names))


def _bad(path: Path, where: str, problem: str) -> BadSetting:
    return BadSetting(option="bias_error_budget", value=str(path), problem=f"{where}: {problem}")
