"""A cassette packed with gzip is the same cassette, in every way it is read and written."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest

from pytest_bias.cassettes.store import Cassette, write_cassette
from pytest_bias.errors import DamagedCassette, NotReadable
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.recording.job import Job

from .factories import MODEL, ask_twice, experiment, interrupt, pack, record

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
    return Job(of, ModelRoles(MODEL), plan(of, of.design()))


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
    cassette.merge()
    assert [path.name for path in packed.parent.iterdir()] == [packed.name]
    assert gzip.decompress(packed.read_bytes()) == whole
    before = packed.read_bytes()
    write_cassette(Cassette(packed))
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


@pytest.mark.parametrize("filling", [b"\n", b"x"], ids=["lines", "one line"])
def test_a_file_that_unpacks_to_gigabytes_is_refused_before_it_does(
    packed: Path, filling: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in (("_LARGEST", 1 << 24), ("_LONGEST_LINE", 1 << 22), ("_PIECE", 1 << 16)):
        monkeypatch.setattr(f"pytest_bias.cassettes.store.{name}", limit)
    header = gzip.decompress(packed.read_bytes()).split(b"\n")[0] + b"\n"
    for size, words in (
        (1 << 23, "line 2" if filling == b"\n" else "or one of"),
        (1 << 26, "more"),
    ):
        packed.write_bytes(gzip.compress(header + filling * size))
        tracemalloc.start()
        with pytest.raises(DamagedCassette, match=words):
            Cassette(packed)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3 << 22
