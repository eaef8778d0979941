from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.cassettes import format as cassette_format
from pytest_bias.cassettes.files import write_atomically
from pytest_bias.cassettes.format import (
    Header,
    Provenance,
    combined,
    decode_interaction,
    encode_interaction,
    encoded,
    with_sum,
    without_sum,
)
from pytest_bias.cassettes.maintenance import convert
from pytest_bias.cassettes.recorder import Recorder, recording_lock
from pytest_bias.cassettes.store import (
    JOURNAL_SUFFIX,
    Cassette,
    cassette_path,
    cassettes_in,
    write_cassette,
)
from pytest_bias.errors import NEWER, DamagedCassette, FileProblem
from pytest_bias.experiments.canonical import digest
from pytest_bias.experiments.experiment import plan
from pytest_bias.experiments.messages import Place, Request
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.replay import Unrecorded
from pytest_bias.settings.model_names import file_stem

from .factories import (
    MODEL,
    PROVENANCE,
    Score,
    Taker,
    always_five,
    ask_twice,
    experiment,
    interrupt,
    outcomes_of,
    record,
)

texts = st.text(st.characters(codec=None))


SMALL = experiment(ask_twice, replicates=1)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("cassettes"), SMALL)


@pytest.fixture
def cassette(recorded: Path, tmp_path: Path) -> Path:
    """A copy of a small cassette, to be damaged."""
    path = cassette_path(tmp_path, SMALL.id, MODEL)
    path.parent.mkdir(parents=True)
    shutil.copy(recorded, path)
    return path


@given(said=texts, latency=st.floats(0, 1e6))
def test_interactions_come_back(recorded: Path, said: str, latency: float) -> None:
    interaction = next(Cassette(recorded).interactions())
    completion = replace(
        interaction.completion,
        text=said,
        served_model=said,
        latency=latency,
        body={said: [said, 1.5]},
    )
    trial = {**interaction.trial, "item": said}
    interaction = replace(interaction, key=digest(said), trial=trial, completion=completion)
    line = encode_interaction(interaction)
    assert decode_interaction(line, "x", 1) == interaction
    assert cassette_format.key_of(line) == interaction.key
    assert b"\n" not in line
    assert line.isascii()


MODELS = [
    "openai/gpt-5.1",
    "openrouter/meta/llama-3",
    "openrouter/meta_llama-3",
    "openrouter/meta:llama-3",
    "openrouter/meta%3Allama-3",
    "x/../../etc",
    "x/été",
    "x/a b",
    "x/\ud800",
]


def test_every_model_has_a_file_of_its_own_below_its_experiment() -> None:
    path = cassette_path(Path("cassettes"), "tiny", "openai/gpt-5.1")
    assert path == Path("cassettes/tiny/openai--gpt-5.1.jsonl")
    stems = [file_stem(model) for model in MODELS]
    assert len(set(stems)) == len(MODELS)
    for stem in stems:
        assert stem.isascii()
        assert not set(stem) & set("/\\:*? \0")


def test_what_is_recorded_is_replayed(recorded: Path) -> None:
    outcomes = outcomes_of(SMALL, recorded)
    assert [outcome.result for outcome in outcomes] == [Score(score=5)] * 2
    cassette = Cassette(recorded)
    assert len(cassette) == 4
    assert cassette.exists
    assert cassette.interrupted == 0
    assert cassette.header == Header(SMALL.id, MODEL)
    assert cassette.provenances == [PROVENANCE]
    assert not recorded.with_name(recorded.name + JOURNAL_SUFFIX).exists()


def test_it_is_json_lines_with_texts_once_and_in_order(recorded: Path) -> None:
    lines = [json.loads(line) for line in recorded.read_bytes().splitlines()]
    assert [[*line] for line in lines[:2]] == [
        ["format", "experiment", "model", "sum"],
        ["provenance", "sum"],
    ]
    text_lines, rest = lines[2:6], lines[6:]
    assert sorted(line["value"] for line in text_lines) == [
        "Be brief.",
        "Now rate.",
        "What of Ada?",
        "What of Bob?",
    ]
    assert [(line["trial"]["condition"]["group"], line["place"]) for line in rest] == [
        ("a", [[], 1, 1]),
        ("a", [[], 2, 1]),
        ("b", [[], 1, 1]),
        ("b", [[], 2, 1]),
    ]
    assert rest[0]["reply"]["body"] == {"choices": [{"message": {"content": "turn 1"}}]}


