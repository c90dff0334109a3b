"""Kills nodes of every role of a mesh again and again, and checks that no result is lost or counted twice.

    python -m scripts.studies.kills_of_roles [--kills 20] [--checkpoint runs/demo/checkpoints/step-N] [--json OUT]

Each round kills one node of each role with SIGKILL, in a seeded order. After a kill the study waits until the role is
back and new results have been recorded. After the last kill all outstanding attempts have to be recorded. Then the mesh
is stopped and its records are counted: recorded = dispatched - outstanding, each id once, and what had been
recorded before a kill is there unchanged. Exit code 0: all of this holds; 1: it does not; 2: it cannot be tried.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import tomli_w
import tyro

from common.bus import Bus, BusError
from common.config import ConfigError, check_flags
from common.limits import Duration, Natural, Positive, Timeout
from common.records.readers import DATABASE, outstanding, results
from common.records.store import Store
from node.mesh.mesh import Mesh
from node.mesh.plan import PortInUse, free_port
from node.mesh.supervisor import Child, ChildFailed

# ----------------------------------------------------------------------------------------------------------------------
# Kills nodes of every role of a mesh again and again, and checks that no result is lost or counted twice.

ROLES = ("broker", "learner", "inference", "prover", "lean-proxy", "ui")

LOOK_EVERY = 0.2
"""Seconds between looks at the records."""


class Stuck(RuntimeError):
    """The mesh made no progress after a kill. The message says what is missing."""


@dataclass
class RoleKillSettings:
    """A mesh whose nodes are killed."""

    kills: Positive = 20
    """Kills of each role."""
    roles: tuple[str, ...] = ROLES
    """Roles to kill; `ui` is the monitor."""
    results: Natural = 3
    """Results that have to be recorded after a kill before the next."""
    spread: Duration = 2.0
    """Longest wait before a kill, by seed: without it every kill would come just after a result."""
    patience: Timeout = 300.0
    """Seconds to wait for the mesh after a kill."""
    minutes: Duration = 0.0
    """Minutes after which no more nodes are killed and the study is finished; 0: no limit."""
    checkpoint: Path | None = None
    """First network. Without one a tiny network is warm-started, which proves almost nothing."""
    bank: str = ""
    """Folder of a theorem bank; empty: pocket."""
    searches: Positive = 2
    """Searches of the prover at once."""
    explore: Natural = 8
    """Tactics of the fixed list that join the network's in every attempt, so that proofs are found and trained on."""
    seed: Natural = 0
    """Order of the kills, and seed of the run."""
    out: Path = Path("runs/kills-of-roles")
    """Folder of the run, which must not exist."""
    json: Path | None = None
    """Also write the numbers to this file."""

    def check(self) -> None:
        """Raises ValueError."""
        if unknown := sorted(set(self.roles) - set(ROLES)):
            raise ValueError(f"--roles: there is no {unknown[0]}, but {', '.join(ROLES)}")
        if not self.roles:
            raise ValueError(f"--roles: name at least one of {', '.join(ROLES)}")
        if self.out.exists():
            raise ValueError(f"--out {self.out}: it is there already; name another folder, or delete it")
        if self.checkpoint is not None and not self.checkpoint.is_dir():
            raise ValueError(f"--checkpoint {self.checkpoint}: no such folder")


@dataclass
class Kill:
    """One kill and its costs."""

    role: str
    after: float
    """Seconds since the first result."""
    outstanding: int
    recorded: int
    back: float = 0.0
    """Seconds until the role was back."""
    progress: float = 0.0
    """Seconds until enough new results were recorded."""


