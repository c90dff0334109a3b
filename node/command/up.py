"""`proofmesh up mesh.toml`: runs all roles as child processes, configured by one file.

Nodes that crash are restarted with a growing delay. A node that crashes too often ends the mesh, and its last log lines
are shown. With `--policy` the mesh does not learn: it serves a policy to `prove --url` and other clients. SIGINT or
SIGTERM stops provers, inference, learner, lean-proxies, monitor and broker in this order; a second one kills them.
"""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from common import config
from common.life.waiting import unless_stopped, wait_first
from common.machine import read_machine, sizes
from common.output.command import Exit, refuse
from common.output.visible import say, say_data, visible
from common.output.words import duration
from common.protocol.messages import Heartbeat
from common.protocol.subjects import BadRunName
from common.report.table import Cell, Table, Tone
from node.mesh.mesh import Mesh
from node.mesh.plan import MeshPlan, PortInUse, UpSettings, make_plan
from node.mesh.supervisor import Child, ChildFailed, ChildState

if TYPE_CHECKING:
    from common.settings import BusSettings


NO_FILE = """no file given, which says what runs.
proofmesh up scripts/recipes/laptop.toml   starts all nodes of a mesh here; its learner trains a network until Ctrl-C
proofmesh up --policy own:runs/demo        serves a network, and trains none
proofmesh up --dry-run                     shows what the defaults would start"""
"""What bare `proofmesh up` says: it would train for hours, and nobody has asked for that."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command. Returns the exit code: 0 finished or stopped, 1 a node failed for good, 2 invalid configuration."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and not arguments[0].startswith("-"):
        arguments.insert(0, "--config")
    file = config.config_file(arguments)
    resolved = config.resolve(UpSettings, "up", arguments, prog="proofmesh up [FILE]")
    if file is None and resolved.settings.learner and not resolved.settings.policy and not resolved.dry_run:
        return refuse("proofmesh up", NO_FILE)
    try:
        plan = make_plan(file, resolved.settings, resolved.node)
    except BadRunName as error:
        raise config.ConfigError(str(error)) from error
    for note in plan.notes:
        say(f"proofmesh up: {note}", file=sys.stderr)
    if resolved.dry_run:
        say_data(config.dump({"node": plan.node, "up": plan.up}), end="")
        for child in plan.children:
            say(f"# {child.name}: {shlex.join(child.argv)}")
        return Exit.DONE
    _check_models(plan.models)
    return asyncio.run(run(plan))


def _check_models(addresses: Sequence[str]) -> None:
    """Check that all language models can be found, before any node starts. Raises ConfigError."""
    from node.play.policies import check_found
    from node.prover.policies.names import BadPolicy, PolicyName

    try:
        for kind, _, where in (address.partition(":") for address in addresses):
            check_found(PolicyName(kind, where))
    except BadPolicy as error:
        raise config.ConfigError(f"[up] models: {error}") from error


async def run(plan: MeshPlan) -> int:
    """Run a mesh until it is finished, fails, or is stopped; returns the exit code."""
    status = Status(f"run {plan.node.run}")
    mesh = Mesh(plan, status.event)
    status.children = mesh.children
    stop_signal = _listen_to_signals(status)
    say(f"proofmesh up: {_title(mesh)}", file=sys.stderr)
    say(f"sized to the machine: {sizes(read_machine()).describe()}", file=sys.stderr)
    try:
        await mesh.start()
    except PortInUse as error:
        return refuse("proofmesh up", error, Exit.FAILED)
    with status.shown():
        background_tasks = [asyncio.create_task(status.follow(mesh.bus, mesh.run))]
        try:
            failure, code = await _wait(mesh, stop_signal[0])
        finally:
            for task in background_tasks:
                task.cancel()
            await asyncio.gather(*background_tasks, return_exceptions=True)
            await _stop(mesh, stop_signal[1])
    return refuse("proofmesh up", failure, code) if failure else code


async def _wait(mesh: Mesh, stop_signal: asyncio.Event) -> tuple[str, int]:
    """Wait for the end of the mesh or for a signal. Returns why a node failed (or an empty string), and the exit code:
    0, 1, or 2 if the node's configuration is invalid."""
    try:
        await unless_stopped(mesh.wait(), stop_signal)
    except ChildFailed as error:
        return str(error), Exit.UNUSABLE if error.code == Exit.UNUSABLE else Exit.FAILED
    return "", Exit.DONE


async def _stop(mesh: Mesh, at_once: asyncio.Event) -> None:
    """Stop the nodes in order. After a second signal, kill them at once."""
    orderly = asyncio.create_task(mesh.stop())
    await wait_first(orderly, at_once)
    if not orderly.done():
        orderly.cancel()
        await asyncio.gather(orderly, return_exceptions=True)
        await mesh.stop(grace=0)
    else:
        orderly.result()


