"""A damaged line loses what stood on it, and no other reply."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bias.cassettes.format import SCOPE_START, encode_header, encode_provenance, with_sum
from pytest_bias.cassettes.maintenance import salvage
from pytest_bias.cassettes.store import Cassette, cassette_path, journals_of
from pytest_bias.errors import DamagedCassette
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.recording.job import Job, is_finished, missing

from .factories import MODEL, PROVENANCE, ask_twice, experiment, interrupt, pack, record

SMALL = experiment(ask_twice, replicates=2)
TRIALS = plan(SMALL, SMALL.design())
JOB = Job(SMALL, ModelRoles(MODEL), TRIALS)
REPLIES = 2 * len(TRIALS)


def killed(path: Path, *, anew: bool = False) -> Path:
    """Record all of it into a journal, and be killed; the journal."""
    cassette = Cassette(path, anew=anew)
    interrupt(cassette, SMALL, TRIALS, scope=[trial.id for trial in TRIALS] if anew else ())
    return cassette.journal_path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return cassette_path(tmp_path, SMALL.id, MODEL)


def aside(file: Path) -> list[Path]:
    return list(file.parent.glob(f"{file.name}.damaged-*"))


@pytest.mark.parametrize("form", ["cassette", "journal"])
def test_a_changed_byte_anywhere_costs_the_replies_it_stands_in(place: Path, form: str) -> None:
    file = killed(place) if form == "journal" else record(place.parents[1], SMALL)
    data = file.read_bytes()
    lines = data.split(b"\n")
    for position in range(0, len(data) - 1, 31):
        changed = bytearray(data)
        changed[position] ^= 1 << position % 8
        file.write_bytes(changed)
        number = data[:position].count(b"\n") + 1
        now = bytes(changed).split(b"\n")
        kept = sum(line.startswith(b'{"key"') for line in now if line in lines)
        with pytest.raises(DamagedCassette, match=f"line {number}: .* skips damaged lines"):
            Cassette(place)
        (said,) = salvage(place, anew=False)
        assert said.startswith(f"{file.name}, line {number}")
        unknown = form == "cassette" and number == 2
        assert ("provenance of the recording is lost" in said) == unknown
        assert f"the {kept} other replies count" in said
        assert REPLIES - 2 <= kept == len(Cassette(place))
        (before,) = aside(file)
        assert before.read_bytes() == changed
        assert before.name in said
        before.unlink()
        assert salvage(place, anew=False) == []  # once


@pytest.mark.parametrize("form", ["journal", "cassette", "packed"])
def test_only_the_lost_trial_is_recorded_again(place: Path, form: str) -> None:
    whole = record(place.parents[1] / "other", SMALL).read_bytes()
    file = killed(place) if form == "journal" else record(place.parents[1], SMALL)
    lines = file.read_bytes().split(b"\n")
    number = next(n for n, line in enumerate(lines) if b'"condition":{"group":"b"}' in line)
    lines[number] = lines[number].replace(b"turn 1", b"turn 2")
    file.write_bytes(b"\n".join(lines))
    file = pack(file) if form == "packed" else file
    (said,) = salvage(place, anew=False)
    assert said.startswith(f"{file.name}, line {number + 1}: damaged; ")
    cassette, trials, _ = missing(JOB, place, anew=False)
    assert cassette.provenance == PROVENANCE
    assert [trial.id for trial in trials] == ["b#1"]
    record(place.parents[1], SMALL, trials=trials)
    if form == "packed":
        assert list(Cassette(place).lines_in_order()) == whole.splitlines()[1:]
    else:
        assert place.read_bytes() == whole
    assert len(aside(file)) == 1


def test_lines_in_another_order_or_twice_are_read_and_nothing_is_salvaged(place: Path) -> None:
    whole = record(place.parents[1], SMALL)
    header, *lines = whole.read_bytes().splitlines(keepends=True)
    before = Cassette(place)
    journal = journals_of(place)[0]
    provenance = encode_provenance(PROVENANCE) + b"\n"
    journal.write_bytes(provenance * 2)  # of two recordings that were killed
    for now in (lines[::-1], [*lines, lines[-1]], [*lines, header]):
        place.write_bytes(header + b"".join(now))
        after = Cassette(place)
        assert (after.checksum, after.texts()) == (before.checksum, before.texts())
        assert salvage(place, anew=False) == []
        assert missing(JOB, place, anew=False)[1] == []
    assert journal.read_bytes() == provenance * 2


def test_where_no_reply_is_intact_nothing_is_recorded_over_it(place: Path) -> None:
    journal = killed(place)
    journal.write_bytes(b"GITCRYPT\n" * 9)
    with pytest.raises(DamagedCassette, match=r"no reply in it is intact\. .* move it away"):
        salvage(place, anew=False)
    assert aside(journal) == []


@pytest.mark.parametrize("found", [b'{"scope":', b'{"scoop":', b'x"scope":', b"\n"], ids=repr)
def test_without_its_scope_a_recording_made_anew_replaces_all_or_nothing(
    place: Path, found: bytes
) -> None:
    """Another selection of trials may have been begun than the one that goes on."""
    record(place.parents[1], SMALL)
    journal = killed(place, anew=True)
    data = journal.read_bytes()
    # The line itself changed, or joined with the one before it.
    old, new = (b'"}\n{"scope":', b'"} {"scope":') if found == b"\n" else (SCOPE_START, found)
    data = data.replace(old, new, 1)
    data = data if new != old else data.replace(b'["a#1"', b'["a#9"', 1)
    last = b'"group":"b"},"exemplars":{},"item":null,"replicate":2'
    one = next(line for line in data.split(b"\n") if last in line)
    journal.write_bytes(data.replace(one + b"\n", b""))
    assert len(salvage(place, anew=True)) == 1
    cassette = Cassette(place, anew=True)
    assert cassette.scope == {trial.id for trial in TRIALS}
    assert not is_finished(Job(SMALL, ModelRoles(MODEL), TRIALS[:1]), cassette)


def test_of_two_replies_under_one_key_none_is_dropped(place: Path) -> None:
    _, *lines = record(place.parents[1], SMALL).read_bytes().splitlines()
    number = next(n for n, line in enumerate(lines) if b"score" in line)
    changed = lines[number].replace(b'\\"score\\": 5', b'\\"score\\": 9')
    other = with_sum(changed[: changed.rindex(b',"sum":')] + b"}")
    both = [*lines[: number + 1], other, lines[number], *lines[number + 1 :]]
    head = encode_header(SMALL.id, MODEL)
    place.write_bytes(b"".join(line + b"\n" for line in (head, *both)))
    words = f"line {number + 3}: another reply stands under its key on line {number + 2}"
    with pytest.raises(DamagedCassette, match=words):
        Cassette(place)
    assert salvage(place, anew=False) == []
    with pytest.raises(DamagedCassette, match="remove one of the lines"):
        missing(JOB, place, anew=False)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=repr)
def test_both_sides_of_a_merge_are_told_apart_by_git(place: Path, ends: bytes) -> None:
    lines = record(place.parents[1], SMALL).read_bytes().splitlines()
    marked = [b"<<<<<<< HEAD", *lines, b"=======", lines[0], b">>>>>>> theirs"]
    for both, words in (
        (marked, f"git checkout --ours {place} takes one side, --theirs the other"),
        ([lines[0], *marked], f"git checkout --ours {place} "),
    ):
        place.write_bytes(b"".join(line + ends for line in both))
        for look in (Cassette, lambda path: salvage(path, anew=False)):
            with pytest.raises(DamagedCassette, match=words) as caught:
                look(place)
            assert "keep the lines of both sides" in str(caught.value)
            assert "skips damaged lines" not in str(caught.value)
            # Also once the merge is committed, where nothing is --ours.
            assert f"git checkout COMMIT^1 -- {place}" in str(caught.value)
    assert aside(place) == []
