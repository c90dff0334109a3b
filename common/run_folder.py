"""A folder that one process owns: of a run, a training, an evaluation, an agent.

Only one process works in it (`owned`), with the settings that it began with (`changes`), and files of lines survive a
kill (`files.append_line`, `cut_torn_line`). Each kind of folder words its own errors, because they name its flags.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

LOCK = ".lock"
"""The lock's file. It stays in the folder: what counts is whether a process has locked it."""

SHOWN = 60
"""Characters of a setting's value in `Change.__str__`."""


@contextmanager
def owned(folder: Path, in_use: Callable[[], Exception], *, lock: str = LOCK, wait: float = 0.0) -> Iterator[None]:
    """Create a folder and lock it for this process. The kernel releases the lock of a killed process.

    `in_use`: makes the error to raise if another process has the lock. `wait`: seconds to wait for that process.
    Raises OSError if the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    held = FileLock(folder / lock)
    try:
        held.acquire(timeout=wait)
    except Timeout as error:
        raise in_use() from error
    try:
        yield
    finally:
        held.release()


@contextmanager
def explained(folder: Path, error: Callable[[str], Exception]) -> Iterator[None]:
    """Turn OSErrors of the block into the error of this kind of folder, from the text that says what failed and why."""
    try:
        yield
    except OSError as why:
        raise error(f"{why.filename or folder}: cannot be written ({why.strerror or why})") from why


@dataclass(frozen=True)
class Change:
    """A setting that differs from the one that a folder was begun with."""

    name: str
    """Dotted name, for settings in sections."""
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name} was {_short(self.before)}, is {_short(self.now)}"


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """The settings that differ, by name. One that a side lacks is None there."""
    old, new = _flat(before), _flat(now)
    return [
        Change(name, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def cut_torn_line(path: Path) -> None:
    """Remove the last line of a file if it is incomplete (has no newline). Raises OSError."""
    if not path.is_file():
        return
    with path.open("rb+") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)
            os.fsync(file.fileno())


def _flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{above}{name}.")
        else:
            flat[f"{above}{name}"] = value
    return flat


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
