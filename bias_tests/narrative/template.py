"""The template of narrative experiments: names in, an experiment out."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_bias import (
    NOT_SCORED,
    Agreement,
    Design,
    Experiment,
    Factor,
    Heatmap,
    Means,
    Measure,
    Parameters,
    SimulatedAnswer,
)
from pytest_bias.errors import BadDesign

from .grading import AMBIGUOUS, EXTREME, INSTANT, SCENARIOS
from .telling import CONTEXTS, PERSONAS, SHARE, tell

Names = Mapping[str, Sequence[str]]

RACES = ("white", "black", "hispanic", "asian")
GENDERS = ("male", "female")
GROUPS = tuple(f"{race}_{gender}" for race in RACES for gender in GENDERS)
"""The eight groups, in the document's order."""

ENOUGH = 24
"""Names of a group that a claim about names like these needs to be cleared within ten points."""

_OUTCOMES = [outcome.label for scenario in SCENARIOS.values() for outcome in scenario.outcomes]
_ENDINGS = ["pro_social", "anti_social"]
_WHAT = "names of a narrative experiment"

SOURCE = (
    "Experimental Design and Methodology: intersectional bias in LLM narrative generation "
    "(the documented study; situations and prompts are written for this project)"
)


def read_names(path: Path, *, fewest: int = ENOUGH) -> Names:
    """The names in a JSON file: one object, group → list of names.

    Parameters
    ----------
    path
        The file.
    fewest
        Names that every group must have; the first ones are used first.

    Raises
    ------
    BadDesign
        When the file cannot be read or holds something else, the groups are not the eight, one
        has fewer names, or a name stands twice. It says which file.
    """
    try:
        # Editors begin a file with a mark that is no part of the JSON.
        names = json.loads(path.read_text("utf-8-sig"), object_pairs_hook=_once)
    except OSError as error:
        raise _unread(path, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise _unread(path, "is not UTF-8; save it as JSON in UTF-8") from error
    except json.JSONDecodeError as error:
        raise _unread(path, f"line {error.lineno} is no JSON: {error.msg}") from error
    except BadDesign as error:
        raise _unread(path, error.problem) from error
    if not isinstance(names, dict):
        raise _unread(path, 'must hold one object: {"white_male": ["Greg", …], …}')
    for group, members in names.items():
        if not isinstance(members, list) or not all(isinstance(name, str) for name in members):
            raise _unread(path, f"{group!r} must be a list of names, each in quotes")
    try:
        check_names(names, fewest=fewest)
    except BadDesign as error:
        raise _unread(path, error.problem) from error
    return names


def check_names(names: Names, *, fewest: int) -> None:
    """Raise BadDesign unless the eight groups have ``fewest`` names each, and no name twice."""
    if odd := sorted(set(names) ^ set(GROUPS)):
        wrong = f"{odd[0]!r} is {'missing' if odd[0] in GROUPS else 'none of them'}"
        raise BadDesign(what=_WHAT, problem=f"the groups must be {', '.join(GROUPS)}, and {wrong}")
    for group, members in names.items():
        if len(members) < fewest:
            problem = f"{group} has {len(members)} names, {fewest} are needed"
            raise BadDesign(what=_WHAT, problem=problem)
        for name in members:
            if name != " ".join(name.split()) or not any(map(str.isalpha, name)):
                problem = f"{group}: {name!r} is no name, or has spaces too many"
                raise BadDesign(what=_WHAT, problem=problem)
            if not name.isprintable() or set(name) & set("[]{}<>$"):
                problem = f"{group}: {name!r} has characters that no name has; take them out"
                raise BadDesign(what=_WHAT, problem=problem)
    # A name of two groups would stand for neither. Masking takes José for Jose, and so does this.
    every = [name for members in names.values() for name in members]
    count = Counter(map(_alike, every))
    if len(count) < len(every):
        name = next(name for name in every if count[_alike(name)] > 1)
        problem = f"{name!r} stands {count[_alike(name)]} times, accents and case left aside"
        raise BadDesign(what=_WHAT, problem=problem)


def _alike(name: str) -> str:
    """A name without what does not tell people apart: case and accents."""
    apart = unicodedata.normalize("NFKD", name)
    return "".join(c for c in apart if not unicodedata.combining(c)).casefold()


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """An object whose keys stand once: of two lists for a group the first would be lost."""
    count = Counter(key for key, _ in pairs)
    if again := [key for key, times in count.items() if times > 1]:
        raise BadDesign(what=_WHAT, problem=f"the group {again[0]!r} stands twice; join its lists")
    return dict(pairs)


def _unread(path: Path, problem: str) -> BadDesign:
    return BadDesign(what=f"{_WHAT}, in {path}", problem=problem)


def narrative_experiment(
    *,
    id: str,  # noqa: A002  (the experiment's own word)
    name: str,
    names: Names,
    replicates: int,
    designs: Mapping[str, Design],
    metadata: Mapping[str, object],
    simulated: SimulatedAnswer | None = None,
) -> Experiment:
    """Make a narrative experiment: persona × group × SES × scenario, names as exemplars.

    Parameters
    ----------
    id, name, replicates, designs, metadata, simulated
        As for :class:`pytest_bias.Experiment`.
    names
        Group → the names that stand for it.

    Raises
    ------
    BadDesign
        When the groups are not the eight, or a name stands twice.
    """
    check_names(names, fewest=1)
    return Experiment(
        id=id,
        name=name,
        factors=[
            Factor("persona", PERSONAS),
            Factor(
                "group",
                {group: group.replace("_", ", ") for group in GROUPS},
                exemplars={group: names[group] for group in GROUPS},
            ),
            Factor("ses", CONTEXTS),
            Factor(
                "scenario", {label: scenario.situation for label, scenario in SCENARIOS.items()}
            ),
        ],
        protocol=tell,
        measures=[
            Measure("pro_social", meaning="whether the story ends in a pro-social outcome"),
            Measure(
                "hesitation",
                bounds=(INSTANT, EXTREME),
                meaning="how hard the protagonist struggles: instant action to extreme struggle",
            ),
            Measure(
                "outcome",
                meaning="how the story ends, by the scenario's closed set",
                categories=_OUTCOMES,
            ),
            Measure(
                "ending",
                meaning="what the outcome counts as: pro-social or anti-social",
                categories=_ENDINGS,
            ),
            Measure("words", unit="words", bounds=(1, 5000), meaning="length of the story"),
            Measure(
                "outcome_again",
                meaning="outcome by the second grade",
                categories=[*_OUTCOMES, AMBIGUOUS, NOT_SCORED],
            ),
            Measure(
                "ending_again",
                meaning="what it counts as; may be ambiguous",
                categories=[*_ENDINGS, AMBIGUOUS, NOT_SCORED],
            ),
            Measure(
                "hesitation_again",
                meaning="hesitation by the second grade",
                categories=[*map(str, range(INSTANT, EXTREME + 1)), NOT_SCORED],
            ),
        ],
        replicates=replicates,
        designs=designs,
        parameters=Parameters(temperature=1.0, max_output_tokens=2000),
        judge=Parameters(temperature=0.0, max_output_tokens=500),
        blind=("group",),
        agreements=[
            Agreement("ending", "ending_again", level="nominal", governs=["pro_social"]),
            Agreement("hesitation", "hesitation_again", level="ordinal"),
        ],
        figures=[
            Heatmap("pro_social", x="group", y="persona", by="scenario"),
            Means("hesitation", over="group"),
            Means("hesitation", over="persona", by="ses"),
        ],
        source=SOURCE,
        metadata={
            "response_type": "a story; the judge's grade is one JSON object",
            "graded_twice": SHARE,
            **metadata,
        },
        simulated=simulated,
    )
