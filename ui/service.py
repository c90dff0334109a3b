"""Starts the monitor as a node: reads telemetry and serves pages. They work before the broker is up, and say so.

A run whose broker is down is shown from its files (`choose`, `alone`), as are all other runs of the folder.
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

from common.life.node import NodeContext, NodeFailure, NodeSettings, run_node
from common.output.command import UserError, refuse
from common.output.visible import say
from common.protocol.messages import Heartbeat, LogRecord, Message, Point, ProofFound
from common.protocol.subjects import telemetry
from ui.control import Control
from ui.mesh_state import MeshState
from ui.runs import Answer, Ask, Kind, Run, Runs, kind_of
from ui.settings import TRAINING, UiSettings, page_token, with_token

if TYPE_CHECKING:
    from ui.server import Monitor


TICK = 1.0
"""Seconds between overviews: as often as nodes send heartbeats."""


ASK_SECONDS = 3.0
"""A prover that does not answer within this time is not waited for."""


def main(settings: UiSettings, node: NodeSettings) -> int:
    """Run the monitor until it is stopped; returns the exit code: 2 for a run that does not exist."""
    from common.life import logging

    # `run_node` reports a wrong log level.
    logging.configure(node.log_level if node.log_level in logging.LEVELS else "info")
    try:
        if settings.demo:
            settings.token = page_token(settings, node)
            return _play(settings, node)
        watched = asyncio.run(choose(settings, node))
        if settings.allow_control and (watched is None or watched.mesh is None):
            raise UserError("--allow-control needs a mesh that runs; this run is shown from its files")
        settings.token = page_token(settings, node)
    except UserError as error:
        return refuse("proofmesh ui", error)
    control = Control(node) if settings.allow_control else None
    monitor = _monitor(settings, watched, control)
    if watched is None or watched.mesh is None:
        return asyncio.run(alone(settings, node, monitor))

    @asynccontextmanager
    async def page(ctx: NodeContext) -> AsyncIterator[None]:
        async with serving(ctx, settings, monitor), _beside(_tick_until_stopped(ctx, watched)):
            yield

    async def work(ctx: NodeContext) -> None:
        await listen(ctx, watched)
        await ctx.stopping.wait()
        if control is not None:
            await control.close()

    return run_node("ui", node, work, around=page)


def _play(settings: UiSettings, node: NodeSettings) -> int:
    """Serve a recorded run that is played back; returns the exit code. Raises UserError."""
    from ui.playback import playing

    with playing() as player:
        settings.runs = str(player.folder.parent)
        monitor = _monitor(settings, Run(player.folder.name, Kind.LEARNER, player.folder))
        return asyncio.run(alone(settings, node, monitor, player.run()))


def _monitor(settings: UiSettings, watched: Run | None, control: Control | None = None) -> Monitor:
    from common.life.serving import Access
    from ui.server import Monitor

    access = Access(settings, settings.token, more=", or open the address with the token that it has printed")
    return Monitor(Runs(Path(settings.runs) if settings.runs else None, watched), access, control)


async def alone(settings: UiSettings, node: NodeSettings, monitor: Monitor, *beside: Coroutine[Any, Any, None]) -> int:
    """Serve the pages from files only, without a broker, until SIGTERM or SIGINT; returns the exit code. `beside`: what
    runs meanwhile."""
    ctx = NodeContext("ui", node)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ctx.stopping.set)
    try:
        if monitor.runs.watched is not None:
            ctx.log.info("the run is shown from its files", folder=str(monitor.runs.watched.folder))
        async with serving(ctx, settings, monitor), _beside(*beside):
            await ctx.stopping.wait()
    except NodeFailure as error:
        ctx.log.error("monitor ends", reason=str(error))
        return error.exit_code
    return 0


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
            if settings.token and (not ctx.settings.log_json or sys.stderr.isatty()):
                say(f"monitor: {with_token(where.rstrip('/'), settings.token)}", file=sys.stderr, flush=True)
            try:
                yield where
            finally:
                monitor.close()
    except CannotServe as error:
        raise NodeFailure(f"the monitor: {error}", error.exit_code) from error


async def listen(ctx: NodeContext, run: Run) -> None:
    """Subscribe to telemetry, and add every message to the state of the run's mesh."""
    state = run.mesh
    assert state is not None

    def hear(_: str, message: Message) -> None:
        if isinstance(message, Heartbeat):
            state.see_heartbeat(message, time.time())
        elif isinstance(message, LogRecord):
            state.see_log(message)
        elif isinstance(message, ProofFound):
            state.see_proof(message)
        elif isinstance(message, Point):
            state.see_point(message)

    kinds: dict[str, type[Message]] = {
        telemetry("*", "*", "heartbeat"): Heartbeat,
        telemetry("*", "*", "log"): LogRecord,
        telemetry("learner", "*", "proof"): ProofFound,
        telemetry("learner", "*", "point"): Point,
    }
    for subject, kind in kinds.items():
        await ctx.bus.subscribe(subject, kind, hear)
    run.ask = asking(ctx)
    for message in await _history(ctx):  # after the subscription, so that no message is missed
        hear("", message)