def test_the_bytes_do_not_depend_on_the_order_of_recording(recorded: Path, tmp_path: Path) -> None:
    trials = plan(SMALL, SMALL.design())[::-1]
    other = record(tmp_path, SMALL, trials=trials)
    assert other.read_bytes() == recorded.read_bytes()
    write_cassette(Cassette(other))
    assert other.read_bytes() == recorded.read_bytes()


def damage(path: Path) -> DamagedCassette:
    with pytest.raises(DamagedCassette) as caught:
        Cassette(path)
    assert str(path) in str(caught.value)
    assert f"line {caught.value.line}: " in str(caught.value)
    return caught.value


def line_of(data: bytes, position: int) -> int:
    return data[:position].count(b"\n") + 1


def spots(data: bytes) -> list[int]:
    """Where to damage it: at every seventh byte, and all around line ends."""
    around = {n + beside for n, byte in enumerate(data) if byte == 10 for beside in (-1, 0, 1)}
    return sorted({*range(0, len(data), 7), *around} - {len(data)})


def test_truncation_within_a_line_is_damage_and_between_lines_a_missing_trial(
    cassette: Path,
) -> None:
    data = cassette.read_bytes()
    head = data.index(b"\n", data.index(b'{"provenance"'))
    for length in spots(data[:-2]):  # without its last line feed it lacks nothing
        cassette.write_bytes(data[:length])
        if data[:length].endswith(b"\n") or data[length : length + 1] == b"\n":
            if length >= head:
                with pytest.raises(Unrecorded):
                    outcomes_of(SMALL, cassette)
        else:
            assert damage(cassette).line == line_of(data, length)


def edited(path: Path, change: Any) -> int:
    lines = path.read_bytes().splitlines(keepends=True)
    change(lines)
    path.write_bytes(b"".join(lines))
    return damage(path).line


def replaced(number: int, old: bytes, new: bytes) -> Any:
    def change(lines: list[bytes]) -> None:
        assert old in lines[number - 1]
        lines[number - 1] = lines[number - 1].replace(old, new)

    return change


EDITS = {
    "the provenance removed": (lambda lines: lines.pop(1), 2),
    "the header removed": (lambda lines: lines.pop(0), 1),
    "another line between": (lambda lines: lines.insert(3, b"<<<<<<< HEAD\n"), 4),
    "a line of a journal": (lambda lines: lines.insert(1, encoded({"scope": ["a#1"]}) + b"\n"), 2),
    "an empty line between": (lambda lines: lines.insert(3, b"\n"), 4),
    "a line end too many": (replaced(6, b"\n", b"\r\r\n"), 6),
}


@pytest.mark.parametrize(("change", "line"), EDITS.values(), ids=EDITS)
def test_edits_are_damage(cassette: Path, change: Any, line: int) -> None:
    assert edited(cassette, change) == line


@pytest.mark.parametrize("version", [0, 1, 3, 99, None, "2"], ids=repr)
def test_another_format_version_is_named(cassette: Path, version: object) -> None:
    lines = cassette.read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])
    del header["sum"]
    header["format"] = version
    lines[0] = with_sum(json.dumps(header).encode()) + b"\n"
    cassette.write_bytes(b"".join(lines))
    said = str(damage(cassette))
    assert f"format version {version!r} is not 2" in said
    hints = {1: "pytest-bias cassettes convert", 3: NEWER, 99: NEWER}
    assert hints.get(version, "Restore the file") in said  # type: ignore[call-overload]


