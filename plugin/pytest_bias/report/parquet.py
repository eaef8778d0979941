"""Parquet files of data sets: the same bytes for the same data set and version of pyarrow."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..errors import MissingPackage
from .dataset import About, DataColumn, DataSet, DataValue, about_from, about_text
from .view import SIMULATED_WARNING

ABOUT = b"pytest_bias.dataset"
"""Key of the file's metadata under which the data dictionary and the provenance stand as JSON."""

_PACKAGE = "pyarrow"


def check_installed() -> None:
    """Raise MissingPackage where pyarrow is not there; looks for it without importing it."""
    if find_spec(_PACKAGE) is None:
        raise MissingPackage(package=_PACKAGE, extra="dataset")


def parquet_bytes(data: DataSet) -> bytes:
    """The file of a data set, uncompressed, so that everybody can search its bytes for text.

    Raises
    ------
    MissingPackage
        When pyarrow is not installed.
    """
    pa, pq = _imported(_PACKAGE), _imported(f"{_PACKAGE}.parquet")
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
    if simulated:
        metadata["notice"] = SIMULATED_WARNING.format(about.model)
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

    Raises
    ------
    MissingPackage
        When pyarrow is not installed.
    """
    pa, pq = _imported(_PACKAGE), _imported(f"{_PACKAGE}.parquet")
    try:
        metadata: dict[bytes, bytes] = pq.read_schema(pa.BufferReader(content)).metadata or {}
    except (pa.ArrowException, OSError):
        return None
    return about_from(metadata[ABOUT]) if ABOUT in metadata else None


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise MissingPackage(package=_PACKAGE, extra="dataset") from None


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
