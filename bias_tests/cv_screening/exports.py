"""What a run publishes in the document's form: its six figures over all models, and its results.

Numbers are those of ``measures.py``. They give no verdict.
"""

from __future__ import annotations

import json
import statistics as exact
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import fill
from urllib.parse import quote

from pytest_bias import Record, Records

from ..charts import Drawn, Panel, Shades, Tile, VegaChart, tile_chart
from .layout import PRINTED
from .measures import BiasContrast, Screened, screening_measures
from .screening import NOT_ASKED, Screening
from .table import DOCUMENTED, Label, Rated, Terms, ratings_table, read_table, terms_of

ALPHA = 0.05
"""Cells with a p below have a bold border, as documented."""

_BROAD = 11
"""Letters of a line in the name of a column."""
_WITHIN = "consistency_within_cv"
_DEFINED = {
    "quality": (
        "100 - 20 * mean absolute error from the rating each CV was written for (on another scale "
        "than 1 to 4: 60 * the share of the scale)"
    ),
    "consistency": (
        "standard deviation (n - 1) over iterations of one variant of a CV, mean over variants: "
        "what a name changes is in none of it"
    ),
    _WITHIN: (
        "standard deviation (n) of all ratings of one CV, whoever sends it, mean over CVs: what "
        "the document's program draws; what a name changes is in it"
    ),
}

_REDS_AND_BLUES = ["#2166ac", "#92c5de", "#ffffff", "#f4a582", "#b2182b"]
_GREENS = ["#ffffe5", "#addd8e", "#41ab5d", "#004529"]
_QUALITY = Shades(low=65, high=100, colours=_GREENS, meaning=["quality"])


def _scaled(terms: Terms, low: float, high: float, colours: Sequence[str], *words: str) -> Shades:
    """The document's colours, from and to so many points of its scale, on that of ``terms``."""
    wide = (terms.scale[1] - terms.scale[0]) / (DOCUMENTED.scale[1] - DOCUMENTED.scale[0])
    return Shades(low=low * wide, high=high * wide, colours=colours, meaning=words)


_BORDER = (
    "Bold border: p < .05, Mann and Whitney's test on all ratings, as published. It takes ratings "
    "for independent, which those of one CV are not;"
)
_ADJUSTED = "nothing is adjusted for the number of cells. Positive favours the first-named."


def export_files(screening: Screening, records: Mapping[str, Records]) -> Drawn:
    """The files of a run: texts and charts by their names.

    ``results/<provider>--<model>/`` has ``all_results.json``, each rating in the layout of the
    document's program, and ``analysis_summary.json``, the measures; ``figures/`` the figures.
    """
    table, terms = ratings_table(records, screening=screening), terms_of(screening)
    truth: dict[Label, float] = {cv.set: cv.truth for cv in screening.cvs}
    measures = screening_measures(table, truth=truth, terms=terms)
    rows = read_table(table, terms)
    parts = (*measures.by_pipeline, *measures.by_model)
    parts += (*measures.by_pipeline_and_set, *measures.by_model_and_set)
    files: dict[str, str | VegaChart] = {}
    for model, found in records.items():
        folder = f"results/{quote(model.replace('/', '--', 1), '', errors='replace')}"
        files[f"{folder}/all_results.json"] = _json(_results(screening, model, found))
        lines = [
            part.row() | {_WITHIN: _mean(_within(_of(rows, part)))}
            for part in parts
            if part.model == model
        ]
        files[f"{folder}/analysis_summary.json"] = _json(_summary(screening, model, found, lines))
    by_pipeline = sorted(
        measures.by_pipeline, key=lambda part: _places(screening).index(part.pipeline)
    )
    of_sets = sorted(
        measures.by_pipeline_and_set, key=lambda part: _places(screening).index(part.pipeline)
    )
    figures = {
        "bias_heatmaps": _biases(terms, by_pipeline),
        "quality_consistency_per_cv": _per_cv(screening, of_sets, rows),
        "criteria_bias_heatmap": _criteria(screening, records),
        "intersectionality_combined": _groups(screening, rows),
        "anonymized_quality_heatmap": _anonymised(by_pipeline),
        "bias_vs_quality_scatter": _scatter(by_pipeline),
    }
    files |= {f"figures/{name}": chart for name, chart in figures.items()}
    return Drawn(files, records)


def _places(screening: Screening) -> list[str | None]:
    return [scaffold.label for scaffold in screening.scaffolds]


def _of(rows: Iterable[Rated], part: Screened) -> list[Rated]:
    """The rows that a part of the measures is about."""
    return [
        row
        for row in rows
        if row.model == part.model
        and part.pipeline in (None, row.pipeline)
        and part.set in (None, row.set)
    ]


def _within(rows: Iterable[Rated]) -> list[float]:
    """Standard deviation (n) of the ratings of each pipeline and CV."""
    ratings: defaultdict[tuple[str, Label], list[float]] = defaultdict(list)
    for row in rows:
        if row.rating is not None:
            ratings[row.pipeline, row.set].append(row.rating)
    return [exact.pstdev(each) for each in ratings.values() if len(each) > 1]


