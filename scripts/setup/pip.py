"""Runs pip and turns its errors into advice; creates and mends the environment that it installs into."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

# ----------------------------------------------------------------------------------------------------------------------
# Runs a program for set-up: its whole output goes to a log file, and selected lines to the user.

Say = Callable[[str], None]


def run_logged(
    command: Sequence[str],
    log: Path,
    *,
    say: Say = lambda line: None,
    milestone: Callable[[str], str | None] = lambda line: None,
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> tuple[int, list[str]]:
    """Run a command to its end; returns its exit code and the lines of its output, standard error included.

    `milestone` turns a line of output into a line for the user, or into None. `environment` is added to this process's.
    Raises TimeoutError, and kills the command, if it takes longer than `seconds`.
    """
    # 1. Start the program; a timer kills it, because reading its output blocks.
    lines: list[str] = []
    too_late = threading.Event()
    with log.open("a", encoding="utf-8") as file:
        print(f"$ {' '.join(command)}", file=file, flush=True)
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, **(environment or {})},
        ) as process:
            assert process.stdout is not None

            def kill() -> None:
                too_late.set()
                process.kill()

            # A timer, because reading the output blocks.
            timer = threading.Timer(seconds or 0, kill)
            if seconds is not None:
                timer.start()
            try:
                # 2. Every line goes to the log, a few of them to the user.
                for line in process.stdout:
                    file.write(line)
                    lines.append(line.rstrip())
                    if (shown := milestone(line)) is not None:
                        say(shown)
            finally:
                timer.cancel()
    if too_late.is_set():
        raise TimeoutError(f"{command[0]} took longer than {seconds:g} s")
    return process.returncode, lines


# ----------------------------------------------------------------------------------------------------------------------
# Runs pip, shows a few lines of its output, and turns its errors into advice.

LARGE_MB = 8
"""Downloads of at least this size are announced, so that a slow network does not look like a hang."""

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
        "configuration, `pip config set global.index-url ...`), then run the command again, which resumes",
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
"""If the user constrains a package, pip reports a version that does not exist as a conflict with the constraint."""


class PipError(Exception):
    """pip failed. The message has its last lines and advice."""


class NoSuchVersion(PipError):
    """pip cannot find the version, or a constraint excludes it. There was no other error."""


def advice(output: str) -> str:
    """Advice for a failure of pip, from its output; empty if the error is unknown."""
    for pattern, text in _ADVICE:
        if re.search(pattern, output):
            return text
    return ""


def announcement(line: str) -> str | None:
    """The line to show to the user for a line of pip's output; None: show nothing."""
    match = _DOWNLOAD.match(line)
    if match and float(match.group(2)) * _MEGABYTES[match.group(3)] >= LARGE_MB:
        return f"downloading {match.group(1)} ({match.group(2)} {match.group(3)})"
    if line.startswith("Installing collected packages"):
        packages = line.count(",") + 1
        return f"installing {packages} package{'s' if packages > 1 else ''}"
    return None


def run_pip(python: Path, arguments: Sequence[str], log: Path, say: Say) -> None:
    """Run `python -m pip ARGUMENTS`; its output goes to `log`, selected lines to `say`.

    Raises PipError; the subclass NoSuchVersion if pip reached its indexes and they do not have the version.
    """
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    exit_code, lines = run_logged(command, log, say=say, milestone=announcement)
    if exit_code:
        kind = NoSuchVersion if any(map(_NO_SUCH_VERSION.search, lines)) else PipError
        raise kind(_explain(lines, log))


def _explain(lines: Sequence[str], log: Path) -> str:
    useful_lines = [line for line in lines if line.strip() and not line.startswith("WARNING: Location")]
    text = "\n".join(f"    {line[:300]}" for line in useful_lines[-8:])
    hint = advice("\n".join(lines))
    return f"pip failed:\n{text}\n" + (f"  {hint}\n" if hint else "") + f"  (whole log: {log})"


