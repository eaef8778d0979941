"""The evidence of an analysis, for plugins: its declarations, and a record of every trial.

Only the process that analyses has the experiment and its replies. It keeps this as JSON, and the
process that decides reads it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..baselines.fingerprints import fingerprint_of
from ..contrasts.cases import Case
from ..experiments.canonical import plain
from ..experiments.design import Condition, Design, Factor, Items, Trial
from ..experiments.experiment import Experiment
from ..experiments.measures import FORMAT_KEPT, Measure
from ..experiments.records import Record, Records

if TYPE_CHECKING:
    from ..experiments.protocol import Subject
    from .project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence that the analysis of an experiment with a model rests on.

    Attributes
    ----------
    experiment
        The experiment's names, factors, items and measures. A level's value is its label, and the
        functions are left out: it can be analysed, and cannot be carried out.
    model
        The model, as ``provider/model``.
    design
        The size of the run.
    hypotheses
        Id of each hypothesis → its declaration as JSON: ``family``, ``title``, ``why`` (of the
        margin) and ``fingerprint``, which is all that its verdict depends on besides the replies.
    records
        A row for each planned trial, those at control levels and control items among them.
    recorded
        When the oldest and the newest reply were recorded (ISO 8601); empty where nobody knows.
    file_sha256
        SHA-256 of the file of replies.
    module
        Path of the module that declares the hypotheses; empty where it is in no file.
    """

    experiment: Experiment
    model: str
    design: Design
    hypotheses: Mapping[str, Mapping[str, object]]
    records: Records = field(repr=False)
    recorded: tuple[str, ...]
    file_sha256: str
    module: str


def evidence_value(project: Project, case: Case) -> Mapping[str, object]:
    """The evidence of a case's experiment and model as JSON; :func:`evidence_from` reads it.

    Raises NotRecorded where a trial is not recorded.
    """
    of, design, registered = case.experiment, case.design, project.registry[case.experiment.id]
    source = project.recordings.source_of(case)
    outcomes, rows = source.outcomes_of(design), project.records(case).rows
    players = source.players
    asked, sampled = of.judged_by(players), of.terms(players)["subject"]
    conditions = {row.trial.condition.id: row.trial.condition for row in rows}
    places = {name: place for place, name in enumerate(conditions)}
    dates = sorted(at for each in outcomes for e in each.exchanges if (at := e.recorded_at))
    value = {
        "experiment": {"id": of.id, "name": of.name, "source": of.source},
        "factors": [
            {
                "name": each.name,
                "levels": [*each.levels],
                "unit": each.unit,
                "exemplars": each.exemplars,
                "controls": [*each.controls],
            }
            for each in of.factors
        ],
        "items": of.items
        and {"name": of.items.name, "items": [*of.items.items], "controls": [*of.items.controls]},
        "measures": [
            {"name": each.name, "unit": each.unit, "bounds": each.bounds, "kind": each.kind}
            for each in of.measures
            if each.name != FORMAT_KEPT
        ],
        "model": case.model,
        "design": design,
        "hypotheses": {
            each.id: {
                "family": each.family,
                "title": each.title,
                "why": each.why,
                "fingerprint": fingerprint_of(of, design, each, asked, sampled=sampled),
            }
            for each in registered.hypotheses.values()
        },
        "conditions": [each.levels for each in conditions.values()],
        "rows": [
            [
                places[row.trial.condition.id],
                row.trial.exemplars,
                row.trial.item,
                row.trial.replicate,
                row.values,
                row.missing,
            ]
            for row in rows
        ],
        "recorded": [dates[0], dates[-1]] if dates else [],
        "file_sha256": source.file_checksum,
        "module": getattr(sys.modules.get(registered.module or ""), "__file__", None) or "",
    }
    found = plain(value, "evidence")
    assert isinstance(found, dict)  # noqa: S101  (as it was a mapping)
    return found


async def _carried_out_before(trial: Trial, subject: Subject) -> object:
    message = "an experiment of evidence cannot be carried out"
    raise NotImplementedError(message)


def evidence_from(value: Mapping[str, Any]) -> Evidence:
    """The evidence that :func:`evidence_value` made JSON of."""
    items, conditions = value["items"], [Condition(each, each) for each in value["conditions"]]
    design = Design(**value["design"])
    return Evidence(
        experiment=Experiment(
            **value["experiment"],
            factors=[Factor(**each) for each in value["factors"]],
            protocol=_carried_out_before,
            measures=[Measure(**each) for each in value["measures"]],
            replicates=design.replicates,
            items=items and Items(**items),
        ),
        model=value["model"],
        design=design,
        hypotheses=value["hypotheses"],
        records=Records(
            tuple(
                Record(Trial(conditions[place], exemplars, item, item, replicate), values, missing)
                for place, exemplars, item, replicate, values, missing in value["rows"]
            )
        ),
        recorded=tuple(value["recorded"]),
        file_sha256=value["file_sha256"],
        module=value["module"],
    )