def _listen_to_signals(status: Status) -> tuple[asyncio.Event, asyncio.Event]:
    """Events for the first and the second SIGINT or SIGTERM."""
    first, second = asyncio.Event(), asyncio.Event()

    def hear(number: signal.Signals) -> None:
        if first.is_set():
            second.set()
            status.event(f"second {number.name}: killing the remaining nodes")
        else:
            first.set()
            status.event(f"{number.name}: stopping in order; send it again to kill all nodes at once")

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, hear, number)
    return first, second


def _title(mesh: Mesh) -> str:
    plan = mesh.plan
    monitor = f", monitor at {mesh.ui_url}" if mesh.ui_url else ""
    return f"run {plan.node.run}, broker {plan.node.bus.url}{monitor}, logs in {plan.directory / 'logs'}"


# --- what is shown: a live table on a terminal, otherwise one line per event ------------------------------------------


EVENTS_SHOWN = 6
"""Number of latest events under the table."""

SHOWN = {
    "learner": ("results", "proofs_verified", "train_steps"),
    "inference": ("states", "tokens", "failed", "rows_per_pass", "weights"),
    "prover": ("searches", "attempts", "roots_solved"),
    "lean-proxy": ("candidates", "proofs_accepted", "worker_restarts"),
}
"""The heartbeat values that the table shows for each role."""

_TONES: dict[str, Tone] = {ChildState.RUNNING: "good", ChildState.RESTARTING: "warn", ChildState.FAILED: "bad"}


class Status:
    """Shows children and events; `event` is the mesh's listener."""

    def __init__(self, title: str, *, live: bool | None = None) -> None:
        self.title = title
        self.live = sys.stderr.isatty() if live is None else live
        self.children: Sequence[Child] = ()
        self.events: deque[str] = deque(maxlen=EVENTS_SHOWN)
        self.heartbeats: dict[int, Heartbeat] = {}
        """The latest heartbeat by process id."""

    def event(self, line: str) -> None:
        """Show one event."""
        stamped = f"{time.strftime('%H:%M:%S')} {line}"
        self.events.append(stamped)
        if not self.live:
            say(visible(stamped), file=sys.stderr, flush=True)

    async def follow(self, settings: BusSettings, run: str) -> None:
        """Receive the heartbeats of the mesh until cancelled. Waits for the broker."""
        from common.bus import Bus, Role
        from common.life import logging

        def hear(_: str, heartbeat: Heartbeat) -> None:
            # Node ids end in PROCESS-FINGERPRINT (`common.life.context.new_node_id`).
            process = heartbeat.node_id.split("-")[-2]
            if process.isdigit():
                self.heartbeats[int(process)] = heartbeat

        logging.configure("error")  # the nodes' logs already have the losses of the connection
        bus = await Bus.connect(settings, run=run, name="up", role=Role.VIEWER, wait=None)
        try:
            await bus.subscribe("telemetry.*.*.heartbeat", Heartbeat, hear)
            await asyncio.Event().wait()
        finally:
            await bus.close()

    def shown(self) -> AbstractContextManager[Any]:
        """A context manager that shows the table, refreshed twice per second."""
        if not self.live:
            return nullcontext()
        from rich.live import Live

        from common.output.terminal import Console

        return Live(
            get_renderable=lambda: table(self.title, self.children, self.heartbeats, self.events),
            console=Console(stderr=True),
            refresh_per_second=2,
        )


def row(child: Child, heartbeat: Heartbeat | None) -> tuple[str, ...]:
    """Name, state, process id, uptime, restarts and heartbeat values of a child."""
    restarts = f"{child.restarts}, last: {child.note}" if child.note else str(child.restarts)
    state, doing = str(child.state), ""
    if child.state is ChildState.RUNNING and heartbeat is not None:
        state = heartbeat.state
        values = {key: heartbeat.values[key] for key in SHOWN.get(heartbeat.role, ()) if key in heartbeat.values}
        doing = ", ".join(f"{value:g} {key.replace('_', ' ')}" for key, value in values.items())
    return child.spec.name, state, str(child.pid or "-"), duration(child.uptime()), restarts, doing


def table(title: str, children: Sequence[Child], heartbeats: Mapping[int, Heartbeat], events: Sequence[str]) -> Table:
    """The table for the terminal."""
    shown = Table(("node", "state", "process", "up", "restarts", "doing"), title=title, notes=events)
    for child in children:
        name, state, *cells = row(child, heartbeats.get(child.pid or 0))
        shown.add(name, Cell(state, _TONES.get(state, "")), *cells)
    return shown
