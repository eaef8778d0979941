"""Results of other programs as rows: the reply, who gave it, why there is none, and the rest."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from ..experiments.stimuli import csv_lines
from ..settings.table_entry import Tool
from .reader import RawTable, arrow, element, json_of, read_bytes, table_of

Rows = Iterator[Mapping[str, object]]
_FILTERED = re.compile(r"content.?(?:filter|policy|management)", re.IGNORECASE)


SUFFIXES = (".json", ".jsonl", ".csv", ".eval")
"""How files of results may end."""


def tool_of(path: Path) -> Tool | None:
    """The program whose results a file has, by the keys in it; None where it is none of ours."""
    try:
        whole = _whole(path.suffix.lower(), path.read_bytes())
    except (ValueError, OSError, RecursionError):
        return None
    return next((tool for tool, of in _TOOLS.items() if of.records(whole)), None)


def read_tool(path: Path, tool: Tool) -> RawTable:
    """The table of a program's results, in our columns and by dotted names in its own."""

    def read(suffix: str) -> Callable[[bytes], RawTable]:
        return lambda data: table_of(_told([*_TOOLS[tool].rows(_whole(suffix, data), tool)]))

    return read_bytes(path, {suffix: read(suffix) for suffix in SUFFIXES})


def _told(rows: Sequence[Mapping[str, object]]) -> Rows:
    """Yield rows without what none of them says; of one model all are, those that failed too."""
    models = {row.get("model") for row in rows} - {None}
    only = models.pop() if len(models) == 1 else None
    said = {name for row in rows for name, value in row.items() if value is not None}
    for row in rows:
        whole = {**row, "model": row.get("model") or only}
        yield {name: value for name, value in whole.items() if name in said}


class _Export(NamedTuple):
    """How results are known: ``keys`` of each record, in lists at ``places`` of an object."""

    keys: frozenset[str]
    places: Sequence[str]
    row: Callable[[Mapping[str, Any], Any], Rows]

    def records(self, whole: Any) -> list[Any]:
        """The records of a file; none where it is of another program."""
        lists = [element(whole, place) if place else whole for place in self.places]
        found = next((each for each in lists if isinstance(each, list) and each), [None])
        return found if isinstance(found[0], dict) and self.keys <= {*found[0]} else []

    def rows(self, whole: Any, tool: str) -> Rows:
        """Yield the rows of all records; ValueError where the file is of another program."""
        if not (records := self.records(whole)):
            problem = f"no results of {tool} stand in it"
            raise ValueError(problem)
        for record in records:
            try:
                yield from self.row(record, whole)
            except (TypeError, KeyError, AttributeError, IndexError) as error:
                problem = f"a result is not as {tool} writes it ({type(error).__name__}: {error})"
                raise ValueError(problem) from None


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


def _promptfoo_cells(lines: Sequence[Sequence[str]]) -> Rows:
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


def _promptfoo(record: Mapping[str, Any], _: object) -> Rows:
    response = record.get("response") or {}
    output, failed = response.get("output"), response.get("error")
    if output is None:
        failed = failed or record.get("error") or "no output"
    yield {
        "reply": None if failed else _text(output),
        "finish": None if failed else response.get("finishReason"),
        "missing": _reason(failed),
        "model": record["provider"].get("label") or record["provider"]["id"],
        "replicate": record.get("id"),
        "prompt": element(record, "prompt.label"),
        "vars": record.get("vars"),
        "metadata": element(record, "testCase.metadata"),
    }


def _inspect(sample: Mapping[str, Any], log: Any) -> Rows:
    output, model = sample.get("output") or {}, str(log["eval"]["model"])
    (choice, *_) = output.get("choices") or [{}]
    failed, limit = sample.get("error") or output.get("error"), sample.get("limit")
    missing = _reason(failed) or (f"limit_{limit['type']}" if limit else None)
    served = output.get("model")
    yield {
        "reply": None if missing else _text(element(choice, "message.content")),
        "finish": None if missing else choice.get("stop_reason"),
        "missing": missing,
        "model": model,
        "served": None if served in (model, model.rpartition("/")[2]) else served,
        "collected_at": sample.get("completed_at"),
        "replicate": sample.get("uuid") or f"{sample['id']}/{sample['epoch']}",
        "id": sample["id"],
        "metadata": sample.get("metadata"),
    }


