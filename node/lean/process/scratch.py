"""Makes temporary folders, and removes those of processes that were killed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path


def scratch_folder(prefix: str) -> Path:
    """A new private folder for this process. Removes this user's folders of the same prefix whose process has ended."""
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"{prefix}*"):
        match = re.fullmatch(rf"{re.escape(prefix)}(\d+)-.*", old.name)
        if match and not Path(f"/proc/{match.group(1)}").exists() and _is_own(old):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))


def _is_own(folder: Path) -> bool:
    """True when a folder belongs to this user; False also if another process has just removed it."""
    try:
        return folder.stat().st_uid == os.getuid()
    except FileNotFoundError:
        return False
