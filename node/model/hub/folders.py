"""Writes model folders atomically, so that no reader sees an incomplete one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from common.files import sync


class FolderExists(ValueError):
    """The output path already exists; the text says where, and what to do."""


CONFIG = "config.json"
"""Configuration file of a model in Hugging Face's format."""
ADAPTER_CONFIG = "adapter_config.json"
"""Configuration file of a LoRA adapter."""

MODEL_FILES = (CONFIG, ADAPTER_CONFIG)
"""A folder with one of these holds a model or an adapter in Hugging Face's format."""


def check_free(out: Path, *, force: bool, holds: Sequence[str] = MODEL_FILES) -> None:
    """Check that `out` may be written. A non-empty folder without any of the files `holds` is never replaced, because
    it may be other work of the user's. Raises FolderExists if `out` exists and may not be replaced."""
    if not out.exists():
        return
    if not out.is_dir():
        raise FolderExists(f"{out} exists and is not a folder; name another folder")
    if not force:
        raise FolderExists(f"{out} exists already; name another folder, or replace it with --force")
    if any(out.iterdir()) and not any((out / name).is_file() for name in holds):
        raise FolderExists(
            f"{out} holds other files (no {' and no '.join(holds)}), which --force does not replace; name another "
            "folder"
        )


@contextmanager
def written_folder(out: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `out` if the block succeeds. `force`: replace an existing folder.

    Raises FolderExists, and OSError (disk full, read-only).
    """
    check_free(out, force=force)
    out = out.absolute()
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    out.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(part, ignore_errors=True)  # left by a killed process with the same id
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
