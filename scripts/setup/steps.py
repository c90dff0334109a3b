"""Steps of set-up, each done once: a stamp in `.venv` remembers what was done for which input.

A step is passed over when its key is the one in the stamp. The stamp is written after each step, so a set-up that was
killed goes on with the step it was in.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SetupStep:
    """One step: what it is called, what it depends on, and how it is done."""

    name: str
    key: str | None
    """Digest of everything that the result depends on; when it changes, the step is done again. None: the step runs
    every time, and finds out by itself whether there is anything to do."""
    run: Callable[[], str | None]
    """Does the step; returns what it did, in a few words, or None. Raises an exception that says what to do."""
    holds: Callable[[], bool] = lambda: True
    """Whether the result that the stamp records is still there."""


class StepFailed(Exception):
    """A step could not be done; the message names it and says why."""


def digest(parts: Iterable[str | Path]) -> str:
    """Digest of texts and of the contents of files."""
    state = hashlib.blake2b(digest_size=8)
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode()
        state.update(f"{len(content)}:".encode() + content)
    return state.hexdigest()


class Stamp:
    """What has been done, in a small JSON file; a damaged file counts as none."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> dict[str, str]:
        try:
            content = json.loads(self._file.read_text())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def write(self, name: str, value: str) -> None:
        self._replace(self.read() | {name: value})

    def forget(self, name: str) -> None:
        self._replace({key: value for key, value in self.read().items() if key != name})

    def _replace(self, content: dict[str, str]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        aside = self._file.with_suffix(".new")
        aside.write_text(json.dumps(content, indent=1) + "\n")
        aside.replace(self._file)


def run(steps: Iterable[SetupStep], stamp: Stamp, say: Callable[[str], None]) -> int:
    """Do the steps that are not done; returns how many were done. Raises StepFailed."""
    return sum(_run_one(step, stamp, say) for step in steps)


def _run_one(step: SetupStep, stamp: Stamp, say: Callable[[str], None]) -> bool:
    if step.key is not None:
        if stamp.read().get(step.name) == step.key and step.holds():
            return False
        stamp.forget(step.name)
        say(f"{step.name} ...")
    started = time.monotonic()
    try:
        news = step.run()
    except Exception as error:  # whatever it is, the person should read in which step it happened
        raise StepFailed(f"{step.name}: {error or type(error).__name__}") from error
    if step.key is not None:
        stamp.write(step.name, step.key)
    if step.key is not None or news:
        say(f"{step.name}: {news or 'done'} ({time.monotonic() - started:.1f} s)")
        return True
    return False
