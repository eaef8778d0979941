"""Results of other tools: recognised, read, declared by a command, judged as a recording is."""

from __future__ import annotations

import io
import json
import shutil
import sys
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bias import Experiment, Factor, Items, analyze
from pytest_bias.cli.commands import main
from pytest_bias.contrasts.cases import Registry
from pytest_bias.errors import MissingPackage
from pytest_bias.settings.roster import read_roster
from pytest_bias.settings.table_entry import Tool
from pytest_bias.tables.declared import Tables
from pytest_bias.tables.proposal import proposed
from pytest_bias.tables.tools import read_tool, tool_of
from pytest_bias.workbench.suite import declared_for

from ..helpers import there
from .test_table_files import said
from .test_tables import TOY

EXPORTS = Path(__file__).parent / "exports"
ROOT = Path(__file__).parents[3]
ANCHORING = "anchoring-prosecutor-sentencing-all-in-one"


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    registry: Registry = declared_for([ANCHORING], "bias_tests")[0]
    return registry[ANCHORING].experiment


ENDED = {"content_filter": 2, "refusal": 1, "truncated": 1}
UNREAD = {"refusal": 1, "not_json": 1}
OPENAI = "openai:chat:toy-1"
FILES: Mapping[str, tuple[Tool, str, Mapping[str, int]]] = {
    "promptfoo.json": ("promptfoo", OPENAI, ENDED),
    # The CSV says neither how a reply ended nor what the error was.
    "promptfoo.csv": ("promptfoo", OPENAI, {"error": 1, "no_number": 1, **UNREAD}),
    "inspect.json": ("inspect", "openai/toy-1", ENDED),
    "inspect.eval": ("inspect", "openai/toy-1", ENDED),
    "lm_eval_samples.jsonl": ("lm-eval", "lm-eval-samples", {"empty": 1, **UNREAD}),
    "deepeval.json": ("deepeval", "toy-1", {"empty": 2, **UNREAD}),
    "batch_openai.jsonl": ("batch", "toy-1-2026", {"error": 1, **ENDED}),
    "batch_responses.jsonl": ("batch", "toy-1-2026", {"refusal": 1, "truncated": 1}),
    "batch_anthropic.jsonl": ("batch", "toy-1-2026", {"error": 3, "refusal": 1, "truncated": 1}),
}


@pytest.mark.parametrize(("name", "known"), FILES.items(), ids=FILES)
def test_results_are_recognised_declared_in_five_lines_and_read(
    experiment: Experiment,
    tmp_path: Path,
    name: str,
    known: tuple[Tool, str, Mapping[str, int]],
) -> None:
    tool, model, missing = known
    shutil.copy(EXPORTS / name, tmp_path)
    assert tool_of(tmp_path / name) == tool
    table = (tmp_path / name).stem.replace("_", "-")
    proposal = proposed(name, read_tool(tmp_path / name, tool), tool, experiment, table, ())
    assert proposal.unknown == []
    assert len([line for line in proposal.lines if " = " in line]) <= 7
    roster = tmp_path / "bias_models.toml"
    roster.write_text("\n".join(proposal.lines), "utf-8")
    found = there(Tables(read_roster(roster)).named(table, experiment))
    (source,) = found.values()
    assert source.model == f"table/{model}"
    assert Counter(each.missing for each in source.outcomes if each.missing) == missing
    valid = [dict(there(each.values)) for each in source.outcomes if not each.missing]
    assert {row["prosecutor_months"] for row in valid} == {3.0, 9.0}
    number = len(source.outcomes)
    assert f"{number} of the 360 trials" in there(source.recording.published).coverage


def test_promptfoo_s_lines_are_its_results_and_the_page_shows_its_table(
    experiment: Experiment, tmp_path: Path
) -> None:
    whole = json.loads((EXPORTS / "promptfoo.json").read_text("utf-8"))
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, whole["results"]["results"])), "utf-8")
    assert tool_of(path) == "promptfoo"
    table = read_tool(EXPORTS / "promptfoo.json", "promptfoo")
    assert read_tool(path, "promptfoo").rows == table.rows
    found = proposed("promptfoo.json", table, "promptfoo", experiment, "promptfoo", ())
    page = (ROOT / "docs" / "tables.md").read_text("utf-8")
    assert "\n".join(["```toml", *found.lines, "```"]) in page


def of_none(said: Any, cues: Mapping[str, str], id_: str) -> Any:
    return {**cues, "text": said.reply, "finish": said.finish, "replicate": id_}


