"""Files of data sets: Parquet, the same bytes for the same data, and the README beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from ..errors import MissingPackage
from ..tables.reader import ARROW, arrow
from .dataset import About, DataColumn, DataSet, DataValue, about_from, about_text
from .escapes import flat_markdown
from .jinja import rendered
from .published import published_facts
from .view import simulated_words

LICENCES: Mapping[str, tuple[str, str]] = {
    "CC-BY-4.0": (
        "Creative Commons Attribution 4.0 International",
        "https://creativecommons.org/licenses/by/4.0/",
    ),
    "CC0-1.0": (
        "CC0 1.0 Universal",
        "https://creativecommons.org/publicdomain/zero/1.0/",
    ),
}
"""Names and links of licences that a notice can name; of any other it gives the identifier."""

_OTHER = "other"
_ON_HUBS = frozenset({"cc-by-4.0", "cc0-1.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "mit", "apache-2.0"})
"""Licences by the names that Hugging Face's cards know them by; any other is "other" there."""

_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
"""Rows → the largest category of size that cards have for fewer."""

_STORED = {
    "category": "string, dictionary-encoded",
    "integer": "int64",
    "number": "double",
    "boolean": "boolean",
    "unknown": "null: no trial has a value",
}
ABOUT = b"pytest_bias.dataset"
"""Key of the file's metadata under which the data dictionary and the provenance stand as JSON."""


def readme_text(files: Mapping[str, About]) -> str:
    """The text of ``README.md`` for ``files``, each by its name: data sets of one experiment.

    It depends on what is said of them alone, and not on the order in which they were written.
    """
    named = dict(sorted(files.items()))
    return rendered(
        "dataset.md.j2",
        files=named,
        card={key: json.dumps(value) for key, value in _card(named).items()},
        first=next(iter(named.values())),
        simulated=sorted({each.model for each in named.values() if each.recording.simulated}),
        dictionaries=_dictionaries(named),
        stored=_STORED,
        subject=_subject,
        published_facts=published_facts,
        sources=_said(named, lambda about: flat_markdown(about.source) or "None is declared."),
        licences=_said(named, lambda about: licence_notice(about.licence)),
    )


def _card(named: Mapping[str, About]) -> Mapping[str, object]:
    """The metadata that Hugging Face reads of a card: licences, size, and a config per file."""
    rows = sum(about.trials for about in named.values())
    given = sorted({about.licence for about in named.values()})
    known = {each.lower() if each.lower() in _ON_HUBS else _OTHER for each in given}
    named_others = ", ".join(each for each in given if each.lower() not in _ON_HUBS)
    simulated = any(about.recording.simulated for about in named.values())
    return {
        "pretty_name": next(iter(named.values())).name,
        "license": sorted(known),
        **({"license_name": named_others} if named_others else {}),
        "task_categories": ["text-generation"],
        "size_categories": [next((s for n, s in _SIZES.items() if rows < n), "1M<n<10M")],
        "tags": ["bias", "evaluation", *["simulated-subjects"] * simulated],
        "configs": [
            {"config_name": name.removesuffix(".parquet"), "data_files": name} for name in named
        ],
    }


def _subject(about: About) -> str:
    if about.recording.simulated:
        return "simulated: a program"
    return "model, as others recorded it" if about.recording.published else "model"


def licence_notice(licence: str) -> str:
    """The notice of a licence, by its name and with its link where both are known."""
    if licence not in LICENCES:
        return f"This data set is licensed under `{licence}`."
    name, link = LICENCES[licence]
    return f"This data set is licensed under [{name}]({link}) (`{licence}`)."


def _dictionaries(named: Mapping[str, About]) -> list[tuple[list[str], list[DataColumn]]]:
    """A dictionary per set of columns, and its files: those of other versions may have others.

    The levels of a column are those of all these files.
    """
    groups: dict[tuple[DataColumn, ...], list[str]] = {}
    for name, about in named.items():
        groups.setdefault(tuple(replace(c, levels=()) for c in about.columns), []).append(name)
    return [
        (
            names,
            [
                _together(columns)
                for columns in zip(*(named[n].columns for n in names), strict=True)
            ],
        )
        for names in groups.values()
    ]


def _together(columns: Sequence[DataColumn]) -> DataColumn:
    levels = dict.fromkeys(level for column in columns for level in column.levels)
    return replace(columns[0], levels=tuple(levels))


def _said(named: Mapping[str, About], say: Callable[[About], str]) -> list[str]:
    """Word what holds of all files, or of which of them where it is not the same of all."""
    of: dict[str, list[str]] = {}
    for name, about in named.items():
        of.setdefault(say(about), []).append(f"`{name}`")
    return list(of) if len(of) == 1 else [f"{', '.join(of[text])}: {text}" for text in of]


def check_installed() -> None:
    """Raise MissingPackage where pyarrow is not there; looks for it without importing it."""
    if find_spec(ARROW) is None:
        raise MissingPackage(package=ARROW, extra="dataset")


def parquet_bytes(data: DataSet) -> bytes:
    """The file of a data set, uncompressed, so that everybody can search its bytes for text.

    Raises MissingPackage when pyarrow is not installed.
    """
    pa, pq = arrow()
    about = data.about
    arrays = [
        _array(pa, column, [row[place] for row in data.rows])
        for place, column in enumerate(about.columns)
    ]
    fields = [
        pa.field(column.name, array.type)
        for column, array in zip(about.columns, arrays, strict=True)
    ]
    simulated = about.recording.simulated
    metadata = {
        ABOUT: about_text(about),
        "licence": about.licence,
        "simulated": "true" if simulated else "false",
    }
    if about.recording.judge is not None:
        metadata["judge"] = about.recording.judge
    if simulated:
        metadata["notice"] = simulated_words([about.model])
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        version="2.6",
        data_page_version="1.0",
        compression="none",
        use_dictionary=True,
        write_statistics=True,
        store_schema=True,
        row_group_size=1 << 20,
    )
    written: bytes = sink.getvalue().to_pybytes()
    return written


def about_file(content: bytes) -> About | None:
    """Return the description in a file's metadata; None where it is not one of ours.

    Raises MissingPackage when pyarrow is not installed.
    """
    pa, pq = arrow()
    try:
        metadata: dict[bytes, bytes] = pq.read_schema(pa.BufferReader(content)).metadata or {}
    except (pa.ArrowException, OSError):
        return None
    return about_from(metadata[ABOUT]) if ABOUT in metadata else None


def _array(pa: Any, column: DataColumn, cells: list[DataValue]) -> Any:
    if column.kind == "category":
        places = {level: place for place, level in enumerate(column.levels)}
        indices = [None if cell is None else places[str(cell)] for cell in cells]
        return pa.DictionaryArray.from_arrays(
            pa.array(indices, pa.int32()), pa.array(column.levels, pa.string())
        )
    kinds = {
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "unknown": pa.null(),
    }
    return pa.array(cells, kinds[column.kind])
