"""Figures of a made-up study: two factors, names, three scenarios, empty cells, missing trials."""

from __future__ import annotations

import random
from typing import Any

from pytest_bias.experiments.design import Factor, Items, Trial
from pytest_bias.experiments.experiment import Experiment
from pytest_bias.experiments.figures import Heatmap, Illustration, Means
from pytest_bias.experiments.measures import MISSING, Measure
from pytest_bias.experiments.records import Records
from pytest_bias.verdicts.summaries import illustrated

from ..contrasts.designs import groups, recorded, study

GROUPS = {f"{race}_{gender}": 2 for race in ("white", "black", "hispanic", "asian")
          for gender in ("male", "female")}  # fmt: skip
HELPED = {"default": 0.6, "noir": 0.1, "utopian": 1.0}


def stories(**changes: Any) -> Experiment:
    """Eight groups × three personas over three scenarios, two names a group."""
    given: dict[str, Any] = {
        "id": "stories",
        "factors": [groups(GROUPS), Factor("persona", {"default": 0, "noir": 1, "utopian": 2})],
        "items": Items("scenario", {"wallet": 1, "team": 2, "car_accident": 3}),
        "measures": [Measure("helped", kind="flag"), Measure("hesitation", bounds=(1, 5))],
        "replicates": 3,
    }
    return study(**(given | changes))


def helped(of: Experiment) -> Records:
    """Flags: no valid reply of two groups to Noir in the team, and of others now and then."""
    rng = random.Random(7)  # noqa: S311  (made-up replies)

    def draw(trial: Trial) -> bool | None:
        persona = trial.condition.levels["persona"]
        asian = trial.condition.levels["group"].startswith("asian")
        if (persona == "noir" and trial.item == "team" and asian) or rng.random() < 0.02:
            return None
        return rng.random() < HELPED[persona]

    return recorded(of, draw, "helped", "ambiguous")


def hesitation(of: Experiment) -> Records:
    """Numbers from 1 to 5; under Noir none of one group, and of another always the same."""
    rng = random.Random(8)  # noqa: S311  (made-up replies)

    def draw(trial: Trial) -> float | None:
        levels = trial.condition.levels
        if levels["persona"] == "noir" and levels["group"] == "asian_male":
            return None
        if levels["persona"] == "noir" and levels["group"] == "white_male":
            return 2.0
        return float(min(5, max(1, round(rng.gauss(3, 1)))))

    return recorded(of, draw, "hesitation", "refusal")


def illustrations() -> tuple[Illustration, ...]:
    """Every kind of figure, sparse and crowded."""
    of = stories()
    flags, numbers = helped(of), hesitation(of)
    return (
        illustrated(Heatmap("helped", "group", "persona", by="scenario"), of, flags),
        illustrated(Heatmap("hesitation", "scenario", "group"), of, numbers),
        illustrated(Means("helped", "persona", by="scenario"), of, flags),
        illustrated(Means("hesitation", "group", by="persona"), of, numbers),
        illustrated(Means("hesitation", "scenario", by="group"), of, numbers),
    )


def missing() -> Illustration:
    """How often no valid reply came."""
    of = stories()
    return illustrated(Heatmap(MISSING, "group", "persona"), of, helped(of))
