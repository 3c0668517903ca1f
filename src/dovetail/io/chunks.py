"""Files of checksummed chunks: appended one at a time, read in part, and whole up to the last one that was finished.

    file     magic, chunk, chunk, …
    magic    8 bytes  89 44 56 32 0D 0A 1A 0A   (‰DV2 and line ends, so that a transfer as text is noticed)
    chunk    tag (4 ASCII letters), CRC-32 of the payload (u32), length of the payload (u64), CRC-32 of these 16 bytes
             and of the note (u32), payload
    note     the first 24 bytes of the payload, or all of it where it is shorter
    numbers  little-endian

A chunk is written by one call and flushed. A process that is killed can leave a part of its last chunk behind, and
nothing else; readers stop before it. Nothing is believed that no checksum covers: where the beginning of a chunk is
damaged, the next one that is whole is looked for, and the bytes between are told.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from typing import BinaryIO, NamedTuple

__all__ = ["EARLIER_MAGIC", "MAGIC", "Chunk", "Scan", "append_chunk", "chunk_bytes", "read_chunk", "read_magic", "scan"]

MAGIC = b"\x89DV2\r\n\x1a\n"
EARLIER_MAGIC = b"\x89DVT\r\n\x1a\n"
"""Of files whose tags and lengths no checksum covers."""
_HEAD = struct.Struct("<4sIQ")
_CHECK = struct.Struct("<I")
_NOTE = 24
_TAG = re.compile(rb"HEAD|MESH|FRAM")
_BLOCK = 1 << 20  # bytes that are searched at a time


class Chunk(NamedTuple):
    """Where a chunk's payload lies in a file, and the note at its beginning."""

    tag: bytes
    crc: int
    start: int
    length: int
    note: bytes

    @property
    def begin(self) -> int:
        """Where its tag is."""
        return self.start - _HEAD.size - _CHECK.size

    @property
    def end(self) -> int:
        return self.start + self.length


class Scan(NamedTuple):
    """The whole chunks in a part of a file, where the last of them ends, and damaged bytes (from, to) before it."""

    chunks: list[Chunk]
    end: int
    gaps: list[tuple[int, int]]


def read_magic(stream: BinaryIO) -> bytes:
    stream.seek(0)
    return stream.read(len(MAGIC))


def chunk_bytes(tag: bytes, payload: bytes) -> bytes:
    """A chunk as it stands in a file."""
    head = _HEAD.pack(tag, zlib.crc32(payload), len(payload))
    return head + _CHECK.pack(zlib.crc32(payload[:_NOTE], zlib.crc32(head))) + payload


def append_chunk(stream: BinaryIO, tag: bytes, payload: bytes) -> None:
    """Write a chunk at the end of an unbuffered stream."""
    content = memoryview(chunk_bytes(tag, payload))
    while content:  # an unbuffered stream may take less than it is given
        content = content[stream.write(content) :]


def scan(stream: BinaryIO, start: int) -> Scan:
    """The whole chunks from `start` on; of payloads no more than the notes are read."""
    size = os.fstat(stream.fileno()).st_size
    found, gaps = [], []
    while start < size:
        chunk = _chunk_at(stream, start)
        if chunk is None:
            following = _following(stream, start + 1, size)
            if following is None:
                break
            gaps.append((start, following))
            start = following
        elif chunk.end > size:
            break
        else:
            found.append(chunk)
            start = chunk.end
    return Scan(found, start, gaps)


def _chunk_at(stream: BinaryIO, begin: int) -> Chunk | None:
    """The chunk that begins at a place; None where its checksum says that there is none."""
    stream.seek(begin)
    content = stream.read(_HEAD.size + _CHECK.size + _NOTE)
    if len(content) < _HEAD.size + _CHECK.size:
        return None
    tag, crc, length = _HEAD.unpack_from(content)
    (check,) = _CHECK.unpack_from(content, _HEAD.size)
    start = _HEAD.size + _CHECK.size
    note = content[start : start + min(length, _NOTE)]
    if zlib.crc32(note, zlib.crc32(content[: _HEAD.size])) != check:
        return None
    return Chunk(tag, crc, begin + start, length, note)


def _following(stream: BinaryIO, start: int, size: int) -> int | None:
    """Where the next whole chunk begins."""
    while start < size:
        stream.seek(start)
        block = stream.read(_BLOCK)
        for match in _TAG.finditer(block):
            chunk = _chunk_at(stream, start + match.start())
            if chunk is not None and chunk.end <= size:
                return chunk.begin
        if len(block) < _BLOCK:
            return None
        start += len(block) - 3  # a tag may lie across two blocks
    return None


def read_chunk(stream: BinaryIO, chunk: Chunk) -> bytes:
    """The payload of a chunk; raises ValueError where its checksum differs."""
    stream.seek(chunk.start)
    payload = stream.read(chunk.length)
    if len(payload) != chunk.length or zlib.crc32(payload) != chunk.crc:
        raise ValueError(f"the checksum of the bytes {chunk.start} to {chunk.end} differs")
    return payload
