"""What disks do to files, for tests: files that end early, and a limit on their size in place of a full disk."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def truncate(path: Path, left: float = 0.5) -> None:
    """Cut a file off."""
    os.truncate(path, int(path.stat().st_size * left))


def limit_files(pid: int, size: int) -> None:
    """From now on this process (0: this one) cannot make any file longer than `size` bytes: EFBIG where a full disk
    gives ENOSPC. Lowers the soft limit only."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size if size >= 0 else hard, hard))


@contextmanager
def limited_files(size: int) -> Iterator[None]:
    """This process under `limit_files` for the length of a block."""
    limit_files(0, size)
    try:
        yield
    finally:
        limit_files(0, -1)
