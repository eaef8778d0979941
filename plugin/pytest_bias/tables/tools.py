"""Results of other programs as rows: the reply, who gave it, why there is none, and the rest."""

from __future__ import annotations

import io
import json
import re
import struct
import tomllib
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from ..experiments.stimuli import csv_lines
from ..settings.table_entry import Tool
from .reader import RawTable, arrow, element, json_of, read_bytes, table_of

_FILTERED = re.compile(r"content.?(?:filter|policy|management)", re.IGNORECASE)

SUFFIXES = (".json", ".jsonl", ".csv", ".eval")
"""How files of results may end."""


class _Export(NamedTuple):
    """How results are known, and where our columns stand in them; see tools.toml."""

    keys: frozenset[str]
    rows: Sequence[str]
    columns: Mapping[str, str]
    succeeds: Mapping[str, object] = {}

    def records(self, whole: Any) -> list[Any]:
        """The records of a file; none where it is of another program."""
        lists = [element(whole, place) if place else whole for place in self.rows]
        found = next((each for each in lists if isinstance(each, list) and each), [None])
        return found if isinstance(found[0], dict) and self.keys <= {*found[0]} else []

    def row(self, record: Any, whole: Any) -> dict[str, Any]:
        """The row of a record of a file."""
        of = {**record, "file": whole}
        row = {name: _first(of, places) for name, places in self.columns.items()}
        failed, limit, refused, unanswered = map(row.pop, _NO_COLUMNS, [None] * 4)
        reply, model = row["reply"], str(row.get("model"))
        wrong = [p for p, good in self.succeeds.items() if element(of, p) not in (None, good)]
        failed = failed or wrong or (unanswered if reply is None else None)
        if parts := _parts(reply):
            row["reply"] = "".join(str(part.get("text") or "") for part in parts)
        elif not isinstance(reply, str | None):
            row["reply"] = json.dumps(reply)
        if refused or any(part["type"] == "refusal" for part in parts):
            row["finish"] = "refusal"
        if failed or limit:
            filtered = _FILTERED.search(json.dumps(failed))
            reason = "content_filter" if filtered else "error" if failed else f"limit_{limit}"
            row |= {"reply": None, "finish": None, "missing": reason}
        if row.get("served") in (model, model.rpartition("/")[2]):
            del row["served"]
        if isinstance(made := row.get("collected_at"), int | float):
            row["collected_at"] = datetime.fromtimestamp(made, timezone.utc).isoformat()
        return row


_NO_COLUMNS = ("failed", "limit", "refused", "unanswered")
_TOOLS = TypeAdapter(dict[Tool, _Export]).validate_python(
    tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
)


def tool_of(path: Path) -> Tool | None:
    """The program whose results a file has, by the keys in it; None where it is none of ours."""
    try:
        whole = _whole(path.suffix.lower(), path.read_bytes())
    except (ValueError, OSError, RecursionError):
        return None
    return next((tool for tool, of in _TOOLS.items() if of.records(whole)), None)


def read_tool(path: Path, tool: Tool) -> RawTable:
    """The table of a program's results, in our columns and by dotted names in its own."""
    return read_bytes(path, {suffix: partial(_table, tool, suffix) for suffix in SUFFIXES})


def _table(tool: Tool, suffix: str, data: bytes) -> RawTable:
    """The table without what no row says; of one model all rows are, those that failed too."""
    of, whole = _TOOLS[tool], _whole(suffix, data)
    records = of.records(whole)
    rows = [of.row(each, whole) for each in (_texts(records) if tool == "lm-eval" else records)]
    said = {name for row in rows for name, value in row.items() if value is not None}
    if not said & {"reply", "missing", "finish"}:
        problem = f"no results of {tool} stand in it"
        raise ValueError(problem)
    models = {row.get("model") for row in rows} - {None}
    only = {"model": models.pop()} if len(models) == 1 else {}
    return table_of({n: v for n, v in {**row, **only}.items() if n in said} for row in rows)


