"""Paths and files: atomic writes, the cache folder, and the recipes and banks that come with proofmesh.

An atomic write goes to a temporary path in the same folder, which is then renamed.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not JSON of the wanted type: bytes that are not UTF-8, and values that nest
without end, have errors of their own."""


def file_digest(path: Path) -> str:
    """The blake2b digest of a file in hex, by which weights are identified everywhere. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.blake2b).hexdigest()


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its bytes, decompressed if its name ends in `.gz`. Raises OSError, also while the content is
    read, and also for damaged compressed data."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (EOFError, zlib.error) as error:
        raise OSError(f"damaged compressed data: {error}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`. When the block ends without an exception, the file that it wrote
    there replaces `path`.

    The content is flushed to the disk before the rename, so a power cut cannot leave half a file at `path`. A block
    that raises leaves `path` unchanged. Raises OSError: disk full, read-only.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file; readers see the old content or the new one, never a part. Raises OSError."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def copy_folder_whole(source: Path, target: Path) -> None:
    """Copy a folder atomically: `target` appears complete, or not at all. An existing `target` is not changed.

    Raises OSError.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.rmtree(temporary, ignore_errors=True)  # left by a killed process with the same process id
        shutil.copytree(source, temporary)
        if not target.exists():
            temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk, so that a later rename cannot reach the disk before it. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append_line(path: Path, line: bytes) -> None:
    """Append a line (with its newline) completely or not at all. Raises OSError: disk full, read-only.

    If a killed process left a partial last line, a newline is written first, so that this line stays readable.
    """
    with path.open("ab+", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            line = line if file.read(1) == b"\n" else b"\n" + line
        try:
            unwritten = memoryview(line)
            while unwritten:
                unwritten = unwritten[file.write(unwritten) :]
        except OSError:
            file.truncate(end)
            raise


class NewLines:
    """Reads the lines that are appended to a file. A last line without newline is left for the next read."""

    def __init__(self, path: Path, last_bytes: int | None = None) -> None:
        """`last_bytes`: leave out what comes before this much of the file's end, and the line that is cut by that."""
        self.path = path
        self.again = False
        """Whether the file was replaced or emptied since the last read, which then has begun at its start."""
        self._last_bytes = last_bytes
        self._offset = 0
        self._file = -1

    def read(self) -> Iterator[bytes]:
        """The new lines, with their newlines; none if there is no such file, or on errors."""
        try:
            file = self.path.open("rb")
        except OSError:
            return
        with file:
            # 1. Where to begin.
            status = os.fstat(file.fileno())
            self.again = status.st_ino != self._file or status.st_size < self._offset
            if self.again:
                self._offset = max(0, status.st_size - self._last_bytes) if self._last_bytes is not None else 0
                self._file, self._last_bytes = status.st_ino, None
            file.seek(self._offset)
            if self._offset and self.again:
                self._offset += len(file.readline())
            # 2. Whole lines only.
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield line


# ----------------------------------------------------------------------------------------------------------------------
# The cache folder, for files that can be made or downloaded again: nats-server, Lean's library, warm starts,
# whitelists.

CACHE_VARIABLE = "PROOFMESH_CACHE"
"""Environment variable that names another cache folder."""


def times_of(*files: str) -> list[int]:
    """When those of the named files that exist were changed last, in nanoseconds: shows whether they were replaced."""
    return [Path(file).stat().st_mtime_ns for file in files if file and Path(file).exists()]


def cache_directory() -> Path:
    """$PROOFMESH_CACHE, or `~/.cache/proofmesh`. The folder may not exist yet."""
    from_environment = os.environ.get(CACHE_VARIABLE)
    return Path(from_environment) if from_environment else Path.home() / ".cache" / "proofmesh"


# ----------------------------------------------------------------------------------------------------------------------
# Paths of the recipes and banks that come with proofmesh. They are found as packages, not by relative paths.


def recipe(name: str) -> Path:
    """The path of `scripts/recipes/NAME.toml`."""
    return _package_folder("scripts") / "recipes" / f"{name}.toml"


def bundled_bank(name: str = "pocket") -> Path:
    """The folder of a bank that comes with proofmesh."""
    return _package_folder("data") / name


def _package_folder(package: str) -> Path:
    """The folder of a package. An editable installation may also list a hook, so the first existing folder counts."""
    return next(Path(place) for place in importlib.import_module(package).__path__ if Path(place).is_dir())
