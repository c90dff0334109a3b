"""What a node does when its operator asks what it is doing, or to do something: log more, log its stacks, profile, look
at its memory, leave; a learner also pauses and evaluates.

The operator asks over the broker (`proofmesh diagnose`, the monitor with --allow-control), or with signals on its
machine: SIGUSR1 prints the stacks (`common.life.logging`), SIGUSR2 switches `debug` on and off. A node whose
event loop stands still says so by itself.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from common.life import logging
from common.life.context import NodeContext
from common.life.process import kill_group, spawn_child
from common.output.command import UserError
from common.protocol.messages import Diagnosis, DiagnosisRequest, LogRecord
from common.protocol.subjects import DIAGNOSIS, telemetry

if TYPE_CHECKING:
    from common.bus import Bus

ANSWER_SECONDS = 10.0
"""For an answer to arrive, beyond the seconds that were asked for: a busy node has other work in between."""

STUCK_SECONDS = 5.0
"""An event loop that stands still for this long has left out heartbeats, and its leases begin to run out."""

LONGEST_SECONDS = 600.0
"""Most seconds of a profile, and of a level."""

TASKS = 20
"""Most tasks whose stacks are logged: those of a role's searches or requests look alike."""

LINES = 40
"""Lines of each table about memory."""

FRAMES = 8
"""Frames of each allocation: enough to leave the libraries."""

PR_SET_PTRACER = 0x59616D61
"""From linux/prctl.h: lets one other process read this one, which systems with Yama's ptrace_scope forbid otherwise."""


class DiagnosisFailed(RuntimeError):
    """It cannot be done here. The message says why, and what to do."""


# --- a stuck event loop -----------------------------------------------------------------------------------------------


class NoSuchNode(UserError):
    """No node has a name like that."""


class Watchdog:
    """Logs where an event loop stands still, from a thread of its own. `alive` must be called from the loop."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._loop = threading.get_ident()
        self._seen = time.monotonic()
        self._over = threading.Event()

    def alive(self) -> None:
        """The loop runs."""
        self._seen = time.monotonic()

    @contextmanager
    def watching(self) -> Iterator[Watchdog]:
        """Watch the loop of this thread for as long as the block lasts."""
        # The context has what is bound to all records of this node.
        thread = threading.Thread(target=copy_context().run, args=(self._watch,), name="watchdog", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()

    def _watch(self) -> None:
        patience = STUCK_SECONDS
        while not self._over.wait(min(1.0, STUCK_SECONDS / 4)):
            stands = time.monotonic() - self._seen
            if stands < STUCK_SECONDS:
                patience = STUCK_SECONDS
            elif stands >= patience:
                patience *= 2  # a loop that stands for an hour is told ten times
                self._log.error("event loop is stuck", seconds=round(stands, 1), stack=_stack(self._loop))


def _stack(thread: int) -> str:
    frame = sys._current_frames().get(thread)
    return "".join(traceback.format_stack(frame)) if frame is not None else "the thread has ended"


# --- questions --------------------------------------------------------------------------------------------------------


async def listen(ctx: NodeContext) -> None:
    """Answer the operator's questions from now on, one after another."""
    questions: asyncio.Queue[DiagnosisRequest] = asyncio.Queue(4)

    def hear(_: str, request: DiagnosisRequest) -> None:
        if not ctx.id.startswith(request.nodes):
            return
        if questions.full():
            ctx.log.warning("question not answered: others wait", asked=request.asked)
        else:
            questions.put_nowait(request)

    async def answer_all() -> None:
        while True:
            request = await questions.get()
            try:
                answered = await answer(ctx, request)
            except (DiagnosisFailed, UserError, OSError) as error:
                answered = {"failed": str(error)}
            _say(ctx, request.what, asked=request.asked, answers=request.what, **answered)

    await ctx.bus.subscribe(DIAGNOSIS, DiagnosisRequest, hear)
    ctx.spawn(answer_all(), "diagnosis")


async def ask(
    bus: Bus,
    nodes: str,
    what: Sequence[Diagnosis],
    answered: Callable[[LogRecord], None],
    *,
    seconds: float = 10.0,
    level: str = "",
) -> set[tuple[str, Diagnosis]]:
    """Ask the nodes whose ids begin with `nodes`, hand on their answers, and wait for them. Returns who was silent, and
    about what. Needs the operator's key. Raises NoSuchNode, BusError."""
    name = secrets.token_hex(6)
    over = asyncio.Event()
    there = [info.node_id for info in await bus.nodes() if info.node_id.startswith(nodes)]
    if not there:
        raise NoSuchNode(f"run {bus.run} has no node {nodes or 'at all'}; `proofmesh status` lists nodes")
    waiting = {(node, str(kind)) for node in there for kind in what}

    def hear(_: str, record: LogRecord) -> None:
        if record.fields.get("asked") == name:
            answered(record)
            waiting.discard((record.node_id, record.fields.get("answers", "")))
            if not waiting:
                over.set()

    heard = await bus.subscribe(telemetry("*", "*", "log"), LogRecord, hear)
    try:
        for kind in what:
            request = DiagnosisRequest(asked=name, nodes=nodes, what=kind, seconds=seconds, level=level)
            await bus.publish(DIAGNOSIS, request)
        lasting = seconds * len({Diagnosis.PROFILE, Diagnosis.MEMORY} & set(what))
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), lasting + ANSWER_SECONDS)
    finally:
        await heard.unsubscribe()
    return {(node, Diagnosis(kind)) for node, kind in waiting}


