"""A cassette packed with gzip is the same cassette, in every way it is read and written."""

from __future__ import annotations

import gzip
import shutil
import stat
import tracemalloc
from pathlib import Path
from typing import Literal

import pytest

from pytest_bias.cassettes import packed as packing
from pytest_bias.cassettes import places
from pytest_bias.cassettes.format import encode_header
from pytest_bias.cassettes.misses import not_recorded
from pytest_bias.cassettes.packed import pack, unpack
from pytest_bias.cassettes.places import (
    JOURNAL_SUFFIX,
    REJOURNAL_SUFFIX,
    cassette_path,
    cassettes_in,
    packed_path,
    place_of,
    standing,
)
from pytest_bias.cassettes.recorder import recording_lock
from pytest_bias.cassettes.store import Cassette, write_cassette
from pytest_bias.cli.entry import main
from pytest_bias.errors import (
    CassetteBusy,
    DamagedCassette,
    NoCassette,
    NotRepacked,
    TwoCassettes,
)
from pytest_bias.experiments.experiment import Players, plan
from pytest_bias.experiments.replay import Unrecorded, replay
from pytest_bias.recording.estimate import Estimator
from pytest_bias.recording.job import Job, is_whole, missing

from .factories import (
    MODEL,
    PROVENANCE,
    Score,
    ask_twice,
    experiment,
    interrupt,
    outcomes_of,
    record,
)