def python_version(python: Path) -> str:
    """Version of an interpreter, or an empty string if it does not run."""
    try:
        completed = subprocess.run(
            [str(python), "-I", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.strip() if completed.returncode == 0 else ""


def installed_version(python: Path, package: str) -> str:
    """Version of a package in the environment of an interpreter, from its metadata; empty if it is not installed."""
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    completed = subprocess.run([str(python), "-c", code, package], capture_output=True, text=True, check=False)
    return completed.stdout.strip() if completed.returncode == 0 else ""


def base_python() -> str:
    """The interpreter to create a virtual environment with. It is never inside a virtual environment itself."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


# ----------------------------------------------------------------------------------------------------------------------
# Creates `.venv`, also with a system Python that is externally managed or lacks ensurepip.


class VenvError(Exception):
    """No virtual environment could be created. The message says what to install."""


def venv_works(directory: Path) -> bool:
    """Whether the environment has a working Python and"""
    python = directory / "bin" / "python"
    if not python.exists():
        return False
    completed = subprocess.run([python, "-I", "-c", "import pip, encodings"], capture_output=True, check=False)
    return completed.returncode == 0


def ways(directory: Path, base: str) -> Iterator[list[list[str]]]:
    """Ways to create an environment with pip, best first. Each is a list of commands."""
    target = str(directory)
    yield [[base, "-m", "venv", target]]
    # Debian and Ubuntu package ensurepip separately. pip 22.3 and later can install into another environment.
    yield [
        [base, "-m", "venv", "--without-pip", target],
        [base, "-m", "pip", "--python", f"{target}/bin/python", "install", "--quiet", "pip"],
    ]
    if uv := shutil.which("uv"):
        yield [[uv, "venv", "--seed", "--quiet", "--python", base, target]]
    yield [[base, "-m", "virtualenv", "--quiet", target]]


def make_venv(directory: Path, say: Say) -> None:
    """Create the environment again, in the first way that works. Raises VenvError."""
    base = base_python()
    errors = []
    for commands in ways(directory, base):
        if directory.exists():
            shutil.rmtree(directory)
        error = _run_all(commands)
        if error is None and venv_works(directory):
            return
        errors.append(f"    {' '.join(commands[-1])}: {error or 'created an environment without a working pip'}")
        say(f"`{' '.join(commands[0])}` failed, trying another way")
    shutil.rmtree(directory, ignore_errors=True)
    raise VenvError(
        f"no virtual environment could be created with {base}. Tried:\n"
        + "\n".join(errors)
        + "\n  On Debian and Ubuntu: sudo apt install python3-venv. Without root: use a Python of conda, pyenv or uv "
        "(PYTHON=/path/to/python3 ./start ...), or put uv on PATH"
    )


def remove_torn_packages(directory: Path) -> list[str]:
    """Delete the metadata of packages whose installation was interrupted, so that pip installs them again. Returns
    their names.

    For pip a package with METADATA is installed, but it writes RECORD last.
    """
    torn = []
    for info in directory.glob("lib/python3*/site-packages/*.dist-info"):
        if not (info / "RECORD").exists():
            shutil.rmtree(info)
            torn.append(info.name.removesuffix(".dist-info"))
    for backup in directory.glob("lib/python3*/site-packages/~*"):
        shutil.rmtree(backup, ignore_errors=True)  # pip's backup of a package while it replaces it
    return torn


def write_byte_code(directory: Path, python: Path) -> None:
    """Compile the byte code of all packages on all cores, in tens of seconds. Files that do not compile are skipped."""
    packages = map(str, directory.glob("lib/python3*/site-packages"))
    command = [str(python), "-m", "compileall", "-qq", "-j", "0", *packages]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _run_all(commands: list[list[str]]) -> str | None:
    """Run commands until one fails. Returns its last line of output, or None if all succeed."""
    for command in commands:
        try:
            completed = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if completed.returncode:
            output = (completed.stderr + completed.stdout).strip().splitlines()
            return output[-1].strip() if output else f"exit code {completed.returncode}"
    return None
