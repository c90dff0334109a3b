"""Which protections of Lean processes this system allows: found out by trying each, never by asking for versions."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

_CONFINE = Path(__file__).with_name("confine.py")
_PROBE = Path(__file__).with_name("probe.py")
_PYTHON = (sys.executable, "-I", "-S")

PROBE_SECONDS = 20.0
"""A probe takes about 50 ms; a machine under load may take a while."""

PREVENTS = {
    "namespace": "network",
    "network": "network",
    "landlock": "outside",
    "mounts": "outside",
    "processes": "processes",
}
"""What a confined process cannot do under each mechanism of `confine.py`, in the probe's words."""

_TOLD = {
    "namespace": "network namespace",
    "network": "seccomp",
    "landlock": "Landlock",
    "mounts": "read-only mounts",
    "processes": "seccomp",
}

BEST = ("network", "namespace", "processes", "landlock")
"""What is wanted. Read-only mounts are for systems without Landlock."""

ALWAYS = {
    "memory": "killed above its limit (resident memory, watched)",
    "CPU time": "rlimit",
    "time": "wall clock, then the process group is killed",
    "orphans": "die with the process that started them",
}
"""Protections that need nothing from the system but Linux."""


@dataclass(frozen=True)
class Protections:
    """What stands between a Lean process and the rest of the machine. Empty: nothing but limits."""

    mechanisms: tuple[str, ...] = ()
    """Of `confine.py`: those that work here."""
    missing: tuple[tuple[str, str], ...] = ()
    """Mechanisms that do not, each with the reason."""
    signals: bool = False
    """Whether signals to processes outside are refused."""

    def keeper(self, writable: Iterable[Path] = ()) -> list[str]:
        """Arguments for `spawn_child(keeper=...)`: a process that may write in these folders only."""
        if not self.mechanisms:
            return []
        folders = "\n".join(str(folder.resolve()) for folder in writable)
        return [*_PYTHON, str(_CONFINE), str(os.getpid()), ",".join(self.mechanisms), folders]

    def facts(self) -> dict[str, str]:
        """Each protection, and how it is done or why it is not: for logs, `/healthz` and `proofmesh status`."""
        told = {
            "network": self._fact("network", "off"),
            "files": self._fact("outside", "read-only outside a scratch folder"),
            "processes": self._fact("processes", "may start none"),
            "signals": "to its own only (Landlock)" if self.signals else "NOT PROTECTED",
        }
        return told | ALWAYS

    def gaps(self) -> list[str]:
        """What is not protected."""
        return [name for name, told in self.facts().items() if told.startswith("NOT PROTECTED")]

    def without(self, mechanism: str, reason: str) -> Protections:
        """The same without one mechanism."""
        kept = tuple(name for name in self.mechanisms if name != mechanism)
        missing = (*self.missing, (mechanism, reason))
        return replace(self, mechanisms=kept, missing=missing, signals=self.signals and mechanism != "landlock")

    def _fact(self, what: str, state: str) -> str:
        ways = [_TOLD[name] for name in self.mechanisms if PREVENTS[name] == what]
        reasons = [f"{_TOLD[name]}: {reason}" for name, reason in self.missing if PREVENTS[name] == what]
        if ways:
            return f"{state} ({', '.join(ways)})"
        return f"NOT PROTECTED ({'; '.join(reasons) or 'switched off'})"


def detect(command: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Protections:
    """Try every mechanism; `command` (a `lean`, with its environment) must still run with those that are kept.

    Blocks for about 0.2 s, or 0.5 s where not everything works: call it in a thread.
    """
    if sys.platform != "linux":
        return Protections(missing=tuple((name, "needs Linux") for name in PREVENTS))
    possible, problem = _possible(BEST)
    everything = not problem and possible == {"scratch"}
    found = Protections(BEST, signals=True) if everything else _each()
    return _bearable(found, command, environment) if command else found


def _each() -> Protections:
    """What works, one mechanism at a time, and why the others do not."""
    working: list[str] = []
    missing: list[tuple[str, str]] = []
    for name in (*BEST, "mounts"):
        if name == "mounts" and "landlock" in working:
            continue  # either is enough
        problem = _problem(name, PREVENTS[name])
        if problem:
            missing.append((name, problem))
        else:
            working.append(name)
    possible, problem = _possible(working)
    if problem:  # each alone works, all together do not: then rather less than nothing at all
        missing.append(("namespace", problem))
        working = [name for name in working if name != "namespace"]
        possible, _ = _possible(working)
    return Protections(tuple(working), tuple(missing), signals="signals" not in possible)


def _problem(mechanism: str, prevents: str) -> str:
    """Why a mechanism does not protect here; empty when it does."""
    possible, problem = _possible([mechanism])
    if problem:
        return problem
    if "scratch" not in possible:
        return "the scratch folder cannot be written either"
    return "has no effect" if prevents in possible else ""


def _possible(mechanisms: Sequence[str]) -> tuple[set[str], str]:
    """What a process under these mechanisms can do, and the problem if it cannot be confined so."""
    with (
        tempfile.TemporaryDirectory(prefix="proofmesh-probe-") as root,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        scratch = Path(root) / "scratch"
        scratch.mkdir()
        arguments = [str(scratch), str(Path(root) / "outside"), str(server.getsockname()[1])]
        keeper = Protections(tuple(mechanisms)).keeper([scratch])
        code, output, errors = _run([*keeper, *_PYTHON, str(_PROBE), *arguments], None)
    problem = errors.strip().removeprefix("not confined: ") or f"the probe ended with code {code}"
    return (set(output.strip().split(",")), "") if code == 0 else (set(), problem)


def _bearable(found: Protections, command: Sequence[str], environment: Mapping[str, str] | None) -> Protections:
    """Only what this Lean can bear: one behind a shell script may need processes to start."""
    version = [*command, "--version"]
    if _run(version, environment)[0] != 0:
        return found  # it does not run at all, which is not for us to tell
    for mechanism in ("processes", "network", "namespace", "landlock", "mounts"):
        code, _, errors = _run([*found.keeper(), *version], environment)
        if code == 0:
            break
        if mechanism in found.mechanisms:
            said = errors.strip().splitlines()
            found = found.without(mechanism, f"{command[0]} does not start with it{': ' + said[-1] if said else ''}")
    return found


def _run(command: Sequence[str], environment: Mapping[str, str] | None) -> tuple[int, str, str]:
    """Exit code, output and errors of a process."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, "", f"no answer in {PROBE_SECONDS:g} s"
    except OSError as error:
        return 1, "", str(error.strerror)
    return done.returncode, done.stdout, done.stderr
