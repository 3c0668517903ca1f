"""Files of checksummed chunks: appended one at a time, read in part, and whole up to the last one that was finished.

    file     magic, chunk, chunk, …
    magic    8 bytes  89 44 56 54 0D 0A 1A 0A   (‰DVT and line ends, so that a transfer as text is noticed)
    chunk    tag (4 ASCII letters), CRC-32 of the payload (u32), length of the payload (u64), payload
    numbers  little-endian

A chunk is written by one call and flushed. A process that is killed can leave a part of its last chunk behind, and
nothing else; readers stop before it.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import BinaryIO, NamedTuple

__all__ = ["MAGIC", "Chunk", "append_chunk", "chunk_bytes", "has_magic", "read_chunk", "scan"]

MAGIC = b"\x89DVT\r\n\x1a\n"
_HEAD = struct.Struct("<4sIQ")


class Chunk(NamedTuple):
    """Where a chunk's payload lies in a file."""

    tag: bytes
    crc: int
    start: int
    length: int

    @property
    def begin(self) -> int:
        """Where its tag is."""
        return self.start - _HEAD.size

    @property
    def end(self) -> int:
        return self.start + self.length


def has_magic(stream: BinaryIO) -> bool:
    stream.seek(0)
    return stream.read(len(MAGIC)) == MAGIC


def chunk_bytes(tag: bytes, payload: bytes) -> bytes:
    """A chunk as it stands in a file."""
    return _HEAD.pack(tag, zlib.crc32(payload), len(payload)) + payload


def append_chunk(stream: BinaryIO, tag: bytes, payload: bytes) -> None:
    """Write a chunk at the end of an unbuffered stream."""
    content = memoryview(chunk_bytes(tag, payload))
    while content:  # an unbuffered stream may take less than it is given
        content = content[stream.write(content) :]


def scan(stream: BinaryIO, start: int) -> tuple[list[Chunk], int]:
    """The complete chunks from `start` on, and where the last of them ends; payloads are skipped, not read."""
    size = os.fstat(stream.fileno()).st_size
    found = []
    while start + _HEAD.size <= size:
        stream.seek(start)
        tag, crc, length = _HEAD.unpack(stream.read(_HEAD.size))
        chunk = Chunk(tag, crc, start + _HEAD.size, length)
        if chunk.end > size or not tag.isalpha():
            break
        found.append(chunk)
        start = chunk.end
    return found, start


def read_chunk(stream: BinaryIO, chunk: Chunk) -> bytes:
    """The payload of a chunk; raises ValueError where its checksum differs."""
    stream.seek(chunk.start)
    payload = stream.read(chunk.length)
    if zlib.crc32(payload) != chunk.crc:
        raise ValueError(f"the checksum of the bytes {chunk.start} to {chunk.end} differs")
    return payload
