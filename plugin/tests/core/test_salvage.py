"""A damaged journal loses what stood on its damaged lines and no other reply."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_bias.cassettes.format import SCOPE_START, encode_header, with_sum
from pytest_bias.cassettes.places import (
    JOURNAL_SUFFIX,
    REJOURNAL_SUFFIX,
    cassette_path,
    journals_of,
)
from pytest_bias.cassettes.recorder import salvage
from pytest_bias.cassettes.store import Cassette
from pytest_bias.errors import DamagedCassette
from pytest_bias.experiments.experiment import Players, plan
from pytest_bias.recording.job import Job, is_finished, missing

from .factories import MODEL, PROVENANCE, ask_twice, experiment, interrupt, record

SMALL = experiment(ask_twice, replicates=2)
TRIALS = plan(SMALL, SMALL.design())
JOB = Job(SMALL, Players(MODEL), TRIALS)
REPLIES = 2 * len(TRIALS)


def killed(path: Path, *, anew: bool = False) -> Path:
    """Record all of it into a journal, and be killed; the journal."""
    cassette = Cassette(path, anew=anew)
    interrupt(cassette, SMALL, TRIALS, scope=[trial.id for trial in TRIALS] if anew else ())
    return cassette.journal_path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return cassette_path(tmp_path, SMALL.id, MODEL)


def aside(journal: Path) -> list[Path]:
    return list(journal.parent.glob(f"{journal.name}.damaged-*"))


def test_a_changed_byte_anywhere_costs_the_replies_it_stands_in(place: Path) -> None:
    journal = killed(place)
    data = journal.read_bytes()
    lines = data.split(b"\n")
    for position in range(0, len(data) - 1, 31):
        changed = bytearray(data)
        changed[position] ^= 1 << position % 8
        journal.write_bytes(changed)
        number = data[:position].count(b"\n") + 1
        kept = sum(
            line.startswith(b'{"key"') for line in bytes(changed).split(b"\n") if line in lines
        )
        with pytest.raises(DamagedCassette, match=f"line {number}: ") as caught:
            Cassette(place)
        assert f"--bias-record=missing keeps the {kept} replies on the other lines" in str(
            caught.value
        )
        (said,) = salvage(place, anew=False)
        assert f"the {kept} replies on the others count" in said
        assert REPLIES - 2 <= kept == len(Cassette(place))
        (before,) = aside(journal)
        assert before.read_bytes() == changed
        assert before.name in said
        before.unlink()
        assert salvage(place, anew=False) == []  # once


def test_only_the_lost_trial_is_recorded_again(place: Path) -> None:
    journal = killed(place)
    whole = record(place.parents[1] / "other", SMALL).read_bytes()
    lines = journal.read_bytes().split(b"\n")
    number = next(n for n, line in enumerate(lines) if b'"condition":{"group":"b"}' in line)
    lines[number] = lines[number].replace(b"turn 1", b"turn 2")
    journal.write_bytes(b"\n".join(lines))
    (said,) = salvage(place, anew=False)
    assert f": 1 of {len(lines) - 1} lines ({number + 1}) were damaged" in said
    _, trials = missing(JOB, place, anew=False)
    assert [trial.id for trial in trials] == ["b#1"]
    record(place.parents[1], SMALL, trials=trials)
    assert place.read_bytes() == whole
    assert {path.name for path in place.parent.iterdir()} == {
        place.name,
        *(path.name for path in aside(journal)),
    }


def test_where_no_reply_is_intact_nothing_is_recorded_over_it(place: Path) -> None:
    journal = killed(place)
    journal.write_bytes(b"GITCRYPT\n" * 9)
    words = r"9 of 9 lines \(1, 2, .* Restore the file from a copy, .* move it away"
    with pytest.raises(DamagedCassette, match=words):
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
    assert not is_finished(Job(SMALL, Players(MODEL), TRIALS[:1]), cassette)


def test_what_is_intact_of_a_damaged_cassette_goes_on_as_a_journal(place: Path) -> None:
    whole = record(place.parents[1], SMALL).read_bytes()
    place.write_bytes(whole.replace(b'{\\"score\\": 5}', b'{\\"score\\": 6}', 1))
    with pytest.raises(DamagedCassette) as caught:
        Cassette(place)
    said = str(caught.value)
    assert f"(git checkout -- {place}), which costs nothing. Where nobody has it whole," in said
    assert f"{place.name}.recording: --bias-record=missing then keeps the {REPLIES - 1} " in said
    journal = place.rename(journals_of(place)[0])
    (said,) = salvage(place, anew=False)
    assert f"the {REPLIES - 1} replies on the others count" in said
    cassette, trials = missing(JOB, place, anew=False)
    assert cassette.provenance == PROVENANCE
    assert len(trials) == 1
    record(place.parents[1], SMALL, trials=trials)
    assert place.read_bytes() == whole
    assert not journal.exists()


def test_a_cassette_whose_lines_are_all_intact_goes_on_as_well(place: Path) -> None:
    whole = record(place.parents[1], SMALL).read_bytes()
    header, *lines = whole.splitlines(keepends=True)
    place.write_bytes(header + b"".join(reversed(lines)))
    with pytest.raises(DamagedCassette, match=f"keeps the {REPLIES} replies"):
        Cassette(place)
    place.rename(journals_of(place)[0])
    assert salvage(place, anew=False) == []
    cassette, trials = missing(JOB, place, anew=False)
    assert trials == []
    cassette.merge(SMALL.id, MODEL)
    assert place.read_bytes() == whole


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_replies_under_one_key_neither_counts(place: Path, *, turned: bool) -> None:
    """As where both sides of a merge are left in a file, whichever stands first."""
    whole = record(place.parents[1], SMALL).read_bytes()
    header, *lines = whole.splitlines()
    number = next(n for n, line in enumerate(lines) if b"score" in line)
    changed = lines[number].replace(b'\\"score\\": 5', b'\\"score\\": 9')
    other = with_sum(changed[: changed.rindex(b',"sum":')] + b"}")
    sides = [other, lines[number]] if turned else [lines[number], other]
    both = [*lines[:number], *sides, *lines[number + 1 :], lines[-1]]
    head = encode_header(SMALL.id, MODEL, PROVENANCE, both)
    place.write_bytes(b"".join(line + b"\n" for line in (head, *both)))
    words = f"line {number + 3}: another reply than on line {number + 2} stands under its key"
    with pytest.raises(DamagedCassette, match=f"{words}.* keeps the {REPLIES - 1} replies"):
        Cassette(place)
    journal = place.rename(journals_of(place)[0])
    both = [b"<<<<<<< HEAD", header, b"=======", header, b">>>>>>> theirs", *both]
    journal.write_bytes(b"".join(line + b"\n" for line in both))
    with pytest.raises(DamagedCassette, match="2 of them with different replies under one key"):
        Cassette(place)
    (said,) = salvage(place, anew=False)
    assert f"5 of {len(both)} lines (1, 3, 5, " in said
    assert f"the {REPLIES - 1} replies on the others count" in said
    _, trials = missing(JOB, place, anew=False)
    assert len(trials) == 1
    record(place.parents[1], SMALL, trials=trials)
    assert place.read_bytes() == whole


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=repr)
@pytest.mark.parametrize("journalled", [False, True])
def test_both_sides_of_a_merge_are_told_apart_by_git(
    place: Path, ends: bytes, *, journalled: bool
) -> None:
    lines = record(place.parents[1], SMALL).read_bytes().splitlines()
    marked = [b"<<<<<<< HEAD", *lines, b"=======", lines[0], b">>>>>>> theirs"]
    if journalled:
        journals_of(place)[0].touch()
    for both, words in (
        (marked, f"git checkout --ours {place} takes one side, --theirs the other"),
        ([lines[0], *marked], f"git checkout --ours {place} "),
        ([lines[0], *lines], rf"git checkout COMMIT\^1 -- {place} takes one side"),
    ):
        place.write_bytes(b"".join(line + ends for line in both))
        with pytest.raises(DamagedCassette, match=words) as caught:
            Cassette(place)
        assert "pytest-bias cassettes join puts them together" in str(caught.value)
        assert "Restore" not in str(caught.value)
        # Also once the merge is committed, where nothing is --ours.
        assert f"git checkout COMMIT^1 -- {place}" in str(caught.value)
        kept = f"rename it to {place.name}.recording" in str(caught.value)
        assert kept != journalled


@pytest.mark.parametrize("suffix", [JOURNAL_SUFFIX, REJOURNAL_SUFFIX])
def test_what_belongs_elsewhere_is_no_journal(place: Path, suffix: str) -> None:
    header, *lines = record(place.parents[1], SMALL).read_bytes().splitlines(keepends=True)
    place.unlink()
    other = encode_header(SMALL.id, "openai/other", PROVENANCE, ()) + b"\n"
    journal = place.with_name(place.name + suffix)
    journal.write_bytes(b"".join([header, *lines, b"no line\n", other]))
    words = f"{journal}, line {len(lines) + 3}: it holds recordings of tiny with openai/other"
    anew = suffix == REJOURNAL_SUFFIX
    with pytest.raises(DamagedCassette, match=words):
        Cassette(place, anew=anew)
    with pytest.raises(DamagedCassette, match=words):
        salvage(place, anew=anew)


@pytest.mark.parametrize("value", ["[" * 100_000, '{"key":1}', '{"lost":3}', "1" * 5_000])
def test_a_line_that_nobody_wrote_is_damage_though_it_has_its_checksum(
    place: Path, value: str
) -> None:
    from pytest_bias.cassettes.format import (  # noqa: PLC0415
        decode_interaction,
        decode_provenance,
        order_of_line,
    )
    from pytest_bias.cassettes.measured import decode_measured  # noqa: PLC0415

    line = with_sum(f'{{"body":{value}}}'.encode())
    for decode in (
        decode_interaction,
        order_of_line,
        decode_measured,
        decode_provenance,
    ):
        with pytest.raises(DamagedCassette, match="line 7: it has its checksum, and is no line"):
            decode(line, str(place), 7)