def of_promptfoo(said: Any, cues: Mapping[str, str], id_: str) -> Any:
    response = {"output": said.reply, "finishReason": said.finish}
    of = {"id": id_, "promptIdx": 0, "testIdx": 0, "provider": {"id": "m"}, "vars": cues}
    return {**of, "response": response}


def of_batch(said: Any, cues: Mapping[str, str], id_: str) -> Any:
    choice = {"message": {"content": said.reply}, "finish_reason": said.finish}
    response = {"body": {"model": "m", "choices": [choice]}}
    return {"id": id_, "custom_id": f"{cues['demand']}#{id_}", "response": response}


def of_inspect(said: Any, cues: Mapping[str, str], id_: str) -> Any:
    message = {"content": [{"type": "text", "text": said.reply}]}
    output = {"choices": [{"message": message, "stop_reason": said.finish}], "model": "m"}
    return {"id": id_, "epoch": 1, "output": output, "metadata": cues}


Shape = tuple[str, str, Any, Mapping[str, Any]]
SHAPES: Mapping[str, Shape] = {
    "no tool": ("simulated/messy", "%s", of_none, {"reply": "text"}),
    "no tool, biased": ("simulated/biased", "%s", of_none, {"reply": "text"}),
    "no tool, documented": ("local/smollm2", "%s", of_none, {"reply": "text"}),
    "promptfoo": (
        "simulated/messy",
        '{"results": {"results": %s}}',
        of_promptfoo,
        {"tool": "promptfoo", "columns": {"demand": "vars.demand"}},
    ),
    "batch": (
        "simulated/messy",
        "%s",
        of_batch,
        {"tool": "batch", "parts": {"custom_id": "{demand}#{}"}},
    ),
    "inspect": (
        "simulated/messy",
        '{"eval": {"model": "openai/m"}, "samples": %s}',
        of_inspect,
        {"tool": "inspect", "columns": {"demand": "metadata.demand"}},
    ),
}


@pytest.mark.parametrize(("model", "file", "row", "table"), SHAPES.values(), ids=SHAPES)
def test_the_verdict_on_a_table_is_that_on_a_recording_of_its_replies(
    tmp_path: Path, model: str, file: str, row: Any, table: Mapping[str, Any]
) -> None:
    design = "documented" if model.startswith("local/") else "gate"
    recorded, path = analyze(ANCHORING, model, design=design), tmp_path / "t.json"
    rows = [
        row(each.exchanges[-1], dict(each.trial.condition.levels), str(n))
        for n, each in enumerate(recorded.outcomes)
    ]
    path.write_text(file % json.dumps(rows), "utf-8")
    tabled = analyze(ANCHORING, path, table=table)
    told = [
        (
            [(o.trial.id, o.missing) for o in of.outcomes],
            [(v.id, v.status, v.words, v.p_adjusted) for v in of.verdicts],
            [(c.condition, c.missing, c.cut) for c in of.analysis.counts],
        )
        for of in (tabled, recorded)
    ]
    assert told[0] == told[1]
    path.write_text(file % json.dumps([*rows, *rows]), "utf-8")
    with pytest.raises(Exception, match="the same model, condition and replicate"):
        analyze(ANCHORING, path, table=table)  # exports that overlap


# --- the command ---------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("batch_openai.jsonl", "inspect.json"):
        shutil.copy(EXPORTS / name, tmp_path)
    (tmp_path / "bias_tests").symlink_to(ROOT / "bias_tests")
    monkeypatch.chdir(tmp_path)
    return tmp_path


WRITTEN = """[table.batch-openai]
path = "batch_openai.jsonl"
experiment = "anchoring-prosecutor-sentencing-all-in-one"
collected_by = "batch"
tool = "batch"
parts = { custom_id = "{demand}-{}" }
"""


