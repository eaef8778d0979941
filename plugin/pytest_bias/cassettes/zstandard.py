"""Packing text with zstd (RFC 8878), and unpacking it within bounds.

A file is one frame, made at a fixed level and with a checksum, so that the same text packed by the
same version of zstd gives the same bytes. Any single frame is read, whoever made it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import DamagedCassette, TooLargeToPack

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL = 19
"""The highest of the usual ones; those above need more memory to read."""

LIMIT = 1 << 30
"""Bytes of text that are unpacked at most, of a file of any size."""

SMALL = 1 << 26
"""Bytes of text that are unpacked of any file, however small."""

RATIO = 256
"""How many times its own size a file unpacks to at most, beyond :data:`SMALL`.

A few kilobytes could else fill any memory. Recordings shrink to a tenth or less, and hardly ever
to a hundredth: each line has a key and a checksum, 40 bytes that nothing packs.
"""

_WINDOW_LOG = 30
"""Of the largest window that is read: as much memory as text. By itself zstd stops at 128 MiB."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_SINGLE_SEGMENT = 0b100000
_PIECE = 1 << 17
"""Bytes unpacked at once: a block of zstd, so that damage is found where it is."""


def compressed(text: bytes, path: Path) -> bytes:
    """``text`` as one frame, for the file ``path``.

    Raises TooLargeToPack when nobody would read it again: it is longer than :func:`limit_of` what
    it is packed to.
    """
    if len(text) > LIMIT:
        raise TooLargeToPack(path=path, size=len(text), limit=LIMIT)
    data = zstd.compress(
        text,
        options={
            zstd.CompressionParameter.compression_level: LEVEL,
            zstd.CompressionParameter.checksum_flag: 1,
        },
    )
    if len(text) > (limit := limit_of(data)):
        raise TooLargeToPack(path=path, size=len(text), limit=limit)
    return data


def limit_of(data: bytes) -> int:
    """Bytes of text that are unpacked of ``data`` at most."""
    return min(LIMIT, max(SMALL, RATIO * len(data)))


def decompressed(data: bytes, path: Path) -> bytes:
    """The text that ``data``, the bytes of the file ``path``, holds.

    Raises DamagedCassette when ``data`` is not one whole frame, or unpacks to more than
    :func:`limit_of` allows. The line is the one that could not be unpacked to its end, or one
    after it.
    """
    text = bytearray()
    problem = None
    try:
        problem = _not_ours(data) or _unpack(data, text)
    except zstd.ZstdError:
        problem = "the packed text was changed after packing, or was cut short"
    if problem is None:
        return bytes(text)
    mend = _taken_for_text(path) if _has_line_ends_of_windows(data) else ""
    line = text.count(b"\n") + 1
    raise DamagedCassette(path=path, line=line, problem=problem, mend=mend)


def _has_line_ends_of_windows(data: bytes) -> bool:
    """Return whether every line feed follows a carriage return, as in no packed file of a size."""
    return data.count(b"\n") == data.count(b"\r\n") > 1


def _taken_for_text(path: Path) -> str:
    return (
        "It looks as if Git had converted its line ends, as if it were text. In a packed file "
        "that cannot be undone, but what was committed may be whole: with the line *.zst -text in "
        f".gitattributes, remove it and git checkout -- {path} restores it, which costs nothing. "
        "Only where that is damaged too, move it away and record it again (--bias-record=missing)."
    )


def _not_ours(data: bytes) -> str | None:
    """Name the reason, by its header, why a frame cannot be read here; None when it can."""
    try:
        frame = zstd.get_frame_info(data)
    except zstd.ZstdError:
        return "this is no file packed with zstd"
    # A frame may say how large it is; memory is not asked for on its word.
    if (frame.decompressed_size or 0) > limit_of(data):
        return _too_large(data)
    if frame.dictionary_id:
        return "it was packed with a dictionary, which is not here"
    if data.startswith(_MAGIC) and _window(data) > 1 << _WINDOW_LOG:
        return (
            "its window is larger than any that is read here; it may be whole, and can then be "
            "unpacked with zstd -d --long=31 --rm"
        )
    return None


def _window(data: bytes) -> int:
    """Bytes of memory that reading a frame takes by its header (RFC 8878, 3.1.1.1.2)."""
    if data[4] & _SINGLE_SEGMENT:
        return 0  # no more than its text
    base = 1 << (10 + (data[5] >> 3))
    return base + base // 8 * (data[5] & 0b111)


def _unpack(data: bytes, text: bytearray) -> str | None:
    """Add to ``text`` what ``data`` holds, as far as that goes; what is wrong with it."""
    reader = zstd.ZstdDecompressor(
        options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
    )
    rest = data
    while not reader.eof:
        piece = reader.decompress(rest, max_length=_PIECE)
        rest = b""
        text += piece
        if len(text) > limit_of(data):
            return _too_large(data)
        if not piece and reader.needs_input and not reader.eof:
            return "the packed text is truncated"
    return "something follows the packed text" if reader.unused_data else None


def _too_large(data: bytes) -> str:
    return (
        f"it unpacks to more than {limit_of(data):,} bytes, and no more are read of "
        f"{len(data):,}; if you trust it, unpack it yourself (zstd -d --rm)"
    )
