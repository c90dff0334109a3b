"""Runs pip and turns what it says into a few lines, and its failures into advice."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.setup import logged
from scripts.setup.logged import Say

LARGE_MB = 8
"""Downloads from this size on are announced, so that a slow line does not look like a hang."""

_DOWNLOAD = re.compile(r"^\s*Downloading (\S+) \(([\d.]+) (kB|MB|GB)")
_MEGABYTES = {"kB": 0.001, "MB": 1.0, "GB": 1000.0}

_ADVICE = (
    ("No space left on device", "the disk is full: free some space and run the same command again"),
    ("Disk quota exceeded", "the disk quota is used up: free some space and run the same command again"),
    ("Permission denied", "no permission to write: is the folder, or pip's cache in your home, owned by another user?"),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "the package index's certificate is not trusted: behind a proxy that inspects traffic, set PIP_CERT",
    ),
    (
        r"NewConnectionError|NameResolutionError|Temporary failure in name resolution|Network is unreachable"
        r"|ConnectTimeoutError|Read timed out|Connection aborted|Failed to establish|ProxyError",
        "the package index cannot be reached: check the network (behind a proxy: HTTPS_PROXY; a mirror: pip's own "
        "configuration, `pip config set global.index-url ...`), then run the command again; it goes on where it was",
    ),
    (
        "No matching distribution|Could not find a version",
        "the package index that pip uses does not have this version for this Python: is a private mirror configured "
        "(`pip config list`)? Otherwise update it, or use another Python from 3.11 to 3.13",
    ),
    (
        "ResolutionImpossible|conflicting dependencies",
        "no version that pip finds fits: does a constraint of yours (PIP_CONSTRAINT, or `constraint` in "
        "`pip config list`) rule out the version that is pinned here? Then lift it for this set-up",
    ),
    ("hash|HASH", "a download was damaged: run the same command again (`pip cache purge` if it comes again)"),
)


_NO_SUCH_VERSION = re.compile("No matching distribution|ResolutionImpossible|conflicting dependencies")
"""With a constraint on the package, pip calls a version that is nowhere a conflict with the constraint."""


class PipError(Exception):
    """pip failed; the message has its last lines and what to do."""


class NoSuchVersion(PipError):
    """pip finds the version nowhere, or a constraint rules it out. Nothing else was wrong."""


def advice(output: str) -> str:
    """What to do about a failure of pip, judged by its output; empty when nothing is recognised."""
    for pattern, text in _ADVICE:
        if re.search(pattern, output):
            return text
    return ""


def announcement(line: str) -> str | None:
    """The line to show for a line of pip's output; None for lines that only fill the log."""
    match = _DOWNLOAD.match(line)
    if match and float(match.group(2)) * _MEGABYTES[match.group(3)] >= LARGE_MB:
        return f"downloading {match.group(1)} ({match.group(2)} {match.group(3)})"
    if line.startswith("Installing collected packages"):
        packages = line.count(",") + 1
        return f"installing {packages} package{'s' if packages > 1 else ''}"
    return None


def run(python: Path, arguments: Sequence[str], log: Path, say: Say) -> None:
    """Run `python -m pip ARGUMENTS`; its output goes to `log`, the milestones to `say`.

    Raises PipError, and its NoSuchVersion when pip looked everywhere and what was asked for is not there.
    """
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    exit_code, lines = logged.run(command, log, say=say, milestone=announcement)
    if exit_code:
        kind = NoSuchVersion if any(map(_NO_SUCH_VERSION.search, lines)) else PipError
        raise kind(_explain(lines, log))


def _explain(lines: Sequence[str], log: Path) -> str:
    telling = [line for line in lines if line.strip() and not line.startswith("WARNING: Location")]
    text = "\n".join(f"    {line[:300]}" for line in telling[-8:])
    hint = advice("\n".join(lines))
    return f"pip failed:\n{text}\n" + (f"  {hint}\n" if hint else "") + f"  (all of it: {log})"


def python_version(python: Path) -> str:
    """Version of an interpreter, or an empty string when it does not run."""
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def installed_version(python: Path, package: str) -> str:
    """Version of a package in the environment of an interpreter, by its metadata; empty when it is not there."""
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    done = subprocess.run([str(python), "-c", code, package], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def base_python() -> str:
    """The interpreter that a virtual environment is made with: never one that lives in a virtual environment."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)
