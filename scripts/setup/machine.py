"""Checks that this machine can run proofmesh, with advice if it cannot."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

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