def test_a_cassette_in_anothers_place_is_refused(cassette: Path) -> None:
    for path in (
        cassette_path(cassette.parents[1], SMALL.id, "openai/other"),
        cassette_path(cassette.parents[1], "other", MODEL),
    ):
        path.parent.mkdir(exist_ok=True)
        shutil.copy(cassette, path)
        error = damage(path)
        assert error.line == 1
        assert "recordings of tiny with openai/tiny and belongs at tiny/openai--tiny" in str(error)


OTHER_TYPES: dict[str, tuple[int, str, object]] = {
    "no experiment": (1, "experiment", None),
    "a number for a text": (3, "value", 5),
    "no reply": (7, "reply", None),
    "a number for a time": (7, "recorded_at", 5),
    "a number for a parameter": (7, "dropped", [5]),
}


@pytest.mark.parametrize(("number", "name", "value"), OTHER_TYPES.values(), ids=OTHER_TYPES)
def test_a_value_of_another_type_is_damage_though_its_checksums_are_right(
    cassette: Path, number: int, name: str, value: object
) -> None:
    lines = [json.loads(line) for line in cassette.read_bytes().splitlines()]
    at = lines[number - 1]
    within = at.get("reply", at.get("provenance", {}))
    (within if name in within or name == "dropped" else at)[name] = value
    for each in lines:
        del each["sum"]
    cassette.write_bytes(b"".join(encoded(each) + b"\n" for each in lines))
    with pytest.raises(DamagedCassette):
        list(Cassette(cassette).interactions() if number != 3 else Cassette(cassette).texts())


def test_lines_of_both_sides_of_a_merge_are_one_recording(tmp_path: Path, recorded: Path) -> None:
    one, two = plan(SMALL, SMALL.design())
    sides = [record(tmp_path / trial.id, SMALL, trials=[trial]) for trial in (one, two)]
    base = tmp_path / "base"
    base.write_bytes(b"")
    merge = ("git", "merge-file", "-p", "--union", sides[0], base, sides[1])
    merged = subprocess.run(merge, capture_output=True, check=True).stdout  # noqa: S603
    sides[0].write_bytes(merged)
    assert outcomes_of(SMALL, sides[0]) == outcomes_of(SMALL, recorded)
    write_cassette(Cassette(sides[0]))
    assert sides[0].read_bytes() == recorded.read_bytes()


def test_a_kind_of_line_that_is_not_known_is_refused_and_not_skipped(cassette: Path) -> None:
    line = encoded({"distribution": "aa"})
    cassette.write_bytes(cassette.read_bytes() + line + b"\n")
    assert NEWER in str(damage(cassette))


def test_an_older_cassette_is_converted_with_all_its_replies(
    recorded: Path, cassette: Path
) -> None:
    header, provenance, *lines = recorded.read_bytes().splitlines()
    texts = [line for line in lines if line.startswith(b'{"text"')]
    body = [*(without_sum(line) or b"" for line in texts), *lines[len(texts) :]]
    old = {"format": 1, "experiment": SMALL.id, "model": MODEL, **json.loads(provenance)}
    del old["sum"]
    old |= {"lines": len(body), "checksum": digest(b"".join(line + b"\n" for line in body))}
    before = b"".join(line + b"\n" for line in (encoded(old), *body))
    journal = journal_of(cassette)
    journal.write_bytes(b"".join(line + b"\n" for line in (provenance, *body[:1], lines[-1])))
    cassette.write_bytes(before.replace(b"made by hand", b"made by me", 1))
    with pytest.raises(DamagedCassette, match="line 1: the header is truncated or was changed"):
        convert(cassette)
    damaged = before.replace(b"turn 1", b"turn 2", 1)
    cassette.write_bytes(damaged)
    said = convert(cassette)
    assert said.startswith("converted without 1 damaged lines; the file as it was is kept as ")
    (kept,) = cassette.parent.glob("*.damaged-*")
    assert kept.name in said
    assert kept.read_bytes() == damaged
    assert len(Cassette(cassette)) == 3
    journal.write_bytes(b"".join(line + b"\n" for line in (provenance, *body[:1], lines[-1])))
    cassette.write_bytes(before)
    assert f"pytest-bias cassettes convert {cassette}" in str(damage(cassette))
    assert convert(cassette)
    assert cassette.read_bytes() == recorded.read_bytes()
    assert journal.read_bytes().splitlines() == [provenance, texts[0], lines[-1]]
    assert not convert(cassette)
    assert header.startswith(b'{"format":2,')


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """The path of a cassette of which only a journal with one trial is there."""
    path = cassette_path(tmp_path, SMALL.id, MODEL)
    interrupt(Cassette(path), SMALL, plan(SMALL, SMALL.design())[:1])
    return path