def _batch(record: Mapping[str, Any], _: object) -> Rows:
    """OpenAI's and vLLM's batches have a ``response``, Anthropic's a ``result``."""
    response, result = record.get("response") or {}, record.get("result") or {}
    body = response.get("body") or result.get("message") or {}
    failed = record.get("error") or body.get("error")
    if (
        response.get("status_code", HTTPStatus.OK) != HTTPStatus.OK
        or result.get("type", "succeeded") != "succeeded"
    ):
        failed = failed or result.get("error") or result.get("type") or "no response"
    (choice, *_) = body.get("choices") or [{}]
    message = choice.get("message") or {}
    parts = [p for each in body.get("output") or () for p in each.get("content") or ()]
    refused = message.get("refusal") or any(part["type"] == "refusal" for part in parts)
    finish = choice.get("finish_reason") or body.get("stop_reason")
    finish = finish or element(body, "incomplete_details.reason") or body.get("status")
    text = message.get("content") or parts or body.get("content")
    made = body.get("created") or body.get("created_at")
    yield {
        "reply": None if failed else _text(text),
        "finish": None if failed else "refusal" if refused else finish,
        "missing": _reason(failed),
        "model": body.get("model"),
        "collected_at": made and datetime.fromtimestamp(made, timezone.utc).isoformat(),
        "replicate": record.get("id") or record["custom_id"],
        "custom_id": record["custom_id"],
    }


def _lm_eval(record: Mapping[str, Any], records: Any) -> Rows:
    """A record has the replies of a document, again for each filter."""
    if record.get("filter") != records[0].get("filter"):
        return
    for number, text in enumerate(text for request in record["resps"] for text in request):
        if not isinstance(text, str):
            problem = "it holds likelihoods of options, which are no replies"
            raise ValueError(problem)  # noqa: TRY004  (what is wrong with a file)
        yield {"reply": text, "replicate": f"{record['doc_id']}/{number}", "doc": record["doc"]}


def _deepeval(case: Mapping[str, Any], run: Any) -> Rows:
    run = run.get("testRunData", run)
    yield {
        "reply": case["actualOutput"],
        "model": element(run, "hyperparameters.model"),
        "replicate": case.get("order"),
        "name": case.get("name"),
        "metadata": case.get("metadata") or case.get("additionalMetadata"),
    }


_TOOLS: Mapping[Tool, _Export] = {
    "promptfoo": _Export(frozenset({"promptIdx", "testIdx"}), ("results.results", ""), _promptfoo),
    "inspect": _Export(frozenset({"epoch", "output"}), ("samples",), _inspect),
    "batch": _Export(frozenset({"custom_id"}), ("",), _batch),
    "lm-eval": _Export(frozenset({"doc_id", "resps"}), ("",), _lm_eval),
    "deepeval": _Export(
        frozenset({"actualOutput"}), ("testCases", "testRunData.testCases"), _deepeval
    ),
}


def _text(value: object) -> str | None:
    """The text of a reply: of parts those that are text, of what is no text its JSON."""
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "".join(str(part.get("text") or "") for part in value)
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _reason(failed: object) -> str | None:
    """Why there is no reply; None where nothing failed."""
    if not failed:
        return None
    return "content_filter" if _FILTERED.search(json.dumps(failed)) else "error"


_PIECE = 1 << 20
_LIMIT, _OF_ONE = 1 << 30, 1 << 26  # bytes of an archive, and of a file in it
_OF_SAMPLES = ("id", "epoch", "output", "error", "limit", "completed_at", "uuid", "metadata")
_ZSTD = 93  # a method of zip that zipfile does not have before Python 3.14


def _unpacked(data: bytes) -> Any:
    """The log in an archive of Inspect: its header, and what is read of each sample's file.

    It is unpacked in pieces, since a small archive may hold more than fits into memory.
    """
    left, header, samples = _LIMIT, {}, []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                is_header = info.filename == "header.json"
                if not (is_header or info.filename.startswith("samples/")):
                    continue
                pieces, size = [], 0
                with _opened(archive, info, data) as stream:
                    while piece := stream.read(_PIECE):
                        pieces.append(piece)
                        size, left = size + len(piece), left - len(piece)
                        if left < 0 or size > _OF_ONE:
                            problem = f"it unpacks to more than {_LIMIT:,} bytes, or one of its "
                            problem += f"files to more than {_OF_ONE:,}; --no-log-model-api of "
                            problem += "inspect leaves out most of it"
                            raise ValueError(problem)
                read = json_of(b"".join(pieces).decode())
                if is_header:
                    header = read
                else:
                    samples.append({name: read.get(name) for name in _OF_SAMPLES})
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(str(error)) from None
    return {**header, "samples": samples}


def _opened(archive: zipfile.ZipFile, info: zipfile.ZipInfo, data: bytes) -> Any:
    if info.compress_type != _ZSTD:
        return archive.open(info)
    names = data[info.header_offset + 26 : info.header_offset + 30]  # two lengths
    begin = info.header_offset + 30 + sum(struct.unpack("<HH", names.ljust(4, b"\0")))
    pa, _ = arrow()
    packed = pa.BufferReader(data[begin : begin + info.compress_size])
    return pa.CompressedInputStream(packed, "zstd")