SMALL = experiment(ask_twice, replicates=1)
TRIALS = plan(SMALL, SMALL.design())


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A small cassette."""
    return record(tmp_path, SMALL)


@pytest.fixture
def packed(plain: Path) -> Path:
    """The same, packed; nothing else is there."""
    return pack(plain).path


def names(folder: Path) -> list[str]:
    """Everything in a folder."""
    return sorted(path.name for path in folder.iterdir())


def journal_of(path: Path, suffix: str = JOURNAL_SUFFIX) -> Path:
    place = place_of(path)
    return place.with_name(place.name + suffix)


def test_there_and_back_byte_for_byte(plain: Path) -> None:
    before = plain.read_bytes()
    there = pack(plain)
    assert (there.path, there.before) == (packed_path(plain), len(before))
    assert there.after == there.path.stat().st_size < len(before)
    assert names(plain.parent) == ["openai--tiny.jsonl.gz"]
    back = unpack(plain)
    assert (back.path, back.before, back.after) == (plain, there.after, len(before))
    assert plain.read_bytes() == before
    assert names(plain.parent) == ["openai--tiny.jsonl"]


def test_packing_twice_gives_the_same_bytes_and_changes_nothing(plain: Path) -> None:
    first = pack(plain).path.read_bytes()
    again = pack(plain)
    assert (again.before, again.after) == (None, len(first))
    assert unpack(plain).path == plain
    assert unpack(packed_path(plain)).before is None
    assert pack(packed_path(plain)).path.read_bytes() == first


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_who_may_read_it_stays_the_same(plain: Path, mode: int) -> None:
    plain.chmod(mode)
    assert stat.S_IMODE(pack(plain).path.stat().st_mode) == mode
    assert stat.S_IMODE(unpack(plain).path.stat().st_mode) == mode


@pytest.mark.parametrize("suffix", [JOURNAL_SUFFIX, REJOURNAL_SUFFIX])
@pytest.mark.parametrize("change", [pack, unpack])
def test_refused_beside_a_journal(plain: Path, suffix: str, change: object) -> None:
    if change is unpack:
        pack(plain)
    journal_of(plain, suffix).touch()
    before = names(plain.parent)
    mode = "all" if suffix == REJOURNAL_SUFFIX else "missing"
    with pytest.raises(NotRepacked, match=rf"{plain.name}{suffix} .* --bias-record={mode}$"):
        (unpack if change is unpack else pack)(plain)
    assert names(plain.parent) == before


def test_refused_while_it_is_recorded(plain: Path) -> None:
    before = plain.read_bytes()
    with recording_lock(plain), pytest.raises(CassetteBusy):
        pack(plain)
    assert plain.read_bytes() == before
    assert not packed_path(plain).exists()


def test_the_lock_goes_unless_it_was_there_before(plain: Path) -> None:
    lock = plain.with_name(f"{plain.name}.lock")
    pack(plain)
    assert not lock.exists()
    lock.touch()
    unpack(plain)
    assert lock.exists()


def test_a_damaged_cassette_is_not_packed(plain: Path) -> None:
    plain.write_bytes(plain.read_bytes().replace(b"Now rate", b"Now hate"))
    before = plain.read_bytes()
    with pytest.raises(DamagedCassette, match=f"{plain}, line "):
        pack(plain)
    assert (names(plain.parent), plain.read_bytes()) == ([plain.name], before)


def test_packed_damage_is_not_unpacked(packed: Path) -> None:
    text = gzip.decompress(packed.read_bytes())
    packed.write_bytes(gzip.compress(text.replace(b"Now rate", b"Now hate")))
    with pytest.raises(DamagedCassette, match=f"{packed}, line "):
        unpack(packed)
    assert names(packed.parent) == [packed.name]


def test_what_does_not_read_back_is_not_kept(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain.read_bytes()
    packer = gzip.compress
    monkeypatch.setattr(gzip, "compress", lambda text, **with_: packer(text[:-1], **with_))
    with pytest.raises(NotRepacked, match="does not read back as written"):
        pack(plain)
    assert (names(plain.parent), plain.read_bytes()) == ([plain.name], before)


def test_a_full_disk_leaves_what_was_there(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain.read_bytes()

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        pack(plain)
    assert (names(plain.parent), plain.read_bytes()) == ([plain.name], before)


def test_what_a_killed_process_left_goes(plain: Path) -> None:
    plain.with_name(f".{plain.name}.gz.abc").write_bytes(b"half")
    pack(plain)
    assert names(plain.parent) == [f"{plain.name}.gz"]


def test_interrupted_between_writing_and_removing_it_is_finished(plain: Path) -> None:
    text = plain.read_bytes()
    frame = pack(plain).path.read_bytes()
    plain.write_bytes(text)
    assert pack(plain).before == len(text)
    assert names(plain.parent) == [f"{plain.name}.gz"]
    plain.write_bytes(text)
    assert unpack(plain).before == len(frame)
    assert names(plain.parent) == [plain.name]


@pytest.mark.parametrize("change", [pack, unpack])
def test_two_that_differ_are_left_alone(plain: Path, change: object) -> None:
    one = pack(plain).path.read_bytes()
    other = record(plain.parents[2] / "other", SMALL, trials=TRIALS[:1]).read_bytes()
    plain.write_bytes(other)
    with pytest.raises(TwoCassettes):
        (unpack if change is unpack else pack)(plain)
    assert (plain.read_bytes(), packed_path(plain).read_bytes()) == (other, one)


def test_nothing_is_packed_where_nothing_stands(tmp_path: Path) -> None:
    with pytest.raises(NoCassette, match="no such file, plain or packed"):
        pack(cassette_path(tmp_path / "none", "tiny", MODEL))
    assert names(tmp_path) == []


def test_it_reads_as_the_plain_one_does(plain: Path, tmp_path: Path) -> None:
    before = Cassette(plain)
    pack(plain)
    for path in (plain, packed_path(plain)):
        after = Cassette(path)
        assert (after.place, after.path) == (plain, packed_path(plain))
        assert (after.checksum, after.header) == (before.checksum, before.header)
        assert (len(after), after.texts()) == (len(before), before.texts())
        assert list(after.interactions()) == list(before.interactions())
    assert [outcome.result for outcome in outcomes_of(SMALL, plain)] == [Score(score=5)] * 2
    shutil.copytree(plain.parent, tmp_path / "moved" / "tiny")
    assert len(Cassette(cassette_path(tmp_path / "moved", "tiny", MODEL))) == 4


def test_what_another_packed_is_read(packed: Path) -> None:
    text = gzip.decompress(packed.read_bytes())
    for level in (1, 9):  # with a time in its header, as the program gzip writes it
        packed.write_bytes(gzip.compress(text, level, mtime=1_700_000_000))
        assert len(Cassette(packed)) == 4
    packed.write_bytes(gzip.compress(text.replace(b"\n", b"\r\n")))  # of what Git checked out
    assert len(Cassette(packed)) == 4


def test_both_are_an_error_that_names_them_and_how_to_mend_it(plain: Path) -> None:
    text = plain.read_bytes()
    pack(plain)
    plain.write_bytes(text)
    for path in (plain, packed_path(plain)):
        with pytest.raises(TwoCassettes) as caught:
            Cassette(path)
        assert f"{plain} and {plain}.gz are both there" in str(caught.value)
        assert "run pytest-bias cassettes pack (or unpack) again" in str(caught.value)
        assert "remove the one that is wrong" in str(caught.value)
    with pytest.raises(TwoCassettes):
        standing(plain)


def test_text_changed_before_packing_is_named_by_its_line(packed: Path) -> None:
    lines = gzip.decompress(packed.read_bytes()).split(b"\n")
    number = next(n for n, line in enumerate(lines, 1) if b"turn 1" in line)
    lines[number - 1] = lines[number - 1].replace(b"turn 1", b"turn 2")
    packed.write_bytes(gzip.compress(b"\n".join(lines)))
    with pytest.raises(DamagedCassette, match=f"^{packed}, line {number}: the line is") as caught:
        Cassette(packed)
    assert caught.value.line == number


SMALLEST = gzip.compress(b"{}\n")
JUNK = {
    "nothing": (b"", "cannot be unpacked"),
    "plain text": (b'{"format":1}\n', "cannot be unpacked"),
    "nothing, packed": (gzip.compress(b""), "not a cassette header"),
    "json, packed": (SMALLEST, "not a cassette header"),
    "a tail": (SMALLEST + b"x", "cannot be unpacked"),
    "another checksum": (
        SMALLEST[:-5] + bytes([SMALLEST[-5] ^ 1]) + SMALLEST[-4:],
        "cannot be unpacked",
    ),
    "converted line ends": (SMALLEST + b"\n", r"Git converted its line ends, which \*\.gz -text"),
}


@pytest.mark.parametrize(("data", "words"), JUNK.values(), ids=JUNK)
def test_what_is_no_packed_cassette_is_damage(packed: Path, data: bytes, words: str) -> None:
    packed.write_bytes(data)
    with pytest.raises(DamagedCassette, match=words):
        Cassette(packed)


def test_in_anothers_place_it_is_refused(packed: Path) -> None:
    other = packed_path(cassette_path(packed.parents[1], SMALL.id, "openai/other"))
    shutil.copy(packed, other)
    with pytest.raises(DamagedCassette, match=r"belongs at tiny/openai--tiny\.jsonl") as caught:
        Cassette(other)
    assert caught.value.path == str(other)


def test_a_bomb_is_refused_at_the_limit(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = gzip.decompress(packed.read_bytes())
    monkeypatch.setattr(places, "LIMIT", len(text))
    assert len(Cassette(packed)) == 4
    packed.write_bytes(gzip.compress(b"\n" * 50_000_000))
    with pytest.raises(DamagedCassette, match=f"unpacks to more than {len(text):,} bytes"):
        Cassette(packed)


_SIZE = 1 << 23
BOMBS = {
    "empty lines": b"\n",
    "texts without a word": b'{"text":"\n',
    "replies without a word": b'{"key":"\n',
    "one line": b'{"key":"%s"}\n' % (b"0" * _SIZE),
}


@pytest.mark.parametrize("line", BOMBS.values(), ids=BOMBS)
def test_a_bomb_with_the_right_checksum_takes_little_memory(packed: Path, line: bytes) -> None:
    """All of it is counted by the interpreter: no more than a few times the text allowed."""
    text = line * (_SIZE // len(line) or 1)
    header = encode_header(SMALL.id, MODEL, PROVENANCE, [])
    frame = gzip.compress(header + b"\n" + text)
    packed.write_bytes(frame)
    del text
    tracemalloc.start()
    try:
        with pytest.raises(DamagedCassette, match=f"^{packed}, line "):
            Cassette(packed)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(frame) < _SIZE / 300
    assert most < 8 * _SIZE


def test_what_nobody_would_read_is_not_packed(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = plain.stat().st_size
    monkeypatch.setattr(places, "LIMIT", size - 1)
    with pytest.raises(NotRepacked, match=f"{size:,} bytes would be packed in it, and no more"):
        pack(plain)
    assert names(plain.parent) == [plain.name]


def test_other_models_are_seen_once_packed_or_not(tmp_path: Path) -> None:
    folder = record(tmp_path, SMALL).parent
    pack(folder / "openai--tiny.jsonl")
    for name in ("openai--b.jsonl", "openai--a.jsonl.gz", "openai--b.jsonl.gz"):
        (folder / name).touch()
    for name in ("openai--c.jsonl.recording", "openai--d.gz", ".openai--e.jsonl.gz.x"):
        (folder / name).touch()
    stems = ["openai--a", "openai--b", "openai--tiny"]
    assert [place.stem for place in cassettes_in(folder)] == stems
    missed = not_recorded(
        experiment_id="tiny",
        model="openai/other",
        cassette=Cassette(cassette_path(tmp_path, "tiny", "openai/other")),
        misses=[],
        planned=2,
    )
    assert f"Recorded are: {', '.join(stems)}\n" in missed.explanation


def test_a_miss_names_the_file_that_is_there(packed: Path) -> None:
    cassette = Cassette(place_of(packed))
    more = experiment(ask_twice, replicates=2)
    job = job_of(2)
    _, trials = missing(job, place_of(packed), anew=False)
    assert [trial.id for trial in trials] == ["a#2", "b#2"]
    with pytest.raises(Unrecorded) as caught:
        replay(more, MODEL, trials[0], cassette.lookup)
    words = not_recorded(
        experiment_id="tiny",
        model=MODEL,
        cassette=cassette,
        misses=[caught.value.wanted],
        planned=4,
    ).explanation
    assert f"Cassette: {packed}\n" in words
    assert "the same condition, recorded up to replicate 1" in words


def job_of(replicates: int = 1) -> Job:
    of = experiment(ask_twice, replicates=replicates)
    return Job(of, Players(MODEL), plan(of, of.design()))


@pytest.mark.parametrize(
    ("replicates", "mode", "whole"),
    [(1, "missing", True), (2, "missing", False), (1, "all", False)],
)
def test_what_is_outstanding(
    packed: Path,
    replicates: int,
    mode: Literal["missing", "all"],
    whole: bool,  # noqa: FBT001
) -> None:
    assert is_whole(job_of(replicates), place_of(packed), mode) is whole


def test_an_estimate_rests_on_a_packed_cassette_of_another_model(packed: Path) -> None:
    def of(model: str) -> tuple[str, float]:
        path = cassette_path(packed.parents[1], "tiny", model)
        estimator = Estimator(SMALL, path, Players)
        estimate, use = estimator.per_trial(TRIALS, [], Players(model))
        return estimate.basis, use.subject.calls

    assert of("openai/other") == ("another cassette", 2)
    assert of(MODEL) == ("opening request", 1)  # it is not another to itself
    # Damage of another model, or two files of one, is not this plan's problem.
    place_of(packed).write_bytes(b"x")
    assert of("openai/other") == ("opening request", 1)


def test_what_was_packed_stays_packed(packed: Path, tmp_path: Path) -> None:
    more = experiment(ask_twice, replicates=2)
    record(tmp_path, more, trials=plan(more, more.design())[1:])
    assert names(packed.parent) == [packed.name]
    fresh = record(tmp_path / "fresh", more)
    assert fresh.suffix == ".jsonl"
    assert gzip.decompress(packed.read_bytes()) == fresh.read_bytes()
    assert pack(fresh).path.read_bytes() == packed.read_bytes()


def test_rewriting_changes_no_byte(packed: Path) -> None:
    before = packed.read_bytes()
    write_cassette(Cassette(packed), SMALL.id, MODEL, PROVENANCE)
    assert packed.read_bytes() == before


def test_an_interrupted_recording_goes_on(tmp_path: Path) -> None:
    whole = record(tmp_path / "whole", SMALL).read_bytes()
    packed = pack(record(tmp_path, SMALL, trials=TRIALS[:1])).path
    before = packed.read_bytes()
    interrupt(Cassette(packed), SMALL, [TRIALS[1]])
    assert names(packed.parent) == sorted([packed.name, journal_of(packed).name])
    between = Cassette(packed)
    assert (len(between), between.interrupted, between.unmerged) == (4, 2, True)
    assert packed.read_bytes() == before
    between.merge(SMALL.id, MODEL)
    assert names(packed.parent) == [packed.name]
    assert gzip.decompress(packed.read_bytes()) == whole


def test_recorded_anew_it_is_replaced_and_stays_packed(packed: Path) -> None:
    before = packed.read_bytes()
    for number, interrupted in ((0, 2), (1, 4)):
        interrupt(Cassette(packed, anew=True), SMALL, [TRIALS[number]])
        assert packed.read_bytes() == before
        assert Cassette(packed).unfinished
        assert Cassette(packed, anew=True).interrupted == interrupted
    Cassette(packed, anew=True).merge(SMALL.id, MODEL)
    assert names(packed.parent) == [packed.name]
    assert packed.read_bytes() == before  # the same was said again


def test_what_is_too_large_to_pack_stays_in_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack(record(tmp_path, SMALL, trials=TRIALS[:1])).path
    before = packed.read_bytes()
    monkeypatch.setattr(places, "LIMIT", len(gzip.decompress(before)) + 1)
    interrupt(Cassette(packed), SMALL, [TRIALS[1]])
    with pytest.raises(NotRepacked, match="gzip -d"):
        Cassette(packed).merge(SMALL.id, MODEL)
    assert packed.read_bytes() == before
    assert len(Cassette(packed)) == 4


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What is said of a command that cannot be carried out at all."""
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_a_folder_is_packed_and_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [record(tmp_path, experiment(id=name)) for name in ("a", "b")]
    before = [path.read_bytes() for path in paths]
    (tmp_path / "notes.jsonl").write_text("no cassette, and not called like one\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["cassettes", "pack", "."]) == 0
    small = [packed_path(path).stat().st_size for path in paths]
    large = [len(data) for data in before]
    assert capsys.readouterr().out.splitlines() == [
        f"a/openai--tiny.jsonl.gz: {large[0]:,} → {small[0]:,} bytes",
        f"b/openai--tiny.jsonl.gz: {large[1]:,} → {small[1]:,} bytes",
        f"2 cassettes: {sum(large):,} → {sum(small):,} bytes",
    ]
    assert [names(path.parent) for path in paths] == [["openai--tiny.jsonl.gz"]] * 2
    monkeypatch.chdir("a")
    assert (
        main(["cassettes", "unpack", "openai--tiny.jsonl.gz", "openai--tiny.jsonl", str(tmp_path)])
        == 0
    )
    assert capsys.readouterr().out.splitlines()[0] == (
        f"openai--tiny.jsonl: {small[0]:,} → {large[0]:,} bytes"
    )
    assert [path.read_bytes() for path in paths] == before
    assert main(["cassettes", "unpack", "openai--tiny.jsonl"]) == 0
    assert capsys.readouterr().out == f"openai--tiny.jsonl: {large[0]:,} bytes, as it was\n"


def test_one_that_is_refused_keeps_no_other_from_being_packed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, three = (record(tmp_path, experiment(id=name)) for name in ("a", "b", "c"))
    journal_of(one).touch()
    with recording_lock(two):
        assert main(["cassettes", "pack", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert [line.split(" is ")[0] for line in said.err.splitlines()] == [
        f"pytest-bias: {one}",
        f"pytest-bias: {two}",
    ]
    assert said.out.startswith(f"{three}.gz: ")
    assert (one.exists(), two.exists(), three.exists()) == (True, True, False)


def test_paths_that_are_no_cassettes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = record(tmp_path, SMALL)
    (tmp_path / "empty").mkdir()
    wrong = tmp_path / "notes.txt"
    wrong.touch()
    none = tmp_path / "tiny" / "openai--none.jsonl"
    for path, words in {
        tmp_path / "empty": "no cassette stands in this folder",
        wrong: "one is called <provider>--<model>.jsonl (or ….jsonl.gz)",
        none: "there is no such file",
    }.items():
        for command in ("pack", "unpack"):
            said = refused(capsys, "cassettes", command, good, path)
            assert said == f"pytest-bias: {path} is no cassette: {words}\n"
    assert names(good.parent) == [good.name]  # nothing was begun
    none.write_bytes(b"something else")
    assert main(["cassettes", "pack", str(none)]) == 2
    assert f"{none}, line 1: this is not a cassette header" in capsys.readouterr().err
    assert none.read_bytes() == b"something else"


def test_what_the_disk_says_is_said(
    plain: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packing, "write_content", full)
    assert main(["cassettes", "pack", str(plain)]) == 2
    assert capsys.readouterr().err == (
        f"pytest-bias: {plain} is left as it is: No space left on device\n"
    )