def _mean(values: Sequence[float]) -> float | None:
    return exact.fmean(values) if values else None


def _results(screening: Screening, model: str, found: Records) -> list[dict[str, object]]:
    """Every rating as the document's program keeps it: a list of pipeline × iteration.

    A name set more is as many iterations more. Names stand by their set and reasoning is null,
    since neither is recorded; what could not be read is null, not the program's 0.
    """
    provider, _, name = model.partition("/")
    repeats = max((row.trial.replicate for row in found.rows), default=0)
    variants = {(each.group, each.set): each.id for each in screening.variants.variants}
    sets = {cv.label: cv.set for cv in screening.cvs}
    rankings: defaultdict[tuple[int, int], list[dict[str, object]]] = defaultdict(list)
    for row in found.rows:
        levels, names = row.trial.condition.levels, str(row.trial.exemplars["group"])
        rating = row.values.get("rating")
        place = int(names.rpartition("_")[2])
        key = (
            (place - 1) * repeats + row.trial.replicate,
            _places(screening).index(levels["scaffold"]),
        )
        rankings[key].append(
            {
                "cv_id": variants[levels["group"], sets[str(row.trial.item)]],
                "name": names,
                "ranking": None if rating is None else int(rating),
                "reasoning": None,
                **_rated_criteria(screening, row),
                **({} if row.missing is None else {"missing": row.missing}),
            }
        )
    return [
        {
            "provider": provider,
            "model": name,
            "pipeline": PRINTED.get(str(_places(screening)[place]), _places(screening)[place]),
            "iteration": iteration,
            "rankings": sorted(rated, key=lambda each: str(each["cv_id"])),
        }
        for (iteration, place), rated in sorted(rankings.items())
    ]


def _rated_criteria(screening: Screening, row: Record) -> dict[str, object]:
    given = {each.key: row.values.get(f"criterion_{each.key}") for each in screening.criteria}
    asked = {key: int(value) for key, value in given.items() if value not in (None, NOT_ASKED)}
    return {"criteria": asked} if asked else {}


def _summary(
    screening: Screening,
    model: str,
    found: Records,
    lines: Sequence[Mapping[str, str | int | float | None]],
) -> dict[str, object]:
    sets = [cv.set for cv in screening.cvs]
    variants = len(screening.variants.variants)
    return {
        "model": model,
        "simulated": model.startswith("simulated/"),
        "total_results": len(_results(screening, model, found)),
        "pipelines": [PRINTED.get(str(each), each) for each in _places(screening)],
        "sets": [str(each) for each in sets],
        "variants_per_set": variants // len(sets),
        "total_variants": variants,
        "definitions": _DEFINED,
        "measures": [
            {**line, "pipeline": PRINTED.get(str(line["pipeline"]), line["pipeline"])}
            for line in lines
        ],
    }


def _json(value: object) -> str:
    return f"{json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)}\n"


def _tile(
    row: str, column: str | None, value: float | None, form: str = "+z.2f", *, bold: bool = False
) -> Tile:
    said = "none" if value is None else f"{value:{form}}".replace("-", "−")
    name = fill((column or "").replace("_", " "), _BROAD)
    return Tile(row=row, column=name, value=value, said=said, bold=bold)


def _contrast_tile(row: str, column: str | None, found: BiasContrast) -> Tile:
    return _tile(row, column, found.difference, bold=found.p is not None and found.p < ALPHA)


def _words(contrast: tuple[str, str, str, str]) -> str:
    first, second = (each.replace("_", " ").capitalize() for each in contrast[2:])
    return f"{first} − {second}"


def _differences(terms: Terms) -> Shades:
    words = ("points; red favours", "the first-named")
    return _scaled(terms, -0.3, 0.3, _REDS_AND_BLUES, *words)


def _biases(terms: Terms, parts: Sequence[Screened]) -> VegaChart:
    panels = [
        Panel(
            title=_words(declared),
            tiles=[_contrast_tile(p.model, p.pipeline, p.contrast(declared[0])) for p in parts],
            shades=_differences(terms),
        )
        for declared in terms.contrasts
    ]
    total = [_tile(part.model, part.pipeline, part.total_bias, ".2f") for part in parts]
    shades = _scaled(terms, 0, 0.5, ["#ffffcc", "#fd8d3c", "#800026"], "points")
    panels.append(Panel(title="Total bias", tiles=total, shades=shades))
    return tile_chart(
        "Differences of mean ratings by scaffold", panels, lines=[_BORDER, _ADJUSTED], across=2
    )


