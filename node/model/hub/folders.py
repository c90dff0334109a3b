"""Folders of models that are written whole: nobody ever reads half of one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.files import sync


class FolderExists(ValueError):
    """There is something in the place of what should be written; the text says where, and what to do."""


def check_free(out: Path, *, force: bool) -> None:
    """Raises FolderExists: something is there and may not be replaced, or is no folder."""
    if out.exists() and not (force and out.is_dir()):
        what = "name another folder, or replace it with --force" if out.is_dir() else "it is no folder"
        raise FolderExists(f"{out} is there already: {what}")


@contextmanager
def written_folder(out: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a folder beside `out`; when the block ends well, it becomes `out`. `force`: an old one is replaced.

    Raises FolderExists; OSError: disk full, read-only.
    """
    check_free(out, force=force)
    out = out.absolute()
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    out.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(part, ignore_errors=True)  # of a process with this id that was killed
    part.mkdir()
    try:
        yield part
        for path in part.iterdir():
            sync(path)
        check_free(out, force=force)
        old = out.with_name(f".{out.name}.{os.getpid()}.old")
        if out.exists():
            out.rename(old)
        part.rename(out)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)
