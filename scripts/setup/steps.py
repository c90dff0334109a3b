"""Runs the steps of set-up, each only once: a stamp file in `.venv` records finished steps and their inputs.

A step is skipped if its key equals the one in the stamp file. The file is written after each step, so a set-up that was
killed resumes with the unfinished step.
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
    """One step: its name, inputs and action."""

    name: str
    key: str | None
    """Digest of everything that the result depends on. If it changes, the step runs again. None: the step runs every
    time, and checks itself whether there is anything to do."""
    run: Callable[[], str | None]
    """Runs the step. Returns a short summary or None. Raises an exception whose message gives advice."""
    holds: Callable[[], bool] = lambda: True
    """Whether the recorded result still exists."""


class StepFailed(Exception):
    """A step failed. The message names it and gives the reason."""


def digest(parts: Iterable[str | Path]) -> str:
    """Digest of texts and of the contents of files (Path)."""
    state = hashlib.blake2b(digest_size=8)
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode()
        state.update(f"{len(content)}:".encode() + content)
    return state.hexdigest()


class Stamp:
    """A small JSON file with the finished steps. A damaged file counts as empty."""

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
        temporary = self._file.with_suffix(".new")
        temporary.write_text(json.dumps(content, indent=1) + "\n")
        temporary.replace(self._file)


def run(steps: Iterable[SetupStep], stamp: Stamp, say: Callable[[str], None]) -> int:
    """Run the unfinished steps; returns how many were run. Raises StepFailed."""
    return sum(_run_one(step, stamp, say) for step in steps)


def _run_one(step: SetupStep, stamp: Stamp, say: Callable[[str], None]) -> bool:
    if step.key is not None:
        if stamp.read().get(step.name) == step.key and step.holds():
            return False
        stamp.forget(step.name)
        say(f"{step.name} ...")
    started = time.monotonic()
    try:
        summary = step.run()
    except Exception as error:  # every error is reported together with the name of its step
        raise StepFailed(f"{step.name}: {error or type(error).__name__}") from error
    if step.key is not None:
        stamp.write(step.name, step.key)
    if step.key is not None or summary:
        say(f"{step.name}: {summary or 'done'} ({time.monotonic() - started:.1f} s)")
        return True
    return False
