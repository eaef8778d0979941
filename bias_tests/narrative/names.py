"""The names protagonists may have: the eight groups, and files of names of one's own."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_bias import BadDesign, Stimuli

Names = Mapping[str, Sequence[str]]

RACES = ("white", "black", "hispanic", "asian")
GENDERS = ("male", "female")
GROUPS = tuple(f"{race}_{gender}" for race in RACES for gender in GENDERS)
"""The eight groups, in the document's order."""

ENOUGH = 32
"""Names a group for claims about names like these: 29 clear ten points, a few may be lost."""


def read_names(path: Path, *, fewest: int = ENOUGH) -> Names:
    """Return the names in a JSON file: one object, group → list of names.

    Parameters
    ----------
    path
        The file.
    fewest
        Names that every group must have; the first ones are used first.

    Raises
    ------
    BadData
        When the file cannot be read or holds something else.
    BadDesign
        When the groups are not the eight, one has fewer names, or a name stands twice.
    """
    names = Stimuli(path.parent).json(path.name, dict[str, list[str]])
    check_names(names, fewest=fewest, what=f"names in {path.name}")
    return names


def check_names(names: Names, *, fewest: int, what: str = "names") -> None:
    """Raise BadDesign unless the eight groups have ``fewest`` names each, and no name twice."""
    if odd := sorted(set(names) ^ set(GROUPS)):
        wrong = f"{odd[0]!r} is {'missing' if odd[0] in GROUPS else 'none of them'}"
        raise BadDesign(what=what, problem=f"the groups must be {', '.join(GROUPS)}, and {wrong}")
    for group, members in names.items():
        if len(members) < fewest:
            problem = f"{group} has {len(members)} names, {fewest} are needed"
            raise BadDesign(what=what, problem=problem)
        for name in members:
            if name != " ".join(name.split()) or not any(map(str.isalpha, name)):
                problem = f"{group}: {name!r} is no name, or has spaces too many"
                raise BadDesign(what=what, problem=problem)
            if not name.isprintable() or set(name) & set("[]{}<>$"):
                problem = f"{group}: {name!r} has characters that no name has; take them out"
                raise BadDesign(what=what, problem=problem)
    # A name of two groups would stand for neither. Masking takes José for Jose, and so does this.
    every = [name for members in names.values() for name in members]
    count = Counter(map(_alike, every))
    if len(count) < len(every):
        name = next(name for name in every if count[_alike(name)] > 1)
        problem = f"{name!r} stands {count[_alike(name)]} times, accents and case left aside"
        raise BadDesign(what=what, problem=problem)


def _alike(name: str) -> str:
    """A name without what does not tell people apart: case and accents."""
    apart = unicodedata.normalize("NFKD", name)
    return "".join(c for c in apart if not unicodedata.combining(c)).casefold()