def journal_of(path: Path) -> Path:
    return path.with_name(path.name + JOURNAL_SUFFIX)


def test_a_journal_is_read_like_a_cassette_and_its_last_line_may_be_half(
    interrupted: Path,
) -> None:
    assert not interrupted.exists()
    cassette = Cassette(interrupted)
    assert (len(cassette), cassette.interrupted, cassette.exists) == (2, 2, True)
    journal = journal_of(interrupted)
    data = journal.read_bytes()
    for length in range(len(data)):
        journal.write_bytes(data[:length])
        whole = [x for x in data[:length].split(b"\n")[:-1] if x.startswith(b'{"key"')]
        assert len(Cassette(interrupted)) == len(whole)


def test_a_recording_resumed_drops_half_a_line_and_gives_the_same_file(
    interrupted: Path, recorded: Path
) -> None:
    journal = journal_of(interrupted)
    with journal.open("ab") as file:
        file.write(b'{"key":"half of a li')
    path = record(interrupted.parents[1], SMALL, trials=plan(SMALL, SMALL.design())[1:])
    assert path.read_bytes() == recorded.read_bytes()
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_is_added_is_on_disk_at_once(tmp_path: Path) -> None:
    path = cassette_path(tmp_path, SMALL.id, MODEL)
    recorder = Recorder(Cassette(path), PROVENANCE)
    seen: list[int] = []

    def say(request: Request, place: Place) -> str:
        seen.append(len(Cassette(path)))
        return always_five(request, place)

    from pytest_bias.experiments.driver import drive_at_once  # noqa: PLC0415

    for trial in plan(SMALL, SMALL.design()):
        drive_at_once(ask_twice(trial, Subject()), Taker(SMALL, trial, say, recorder.add))
    recorder.close()
    assert seen == [0, 1, 2, 3]


def keep(cassette: Cassette, number: int, score: int, provenance: Provenance = PROVENANCE) -> None:
    """Record one trial's first attempt into the journal, and be killed."""
    trials = plan(ONCE, ONCE.design())[number : number + 1]
    interrupt(cassette, ONCE, trials, lambda *_: f'{{"score": {score}}}', provenance=provenance)


ONCE = experiment(replicates=1)


def scores(cassette: Cassette) -> list[int]:
    """The recorded scores, in the plan's order."""
    found = sorted(
        cassette.interactions(), key=lambda i: cassette_format.order_of(i.trial, i.place, i.key)
    )
    return [json.loads(interaction.completion.text)["score"] for interaction in found]


def test_a_recording_made_anew_is_nobody_elses(tmp_path: Path) -> None:
    path = record(tmp_path, ONCE)
    before = Cassette(path)
    keep(Cassette(path, anew=True), 0, 9)
    offline = Cassette(path)
    assert (scores(offline), offline.interrupted, offline.unmerged) == ([5, 5], 0, False)
    assert (offline.checksum, offline.provenance) == (before.checksum, before.provenance)
    resumed = Cassette(path, anew=True)
    assert (scores(resumed), resumed.interrupted, resumed.unmerged) == ([9, 5], 1, True)
    keys = [
        i.key
        for i in sorted(
            resumed.interactions(), key=lambda i: cassette_format.order_of(i.trial, i.place, i.key)
        )
    ]
    assert [resumed.journalled(key) for key in keys] == [True, False]