def asking(ctx: NodeContext) -> Ask:
    """Asks nodes of the mesh over the monitor's connection, from the threads that answer pages."""
    loop = asyncio.get_running_loop()

    def ask(subject: str, message: Message, reply: type[Answer]) -> Answer:
        request = ctx.bus.request(subject, message, reply, timeout=ASK_SECONDS)
        return asyncio.run_coroutine_threadsafe(request, loop).result()

    return ask


async def _history(ctx: NodeContext) -> list[Message]:
    """The run's points and proofs so far. Waits if the broker has not created the run's streams yet."""
    from common.bus import BusError

    while True:
        try:
            return list(await ctx.bus.history((Point, ProofFound)))
        except BusError as error:
            ctx.log.info("no history yet", error=str(error))
            await asyncio.sleep(TICK)


async def _tick_until_stopped(ctx: NodeContext, run: Run) -> None:
    """Once a second, read the registry and take the totals for the rates."""
    from common.bus import BusError

    assert run.mesh is not None
    while True:
        now = time.time()
        bus = getattr(ctx, "bus", None)  # missing before the first connection
        connected = bus is not None and bus.connected
        if connected:
            try:
                run.mesh.see_registry(await ctx.bus.nodes(), now)
            except BusError as error:  # lost meanwhile, or its buckets are being created: the page says so
                ctx.log.debug("no registry", error=str(error))
                connected = False
        # Also without a broker, so that pages see numbers grow old instead of standing still.
        run.mesh.tick(now)
        run.connected = connected
        await asyncio.sleep(TICK)


# --- the source of a run: its broker or its files ---------------------------------------------------------------------


NAMES_LISTED = 20


class NoSuchRun(UserError):
    """Neither a broker nor a folder has the run. The message names both places and lists the existing runs."""


async def choose(settings: UiSettings, node: NodeSettings) -> Run | None:
    """The run to show first: of the broker's mesh, or from its files. None: no run, only the list of all.

    Raises NoSuchRun.
    """
    folder = Path(settings.folder or Path(settings.runs) / node.run)
    kind = kind_of(folder) if settings.folder or settings.runs else None
    files = Run(node.run, kind, folder) if kind is not None else None
    mesh = Run(node.run, Kind.MESH, None, MeshState())
    if settings.folder:
        mesh.folder, mesh.kind = folder, Kind.LEARNER
    if not settings.mesh:
        if files is None and (settings.folder or node.run not in (TRAINING, NodeSettings().run)):
            raise NoSuchRun(_missing(settings, node, ""))
        return files
    if settings.patience is None:
        return mesh
    answered, at_work = await _ask(node, settings.patience)
    if at_work or (answered and files is None):
        return mesh
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
    if settings.folder:
        return f"{where}{settings.folder} is the folder of no run"
    names = sorted(Runs(Path(settings.runs)).names()) if settings.runs else []
    more = f" and {len(names) - NAMES_LISTED} more" if len(names) > NAMES_LISTED else ""
    there = f"there are: {', '.join(names[:NAMES_LISTED])}{more}" if names else "it holds no run"
    waits = "; `--patience None` waits for the broker" if settings.mesh else ""
    return f"{where}{settings.runs or 'no folder'} has no run {node.run} ({there}){waits}"
