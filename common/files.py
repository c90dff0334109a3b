"""Files and folders that appear whole or not at all: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path in the folder of `path`; what the block wrote there replaces `path` when it ends well.

    The content is on the disk before the rename, so that not even a power cut leaves half a file under the name. A
    block that raises leaves `path` as it was. Raises OSError: disk full, read-only.
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
    """Copy a folder; `target` appears complete, or not at all. One that is there already stays as it is.

    Raises OSError.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.rmtree(temporary, ignore_errors=True)  # of a process with this id that was killed
        shutil.copytree(source, temporary)
        if not target.exists():
            temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk, so that a rename that follows cannot survive without it. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
