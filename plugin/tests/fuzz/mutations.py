"""Damage to bytes, drawn from a seeded generator: the same seed does the same damage."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

LARGEST = 200_000
"""No damaged file is larger, so that nothing is read for long."""
_DEEPEST = 60_000
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TEXT = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
_NUMBERS = (
    *(b"-1", b"0", b"-0.0", b"1e400", b"-1e400", b"1e308", b"NaN", b"Infinity", b"true", b"null"),
    *(b"9" * 30, b"9" * 5_000, b"0.5", b'"7"', b"[]", b"{}", b"2026-02-30", b"1_000", b"0x10"),
)
_TEXTS = (
    *(b'""', b'" "', b'"\\ud800"', b'"\\u0000"', b'"\\n"', b'"\\u202e"', b'"\xef\xbb\xbf"'),
    *(b'"\xf0\x9f\xa7\xaa"', b'"e\xcc\x81"', b'"\xff"', b'"../../x"', b'"nan"', b'"1e400"'),
    *(b"null", b"true", b"3", b"[]", b"{}", b"'", b'"""', b'"' + b"a" * 9_000 + b'"'),
)
_BYTES = (b"\x00", b"\n", b"\r", b"\t", b'"', b"\\", b",", b"{", b"}", b"[", b"]", b"\xe2\x80\xa8")

Mutation = Callable[[bytes, bytes, Random], bytes]


def mutate(data: bytes, other: bytes, rng: Random) -> bytes:
    """``data`` with one to four kinds of damage; parts of ``other`` may slip in."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(MUTATIONS)(data, other, rng)
    return data[:LARGEST]


def _flip(data: bytes, _: bytes, rng: Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _delete(data: bytes, _: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.choice((1, 1, 2, 8, 64, 512)) :]


def _insert(data: bytes, _: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    more = rng.choice((rng.choice(_BYTES), rng.randbytes(rng.choice((1, 4, 16)))))
    return data[:at] + more + data[at:]


def _cut(data: bytes, _: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.8 else data[at:]


def _lines(data: bytes, other: bytes, rng: Random) -> bytes:
    """Lines swapped, doubled, lost, or one of another file's among them."""
    lines, others = data.split(b"\n"), other.split(b"\n")
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        lines[one], lines[two] = lines[two], lines[one]
    elif how == 1:
        lines.insert(two, lines[one])
    elif how == 2:
        del lines[one]
    else:
        lines.insert(two, rng.choice(others))
    return b"\n".join(lines)


def _replaced(pattern: re.Pattern[bytes], values: tuple[bytes, ...]) -> Mutation:
    def replace(data: bytes, _: bytes, rng: Random) -> bytes:
        found = pattern.search(data, rng.randrange(len(data) + 1)) or pattern.search(data)
        if found is None:
            return data
        return data[: found.start()] + rng.choice(values) + data[found.end() :]

    return replace


def _nested(data: bytes, _: bytes, rng: Random) -> bytes:
    """A value put into many brackets, closed or not."""
    found = _NUMBER.search(data, rng.randrange(len(data) + 1)) or _TEXT.search(data)
    if found is None:
        return data
    deep = rng.choice((1, 2, 90, 180, 400, 900, 990, 2_000, _DEEPEST))
    start, end = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"[", b"")))
    inner = start * deep + found.group() + end * deep
    return data[: found.start()] + inner + data[found.end() :]


def _spliced(data: bytes, other: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _line_ends(data: bytes, _: bytes, rng: Random) -> bytes:
    if rng.random() < 0.5:
        return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"")))
    at = data.find(b"\n", rng.randrange(len(data) + 1))
    return data if at < 0 else data[:at] + b"\r" + data[at:]


def _marked(data: bytes, _: bytes, rng: Random) -> bytes:
    """A mark at the beginning, or another encoding of the whole."""
    how = rng.randrange(3)
    if how == 0:
        return b"\xef\xbb\xbf" + data
    encoding = "utf-16" if how == 1 else "latin-1"
    return data.decode("utf-8", "replace").encode(encoding, "replace")


MUTATIONS: tuple[Mutation, ...] = (
    *(
        _flip,
        _flip,
        _delete,
        _insert,
        _cut,
        _lines,
        _lines,
        _nested,
        _spliced,
        _line_ends,
        _marked,
    ),
    *(_replaced(_NUMBER, _NUMBERS), _replaced(_NUMBER, _NUMBERS), _replaced(_TEXT, _TEXTS)),
)