@dataclass
class Study:
    """A running mesh and its kills."""

    settings: RoleKillSettings
    mesh: Mesh
    bus: Bus
    database: Path
    began: float = field(default_factory=time.monotonic)
    kills: list[Kill] = field(default_factory=list)
    seen: set[Row] = field(default_factory=set)
    """Results that were recorded before some kill."""

    @property
    def late(self) -> bool:
        """Whether the time for kills is over."""
        return 0 < self.settings.minutes * 60 < time.monotonic() - self.began

    def child(self, role: str) -> Child:
        return next(child for child in self.mesh.children if child.spec.name == role)

    async def kill(self, role: str) -> None:
        """Kill the node of a role, and wait until the mesh makes progress. Raises Stuck."""
        child = self.child(role)
        await self.wait(lambda: child.pid is not None, f"{role} to run")
        before = await self._there(role)
        rows = results(self.database)
        self.seen |= set(rows)
        kill = Kill(role, time.monotonic() - self.began, len(outstanding(self.database)), len(rows))
        killed, restarts = time.monotonic(), child.restarts
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        await self.wait(lambda: child.restarts > restarts, f"the death of {role}")
        await self._wait_for_role(role, before)
        kill.back = time.monotonic() - killed
        wanted = kill.recorded + self.settings.results
        await self.wait(lambda: len(results(self.database)) >= wanted, f"results after the kill of {role}")
        kill.progress = time.monotonic() - killed
        self.kills.append(kill)
        number = len(self.kills)
        print(
            f"{number:>4}  {role:<11} at {kill.after:7.1f} s: {kill.recorded} recorded, {kill.outstanding} outstanding;"
            f" back after {kill.back:.1f} s, results after {kill.progress:.1f} s",
            flush=True,
        )

    async def drain(self) -> int:
        """Wait until all attempts that are outstanding now are recorded; returns their number. Raises Stuck."""
        waiting = outstanding(self.database)
        await self.wait(lambda: not waiting & outstanding(self.database), "results of what was outstanding")
        return len(waiting)

    async def _there(self, role: str) -> set[str]:
        """Nodes of a role in the registry, which is not available while the broker is down."""
        try:
            return {node.node_id for node in await self.bus.nodes() if node.role == role}
        except BusError:
            return set()

    async def _wait_for_role(self, role: str, before: set[str]) -> None:
        deadline = time.monotonic() + self.settings.patience
        while not (self.bus.connected and await self._there(role) - before):
            await self._pause(deadline, f"the return of {role}")

    async def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Raises Stuck."""
        deadline = time.monotonic() + self.settings.patience
        while not condition():
            await self._pause(deadline, what)

    async def _pause(self, deadline: float, what: str) -> None:
        if time.monotonic() > deadline:
            raise Stuck(f"waited {self.settings.patience:g} s for {what}")
        await asyncio.sleep(LOOK_EVERY)


async def play(settings: RoleKillSettings) -> dict[str, Any]:
    """The whole study. Raises Stuck, ChildFailed, ConfigError, PortInUse."""
    file = write_mesh(settings)
    mesh = Mesh.from_file(file)
    database = mesh.plan.directory / DATABASE
    rng = random.Random(settings.seed)
    async with mesh:
        failing = asyncio.create_task(mesh.wait())
        bus = await Bus.connect(mesh.bus, run=mesh.run, name="study", wait=settings.patience)
        study = Study(settings, mesh, bus, database)
        work = asyncio.create_task(_kills(study, rng))
        await asyncio.wait({failing, work}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            failing.result()
            raise Stuck("the learner ended its run")
        failing.cancel()
        drained = await work
        await bus.close()
    tally = tallied(database, study.seen)
    return _report(study, tally, drained)


async def _kills(study: Study, rng: random.Random) -> int:
    """Do all kills; returns the number of attempts that were outstanding after the last. Raises Stuck."""
    await study.wait(lambda: len(results(study.database)) >= study.settings.results, "the first results")
    study.began = time.monotonic()
    for _ in range(study.settings.kills):
        order = list(study.settings.roles)
        rng.shuffle(order)
        for role in order:
            if study.late:
                return await study.drain()
            await asyncio.sleep(rng.uniform(0, study.settings.spread))
            await study.kill(role)
    return await study.drain()


def _report(study: Study, tally: Tally, drained: int) -> dict[str, Any]:
    by_role = {
        role: {
            "kills": len(of_role),
            "back_s": _median([kill.back for kill in of_role]),
            "progress_s": _median([kill.progress for kill in of_role]),
            "progress_most_s": round(max(kill.progress for kill in of_role), 1),
        }
        for role in study.settings.roles
        if (of_role := [kill for kill in study.kills if kill.role == role])
    }
    return {
        "kills": len(study.kills),
        "seconds": round(time.monotonic() - study.began, 1),
        "roles": by_role,
        "restarts": dict(Counter({child.spec.name: child.restarts for child in study.mesh.children})),
        "outstanding_after_last_kill_all_recorded": drained,
        "records": tally.numbers(),
        "sound": tally.sound,
    }


def _median(values: list[float]) -> float:
    return round(sorted(values)[len(values) // 2], 1)


def main() -> int:
    settings = tyro.cli(RoleKillSettings, description=__doc__)
    try:
        check_flags(settings)
        settings.check()
        results = asyncio.run(play(settings))
    except (ConfigError, ValueError, PortInUse) as error:
        print(f"kills_of_roles: {error}", file=sys.stderr)
        return 2
    except (Stuck, ChildFailed) as error:
        print(f"kills_of_roles: {error}; logs are in {settings.out}", file=sys.stderr)
        return 1
    from scripts.bench.harness import report

    report({"asked": vars(settings), **results}, settings.json)
    return 0 if results["sound"] else 1


# ----------------------------------------------------------------------------------------------------------------------
# Reads the records of a run whose nodes are killed, and checks at the end: recorded = dispatched - outstanding.

Row = tuple[str, str, float]
"""Attempt, outcome, when it was recorded."""


@dataclass(frozen=True)
class Tally:
    """The records of a run whose nodes were killed."""

    dispatched: int
    outstanding: int
    recorded: int
    ids_recorded: int
    """Different attempts among the results."""
    both: int
    neither: int
    strays: int
    changed: int
    """Results that existed at a kill, and are missing or different now."""
    proofs: int
    proved: int
    outcomes: dict[str, int]

    @property
    def sound(self) -> bool:
        """Whether recorded = dispatched - outstanding, each id once, nothing changed afterwards, a proof for each
        attempt that proved."""
        rule = self.recorded == self.dispatched - self.outstanding == self.ids_recorded
        return rule and self.proofs == self.proved and not (self.both or self.neither or self.strays or self.changed)

    def numbers(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def tallied(database: Path, before: Collection[Row]) -> Tally:
    """The records of a run that no learner has open. Raises RunDirectoryError."""
    rows = results(database)
    store = Store(database)
    try:
        audit, counts = store.audit(), store.counts()
    finally:
        store.close()
    outcomes = Counter(outcome for _, outcome, _ in rows)
    return Tally(
        dispatched=audit.dispatched,
        outstanding=audit.outstanding,
        recorded=audit.recorded,
        ids_recorded=len({attempt for attempt, _, _ in rows}),
        both=audit.both,
        neither=audit.neither,
        strays=audit.strays,
        changed=len(set(before) - set(rows)),
        proofs=counts["proofs"],
        proved=outcomes["proved"],
        outcomes=dict(outcomes),
    )


# ----------------------------------------------------------------------------------------------------------------------
# Writes the configuration of a small mesh for studies: all roles on this machine, with endless learning.

RUN = "study"

TINY_MODEL = {"vocab_size": 320, "depth": 1, "width": 16, "heads": 2, "kv_heads": 2, "hidden": 32, "context": 64}
TINY_WARM_START = {"steps": 4, "every": 2, "validation": 16, "decay": 0.0}


def write_mesh(settings: RoleKillSettings) -> Path:
    """The file, in a new folder. Raises OSError."""
    settings.out.mkdir(parents=True)
    file = settings.out / "mesh.toml"
    file.write_text(tomli_w.dumps(mesh_content(settings)), encoding="utf-8")
    return file


def mesh_content(settings: RoleKillSettings) -> dict[str, Any]:
    """The sections of the file. The broker has a fixed port, so that nodes find it again after a restart."""
    folder = settings.out.resolve()
    # 1. A learner that trains often, a little at a time.
    learner: dict[str, Any] = {
        "seed": settings.seed,
        "bank": settings.bank,
        "keep_checkpoints": 2,
        "matchmaker": {
            "budget": 4,
            "budget_limit": 8,
            "disprove_chance": 0.1,
            "explore_chance": 1.0,
            "explore_candidates": settings.explore,
        },
        "schedule": {"fresh": 20, "patience": 20.0, "steps_limit": 2, "checkpoint_every": 1},
        "trainer": {"batch": 8, "threads": 1},
    }
    # 2. With a checkpoint it proves things from the start.
    if settings.checkpoint is not None:
        learner["warm_start"] = {"checkpoint": str(settings.checkpoint.resolve())}
    else:
        learner |= {"model": TINY_MODEL, "warm_start": TINY_WARM_START}
    # 3. The other roles, with short waits.
    return {
        "run": {"name": RUN, "dir": str(folder / "runs")},
        "broker": {"port": free_port(), "store": str(folder / "store")},
        "ui": {"port": 0},
        # The study kills nodes on purpose: no number of crashes may end the mesh.
        "up": {"restarts": 100_000, "grace": 20.0},
        "lean_proxy": {"workers": 2},
        "inference": {"threads": 1},
        "prover": {
            "policy": "inference",
            "searches": settings.searches,
            "poll_seconds": 0.05,
            "policy_timeout": 3.0,
            "tactic_seconds": 2.0,
        },
        "learner": learner,
    }


if __name__ == "__main__":
    sys.exit(main())