def _first(record: Any, places: str) -> Any:
    """What stands at the first of places that holds something."""
    found: Any = None
    for place in places.split():
        cells = [element(record, each) for each in place.split("/")]
        found = "/".join(map(str, cells)) if cells[1:] and None not in cells else cells[0]
        if found not in (None, ""):
            break
    return found


def _parts(value: Any) -> list[Any]:
    """The parts of a reply in parts, and those of the messages among them; else none."""
    if not isinstance(value, list) or not all(isinstance(p, dict) and "type" in p for p in value):
        return []
    return [each for part in value for each in (part, *_parts(part.get("content")))]


def _whole(suffix: str, data: bytes) -> Any:
    """What stands in a file: of lines and cells a list, of an archive the object it is made of."""
    if suffix == ".eval":
        return _unpacked(data)
    text = data.decode("utf-8-sig")
    if suffix == ".csv":
        return [*_promptfoo_cells([cells for _, cells in csv_lines(text)])]
    if suffix == ".jsonl":
        return [json_of(line) for line in text.split("\n") if line.strip()]
    return json_of(text)


def _promptfoo_cells(lines: Sequence[Sequence[str]]) -> Iterator[Mapping[str, object]]:
    """Yield records of a CSV, of which a line has variables, then each output with its status."""
    header, *rest = lines or [[]]
    outputs = [place - 1 for place, name in enumerate(header) if name == "Status"]
    for number, cells in enumerate(rest):
        for place in outputs:
            model, _, prompt = header[place].removeprefix("[").partition("] ")
            failed = cells[place + 1] == "ERROR"
            yield {
                "promptIdx": place,
                "testIdx": number,
                "provider": {"id": model},
                "prompt": {"label": prompt},
                "vars": dict(zip(header[: outputs[0]], cells, strict=False)),
                "response": {"error" if failed else "output": cells[place] or failed},
            }


def _texts(records: Sequence[Any]) -> Iterator[Mapping[str, object]]:
    """Yield records of lm-eval by reply; a document has several, and them for each filter."""
    for record in records:
        if record.get("filter") == records[0].get("filter"):
            texts = [text for request in record["resps"] for text in request]
            if not all(isinstance(text, str) for text in texts):
                problem = "it holds likelihoods of options, which are no replies"
                raise ValueError(problem)
            yield from ({**record, "text": t, "number": n} for n, t in enumerate(texts))


_LIMIT, _OF_ONE = 1 << 30, 1 << 26  # bytes of an archive, and of a file in it
_OF_SAMPLES = ("id", "epoch", "output", "error", "limit", "completed_at", "uuid", "metadata")
_ZSTD = 93  # a method of zip that zipfile does not have before Python 3.14


def _unpacked(data: bytes) -> Any:
    """The log in an archive of Inspect: its header, and what is read of each sample's file.

    No more is unpacked than is allowed, since a small archive may hold more than fits into memory.
    """
    left, log, samples = _LIMIT, dict[str, Any](), []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if not info.filename.startswith(("header.json", "samples/")):
                    continue
                most = min(left, _OF_ONE)
                with _opened(archive, info, data) as stream:
                    text = stream.read(min(info.file_size, most) + 1)
                if len(text) > most:
                    problem = (
                        f"it unpacks to more than {_LIMIT:,} bytes, or one of its files to more "
                        f"than {_OF_ONE:,}; --no-log-model-api of inspect leaves out most of it"
                    )
                    raise ValueError(problem)
                left, read = left - len(text), json_of(text.decode())
                if info.filename == "header.json":
                    log = read
                else:
                    samples.append({name: read.get(name) for name in _OF_SAMPLES})
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(str(error)) from None
    return {**log, "samples": samples}


def _opened(archive: zipfile.ZipFile, info: zipfile.ZipInfo, data: bytes) -> Any:
    if info.compress_type != _ZSTD:
        return archive.open(info)
    names = data[info.header_offset + 26 : info.header_offset + 30]  # two lengths
    begin = info.header_offset + 30 + sum(struct.unpack("<HH", names.ljust(4, b"\0")))
    pa, _ = arrow()
    packed = pa.BufferReader(data[begin : begin + info.compress_size])
    return pa.CompressedInputStream(packed, "zstd")