def test_merged_anew_nothing_of_the_other_journal_is_lost(tmp_path: Path) -> None:
    path = cassette_path(tmp_path, ONCE.id, MODEL)
    keep(Cassette(path), 0, 1)
    keep(Cassette(path), 1, 2)
    keep(Cassette(path, anew=True), 1, 9)
    assert scores(Cassette(path)) == [1, 2]
    anew = Cassette(path, anew=True)
    assert [anew.journalled(i.key) for i in anew.interactions()] == [False, True]
    stale = journal_of(path).read_bytes()
    anew.merge()
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert scores(Cassette(path)) == [1, 9]
    journal_of(path).write_bytes(stale)  # killed before it was removed
    left = Cassette(path)
    assert (scores(left), left.interrupted) == ([1, 9], 0)
    journal_of(path).unlink()
    assert left.checksum == Cassette(path).checksum


def test_the_checksum_covers_what_a_journal_adds(tmp_path: Path) -> None:
    path = record(tmp_path, ONCE, trials=plan(ONCE, ONCE.design())[:1])
    whole = Cassette(path).checksum
    keep(Cassette(path), 1, 5)
    first = Cassette(path)
    assert (first.interrupted, len(first)) == (1, 2)
    assert first.checksum == Cassette(path).checksum != whole
    journal_of(path).unlink()
    keep(Cassette(path), 1, 6)
    assert Cassette(path).checksum not in {whole, first.checksum}


def test_a_journal_says_how_it_was_recorded(tmp_path: Path) -> None:
    path = record(tmp_path, ONCE, trials=plan(ONCE, ONCE.design())[:1])
    other = Provenance(simulated=False, wire="elsewhere", recorded_with="a later version")
    keep(Cassette(path), 1, 5, other)
    both = Provenance(
        simulated=False, wire="elsewhere; made by hand", recorded_with=PROVENANCE.recorded_with
    )
    assert Cassette(path).provenance == both
    Cassette(path).merge()
    assert Cassette(path).provenances == [other, PROVENANCE]
    for number in (0, 1):
        keep(Cassette(path, anew=True), number, 7, other)
    Cassette(path, anew=True).merge()
    assert Cassette(path).provenance == other
    simulated = Provenance(simulated=True, wire="b; elsewhere", recorded_with="2")
    assert combined([other, simulated]) == (
        Provenance(simulated=True, wire="elsewhere; b", recorded_with="2")
    )


def test_a_reader_sees_the_old_file_or_the_new_one(
    cassette: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cassette.read_bytes()

    def full(_handle: int, *_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(cassette, b"new")
    assert cassette.read_bytes() == before
    assert [path.name for path in cassette.parent.iterdir()] == [cassette.name]


def test_written_files_have_the_usual_mode(tmp_path: Path) -> None:
    usual, ours = tmp_path / "usual", tmp_path / "ours"
    usual.touch()
    write_atomically(ours, b"")
    assert ours.stat().st_mode == usual.stat().st_mode


def test_one_recorder_at_a_time_whose_lock_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tiny" / "a.jsonl"
    refused = pytest.raises(FileProblem, match="recorded by another process")
    with recording_lock(path), recording_lock(tmp_path / "other" / "a.jsonl"), refused:
        recording_lock(path).__enter__()
    assert list(tmp_path.iterdir()) == []
    with recording_lock(path):
        path.touch()
    assert path.exists()


def test_repr_shows_no_text(recorded: Path) -> None:
    for interaction in Cassette(recorded).interactions():
        assert "turn 1" not in repr(interaction)


def test_shipped_cassettes_are_whole() -> None:
    folders = sorted(Path(__file__).parents[3].glob("cassettes/*"))
    paths = [path for folder in folders for path in cassettes_in(folder)]
    assert paths
    for path in paths:
        cassette = Cassette(path)
        assert cassette.header is not None
        # The first line stands for all: each has the checksum with which it was written.
        told, measured = (
            next(cassette.interactions(), None),
            next(cassette.measured_trials(), None),
        )
        assert bool(cassette.texts()) == (told is not None) == (measured is None)
