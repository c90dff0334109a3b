"""Starts the monitor as a node: reads telemetry and serves one live page. The page works before the broker is up, and
says so.

A run whose broker is down is shown from its files (`choose`, `alone`). Training runs need no broker: their files are
read in any case.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from common import curves
from common.curves import Evaluated, Tail
from common.life.node import NodeContext, NodeFailure, NodeSettings, run_node
from common.output.command import UserError, refuse
from common.output.visible import say
from common.protocol.messages import Heartbeat, LogRecord, Message, Point, ProofFound
from common.protocol.subjects import telemetry
from ui.mesh_state import MeshState
from ui.run_files import Change, RunFiles, is_run, run_folders
from ui.settings import TRAINING, UiSettings, page_token, with_token
from ui.training_runs import TrainingRuns

if TYPE_CHECKING:
    from ui.server import Monitor


TICK = 1.0
"""Seconds between overviews: as often as nodes send heartbeats."""


def main(settings: UiSettings, node: NodeSettings) -> int:
    """Run the monitor until it is stopped; returns the exit code: 2 for a run that does not exist."""
    from common.life import logging

    # `run_node` reports a wrong log level.
    logging.configure(node.log_level if node.log_level in logging.LEVELS else "info")
    try:
        files = asyncio.run(choose(settings, node))
        settings.token = page_token(settings, node)
    except UserError as error:
        return refuse("proofmesh ui", error)
    watched = settings.mesh and files is None
    monitor = _monitor(settings, node.run if watched or files else TRAINING, files, watched=watched)
    if not watched:
        return asyncio.run(alone(settings, node, monitor))

    @asynccontextmanager
    async def page(ctx: NodeContext) -> AsyncIterator[None]:
        async with serving(ctx, settings, monitor), _beside(_tick_until_stopped(ctx, monitor), follow(monitor)):
            yield

    async def work(ctx: NodeContext) -> None:
        await listen(ctx, monitor)
        await ctx.stopping.wait()

    return run_node("ui", node, work, around=page)


def _monitor(settings: UiSettings, run: str, files: RunFiles | None, *, watched: bool) -> Monitor:
    """A monitor with the present content of the files."""
    from common.life.serving import Access
    from ui.server import Monitor

    state = MeshState()
    training = TrainingRuns(Path(settings.runs)) if settings.runs else None
    access = Access(settings, settings.token, more=", or open the address with the token that it has printed")
    monitor = Monitor(state, run, training, mesh=watched, files=files, access=access)
    # 1. What earlier runs have left: the page shows curves at once, not only from now on.
    if settings.history:
        beside = Path(settings.history).with_name(curves.EVALUATIONS)
        monitor.take(Change(read_history(settings.history), _evaluations(beside)))
    # 2. A run without a broker is read from its files alone.
    if files is not None:
        monitor.take(files.look())
    return monitor


def _evaluations(path: Path) -> list[Evaluated]:
    try:
        return curves.read_evaluations(path)
    except OSError:
        return []  # the points contain the evaluations, too


async def alone(settings: UiSettings, node: NodeSettings, monitor: Monitor) -> int:
    """Serve the page from files only, without a broker, until SIGTERM or SIGINT; returns the exit code."""
    ctx = NodeContext("ui", node)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ctx.stopping.set)
    try:
        if monitor.files is not None:
            ctx.log.info("the run is shown from its files", folder=str(monitor.files.folder))
        async with serving(ctx, settings, monitor), _beside(follow(monitor)):
            await ctx.stopping.wait()
    except NodeFailure as error:
        ctx.log.error("monitor ends", reason=str(error))
        return error.exit_code
    return 0


async def follow(monitor: Monitor) -> None:
    """Once a second, read new content of the run's and the training runs' files, and send it to the pages."""
    while True:
        if monitor.training is not None:
            monitor.train(await asyncio.to_thread(monitor.training.look))
        if monitor.files is not None:
            monitor.take(await asyncio.to_thread(monitor.files.look))
        if not monitor.mesh:
            monitor.publish("overview", monitor.overview(time.time()))
        await asyncio.sleep(TICK)


@asynccontextmanager
async def _beside(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run tasks for as long as the block lasts."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def serving(ctx: NodeContext, settings: UiSettings, monitor: Monitor) -> AsyncIterator[str]:
    """Serve the page; yields its address. Raises NodeFailure if the port is in use."""
    from common.life.serving import CannotServe, address, served

    try:
        async with served(monitor.application(), settings, settings.port) as runner:
            where = f"{address(settings, runner)}/"
            ctx.log.info("monitor", url=where)
            # Not in the log, which every reader of the run's telemetry sees. Under `up` it is `up` that prints it.
            if settings.token and not ctx.settings.log_json:
                say(f"monitor: {with_token(where.rstrip('/'), settings.token)}", file=sys.stderr, flush=True)
            try:
                yield where
            finally:
                monitor.close()
    except CannotServe as error:
        raise NodeFailure(f"the monitor: {error}", error.exit_code) from error


async def listen(ctx: NodeContext, monitor: Monitor) -> None:
    """Subscribe to telemetry: add every message to the state and send it to the open pages."""
    state = monitor.state

    def hear(_: str, message: Message) -> None:
        if isinstance(message, Heartbeat):
            state.see_heartbeat(message)
        elif isinstance(message, LogRecord):
            monitor.log(message)
        # A proof may come twice, from the history and from the subscription; pages hear of it once.
        elif isinstance(message, ProofFound):
            if state.see_proof(message):
                monitor.publish("proof", msgspec.to_builtins(message))
        elif isinstance(message, Point):
            monitor.point(message)

    kinds: dict[str, type[Message]] = {
        telemetry("*", "*", "heartbeat"): Heartbeat,
        telemetry("*", "*", "log"): LogRecord,
        telemetry("learner", "*", "proof"): ProofFound,
        telemetry("learner", "*", "point"): Point,
    }
    for subject, kind in kinds.items():
        await ctx.bus.subscribe(subject, kind, hear)
    for message in await _history(ctx):  # after the subscription, so that no message is missed
        hear("", message)


async def _history(ctx: NodeContext) -> list[Message]:
    """The run's points and proofs so far. Waits if the broker has not created the run's streams yet."""
    from common.bus import BusError

    while True:
        try:
            return list(await ctx.bus.history((Point, ProofFound)))
        except BusError as error:
            ctx.log.info("no history yet", error=str(error))
            await asyncio.sleep(TICK)


async def _tick_until_stopped(ctx: NodeContext, monitor: Monitor) -> None:
    """Once a second, read the registry and send an overview to the pages."""
    from common.bus import BusError

    while True:
        now = time.time()
        bus = getattr(ctx, "bus", None)  # missing before the first connection
        connected = bus is not None and bus.connected
        if connected:
            try:
                monitor.state.see_registry(await ctx.bus.nodes(), now)
            except BusError as error:  # lost meanwhile, or its buckets are being created: the page says so
                ctx.log.debug("no registry", error=str(error))
                connected = False
        # Also without a broker, so that pages see numbers grow old instead of standing still.
        monitor.state.tick(now)
        monitor.connected = connected
        monitor.publish("overview", {**monitor.overview(now), "speed": monitor.state.speeds[-1]})
        await asyncio.sleep(TICK)


def read_history(path: str) -> list[Point]:
    """Points of a metrics.jsonl file. Lines that are not points (such as an incomplete last line) are skipped."""
    return Tail(Path(path)).read().points if path else []


# --- the source of a run: its broker or its files ---------------------------------------------------------------------


NAMES_LISTED = 20


class NoSuchRun(UserError):
    """Neither a broker nor a folder has the run. The message names both places and lists the existing runs."""


async def choose(settings: UiSettings, node: NodeSettings) -> RunFiles | None:
    """The run's files, or None for its broker. Without a mesh, None means that only training runs are shown.

    Raises NoSuchRun.
    """
    folder = Path(settings.runs) / node.run
    files = RunFiles(folder) if settings.runs and is_run(folder) else None
    if not settings.mesh:
        if files is None and node.run not in (TRAINING, NodeSettings().run):
            raise NoSuchRun(_missing(settings, node, ""))
        return files
    if settings.patience is None:
        return None
    answered, at_work = await _ask(node, settings.patience)
    if at_work or (answered and files is None):
        return None
    if files is None:
        raise NoSuchRun(_missing(settings, node, f"no broker answers at {node.bus.url}, and "))
    return files


async def _ask(node: NodeSettings, patience: float) -> tuple[bool, bool]:
    """(whether the broker answers, whether it has nodes of the run)."""
    from common.bus import Bus, BusError, Role

    try:
        bus = await Bus.connect(node.bus, run=node.run, name="ui", role=Role.UI, wait=patience)
    except BusError:
        return False, False
    try:
        return True, any(info.role != "ui" for info in await bus.nodes())
    except BusError:  # the broker has no buckets of this run
        return True, False
    finally:
        await bus.close()


def _missing(settings: UiSettings, node: NodeSettings, where: str) -> str:
    names = list(run_folders(Path(settings.runs))) if settings.runs else []
    more = f" and {len(names) - NAMES_LISTED} more" if len(names) > NAMES_LISTED else ""
    there = f"there are: {', '.join(names[:NAMES_LISTED])}{more}" if names else "it holds no run"
    waits = "; `--patience None` waits for the broker" if settings.mesh else ""
    return f"{where}{settings.runs or 'no folder'} has no run {node.run} ({there}){waits}"
