"""`proofmesh repl`: the community REPL's protocol on standard input and output, over a Lean worker.

Tools that were written for the REPL run on any toolchain with it, with nothing to build. Beyond the REPL, a command
that hangs, or takes too much memory, is an error of that command: environments and proof states outlive it.

Exit code: 0 at the end of input, 2 wrong configuration, or no Lean as configured.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import tyro

from common.lean_settings import LeanSettings
from common.limits import Megabytes, Positive, Timeout

if TYPE_CHECKING:
    from node.lean.adapters.repl.session import ReplSession

DONE, WRONG = 0, 2

CONFINED = "PROOFMESH_CONFINED"
"""Set for a REPL that is confined already, and what it starts with it."""


@dataclass
class ReplSettings:
    """Speak the community REPL's JSON protocol on standard input and output, over a Lean worker."""

    seconds: Timeout = 60.0
    """Wall-clock limit of a command or tactic."""

    heartbeats: Positive = 200_000
    """Lean's `maxHeartbeats`, unless a command sets another (Lean's default is the same)."""

    memory_mb: Megabytes = 4096
    """Memory at which a command is ended."""

    sandbox: bool = True
    """Confine the Lean process as far as the system allows: no network, files read-only, no processes of its own."""

    config: Path | None = None
    """A TOML file: its section [lean] gives the defaults of the flags for Lean."""

    lean: Annotated[LeanSettings, tyro.conf.arg(name="")] = field(default_factory=LeanSettings)
    """Which Lean, with which project and header."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    from common import config

    file = config.config_file(argv)
    default = ReplSettings(config=file, lean=config.load_lean(file))
    settings = tyro.cli(ReplSettings, args=list(argv), default=default, prog="proofmesh repl")
    config.check_flags(settings)
    return asyncio.run(serve(settings))


async def serve(settings: ReplSettings) -> int:
    """Answer until the end of input; returns the exit code."""
    from node.lean.adapters.repl.elaborator import Elaborator, ReplOptions
    from node.lean.adapters.repl.session import ReplSession
    from node.lean.toolchain.find import find
    from node.lean.toolchain.problems import LeanProblem

    try:
        toolchain = await asyncio.to_thread(find, settings.lean)
    except LeanProblem as error:
        print(f"proofmesh repl: {error}", file=sys.stderr)
        return WRONG
    if settings.sandbox and not os.environ.get(CONFINED):
        toolchain = await toolchain.confined()
    options = ReplOptions(
        heartbeats=settings.heartbeats, memory_mb=settings.memory_mb, start_seconds=settings.lean.header_seconds
    )
    lean = Elaborator(toolchain, options, settings.seconds)
    try:
        await converse(ReplSession(lean, toolchain.default_header), sys.stdin.buffer, sys.stdout.buffer)
    finally:
        await lean.stop()
    return DONE


async def converse(session: ReplSession, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer every request of a stream, in order, until it ends or nobody reads the answers."""
    from node.lean.adapters.repl.protocol import write

    async for request in requests(source):
        try:
            sink.write(write(await session.answer(request)))
            sink.flush()
        except BrokenPipeError:
            return


async def requests(source: BinaryIO) -> AsyncIterator[str]:
    """The requests of a stream: what stands between blank lines. One that begins with `#` or `--` is a comment."""
    block: list[str] = []
    async for line in _lines(source):
        if line.strip():
            block.append(line)
        elif block:
            text, block = "".join(block), []
            if not text.startswith(("#", "--")):
                yield text
    if block and not block[0].startswith(("#", "--")):
        yield "".join(block)


async def _lines(source: BinaryIO) -> AsyncIterator[str]:
    """Lines as they come. A thread reads them: standard input may be a file, a pipe or a terminal."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        for line in source:
            loop.call_soon_threadsafe(queue.put_nowait, line)
        loop.call_soon_threadsafe(queue.put_nowait, b"")

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while line := await queue.get():
        yield line.decode("utf-8", errors="replace")
