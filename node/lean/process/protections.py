"""Which protections of Lean processes this system allows: found out by trying each, never by asking for versions.

Each mechanism of `confine.py` is tried with `probe.py`, which attempts what should fail: to write outside its folder,
to connect, to fork, to signal. Then the configured `lean` is started with those that work.
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
"""A probe takes about 50 ms; a machine under load may take a while."""

PREVENTS = {
    "namespace": "network",
    "network": "network",
    "landlock": "outside",
    "mounts": "outside",
    "processes": "processes",
}
"""By mechanism of `confine.py`: the attempt of `probe.py` that must fail under it."""

_DISPLAY_NAMES = {
    "namespace": "network namespace",
    "network": "seccomp",
    "landlock": "Landlock",
    "mounts": "read-only mounts",
    "processes": "seccomp",
}

BEST = ("network", "namespace", "processes", "landlock")
"""Tried first, all together. Read-only mounts are for systems without Landlock."""

DROP_ORDER = ("processes", "network", "namespace", "landlock", "mounts")
"""Which mechanism is given up next when a `lean` does not start: first the one that most often is the reason."""

NOT_PROTECTED = "NOT PROTECTED"
"""Begins the fact about a protection that is missing."""

ALWAYS = {
    "memory": "killed above its limit (resident memory, watched)",
    "CPU time": "rlimit",
    "time": "wall clock, then the process group is killed",
    "orphans": "die with the process that started them",
}
"""Protections that need nothing from the system but Linux."""


@dataclass(frozen=True)
class Protections:
    """What keeps a Lean process away from the rest of the machine. Empty: nothing but its limits."""

    mechanisms: tuple[str, ...] = ()
    """Of `confine.py`: those that work here."""
    missing: tuple[tuple[str, str], ...] = ()
    """Mechanisms that do not work here, each with the reason."""
    signals: bool = False
    """Whether signals to processes outside are refused."""

    def keeper(self, writable: Iterable[Path] = ()) -> list[str]:
        """The command line that confines a process and then becomes the program behind it (`confine.py`).

        `writable`: the folders that the process may write in. Empty where there are no mechanisms.
        """
        if not self.mechanisms:
            return []
        folders = "\n".join(str(folder.resolve()) for folder in writable)
        return [*_PYTHON, str(_CONFINE), str(os.getpid()), ",".join(self.mechanisms), folders]

    def facts(self) -> dict[str, str]:
        """Each protection, and how it is done or why it is missing: for logs, `/healthz` and `proofmesh status`."""
        facts = {
            "network": self._fact("network", "off"),
            "files": self._fact("outside", "read-only outside a scratch folder"),
            "processes": self._fact("processes", "may start none"),
            "signals": "to its own only (Landlock)" if self.signals else NOT_PROTECTED,
        }
        return facts | ALWAYS

    def gaps(self) -> list[str]:
        """Names of the protections that are missing."""
        return [name for name, fact in self.facts().items() if fact.startswith(NOT_PROTECTED)]

    def without(self, mechanism: str, reason: str) -> Protections:
        """The same without one mechanism."""
        others = tuple(name for name in self.mechanisms if name != mechanism)
        missing = (*self.missing, (mechanism, reason))
        return replace(self, mechanisms=others, missing=missing, signals=self.signals and mechanism != "landlock")

    def _fact(self, attempt: str, state: str) -> str:
        """How an attempt of the probe is prevented, or why it is not."""
        working = [_DISPLAY_NAMES[name] for name in self.mechanisms if PREVENTS[name] == attempt]
        if working:
            return f"{state} ({', '.join(working)})"
        reasons = [f"{_DISPLAY_NAMES[name]}: {reason}" for name, reason in self.missing if PREVENTS[name] == attempt]
        return f"{NOT_PROTECTED} ({'; '.join(reasons) or 'switched off'})"


async def detect(command: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Protections:
    """Try every mechanism. Takes about 0.2 s, or 0.5 s where not everything works.

    `command`, with its environment: a `lean` that must still start; what it does not start with is left out.
    """
    if sys.platform != "linux":
        return Protections(missing=tuple((name, "needs Linux") for name in PREVENTS))
    possible, problem = await _attempts_that_work(BEST)
    all_work = not problem and possible == {"scratch"}
    protections = Protections(BEST, signals=True) if all_work else await _detect_each()
    return await that_lean_starts_with(protections, command, environment) if command else protections


async def _detect_each() -> Protections:
    """The mechanisms that work when each is tried alone, and why the others do not."""
    working: list[str] = []
    missing: list[tuple[str, str]] = []
    for name in (*BEST, "mounts"):
        if name == "mounts" and "landlock" in working:
            continue  # both keep files from being written; one is enough
        problem = await _problem(name)
        if problem:
            missing.append((name, problem))
        else:
            working.append(name)
    possible, problem = await _attempts_that_work(working)
    if problem:
        # Each works alone, but not all together. Giving up the namespace is better than giving up everything:
        # seccomp keeps the network away as well.
        missing.append(("namespace", problem))
        working = [name for name in working if name != "namespace"]
        possible, _ = await _attempts_that_work(working)
    return Protections(tuple(working), tuple(missing), signals="signals" not in possible)


async def _problem(mechanism: str) -> str:
    """Why a mechanism does not protect here; empty when it does."""
    possible, problem = await _attempts_that_work([mechanism])
    if problem:
        return problem
    if "scratch" not in possible:
        return "the scratch folder cannot be written either"
    return "has no effect" if PREVENTS[mechanism] in possible else ""


async def _attempts_that_work(mechanisms: Sequence[str]) -> tuple[set[str], str]:
    """What a process under these mechanisms can do, and the problem if it cannot be confined so."""
    with (
        tempfile.TemporaryDirectory(prefix="proofmesh-probe-") as root,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        scratch = Path(root) / "scratch"
        scratch.mkdir()
        arguments = [str(scratch), str(Path(root) / "outside"), str(server.getsockname()[1])]
        keeper = Protections(tuple(mechanisms)).keeper([scratch])
        done = await _run([*_PYTHON, str(_PROBE), *arguments], None, keeper)
    if done.code == 0:
        return set(done.output.strip().split(",")), ""
    return set(), done.errors.strip().removeprefix("not confined: ") or f"the probe ended with code {done.code}"


async def that_lean_starts_with(
    protections: Protections, command: Sequence[str], environment: Mapping[str, str] | None
) -> Protections:
    """The protections that this `lean` starts with: one behind a shell script may need processes of its own."""
    version = [*command, "--version"]
    done = await _run(version, environment, protections.keeper())
    if done.code == 0 or (await _run(version, environment, [])).code != 0:
        return protections  # where it does not start unconfined either, its owner will say so
    for mechanism in DROP_ORDER:
        done = await _run(version, environment, protections.keeper())
        if done.code == 0:
            break
        if mechanism in protections.mechanisms:
            lines = done.errors.strip().splitlines()
            last_line = f": {lines[-1]}" if lines else ""
            protections = protections.without(mechanism, f"{command[0]} does not start with it{last_line}")
    return protections


async def _run(command: Sequence[str], environment: Mapping[str, str] | None, keeper: Sequence[str]) -> FinishedProcess:
    """Run a command; one that cannot be run, or passes a limit, counts as ended with code 1."""
    try:
        return await run_fresh(command, environment=environment, limits=PROBE_LIMITS, keeper=keeper)
    except (OutOfLimits, OSError) as error:
        return FinishedProcess(1, "", str(error))