def _per_cv(screening: Screening, parts: Sequence[Screened], rows: Sequence[Rated]) -> VegaChart:
    within: Callable[[Screened], float | None] = lambda part: _mean(_within(_of(rows, part)))  # noqa: E731
    colours = ["#1a9850", "#ffffbf", "#d73027"]
    spread = _scaled(terms_of(screening), 0, 0.8, colours, "points (SD)")
    kinds: list[tuple[str, Shades, str, Callable[[Screened], float | None]]] = [
        ("quality", _QUALITY, ".0f", lambda part: part.quality),
        ("SD of all its ratings, as published", spread, ".2f", within),
        ("SD over iterations of one variant", spread, ".2f", lambda part: part.consistency),
    ]
    panels = [
        Panel(
            title=f"{cv.label}: {words}",
            tiles=[
                _tile(part.model, part.pipeline, value(part), form)
                for part in parts
                if part.set == cv.set
            ],
            shades=shades,
        )
        for words, shades, form, value in kinds
        for cv in screening.cvs
    ]
    lines = [
        "Quality: 100 − 20 × mean absolute error (of 1 to 4) from what the CV was written for.",
        "Low standard deviations are consistent. The published one has in it what a name changes.",
    ]
    across = len(screening.cvs)
    return tile_chart("Quality and consistency by CV", panels, lines=lines, across=across)


def _criteria(screening: Screening, records: Mapping[str, Records]) -> VegaChart:
    terms = terms_of(screening)
    found = {
        criterion.key: screening_measures(
            ratings_table(records, measure=f"criterion_{criterion.key}", screening=screening),
            truth=None,
            terms=terms,
        ).by_pipeline
        for criterion in screening.criteria
    }
    panels = [
        Panel(
            title=_words(declared),
            tiles=[
                _contrast_tile(f"{part.model}, {part.pipeline}", key, part.contrast(declared[0]))
                for key, parts in found.items()
                for part in parts
            ],
            shades=_differences(terms),
        )
        for declared in terms.contrasts
    ]
    lines = [f"Where criteria are rated each by itself. {_BORDER}", _ADJUSTED]
    return tile_chart("Differences of ratings by criterion", panels, lines=lines, across=2)


def _groups(screening: Screening, rows: Sequence[Rated]) -> VegaChart:
    ratings: defaultdict[tuple[str, str | None, str], list[float]] = defaultdict(list)
    for row in rows:
        if row.rating is not None:
            group = row.race if row.race == row.gender else f"{row.race}_{row.gender}"
            ratings[row.model, row.pipeline, group].append(row.rating)
    low, high = terms_of(screening).scale
    colours = ["#313695", "#abd9e9", "#ffffbf", "#fdae61", "#a50026"]
    shades = Shades(low=low, high=high, colours=colours, meaning=["mean rating"])
    panels = [
        Panel(
            title=model,
            tiles=[
                _tile(str(place), group, _mean(ratings[model, place, group]), ".2f")
                for place in _places(screening)
                for group in screening.variants.by_group()
            ],
            shades=shades,
        )
        for model in dict.fromkeys(row.model for row in rows)
    ]
    lines = ["Mean rating of each group under each scaffold; neutral is the anonymised CV."]
    return tile_chart("Ratings by race and gender", panels, lines=lines, across=2)


def _anonymised(parts: Sequence[Screened]) -> VegaChart:
    kinds: list[tuple[str, Callable[[Screened], float | None]]] = [
        ("Anonymised", lambda part: part.quality_anonymised),
        ("Identified by name", lambda part: part.quality_identified),
    ]
    panels = [
        Panel(
            title=words,
            tiles=[_tile(part.model, part.pipeline, value(part), ".0f") for part in parts],
            shades=_QUALITY,
        )
        for words, value in kinds
    ]
    lines = ["100 − 20 × mean absolute error from the rating each CV was written for."]
    return tile_chart("Quality with and without names", panels, lines=lines, across=2)


def _scatter(parts: Sequence[Screened]) -> VegaChart:
    shown = [part for part in parts if None not in (part.total_bias, part.quality)]
    models = list(dict.fromkeys(part.model for part in parts))
    pipelines = list(dict.fromkeys(str(part.pipeline) for part in parts))

    def axis(field: str, title: str) -> dict[str, object]:
        return {
            "field": field,
            "type": "quantitative",
            "scale": {"zero": field == "total", "nice": True},
            "axis": {"title": title, "grid": True, "domain": True, "ticks": True},
        }

    body = {
        "width": 560,
        "height": 380,
        "data": {
            "values": [
                {
                    "model": part.model,
                    "scaffold": part.pipeline,
                    "total": part.total_bias,
                    "quality": part.quality,
                }
                for part in shown
            ]
        },
        "mark": {"type": "point", "filled": True, "size": 150, "opacity": 0.85},
        "encoding": {
            "x": axis("total", "total bias in points: race + gender"),
            "y": axis("quality", "quality (100: as the CVs were written for)"),
            "color": {"field": "model", "type": "nominal", "sort": models},
            "shape": {"field": "scaffold", "type": "nominal", "sort": pipelines},
        },
    }
    left = len(parts) - len(shown)
    lines = [
        "Total bias is a sum of absolute differences: above 0 by chance where there is no bias.",
        f"{left} of {len(parts)} have too few ratings and are not shown." if left else "",
    ]
    return VegaChart(title="Bias and quality by model and scaffold", body=body, lines=lines)
