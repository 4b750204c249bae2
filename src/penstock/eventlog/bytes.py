"""The bytes of one file of a Spark event log; the compression is recognised by the first bytes, not by the file's name."""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from penstock.core.errors import UserMistake
from penstock.eventlog.log_files import why_unreadable

PIECE = 1 << 20
LEAST_PIECE = 64
"""Bytes read at once where a stream is torn: a larger piece would be lost whole."""

ZSTD, LZ4_FRAME, GZIP, LZF = b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x1f\x8b", b"ZV"
LZ4_BLOCK = b"LZ4Block"
SNAPPY = b"\x82SNAPPY\x00"
"""Spark writes LZ4 and Snappy with Java libraries, as streams of blocks rather than the standard frames."""

LZ4_HEADER = struct.Struct("<8sBiii")
LZ4_METHOD, LZ4_STORED = 0xF0, 0x10
SNAPPY_REST = 12
"""Bytes of a Snappy header after the first four: the rest of its magic, and two version numbers."""

Read = Callable[[int], None]
"""Called with the number of bytes just read."""


class Damaged(UserMistake):
    """A file that cannot be read beyond about this share of its bytes: it is damaged before its end."""

    def __init__(self, path: Path, read_share: float) -> None:
        super().__init__(f"{path}: it is damaged: only about the first {read_share:.0%} of it can be read")
        self.read_share = read_share


def contents(path: Path, read: Read = lambda count: None) -> Iterator[bytes]:
    """Yield the content in pieces up to the end, or to where the file is torn because its job still writes it, or was killed."""
    try:
        with path.open("rb") as file:
            begins = file.read(8)
            file.seek(0)
            counted = Counted(file, read)
            if begins.startswith((ZSTD, LZ4_FRAME)):
                yield from framed(path, "zstd" if begins.startswith(ZSTD) else "lz4", read)
            elif begins == LZ4_BLOCK:
                yield from lz4_blocks(path, counted)
            elif begins == SNAPPY:
                yield from snappy_blocks(path, counted)
            elif begins.startswith(GZIP):
                yield from gzipped(counted)
            elif begins.startswith(LZF):
                raise UserMistake(f"{path}: it is compressed by LZF, which is not read here; set spark.eventLog.compression.codec to zstd, or decompress it")
            else:
                yield from iter(lambda: counted.read(PIECE), b"")
    except OSError as error:
        raise UserMistake(f"{path}: {why_unreadable(error)}") from None


class Counted:
    """A file that reports how much of it was read."""

    def __init__(self, file: BinaryIO, read: Read) -> None:
        self._file = file
        self._read = read

    def read(self, count: int = -1) -> bytes:
        found = self._file.read(count)
        self._read(len(found))
        return found


def framed(path: Path, codec: str, read: Read) -> Iterator[bytes]:
    """Yield a stream of frames. A torn end is read once more in small pieces; raise `Damaged` if more bytes follow it."""
    done = at = 0
    with pa.OSFile(str(path)) as file, pa.CompressedInputStream(file, codec) as stream:
        size = file.size()
        while True:
            try:
                piece = stream.read(PIECE)
            except (OSError, pa.ArrowException):
                break
            read(file.tell() - at)
            at = file.tell()
            if not piece:
                return
            done += len(piece)
            yield piece
        at = file.tell()
    yield from torn_frames(path, codec, done)
    if at < size:
        raise Damaged(path, at / size)


def torn_frames(path: Path, codec: str, skip: int) -> Iterator[bytes]:
    """Yield what can be read after the first `skip` bytes of the content; nothing if the file is shorter by now."""
    with pa.OSFile(str(path)) as file, pa.CompressedInputStream(file, codec) as stream:
        while True:
            try:
                piece = stream.read(min(PIECE, skip) if skip > 0 else LEAST_PIECE)
            except (OSError, pa.ArrowException):
                return
            if not piece:
                return
            if skip > 0:
                skip -= len(piece)
            else:
                yield piece


def lz4_blocks(path: Path, file: Counted) -> Iterator[bytes]:
    """Yield the blocks of net.jpountz.lz4's LZ4BlockOutputStream: a header with both lengths, then the block; an empty block ends a stream."""
    codec = pa.Codec("lz4_raw")
    while len(header := file.read(LZ4_HEADER.size)) == LZ4_HEADER.size:
        magic, token, packed, size, _ = LZ4_HEADER.unpack(header)
        if magic != LZ4_BLOCK or packed < 0 or size < 0:
            raise UserMistake(f"{path}: it is damaged: a block of LZ4 was expected and something else found")
        block = file.read(packed)
        if len(block) < packed:
            return
        if size:
            yield block if token & LZ4_METHOD == LZ4_STORED else unpacked(path, codec, block, size)


def snappy_blocks(path: Path, file: Counted) -> Iterator[bytes]:
    """Yield the blocks of org.xerial.snappy's SnappyOutputStream: a length, then the block; each appended stream begins with a header."""
    codec = pa.Codec("snappy")
    while len(word := file.read(4)) == 4:
        if word == SNAPPY[:4]:
            file.read(SNAPPY_REST)
            continue
        (packed,) = struct.unpack(">i", word)
        if packed < 0:
            raise UserMistake(f"{path}: it is damaged: a block of Snappy was expected and something else found")
        block = file.read(packed)
        if len(block) < packed:
            return
        if block:
            yield unpacked(path, codec, block, size_in(block))


def size_in(block: bytes) -> int:
    """Return the length at the start of a Snappy block, seven bits a byte, the lowest first.

    >>> size_in(bytes([0xAC, 0x02, 0xFF])), size_in(bytes([5]))
    (300, 5)
    """
    size = 0
    for place, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    return size


def unpacked(path: Path, codec: pa.Codec, block: bytes, size: int) -> bytes:
    try:
        return bytes(codec.decompress(block, decompressed_size=size, asbytes=True))
    except (OSError, pa.ArrowException):
        raise UserMistake(f"{path}: it is damaged: a compressed block cannot be read") from None


def gzipped(file: Counted) -> Iterator[bytes]:
    """Yield a log compressed by gzip, up to where it is torn."""
    with gzip.GzipFile(fileobj=file) as stream:  # type: ignore[call-overload]
        while True:
            try:
                piece = stream.read1(PIECE)
            except (EOFError, zlib.error):
                return
            if not piece:
                return
            yield piece
