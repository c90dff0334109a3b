"""Reads the files of `fill` and replaces them atomically. Never overwrites a file that changed after it was read."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from node.proving.fill_text import FileText

NO_WRITE_BIT = "it is write-protected: no one may write it (chmod u+w)"


class NotWritten(Exception):
    """A file was not replaced. The message has the reason."""


def read_file(path: Path) -> FileText:
    """Read a file and check its encoding. Raises OSError, UnicodeDecodeError."""
    file = FileText(path.read_bytes())
    _ = file.text
    return file


def write_file(path: Path, old: bytes, new: bytes) -> None:
    """Replace a file atomically, if its content is still `old`. Raises NotWritten.

    Keeps mode and owner, and follows symbolic links. Concurrent readers see either the old or the new file.
    """
    try:
        _replace(path.resolve(strict=True), old, new)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise NotWritten(f"it cannot be written: {reason}") from error


def _replace(real: Path, old: bytes, new: bytes) -> None:
    status = real.stat()
    # Replacing a file needs write permission for its folder only, so check the file's own permissions here.
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise NotWritten(NO_WRITE_BIT)
    if not os.access(real, os.W_OK):
        raise NotWritten("no permission to write it")
    handle, name = tempfile.mkstemp(prefix=f".{real.name[:100]}.", suffix=".proofmesh", dir=real.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(handle)
        with contextlib.suppress(PermissionError):  # only root may change the owner
            os.chown(temporary, status.st_uid, status.st_gid)
        temporary.chmod(stat.S_IMODE(status.st_mode))
        if real.read_bytes() != old:
            raise NotWritten("it has changed since it was read: run `fill` again")
        temporary.replace(real)
    finally:
        temporary.unlink(missing_ok=True)
