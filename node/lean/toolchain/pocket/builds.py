"""Locks the builds of pocket Lean in the cache while they are in use, and deletes old unused builds.

A process that runs Lean from a build holds a shared lock on the build's seal until the process ends. A process that
deletes a build first takes an exclusive lock on the seal. The system releases both locks when their process ends, also
after a crash.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

SEAL = "BUILT"
"""A file in a built directory, written last. It has the build's key, then the size in bytes and path of each file."""

MOST_BUILDS = 2
"""Builds that stay in the cache: the current one, and one of another branch or checkout."""

_held: list[int] = []
"""Descriptors of locked seals. They stay open, and so locked, until this process ends."""


def hold(directory: Path) -> bool:
    """Protect a build from deletion until this process ends. Returns False if it has just been deleted."""
    try:
        descriptor = os.open(directory / SEAL, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if not _is_there(directory / SEAL, descriptor):
        os.close(descriptor)
        return False
    _held.append(descriptor)
    with contextlib.suppress(PermissionError):  # another user's cache: the seal then keeps the time of the build
        os.utime(directory / SEAL)
    return True


def prune(cache: Path, keep: int = MOST_BUILDS) -> list[Path]:
    """Delete all builds in `cache` except the `keep` last used ones and locked ones. Returns the deleted builds."""
    seals = sorted(cache.glob(f"pocket-*/{SEAL}"), key=_last_used, reverse=True)
    pruned = [seal.parent for seal in seals[keep:] if _take_away(seal)]
    for each in cache.glob(".pruned-pocket-*"):  # includes those of a process that was killed between rename and here
        shutil.rmtree(each, ignore_errors=True)
    return pruned


def _last_used(seal: Path) -> float:
    try:
        return seal.stat().st_mtime
    except FileNotFoundError:  # another process is pruning
        return 0.0


def _take_away(seal: Path) -> bool:
    """Rename the build of a seal, to delete it. Returns False if the build is locked or already gone."""
    try:
        descriptor = os.open(seal, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_there(seal, descriptor):
            return False
        # The rename is atomic, so other processes see either the complete build or none.
        seal.parent.rename(seal.parent.with_name(f".pruned-{seal.parent.name}"))
    except OSError:  # locked, another user's, or the new name is taken by a leftover that `prune` deletes
        return False
    finally:
        os.close(descriptor)
    return True


def _is_there(path: Path, descriptor: int) -> bool:
    """True when the path still leads to the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
