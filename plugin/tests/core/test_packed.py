"""A cassette packed with gzip is the same cassette, in every way it is read and written."""

from __future__ import annotations

import gzip
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bias.cassettes import places, store
from pytest_bias.cassettes.format import encode_header
from pytest_bias.cassettes.places import journals_of, packed_path
from pytest_bias.cassettes.store import Cassette, write_cassette
from pytest_bias.contrasts.cases import Case
from pytest_bias.errors import DamagedCassette, FileProblem, NotReadable
from pytest_bias.experiments.experiment import Players, plan
from pytest_bias.recording.job import Job
from pytest_bias.workbench import recordings

from .factories import MODEL, PROVENANCE, ask_twice, experiment, interrupt, pack, record
from .test_settings import settings

SMALL = experiment(ask_twice, replicates=1)
TRIALS = plan(SMALL, SMALL.design())


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A small cassette."""
    return record(tmp_path, SMALL)


@pytest.fixture
def packed(plain: Path) -> Path:
    """The same, packed; nothing else is there."""
    return pack(plain)


def job_of(replicates: int = 1) -> Job:
    of = experiment(ask_twice, replicates=replicates)
    return Job(of, Players(MODEL), plan(of, of.design()))


def test_it_reads_as_the_plain_one_does_and_only_one_may_stand_there(plain: Path) -> None:
    text, before = plain.read_bytes(), Cassette(plain)
    path = pack(plain)
    for given in (plain, path):
        after = Cassette(given)
        assert (after.place, after.path) == (plain, path)
        assert (after.checksum, after.header) == (before.checksum, before.header)
        assert list(after.interactions()) == list(before.interactions())
    plain.write_bytes(text)
    with pytest.raises(NotReadable, match=f"{plain}: {path.name} is there as well"):
        Cassette(plain)


def test_what_was_packed_stays_packed(tmp_path: Path) -> None:
    whole = record(tmp_path / "whole", SMALL).read_bytes()
    packed = pack(record(tmp_path, SMALL, trials=TRIALS[:1]))
    interrupt(Cassette(packed), SMALL, [TRIALS[1]])
    cassette = Cassette(packed)
    assert (len(cassette), cassette.interrupted) == (4, 2)
    cassette.merge(SMALL.id, MODEL)
    assert [path.name for path in packed.parent.iterdir()] == [packed.name]
    assert gzip.decompress(packed.read_bytes()) == whole
    before = packed.read_bytes()
    write_cassette(Cassette(packed), SMALL.id, MODEL, PROVENANCE)
    assert packed.read_bytes() == before


JUNK = {
    "plain text": (b'{"format":1}\n', "cannot be unpacked"),
    "nothing, packed": (gzip.compress(b""), "the file is empty.*move it away"),
    "a tail": (gzip.compress(b"{}\n") + b"x", "cannot be unpacked"),
    "by Git": (gzip.compress(b"{}\n") + b"\n", r"Git converted its line ends, which \*\.gz -text"),
    "cut": (gzip.compress(b"{}\n")[:-1], "cannot be unpacked"),
}


@pytest.mark.parametrize(("data", "words"), JUNK.values(), ids=JUNK)
def test_what_is_no_packed_cassette_is_damage(packed: Path, data: bytes, words: str) -> None:
    packed.write_bytes(data)
    with pytest.raises(DamagedCassette, match=f"^{packed}, line 1: .*{words}"):
        Cassette(packed)


_SIZE = 1 << 23
BOMBS = {
    "empty lines": (b"\n", "no line of a cassette"),
    "one text again and again": (b'{"text":"%032d\n' % 0, "no line of a cassette"),
    "texts without a word": (b"", "unpacks to more than"),
    "one line": (b'{"key":"%s"}\n' % (b"0" * _SIZE), "no line of a cassette"),
    "long lines": (b'{"key":"%s"}\n' % (b"0" * (_SIZE >> 5)), "the line is truncated or was"),
}


@pytest.mark.parametrize(("line", "words"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_takes_no_more_memory_than_the_limit_and_keeps_nothing(
    packed: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, words: str
) -> None:
    monkeypatch.setattr(places, "LIMIT", _SIZE // 8)
    monkeypatch.setattr(places, "LONGEST_LINE", _SIZE // 16)
    monkeypatch.setattr(store, "_LONG_LINE", _SIZE >> 6)
    header = encode_header(SMALL.id, MODEL, PROVENANCE, []) + b"\n"
    texts = (b'{"text":"%032d\n' % number for number in range(_SIZE >> 5))
    body = line * (_SIZE // len(line) or 1) if line else b"".join(texts)
    packed.write_bytes(gzip.compress(header + body))
    assert packed.stat().st_size < _SIZE / 8
    tracemalloc.start()
    try:
        with pytest.raises(DamagedCassette, match=f"^{packed}, line .*{words}") as caught:
            Cassette(packed)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.path == str(packed)
    assert most < 2 * _SIZE
    assert kept < _SIZE / 16


def test_what_is_too_large_to_pack_stays_in_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack(record(tmp_path, SMALL, trials=TRIALS[:1]))
    before = packed.read_bytes()
    monkeypatch.setattr(places, "LIMIT", len(gzip.decompress(before)) + 1)
    interrupt(Cassette(packed), SMALL, [TRIALS[1]])
    with pytest.raises(FileProblem, match="gzip -d"):
        Cassette(packed).merge(SMALL.id, MODEL)
    assert packed.read_bytes() == before
    assert journals_of(packed.with_suffix(""))[0].exists()
    assert packed_path(packed.with_suffix("")) == packed
    assert len(Cassette(packed)) == 4


def test_what_cannot_be_read_is_read_once_for_all_cases(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed.write_bytes(b"no cassette")
    read: list[Path] = []

    def reading(path: Path) -> Cassette:
        read.append(path)
        return Cassette(path)

    monkeypatch.setattr(recordings, "Cassette", reading)
    held = recordings.Recordings(replace(settings({}), cassettes=packed.parents[1]))
    case = Case("hypothesis", SMALL, MODEL, SMALL.design())
    for _ in range(3):
        with pytest.raises(DamagedCassette, match="cannot be unpacked"):
            held.replayed(case)
    assert read == [packed.with_suffix("")]
