"""Folders of models that are written whole: nobody ever reads half of one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from common.files import sync


class FolderExists(ValueError):
    """There is something in the place of what should be written; the text says where, and what to do."""


CONFIG = "config.json"
"""Of a model in Hugging Face's format."""
ADAPTER_CONFIG = "adapter_config.json"
"""Of a LoRA adapter."""

MODEL_FILES = (CONFIG, ADAPTER_CONFIG)
"""A folder with one of these holds a model or an adapter in Hugging Face's format."""


def check_free(out: Path, *, force: bool, holds: Sequence[str] = MODEL_FILES) -> None:
    """Raises FolderExists: something is there and may not be replaced, or is no folder. `holds`: a folder without any
    of these files is not replaced, unless it is empty: it is no model, and may be somebody's work."""
    if not out.exists():
        return
    if not out.is_dir():
        raise FolderExists(f"{out} is there already: it is no folder")
    if not force:
        raise FolderExists(f"{out} is there already: name another folder, or replace it with --force")
    if any(out.iterdir()) and not any((out / name).is_file() for name in holds):
        raise FolderExists(
            f"{out} holds something else (no {' and no '.join(holds)}), which --force does not replace: name another "
            "folder"
        )


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
