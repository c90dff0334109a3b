"""Detects which protections of Lean processes work on this system, by testing each one. Versions are not checked.

Each mechanism of `confine.py` is tested with `probe.py`, which tries to read and to write outside its folder, to
connect, to fork, and to send signals. These attempts should fail. Then the configured `lean` is started with the
working mechanisms.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from common.protocol.messages import Protection
from node.lean.process.fresh import FinishedProcess, Limits, OutOfLimits, run_fresh

_CONFINE = (
    "import sys; sys.path.append(sys.argv.pop(1)); from confine import main; "
    "main(int(sys.argv[1]), sys.argv[2].split(','), sys.argv[3:])"
)
"""Runs `confine.py` of the folder that is its first argument. As a script it would be compiled at each start of Lean,
which takes 3 ms; a module has cached byte code."""
_PROBE = Path(__file__).with_name("probe.py")
_ROOT = Path(__file__).parents[3]
"""The folder with our packages: a checkout, which may have private files, or the folder of all installed packages."""
_PYTHON = (sys.executable, "-I", "-S")

PROBE_LIMITS = Limits(seconds=20.0)
"""A probe takes about 50 ms, and longer on a machine under load."""

PREVENTS = {
    "namespace": "network",
    "network": "network",
    "landlock": "outside",
    "mounts": "outside",
    "processes": "processes",
    "reads": "reads",
    "root": "reads",
}
"""The attempt of `probe.py` that a mechanism of `confine.py` must prevent, by mechanism."""

_DISPLAY_NAMES = {
    "namespace": "network namespace",
    "network": "seccomp",
    "landlock": "Landlock",
    "mounts": "read-only mounts",
    "processes": "seccomp",
    "reads": "Landlock",
    "root": "a root folder of its own",
}

BEST = ("network", "namespace", "processes", "landlock", "reads")
"""The mechanisms that are tested first, together. The mounts are for systems without Landlock."""

INSTEAD_OF = {"mounts": "landlock", "root": "reads"}
"""Mechanisms that are needed only where another one does not work."""

DROP_ORDER = ("processes", "reads", "root", "network", "namespace", "landlock", "mounts")
"""The order in which mechanisms are dropped while a `lean` does not start: the most frequent cause first."""

SYSTEM = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/nix/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/usr/share/zoneinfo"),
    *("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"),
    *("/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu"),
)
"""What every process may read of the system: shared libraries, what the dynamic loader and the C library open at their
start, time zones, and the size of the machine. None of it belongs to a user."""

SCRIPTS = ("/bin", "/usr/bin")
"""Folders of programs, for commands that are scripts."""

READS = "its toolchain, its project, imported files, its scratch folder, the system's libraries"
"""What a confined process may read, for messages."""

READS_NOT_CONFINED = "reads not confined: code in a Lean file can read every file that you can read"
"""For commands that run files of others, where nothing confines reading."""

ALWAYS = (
    Protection("memory", True, "killed above its limit (resident memory, watched)"),
    Protection("CPU time", True, "rlimit"),
    Protection("time", True, "wall clock, then the process group is killed"),
    Protection("orphans", True, "die with the process that started them"),
)
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

    def keeper(
        self, writable: Iterable[Path] = (), readable: Iterable[str | Path] = (), *, packages: bool = False
    ) -> list[str]:
        """The command line that confines a process (`confine.py`), to put in front of a program's command line.

        `writable`: the folders in which the process may write and read. `readable`: the other files and folders that it
        may read, besides those of the system and of our Python (`LeanToolchain.keeper` adds those of a toolchain).
        `packages`: it is our Python, and imports packages. The result is empty without mechanisms.
        """
        if not self.mechanisms:
            return []
        writes = [str(folder.resolve()) for folder in writable]
        reads: list[str] = []
        lists: list[str] = []
        if self.reads:
            imported, lists = _packages() if packages else ([], [])
            reads = [*dict.fromkeys((*SYSTEM, *python_files(), *imported, *map(os.path.abspath, readable)))]
        folders = [argument for each in (writes, reads, lists) for argument in (str(len(each)), *each)]
        confined = [*_PYTHON, "-c", _CONFINE, str(Path(__file__).parent), str(os.getpid())]
        return [*confined, ",".join(self.mechanisms), *folders]

    @property
    def reads(self) -> bool:
        """True when a process can read only what its keeper names."""
        return any(PREVENTS[name] == "reads" for name in self.mechanisms)

    def each(self) -> tuple[Protection, ...]:
        """Each protection with its mechanisms, or the reason why it is missing."""
        return (
            self._protection("network", "network", "off"),
            self._protection("files", "outside", "read-only outside a scratch folder"),
            self._protection("reads", "reads", f"only {READS}"),
            self._protection("processes", "processes", "may start none"),
            Protection(
                "signals", self.signals, "to its own only (Landlock)" if self.signals else "no Landlock that can"
            ),
            *ALWAYS,
        )

    def facts(self) -> dict[str, str]:
        """The protections as text for people."""
        return {protection.name: str(protection) for protection in self.each()}

    def gaps(self) -> list[str]:
        """Names of the missing protections."""
        return [protection.name for protection in self.each() if not protection.works]

    def without(self, mechanism: str, reason: str) -> Protections:
        """The same protections without one mechanism. `reason`: why it is missing."""
        remaining = tuple(name for name in self.mechanisms if name != mechanism)
        missing = (*self.missing, (mechanism, reason))
        return replace(self, mechanisms=remaining, missing=missing, signals=self.signals and mechanism != "landlock")

    def _protection(self, name: str, attempt: str, state: str) -> Protection:
        """The mechanisms that prevent an attempt of the probe, or the reasons why it is not prevented."""
        working = [_DISPLAY_NAMES[name] for name in self.mechanisms if PREVENTS[name] == attempt]
        if working:
            return Protection(name, True, f"{state} ({', '.join(working)})")
        reasons = [f"{_DISPLAY_NAMES[name]}: {reason}" for name, reason in self.missing if PREVENTS[name] == attempt]
        return Protection(name, False, "; ".join(reasons) or "switched off")


@cache
def python_files() -> tuple[str, ...]:
    """What our Python reads at its start, without packages: its program, its libraries, the standard library."""
    program = Path(sys.executable)
    files = [program, program.resolve(), program.parent / "pyvenv.cfg", program.parent.parent / "pyvenv.cfg"]
    files += [Path(sys.base_prefix) / "lib", Path(sys.base_prefix) / "lib64"]
    files += [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    return tuple(dict.fromkeys(map(str, files)))


@cache
def _packages() -> tuple[list[str], list[str]]:
    """What our Python reads for its packages: files and folders, and folders of which it reads the names."""
    ours = [str(_ROOT / name) for name in ("node", "common", "proofmesh")]
    return [*ours, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")], [str(_ROOT)]


def program_files(command: Sequence[str]) -> tuple[str, ...]:
    """The program of a command line; for a script also its interpreter, and the programs that it may start."""
    program = shutil.which(command[0]) or command[0]
    real = os.path.realpath(program)
    try:
        with Path(real).open("rb") as file:
            first = file.readline(256)
    except OSError:
        return (program,)
    if not first.startswith(b"#!") or not first[2:].split():
        return (program, real)
    return (program, real, os.fsdecode(first[2:].split()[0]), *SCRIPTS)


_detected: list[Protections] = []
"""What `detect` has found; it does not change while this process runs."""


async def detect() -> Protections:
    """Test all mechanisms, once in this process. Takes about 0.2 s, or 0.5 s if some do not work."""
    if sys.platform != "linux":
        return Protections(missing=tuple((name, "needs Linux") for name in PREVENTS))
    if not _detected:
        possible, problem = await _attempts_that_work(BEST)
        all_work = not problem and possible == {"scratch"}
        _detected.append(Protections(BEST, signals=True) if all_work else await _detect_each())
    return _detected[0]


async def _detect_each() -> Protections:
    """Test each mechanism alone. Returns those that work, and the reasons why the others do not."""
    working: list[str] = []
    missing: list[tuple[str, str]] = []
    for name in (*BEST, *INSTEAD_OF):
        if INSTEAD_OF.get(name) in working:
            continue  # both prevent the same, and one is enough
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
        secret = Path(root) / "secret"
        secret.write_text("secret")
        arguments = [str(scratch), str(Path(root) / "outside"), str(server.getsockname()[1]), str(secret)]
        keeper = Protections(tuple(mechanisms)).keeper([scratch], [_PROBE])
        probe = await _run([*_PYTHON, str(_PROBE), *arguments], {}, keeper)
    if probe.code == 0:
        return set(probe.output.strip().split(",")), ""
    return set(), probe.errors.strip().removeprefix("not confined: ") or f"the probe ended with code {probe.code}"


async def that_lean_starts_with(
    protections: Protections,
    command: Sequence[str],
    environment: Mapping[str, str],
    readable: Sequence[str | Path] = (),
) -> Protections:
    """The protections with which this `lean` starts. For example, a shell script that runs Lean starts processes.

    `readable`: what it may read. One mechanism is dropped if that is enough, otherwise one after the other.
    """
    version = [*command, "--version"]
    start = await _run(version, environment, protections.keeper((), readable))
    if start.code == 0 or (await _run(version, environment, [])).code != 0:
        return protections  # if it does not start unconfined either, the caller reports that
    remaining = protections
    for together in (False, True):
        remaining = protections
        for mechanism in [name for name in DROP_ORDER if name in protections.mechanisms]:
            reason = _why_not(mechanism, command, start)
            remaining = (remaining if together else protections).without(mechanism, reason)
            if (await _run(version, environment, remaining.keeper((), readable))).code == 0:
                return remaining
    return remaining


def _why_not(mechanism: str, command: Sequence[str], start: FinishedProcess) -> str:
    """Why a mechanism is dropped."""
    lines = start.errors.strip().splitlines()
    last_line = f": {lines[-1]}" if lines else ""
    limit = f" (a confined process reads only {READS})" if PREVENTS[mechanism] == "reads" else ""
    return f"{command[0]} does not start with it{last_line}{limit}"


async def _run(command: Sequence[str], environment: Mapping[str, str], keeper: Sequence[str]) -> FinishedProcess:
    """Run a command. If it cannot be run or exceeds a limit, the exit code is 1."""
    try:
        return await run_fresh(command, environment=environment, limits=PROBE_LIMITS, keeper=keeper)
    except (OutOfLimits, OSError) as error:
        return FinishedProcess(1, "", str(error))
