"""A small whole mesh for tests that kill its nodes: its configuration, its records, and its processes."""

import contextlib
import sqlite3
from pathlib import Path

import psutil
import tomli_w

from common.bus import Bus, BusError
from common.files import cache_directory
from common.records.store import Store
from node.mesh.plan import free_port
from tests.node.learner.builders import tiny_learner, write_bank
from tests.waiting import until

MARK = "PROOFMESH_TEST_MARK"
"""An environment variable that marks all processes of a test's mesh, wherever they are in the process tree."""

RUN = "whole"


def mesh_file(folder: Path, run: str, port: int = 0, **sections: dict[str, object]) -> Path:
    """A configuration file for a small mesh with its runs and its broker's store in this folder."""
    content: dict[str, dict[str, object]] = {
        "run": {"name": run, "dir": str(folder / "runs")},
        "broker": {"port": port, "store": str(folder / "store")},
        "prover": {"searches": 1, "poll_seconds": 0.05, **sections.pop("prover", {})},
        **{"ui": {"port": 0}, "lean_proxy": {"workers": 1}},
    }
    file = folder / "mesh.toml"
    file.write_text(tomli_w.dumps(content | sections), encoding="utf-8")
    return file


def whole_mesh(folder: Path) -> Path:
    """A file for all roles, with a bank of a few statements and a tiny model; the broker keeps its port."""
    prover = {"policy": "inference", "searches": 2, "policy_timeout": 3.0, "tactic_seconds": 1.0}
    rest = {"up": {"restarts": 1000, "grace": 15.0}, "inference": {"threads": 1}, "prover": prover}
    file = mesh_file(folder, RUN, free_port(), **rest)  # type: ignore[arg-type]
    with file.open("a", encoding="utf-8") as out:
        out.write(tiny_learner(write_bank(folder / "bank")))
    return file


def private_cache(folder: Path) -> Path:
    """A cache with separate warm starts for the test, and the machine's nats-server and Lean library."""
    cache, shared = folder / "cache", cache_directory()
    cache.mkdir()
    for entry in shared.iterdir() if shared.exists() else ():
        if entry.name != "warm-start":
            (cache / entry.name).symlink_to(entry)
    return cache


async def running_nodes(bus: Bus, count: int) -> None:
    """Wait until this number of nodes of a mesh that has just been started is running."""

    async def are_running() -> bool:
        try:
            return sum(node.state == "running" for node in await bus.nodes()) >= count
        except BusError:
            return False  # the run's buckets are being made

    await until(are_running, what=f"{count} running nodes")


def marked(mark: str) -> list[psutil.Process]:
    """Live processes that carry the mark, zombies excluded."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def ranks(mark: str) -> list[psutil.Process]:
    found = []
    for process in marked(mark):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "node.learner.trainer.rank" in process.cmdline():
                found.append(process)
    return found


def database(folder: Path) -> Path:
    return folder / "runs" / RUN / "proofs.sqlite"


def recorded(folder: Path) -> list[tuple[str, str, float]]:
    """(attempt id, outcome, when) of every result in the records."""
    if not database(folder).exists():
        return []
    with contextlib.closing(sqlite3.connect(f"file:{database(folder)}?mode=ro", uri=True)) as db:
        try:
            return list(db.execute("SELECT attempt_id, outcome, recorded FROM results"))
        except sqlite3.OperationalError:  # the learner is just making the tables
            return []


def check_records(folder: Path, before: list[tuple[str, str, float]] | None = None) -> None:
    """Check recorded = dispatched - outstanding, each id once; and that results recorded `before` are unchanged."""
    store = Store(database(folder))
    try:
        audit = store.audit()
    finally:
        store.close()
    assert audit.sound, audit
    ids = [attempt_id for attempt_id, _, _ in recorded(folder)]
    assert len(ids) == len(set(ids)) == audit.recorded
    assert set(before or []) <= set(recorded(folder))
