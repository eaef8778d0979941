"""What a run publishes: the documented tables and charts, and a description beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from pytest_bias import csv_text

from .corpus import Corpus

if TYPE_CHECKING:
    from pytest_bias.experiments.records import Records
    from pytest_bias.recommendation import (
        BiasCell,
        BiasRow,
        BiasTables,
        Feature,
        FeatureDescription,
        PoolTrial,
        SelectionDescription,
    )

SUMMARY = "pool_vs_recommended_summary.csv"
DETAILS = "pool_vs_recommended_details.csv"
DESCRIPTION = "selection_description.csv"
MODELS = "models.csv"
TABLES = {
    "bias_disaggregated.csv": "disaggregated",
    "bias_by_prompt_style.csv": "by_prompt_style",
    "bias_by_dataset.csv": "by_dataset",
    "bias_by_provider.csv": "by_provider",
    "bias_overall.csv": "overall",
}
"""File → the level of aggregation it holds."""

SIMULATED = "Simulated subjects are programs: nothing here says anything about a model."
"""Stands under the title of every chart where all subjects are such."""

Cell = str | int | float | bool | None

_CONDITION = ("dataset", "provider", "prompt_style")


def providers_of(models: Iterable[str]) -> dict[str, str]:
    """Model → the provider it is printed under.

    The provider alone, as documented, where no other model of the run has the same; else the
    whole name, since two models are no one condition.
    """
    from pytest_bias.recommendation.features import printed_provider  # noqa: PLC0415  (as below)

    named = {model: printed_provider(model.partition("/")[0]) for model in models}
    times = Counter(named.values())
    return {model: name if times[name] == 1 else model for model, name in named.items()}


def export_files(
    corpora: Mapping[str, Corpus], records: Mapping[str, Records]
) -> Mapping[str, str | bytes]:
    """The files of a run: file name → contents.

    Parameters
    ----------
    corpora
        Level of the factor ``dataset`` → its posts.
    records
        Model → the records of all its trials. Trials without valid picks are in no table: neither
        their pools nor anything in place of picks.
    """
    from pytest_bias import bias_charts  # noqa: PLC0415  (slow; only who exports needs it)

    files, tables = tables_of(corpora, records)
    return {**files, **bias_charts(tables, note=note_on(providers_of(records)))}


def note_on(providers: Mapping[str, str]) -> str:
    """What a chart must say of its subjects; ``providers`` has model → its printed name."""
    simulated = [printed for model, printed in providers.items() if _is_simulated(model)]
    if not simulated or len(simulated) == len(providers):
        return SIMULATED if simulated else ""
    names = ", ".join(simulated)
    return f"Programs, not models: {names}. Means over all take them together with models."


def tables_of(
    corpora: Mapping[str, Corpus], records: Mapping[str, Records]
) -> tuple[Mapping[str, str], BiasTables]:
    """The files without the charts, and the tables these are drawn from."""
    from pytest_bias.recommendation import (  # noqa: PLC0415  (as above)
        bias_tables,
        magnitudes,
        pool_vs_recommended,
        selection_description,
        stacked,
        summary_csv,
    )

    features = _features(corpora)
    providers = providers_of(records)
    rows: list[BiasRow] = []
    found = _trials(corpora, records, providers)
    descriptions: dict[tuple[str, str, str], SelectionDescription] = {}
    for (dataset, provider, style), trials in found.items():
        pool, recommended = stacked(trials, features)
        rows += pool_vs_recommended(
            pool, recommended, features, dataset=dataset, provider=provider, prompt_style=style
        )
        if trials:
            descriptions[dataset, provider, style] = selection_description(trials, features)
    scaled = magnitudes(descriptions)
    described: list[dict[str, Cell]] = []
    for key in found:
        condition: dict[str, Cell] = dict(zip(_CONDITION, key, strict=True))
        if key in descriptions:
            described += _described(condition, descriptions[key], scaled[key])
        else:
            described.append({**condition, "note": "no trial has valid picks"})
    tables = bias_tables(rows)
    files = {
        SUMMARY: summary_csv(rows),
        DETAILS: _details(rows),
        **{name: _cells(getattr(tables, level)) for name, level in TABLES.items()},
        DESCRIPTION: _csv(described),
        MODELS: _csv(_models(records, providers)),
    }
    return files, tables


def _features(corpora: Mapping[str, Corpus]) -> tuple[Feature, ...]:
    from pytest_bias.recommendation import Feature  # noqa: PLC0415  (as above)

    declared = next(iter(corpora.values())).features
    return tuple(Feature(name, column.type) for name, column in declared.items())


def _trials(
    corpora: Mapping[str, Corpus], records: Mapping[str, Records], providers: Mapping[str, str]
) -> dict[tuple[str, str, str], list[PoolTrial]]:
    """Condition → its trials with valid picks; a condition without any is there as well."""
    from pytest_bias.recommendation import PoolTrial  # noqa: PLC0415  (as above)

    values = {
        name: {post.id: post.features for post in corpus.posts.values()}
        for name, corpus in corpora.items()
    }
    found: dict[tuple[str, str, str], list[PoolTrial]] = {}
    for model, rows in records.items():
        for row in rows.rows:
            levels = row.trial.condition.levels
            # A single corpus makes no factor.
            dataset, style = levels.get("dataset", next(iter(corpora))), levels["style"]
            trials = found.setdefault((dataset, providers[model], style), [])
            if row.missing is None:
                shown, picked = (str(row.values[name]).split() for name in ("shown", "picked"))
                trials.append(PoolTrial.of(shown, picked, values[dataset]))
    return found


def _described(
    condition: Mapping[str, Cell],
    found: SelectionDescription,
    magnitudes: Mapping[str, float | None],
) -> list[dict[str, Cell]]:
    """A line per feature, one per category, and one for the place of picks."""
    lines = [
        line for each in found.features for line in _feature_lines(each, magnitudes[each.feature])
    ]
    place = found.position
    if place is not None:
        lines.append(
            {
                "feature": "position",
                "kind": "place from 0 to 1; 0.5 is chance",
                "estimate": place.mean,
                "low": place.interval.low if place.interval else None,
                "high": place.interval.high if place.interval else None,
                "p": place.p,
                "pools": place.pools,
                "note": place.note,
            }
        )
    return [{**condition, **line} for line in lines]


def _feature_lines(found: FeatureDescription, magnitude: float | None) -> list[dict[str, Cell]]:
    line: dict[str, Cell] = {
        "feature": found.feature,
        "kind": found.kind,
        "category": "",
        "estimate": found.estimate,
        "low": found.interval.low if found.interval else None,
        "high": found.interval.high if found.interval else None,
        "p": found.p,
        "p_holm": found.p_holm,
        "p_bh": found.p_bh,
        "size": found.size,
        "magnitude": magnitude,
        "bergsma_v": found.bergsma_v,
        "pools": found.pools,
        "note": found.note,
    }
    return [
        line,
        *(
            {
                "feature": found.feature,
                "kind": found.kind,
                "category": each.category,
                "estimate": each.estimate,
                "low": each.interval.low if each.interval else None,
                "high": each.interval.high if each.interval else None,
                "p": each.p,
                "note": each.note,
            }
            for each in found.categories
        ),
    ]


def _details(rows: Sequence[BiasRow]) -> str:
    """What the documented columns leave out: what failed, counts, φ both ways, and the words."""
    from pytest_bias.recommendation import interpretation  # noqa: PLC0415  (as above)

    names = [field.name for field in fields(rows[0])]
    return _csv(
        [
            {
                **{name: getattr(row, name) for name in names},
                "significant": row.significant,
                "interpretation": interpretation(row),
            }
            for row in rows
        ]
    )


def _cells(cells: Sequence[BiasCell]) -> str:
    names = [field.name for field in fields(cells[0])]
    return _csv([{name: getattr(cell, name) for name in names} for cell in cells])


def _models(records: Mapping[str, Records], providers: Mapping[str, str]) -> list[dict[str, Cell]]:
    return [
        {
            "provider": providers[model],
            "model": model,
            "simulated": _is_simulated(model),
            "trials": len(rows.rows),
            "missing": sum(row.missing is not None for row in rows.rows),
        }
        for model, rows in records.items()
    ]


def _is_simulated(model: str) -> bool:
    return model.startswith("simulated/")


def _csv(lines: Sequence[Mapping[str, Cell]]) -> str:
    """Lines under the union of their columns, in the order in which these first come."""
    columns = dict.fromkeys(column for line in lines for column in line)
    return csv_text([list(columns), *([line.get(column) for column in columns] for line in lines)])