async def answer(ctx: NodeContext, request: DiagnosisRequest) -> dict[str, str]:
    """Do what is asked. Returns what to tell about it, which is logged. Raises DiagnosisFailed, OSError."""
    seconds = min(request.seconds, LONGEST_SECONDS)
    match request.what:
        case Diagnosis.LEVEL:
            if request.level not in logging.LEVELS:
                raise DiagnosisFailed(f"no log level {request.level!r}")
            change_level(ctx, request.level, seconds)
            return {"logs": request.level, "seconds": f"{seconds:g}"}
        case Diagnosis.STACKS:
            return {"of": log_stacks(ctx, request.asked)}
        case Diagnosis.PROFILE:
            return {"file": await profile(_folder(ctx), seconds)}
        case Diagnosis.MEMORY:
            return {"file": await memory(_folder(ctx), seconds)}
        case Diagnosis.DRAIN:
            ctx.drained = True
            ctx.stopping.set()
            ctx.changed.set()
            return {"done": "it leaves"}
        case what if what in ctx.actions:
            return {"done": await ctx.actions[what]()}
        case what:
            raise DiagnosisFailed(f"a {ctx.role} cannot {what}{'' if ctx.role == 'learner' else '; ask a learner'}")


def change_level(ctx: NodeContext, level: str, seconds: float = 0.0) -> None:
    """Log from `level` on, and from the configured one again after `seconds`; 0: never again."""
    logging.set_level(level)
    if seconds:
        asyncio.get_running_loop().call_later(seconds, logging.set_level, ctx.settings.log_level)


def toggle_debug(ctx: NodeContext) -> None:
    """SIGUSR2: log from `debug` on, or from the configured level again."""
    change_level(ctx, ctx.settings.log_level if logging.level_now() == "debug" else "debug")
    _say(ctx, "log level", logs=logging.level_now())


def log_stacks(ctx: NodeContext, asked: str) -> str:
    """Log where each thread and each task is, one record each. Returns how many there are."""
    threads = threading.enumerate()
    for thread in threads:
        _say(ctx, f"thread {thread.name}", asked=asked, stack=_stack(thread.ident or 0))
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    for task in tasks[:TASKS]:
        frames = "".join(line for frame in _frames(task) for line in traceback.format_stack(frame, 1))
        _say(ctx, f"task {task.get_name()}", asked=asked, stack=frames)
    return f"{len(threads)} threads, {len(tasks)} tasks ({min(TASKS, len(tasks))} shown)"


def _frames(task: asyncio.Task[Any]) -> Iterator[FrameType]:
    """Where a task waits, the outermost frame first; `Task.get_stack` has no more than that one."""
    waits: Any = task.get_coro()
    while waits is not None:
        frame = getattr(waits, "cr_frame", None) or getattr(waits, "gi_frame", None)
        if frame is not None:
            yield frame
        waits = getattr(waits, "cr_await", None) or getattr(waits, "gi_yieldfrom", None)


def _say(ctx: NodeContext, event: str, **fields: str) -> None:
    """Log what somebody has asked for, whatever the level."""
    level = logging.level_now()
    logging.set_level("info")
    ctx.log.info(event, **fields)
    logging.set_level(level)


async def profile(folder: Path, seconds: float) -> str:
    """Profile this process with py-spy; returns the file, which https://www.speedscope.app shows.

    Raises DiagnosisFailed if py-spy is not installed, or may not read this process.
    """
    program = shutil.which("py-spy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        raise DiagnosisFailed("py-spy is not installed: pip install py-spy")
    file = folder / "profile.speedscope.json"
    command = [program, "record", "--pid", str(os.getpid()), "--duration", str(max(1, round(seconds)))]
    child = await spawn_child(
        [*command, "--format", "speedscope", "--output", file],
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _let_read(child.pid)
    try:
        async with asyncio.timeout(seconds + 60):
            _, said = await child.communicate()
    except TimeoutError as error:
        raise DiagnosisFailed("py-spy has not ended in time") from error
    finally:
        _let_read(0)
        await kill_group(child, grace=0)
    if child.returncode or not file.exists():
        words = said.decode(errors="replace").strip().splitlines()
        raise DiagnosisFailed(f"py-spy: {words[0] if words else f'exit code {child.returncode}'}")
    return str(file)


async def memory(folder: Path, seconds: float) -> str:
    """Write what objects there are, and where Python has allocated most in the next seconds; returns the file."""
    # 1. Allocations. Python knows only those that it has made since it watches them.
    tracemalloc.start(FRAMES)
    try:
        await asyncio.sleep(seconds)
        snapshot = await asyncio.to_thread(tracemalloc.take_snapshot)
    finally:
        tracemalloc.stop()
    grown = await asyncio.to_thread(snapshot.statistics, "traceback")
    # 2. Objects.
    kinds = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    # 3. The file.
    lines = [f"objects by type ({sum(kinds.values()):,} that the garbage collector knows)"]
    lines += [f"{count:>12,}  {kind}" for kind, count in kinds.most_common(LINES)]
    lines += ["", f"allocated within {seconds:g} s and not freed"]
    for each in grown[:LINES]:
        lines += [f"{each.size:>12,} bytes in {each.count:,} blocks", *each.traceback.format()]
    file = folder / "memory.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def _let_read(process: int) -> None:
    """Let a process read this one's memory; 0: no further process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(process), 0, 0, 0)


def _folder(ctx: NodeContext) -> Path:
    """A new folder, that nobody else reads, for what a node writes: in the folder of its log if it has one."""
    where = ctx.settings.log_dir or None
    return Path(tempfile.mkdtemp(prefix=f"{ctx.id}-", dir=where)).absolute()
