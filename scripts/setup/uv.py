"""Installs torch from PyTorch's own index with uv, which knows the address and the build that fits this machine.

uv is used for nothing else. If it cannot be installed or cannot reach the index, set-up continues with pip.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from scripts.setup import logged, pip
from scripts.setup.logged import Say

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "uv.txt"

REACH_SECONDS = 5
"""Seconds until an index that does not respond counts as unreachable, so that a closed network does not delay
set-up."""

_WOULD_INSTALL = re.compile(r"^ \+ torch==(\S+)$", re.MULTILINE)


class UvError(Exception):
    """An installation by uv failed. The message has its last lines."""


class OutOfReach(Exception):
    """uv is not available, or does not find the build. The message is the reason in one line."""


def version() -> str:
    """The pinned version of uv."""
    return REQUIREMENTS.read_text().rpartition("==")[2].strip()


def make_ready(python: Path, log: Path, say: Say) -> None:
    """Install uv into the environment of `python`, unless the pinned version is installed. Raises OutOfReach."""
    if pip.installed_version(python, "uv") == version():
        return
    try:
        pip.run(python, ["install", "--no-compile", "--no-deps", "-r", str(REQUIREMENTS)], log, say)
    except pip.PipError as error:
        raise OutOfReach(f"pip could not install uv (see {log})") from error


def find_torch(python: Path, requirement: str, backend: str, log: Path) -> str:
    """The version of torch (`2.13.0+cpu`) that uv would install for a requirement. Raises OutOfReach.

    `backend` is `cpu`, or `auto` for the newest CUDA that the machine's driver supports.
    """
    command = _install(python, backend, ["--dry-run", requirement])
    limits = {"UV_HTTP_TIMEOUT": str(REACH_SECONDS), "UV_HTTP_RETRIES": "0"}
    try:
        exit_code, lines = logged.run(command, log, environment=limits, seconds=REACH_SECONDS)
    except TimeoutError as error:
        raise OutOfReach(f"no answer in {REACH_SECONDS} s") from error
    if exit_code:
        raise OutOfReach(_reason(lines))
    match = _WOULD_INSTALL.search("\n".join(lines))
    if match is None:
        raise OutOfReach("uv does not say which build it would install")
    return match.group(1)


def install_torch(python: Path, version: str, backend: str, log: Path, say: Say) -> None:
    """Install a build from `find_torch`, without its dependencies, which pip installs. Raises UvError."""
    exit_code, lines = logged.run(
        _install(python, backend, [f"torch=={version}"]), log, say=say, milestone=_announcement
    )
    if exit_code:
        text = "\n".join(f"    {line[:300]}" for line in lines[-8:])
        raise UvError(f"uv failed:\n{text}\n  run the same command again  (whole log: {log})")


def _install(python: Path, backend: str, arguments: Sequence[str]) -> list[str]:
    target = ["--python", str(python), "--no-deps", f"--torch-backend={backend}"]
    return [str(python), "-m", "uv", "pip", "install", "--no-progress", *target, *arguments]


def _announcement(line: str) -> str | None:
    return f"d{line.rstrip()[1:]}" if line.startswith("Downloading ") else None


def _reason(lines: Sequence[str]) -> str:
    """The innermost cause of uv's error. uv prints the chain of causes, the outermost first."""
    useful_lines = [line.strip() for line in lines if line.strip()]
    causes = [line.partition(":")[2].strip() for line in useful_lines if line.lower().startswith("cause")]
    return (causes or useful_lines or ["uv gives no reason"])[-1][:200]
