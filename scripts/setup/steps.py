"""The steps of set-up, each run only once, and the check that this machine can run proofmesh."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

# ----------------------------------------------------------------------------------------------------------------------
# Checks that this machine can run proofmesh, with advice if it cannot.

PYTHON_MINIMUM = (3, 11)
PYTHON_TESTED = (3, 13)
"""The newest version with wheels of all pinned packages and a full run of the tests."""

GLIBC_MINIMUM = (2, 35)
"""The wheel with Lean needs this glibc (tag manylinux_2_35_x86_64): Ubuntu 22.04, Debian 12, Fedora 36."""

DISK_NEEDED_MB = {"cpu": 2600, "gpu": 9000}
"""Measured: 1.7 GB of environment plus 0.4 GB of downloads for CPU. A CUDA build of torch needs about 5 GB more."""


@dataclass(frozen=True)
class Facts:
    """Facts of the machine."""

    system: str
    architecture: str
    glibc: tuple[int, ...] | None
    """None: not glibc (musl, another system)."""
    python: tuple[int, int]
    disk_free_mb: int


def read_facts(root: Path) -> Facts:
    """Facts of this machine; disk space is that of the file system of `root`."""
    return Facts(
        system=platform.system(),
        architecture=platform.machine(),
        glibc=_glibc(),
        python=sys.version_info[:2],
        disk_free_mb=shutil.disk_usage(root).free // 1_000_000,
    )


def describe(facts: Facts) -> str:
    """The machine in one line."""
    glibc = "no glibc" if facts.glibc is None else "glibc " + ".".join(map(str, facts.glibc))
    python = ".".join(map(str, facts.python))
    return f"{facts.system} {facts.architecture}, {glibc}, Python {python}, {facts.disk_free_mb / 1000:.0f} GB free"


def problems(facts: Facts, kind: str, fresh: bool) -> list[str]:
    """The reasons why this machine cannot run proofmesh, each with advice; empty if it can.

    `kind` is `cpu` or `gpu`. `fresh`: the packages are not downloaded yet, so disk space is checked, too.
    """
    # 1. The system. What the first reason makes meaningless is not asked: one reason of these three is enough.
    problems = []
    if facts.system != "Linux" or facts.architecture != "x86_64":
        problems.append(
            f"this is {facts.system} on {facts.architecture}; the embedded Lean exists for Linux on x86_64. "
            "Use such a machine, a virtual machine or a container"
        )
    elif facts.glibc is None:
        problems.append(
            "this system has no glibc (Alpine?); the embedded Lean needs glibc 2.35 or later: use another distribution"
        )
    elif facts.glibc < GLIBC_MINIMUM:
        problems.append(
            f"glibc {'.'.join(map(str, facts.glibc))} is too old; the embedded Lean needs 2.35 or later: "
            "Ubuntu 22.04, Debian 12, Fedora 36, RHEL 10, or a container of one of them"
        )
    # 2. Python and the disk, which are independent of it: all that is wrong is said at once.
    if not PYTHON_MINIMUM <= facts.python <= PYTHON_TESTED:
        problems.append(
            f"Python {'.'.join(map(str, facts.python))} was used; the pinned packages have wheels for 3.11 to 3.13. "
            "Name another with PYTHON=/path/to/python3.12 ./start ..."
        )
    if fresh and facts.disk_free_mb < DISK_NEEDED_MB[kind]:
        problems.append(
            f"{facts.disk_free_mb} MB are free here; set-up needs about {DISK_NEEDED_MB[kind]} MB ({kind}). "
            "Free some space, or clone to another disk"
        )
    return problems


def _glibc() -> tuple[int, ...] | None:
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return None
    name, _, version = text.partition(" ")
    return tuple(int(part) for part in version.split(".")[:2]) if name == "glibc" else None


# ----------------------------------------------------------------------------------------------------------------------
# Runs the steps of set-up, each only once: a stamp file in `.venv` records finished steps and their inputs.


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
