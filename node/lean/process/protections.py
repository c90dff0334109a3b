"""Detects which protections of Lean processes work on this system, by testing each one. Versions are not checked.

Each mechanism of `confine.py` is tested with `probe.py`, which tries to write outside its folder, to connect, to fork,
and to send signals. These attempts should fail. Then the configured `lean` is started with the working mechanisms.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from node.lean.process.fresh import FinishedProcess, Limits, OutOfLimits, run_fresh

_CONFINE = Path(__file__).with_name("confine.py")
_PROBE = Path(__file__).with_name("probe.py")
_PYTHON = (sys.executable, "-I", "-S")

PROBE_LIMITS = Limits(seconds=20.0)
"""A probe takes about 50 ms, and longer on a machine under load."""

PREVENTS = {
    "namespace": "network",
    "network": "network",
    "landlock": "outside",
    "mounts": "outside",
    "processes": "processes",
}
"""The attempt of `probe.py` that a mechanism of `confine.py` must prevent, by mechanism."""

_DISPLAY_NAMES = {
    "namespace": "network namespace",
    "network": "seccomp",
    "landlock": "Landlock",
    "mounts": "read-only mounts",
    "processes": "seccomp",
}

BEST = ("network", "namespace", "processes", "landlock")
"""The mechanisms that are tested first, together. Read-only mounts are for systems without Landlock."""

DROP_ORDER = ("processes", "network", "namespace", "landlock", "mounts")
"""The order in which mechanisms are dropped while a `lean` does not start: the most frequent cause first."""

NOT_PROTECTED = "NOT PROTECTED"
"""Start of the text about a missing protection."""

ALWAYS = {
    "memory": "killed above its limit (resident memory, watched)",
    "CPU time": "rlimit",
    "time": "wall clock, then the process group is killed",
    "orphans": "die with the process that started them",
}
"""Protections that work on every Linux system."""


@dataclass(frozen=True)
class Protections:
    """How a Lean process is confined. Without mechanisms it has only its limits."""

    mechanisms: tuple[str, ...] = ()
    """Mechanisms of `confine.py` that work on this system."""
    missing: tuple[tuple[str, str], ...] = ()
    """Mechanisms that do not work on this system, each with the reason."""
    signals: bool = False
    """True when a process cannot send signals to processes outside."""

    def keeper(self, writable: Iterable[Path] = ()) -> list[str]:
        """The command line that confines a process (`confine.py`), to put in front of a program's command line.

        `writable`: the folders in which the process may write. The result is empty without mechanisms.
        """
        if not self.mechanisms:
            return []
        folders = "\n".join(str(folder.resolve()) for folder in writable)
        return [*_PYTHON, str(_CONFINE), str(os.getpid()), ",".join(self.mechanisms), folders]

    def facts(self) -> dict[str, str]:
        """Each protection with its mechanisms, or the reason why it is missing, for logs, `/healthz` and `status`."""
        facts = {
            "network": self._fact("network", "off"),
            "files": self._fact("outside", "read-only outside a scratch folder"),
            "processes": self._fact("processes", "may start none"),
            "signals": "to its own only (Landlock)" if self.signals else NOT_PROTECTED,
        }
        return facts | ALWAYS

    def gaps(self) -> list[str]:
        """Names of the missing protections."""
        return [name for name, fact in self.facts().items() if fact.startswith(NOT_PROTECTED)]

    def without(self, mechanism: str, reason: str) -> Protections:
        """The same protections without one mechanism. `reason`: why it is missing."""
        remaining = tuple(name for name in self.mechanisms if name != mechanism)
        missing = (*self.missing, (mechanism, reason))
        return replace(self, mechanisms=remaining, missing=missing, signals=self.signals and mechanism != "landlock")

    def _fact(self, attempt: str, state: str) -> str:
        """The mechanisms that prevent an attempt of the probe, or the reasons why it is not prevented."""
        working = [_DISPLAY_NAMES[name] for name in self.mechanisms if PREVENTS[name] == attempt]
        if working:
            return f"{state} ({', '.join(working)})"
        reasons = [f"{_DISPLAY_NAMES[name]}: {reason}" for name, reason in self.missing if PREVENTS[name] == attempt]
        return f"{NOT_PROTECTED} ({'; '.join(reasons) or 'switched off'})"


async def detect(command: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Protections:
    """Test all mechanisms. Takes about 0.2 s, or 0.5 s if some do not work.

    `command`, `environment`: a `lean` that must start with the protections. Mechanisms that prevent it are dropped.
    """
    if sys.platform != "linux":
        return Protections(missing=tuple((name, "needs Linux") for name in PREVENTS))
    possible, problem = await _attempts_that_work(BEST)
    all_work = not problem and possible == {"scratch"}
    protections = Protections(BEST, signals=True) if all_work else await _detect_each()
    return await that_lean_starts_with(protections, command, environment) if command else protections


async def _detect_each() -> Protections:
    """Test each mechanism alone. Returns those that work, and the reasons why the others do not."""
    working: list[str] = []
    missing: list[tuple[str, str]] = []
    for name in (*BEST, "mounts"):
        if name == "mounts" and "landlock" in working:
            continue  # both prevent writing of files, and one is enough
        problem = await _problem(name)
        if problem:
            missing.append((name, problem))
        else:
            working.append(name)
    possible, problem = await _attempts_that_work(working)
    if problem:
        # Each works alone, but not all together. Dropping the namespace is better than dropping all of them, because
        # seccomp blocks the network too.
        missing.append(("namespace", problem))
        working = [name for name in working if name != "namespace"]
        possible, _ = await _attempts_that_work(working)
    return Protections(tuple(working), tuple(missing), signals="signals" not in possible)


async def _problem(mechanism: str) -> str:
    """The reason why a mechanism does not protect on this system; empty if it does."""
    possible, problem = await _attempts_that_work([mechanism])
    if problem:
        return problem
    if "scratch" not in possible:
        return "it makes the scratch folder read-only too"
    return "has no effect" if PREVENTS[mechanism] in possible else ""


async def _attempts_that_work(mechanisms: Sequence[str]) -> tuple[set[str], str]:
    """The attempts of the probe that succeed with these mechanisms, and the error if it cannot be confined."""
    with (
        tempfile.TemporaryDirectory(prefix="proofmesh-probe-") as root,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        scratch = Path(root) / "scratch"
        scratch.mkdir()
        arguments = [str(scratch), str(Path(root) / "outside"), str(server.getsockname()[1])]
        keeper = Protections(tuple(mechanisms)).keeper([scratch])
        probe = await _run([*_PYTHON, str(_PROBE), *arguments], None, keeper)
    if probe.code == 0:
        return set(probe.output.strip().split(",")), ""
    return set(), probe.errors.strip().removeprefix("not confined: ") or f"the probe ended with code {probe.code}"


async def that_lean_starts_with(
    protections: Protections, command: Sequence[str], environment: Mapping[str, str] | None
) -> Protections:
    """The protections with which this `lean` starts. For example, a shell script that runs Lean starts processes."""
    version = [*command, "--version"]
    start = await _run(version, environment, protections.keeper())
    if start.code == 0 or (await _run(version, environment, [])).code != 0:
        return protections  # if it does not start unconfined either, the caller reports that
    for mechanism in DROP_ORDER:
        start = await _run(version, environment, protections.keeper())
        if start.code == 0:
            break
        if mechanism in protections.mechanisms:
            lines = start.errors.strip().splitlines()
            last_line = f": {lines[-1]}" if lines else ""
            protections = protections.without(mechanism, f"{command[0]} does not start with it{last_line}")
    return protections


async def _run(command: Sequence[str], environment: Mapping[str, str] | None, keeper: Sequence[str]) -> FinishedProcess:
    """Run a command. If it cannot be run or exceeds a limit, the exit code is 1."""
    try:
        return await run_fresh(command, environment=environment, limits=PROBE_LIMITS, keeper=keeper)
    except (OutOfLimits, OSError) as error:
        return FinishedProcess(1, "", str(error))