def test_a_table_is_written_after_a_yes_at_a_terminal(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    roster = project / "bias_models.toml"
    command = ["import", "batch_openai.jsonl", "--experiment", ANCHORING]
    assert main(command) == 2
    said = capsys.readouterr()
    assert said.out == WRITTEN
    assert "judge it with: pytest --bias-model=table/toy-1-2026" in said.err
    assert "bias_models.toml was not written: nobody is asked here, as this is no term" in said.err
    monkeypatch.setattr(sys, "stderr", Terminal())
    for answer, status in (("n\n", 2), ("\n", 2), ("", 2), ("Yes\n", 0)):
        assert not roster.exists()
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        assert main(command) == status
    assert roster.read_text("utf-8") == WRITTEN
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert main(command) == 0
    assert roster.read_text("utf-8") == f"{WRITTEN}\n" + WRITTEN.replace("openai]", "openai-2]")


def test_another_name_of_a_model_is_allowed_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
        assert main(["import", "inspect.json", "--experiment", ANCHORING]) == 0
    roster = read_roster(project / "bias_models.toml")
    assert roster.models["table/openai/toy-1"].served == {"toy-1-2026"}
    assert list(roster.own_tables) == ["inspect", "inspect-2"]


def test_what_no_column_holds_is_named_and_nothing_is_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = project / "batch_openai.jsonl"
    path.write_text(path.read_text("utf-8").replace("low-", "mid-"), "utf-8")
    assert main(["import", path.name, "--experiment", ANCHORING]) == 2
    said = capsys.readouterr()
    assert 'tool = "batch"' in said.out
    assert said.err == (
        "pytest-bias: demand: no one column holds its labels (low, high, grave, trivial) or their "
        "values\npytest-bias: complete the table in the roster (docs/tables.md)\n"
    )
    assert not (project / "bias_models.toml").exists()


def test_a_column_stands_for_one_factor_and_what_is_called_alike_comes_first(
    tmp_path: Path,
) -> None:
    of = replace(
        TOY,
        factors=[Factor("cue", {"low": 3, "high": 9}), Factor("again", ["low", "high"])],
        items=Items("text", ["recipe", "letter"]),
    )
    rows = [
        {"custom_id": f"{item}.txt|{cue}", "response": {"body": {"status": "completed"}}}
        for item, cue in (("recipe", "low"), ("letter", "high"))
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    found = proposed("t.jsonl", read_tool(path, "batch"), "batch", of, "my table", ())
    assert found.lines == (
        '[table."my table"]',
        'path = "t.jsonl"',
        'experiment = "toy"',
        'collected_by = "batch"',
        'tool = "batch"',
        'parts = { custom_id = "{item}.txt|{cue}" }',
    )
    assert found.unknown == ["again: no one column holds its labels (low, high) or their values"]


# --- what is none --------------------------------------------------------------------------------


def archive(samples: Sequence[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as file:
        for name, text in (("header.json", b'{"eval": {"model": "m"}}'), *samples):
            file.writestr(name, text)
    return data.getvalue()


NONE = "no results of {} stand in it"
OPTIONS = b'{"doc_id": 0, "doc": {}, "resps": [[["-1.5", "False"]]]}'
BROKEN: Mapping[str, tuple[str, bytes, Tool, str]] = {
    "another tool's": ("t.json", b'{"samples": [{"epoch": 1}]}', "inspect", NONE),
    "no object": ("t.jsonl", b"[1]\n2\n", "batch", NONE),
    "no JSON": ("t.jsonl", b'{"custom_id": \n', "batch", "Expecting value"),
    "of another shape": ("t.jsonl", b'{"custom_id": "a", "response": 7}', "batch", NONE),
    "likelihoods": ("t.jsonl", OPTIONS, "lm-eval", "it holds likelihoods of options"),
    "no archive": ("t.eval", b"PK\x03\x04", "inspect", "File is not a zip file"),
    "an archive of nothing": ("t.eval", archive([]), "inspect", NONE),
}


@pytest.mark.parametrize(("name", "data", "tool", "words"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_a_tool_did_not_write(
    tmp_path: Path, name: str, data: bytes, tool: Tool, words: str
) -> None:
    (tmp_path / name).write_bytes(data)
    (line,) = said(tmp_path / name, TOY, tool=tool)
    assert line.startswith(f"the file cannot be read: {words.format(tool)}")


@pytest.mark.parametrize(("limit", "of_one"), [(2 << 20, 9 << 20), (9 << 20, 1 << 20)])
def test_an_archive_is_unpacked_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, of_one: int
) -> None:
    sample = b'{"epoch": 1, "id": "a", "output": {"error": "x"}}' + b" " * (1 << 20)
    path = tmp_path / "t.eval"
    path.write_bytes(archive([(f"samples/{n}.json", sample) for n in range(2)]))
    assert len(read_tool(path, "inspect").rows) == 2
    monkeypatch.setattr("pytest_bias.tables.tools._LIMIT", limit)
    monkeypatch.setattr("pytest_bias.tables.tools._OF_ONE", of_one)
    (line,) = said(path, TOY, tool="inspect")
    assert line.startswith(f"the file cannot be read: it unpacks to more than {limit:,} bytes, or")


def test_an_archive_of_zstandard_needs_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackage, match=r"pip install 'pytest-bias\[dataset\]'"):
        read_tool(EXPORTS / "inspect.eval", "inspect")
