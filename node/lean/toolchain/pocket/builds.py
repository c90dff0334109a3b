"""The builds of pocket Lean in the cache: those in use are held, and old ones that nobody holds are deleted.

A process that runs Lean from a build holds a shared lock on the build's seal for as long as it lives; whoever deletes
a build takes that lock alone first. The system lets go of both when their process dies, however it dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

SEAL = "BUILT"
"""Inside a built directory, written last: the key it was built for, then the size in bytes and path of every file."""

KEPT = 2
"""Builds that stay: the one of today, and the one that the other branch or checkout comes back to."""

_held: list[int] = []
"""Open files whose locks last as long as this process."""


def hold(directory: Path) -> bool:
    """Keep a build from being deleted while this process lives; False when it has just been deleted."""
    try:
        descriptor = os.open(directory / SEAL, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if not _is_there(directory / SEAL, descriptor):
        os.close(descriptor)
        return False
    _held.append(descriptor)
    with contextlib.suppress(PermissionError):  # somebody else's cache: there it counts by the time of its build
        os.utime(directory / SEAL)
    return True


def prune(cache: Path, keep: int = KEPT) -> list[Path]:
    """Delete all builds in `cache` but the `keep` last used ones and those that a process holds; returns them."""
    used = sorted(cache.glob(f"pocket-*/{SEAL}"), key=_last_used, reverse=True)
    pruned = [seal.parent for seal in used[keep:] if _take_away(seal)]
    for each in cache.glob(".pruned-pocket-*"):  # also those of a process that was killed here
        shutil.rmtree(each, ignore_errors=True)
    return pruned


def _last_used(seal: Path) -> float:
    try:
        return seal.stat().st_mtime
    except FileNotFoundError:  # another process prunes, too
        return 0.0


def _take_away(seal: Path) -> bool:
    """Rename the build of a seal out of the way, unless it is held or already gone."""
    try:
        descriptor = os.open(seal, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_there(seal, descriptor):
            return False
        seal.parent.rename(seal.parent.with_name(f".pruned-{seal.parent.name}"))  # so it is whole or absent
    except OSError:  # held, of another user, or a killed process left one of this name (deleted below)
        return False
    finally:
        os.close(descriptor)
    return True


def _is_there(path: Path, descriptor: int) -> bool:
    """Whether an open file still is what stands at its path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
