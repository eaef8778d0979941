"""What a run publishes: the documented tables and charts, and a description beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from pytest_bias import Records, csv_text

from ..charts import Drawn
from .corpus import Corpus
from .published.aggregation import BiasTables, bias_tables, summary_csv
from .published.charts import bias_charts
from .published.comparison import pool_vs_recommended
from .published.description import (
    PositionBias,
    SelectionDescription,
    magnitudes,
    selection_description,
)
from .published.features import Feature, printed_provider
from .published.interpretation import interpretation
from .published.over_pools import CategoryDifference, FeatureDescription
from .published.rows import BiasRow
from .published.tables import PoolTrial, stacked

FOLDER = "analysis_outputs"
"""The document's folder of tables."""

SUMMARY = "pool_vs_recommended_summary.csv"
NOT_RECOMMENDED = "not_recommended_vs_recommended_summary.csv"
DETAILS = "pool_vs_recommended_details.csv"
DEFINITIONS = "definitions.txt"
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

TWO_POOLS = f"""\
Two definitions of the pool that recommended posts are compared with.

1. All available posts, those recommended among them: the document's text. {SUMMARY}, all levels of
   aggregation and all charts have it, and the columns "bias" and "p_value" of {DETAILS}.
2. The posts not recommended: the document's program. {NOT_RECOMMENDED} has it, and the columns
   "bias_not_recommended" and "p_value_not_recommended" of {DETAILS}.

Where every trial shows N posts and n of them are picked, the first difference of means is 1 - n/N
of the second (ten of a hundred: .90), because the recommended posts are in the first pool as well.
Cohen's d and Cramer's V shrink by about as much.
"""
"""Stands beside the tables."""

Cell = str | int | float | bool | None

_CONDITION = ("dataset", "provider", "prompt_style")


def providers_of(models: Iterable[str]) -> dict[str, str]:
    """Model → the provider it is printed under.

    The provider alone, as documented, where no other model of the run has the same; else the
    whole name, since two models are no one condition.
    """
    named = {model: printed_provider(model.partition("/")[0]) for model in models}
    times = Counter(named.values())
    return {model: name if times[name] == 1 else model for model, name in named.items()}


def export_files(corpora: Mapping[str, Corpus], records: Mapping[str, Records]) -> Drawn:
    """The files of a run: texts and charts by their names.

    Parameters
    ----------
    corpora
        Level of the factor ``dataset`` → its posts.
    records
        Model → the records of all its trials. Trials without valid picks are in no table: neither
        their pools nor anything in place of picks.
    """
    files, tables = tables_of(corpora, records)
    return Drawn({**files, **bias_charts(tables)}, records)


def tables_of(
    corpora: Mapping[str, Corpus], records: Mapping[str, Records]
) -> tuple[Mapping[str, str], BiasTables]:
    """The files without the charts, and the tables these are drawn from."""
    features = _features(corpora)
    providers = providers_of(records)
    rows: list[BiasRow] = []
    of_program: list[BiasRow] = []
    found = _trials(corpora, records, providers)
    descriptions: dict[tuple[str, str, str], SelectionDescription] = {}
    for (dataset, provider, style), trials in found.items():
        for of_pool, others in ((rows, False), (of_program, True)):
            pool, picks = stacked(trials, features, not_recommended=others)
            found_here = pool_vs_recommended(
                pool, picks, features, dataset=dataset, provider=provider, prompt_style=style
            )
            of_pool.extend(found_here)
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
        NOT_RECOMMENDED: summary_csv(of_program),
        DETAILS: _details(rows, of_program),
        DEFINITIONS: TWO_POOLS,
        **{
            name: _csv([asdict(cell) for cell in getattr(tables, level)])
            for name, level in TABLES.items()
        },
        DESCRIPTION: _csv(described),
        MODELS: _csv(_models(records, providers)),
    }
    return {f"{FOLDER}/{name}": text for name, text in files.items()}, tables


def _features(corpora: Mapping[str, Corpus]) -> tuple[Feature, ...]:
    declared = next(iter(corpora.values())).features
    return tuple(Feature(name, column.type) for name, column in declared.items())


def _trials(
    corpora: Mapping[str, Corpus], records: Mapping[str, Records], providers: Mapping[str, str]
) -> dict[tuple[str, str, str], list[PoolTrial]]:
    """Condition → its trials with valid picks; a condition without any is there as well."""
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
    if found.position is not None:
        lines.append(
            {
                "feature": "position",
                "kind": "place from 0 to 1; 0.5 is chance",
                **_estimated(found.position.mean, found.position),
                "pools": found.position.pools,
            }
        )
    return [{**condition, **line} for line in lines]


def _feature_lines(found: FeatureDescription, magnitude: float | None) -> list[dict[str, Cell]]:
    named: dict[str, Cell] = {"feature": found.feature, "kind": found.kind, "category": ""}
    return [
        {
            **named,
            **_estimated(found.estimate, found),
            "p_holm": found.p_holm,
            "p_bh": found.p_bh,
            "size": found.size,
            "magnitude": magnitude,
            "bergsma_v": found.bergsma_v,
            "pools": found.pools,
        },
        *(
            {**named, "category": each.category, **_estimated(each.estimate, each)}
            for each in found.categories
        ),
    ]


def _estimated(
    estimate: float | None, found: FeatureDescription | CategoryDifference | PositionBias
) -> dict[str, Cell]:
    interval = found.interval
    return {
        "estimate": estimate,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "p": found.p,
        "note": found.note,
    }


def _details(rows: Sequence[BiasRow], of_program: Sequence[BiasRow]) -> str:
    """What the documented columns leave out: what failed, counts, φ, the other pool, the words."""
    return _csv(
        [
            {
                **asdict(row),
                "significant": row.significant,
                "bias_not_recommended": other.bias,
                "p_value_not_recommended": other.p_value,
                "interpretation": interpretation(row),
            }
            for row, other in zip(rows, of_program, strict=True)
        ]
    )


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
