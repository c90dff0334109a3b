"""`proofmesh repl`: the community REPL's protocol on standard input and output, over a Lean worker.

Tools that were written for the REPL run on any toolchain with it, with nothing to build. Beyond the REPL, a command
that hangs, or takes too much memory, is an error of that command: environments and proof states outlive it.

`--install-stand-in FOLDER` writes a folder that `lean-interact` and `leantree` take for a REPL that Lake has built, and
that starts this one with the flags given beside it.

Exit code: 0 at the end of input, 2 wrong configuration, or no Lean as configured.
"""

from __future__ import annotations

import asyncio
import dataclasses
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
    from node.lean.toolchain.lean_toolchain import LeanToolchain

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

    leantree: bool = False
    """Add the fields of LeanTree's own REPL to every answer: goals in their parts, and how they hang together."""

    install_stand_in: Path | None = None
    """Write a folder that tools take for a REPL built by Lake, and end. Its `.lake/build/bin/repl` starts this REPL
    with the other flags given here; `lean-toolchain` names the version; `bin/lake` is for machines without Lake."""

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
    from node.lean.adapters.repl.session import ReplSession
    from node.lean.holes.elaborator import Elaborator, ReplOptions
    from node.lean.toolchain.find import find
    from node.lean.toolchain.problems import LeanProblem

    try:
        toolchain = await asyncio.to_thread(find, settings.lean)
    except LeanProblem as error:
        print(f"proofmesh repl: {error}", file=sys.stderr)
        return WRONG
    if settings.install_stand_in is not None:
        return _install(settings, settings.install_stand_in, toolchain)
    if settings.sandbox and not os.environ.get(CONFINED):
        toolchain = await toolchain.confined()
    options = ReplOptions(
        heartbeats=settings.heartbeats, memory_mb=settings.memory_mb, start_seconds=settings.lean.header_seconds
    )
    lean = Elaborator(toolchain, options, settings.seconds)
    try:
        session = ReplSession(lean, toolchain.default_header, leantree=settings.leantree)
        await converse(session, sys.stdin.buffer, sys.stdout.buffer)
    finally:
        await lean.stop()
    return DONE


def _install(settings: ReplSettings, folder: Path, toolchain: LeanToolchain) -> int:
    """Write the stand-in; returns the exit code."""
    from common import config
    from node.lean.adapters.repl import stand_in

    lean = dataclasses.replace(
        settings.lean,
        project=_absolute(settings.lean.project),
        toolchain=_absolute(settings.lean.toolchain),
        modules=[_absolute(name) for name in settings.lean.modules],
    )
    flags = [
        *("--seconds", f"{settings.seconds:g}", "--heartbeats", str(settings.heartbeats)),
        *("--memory-mb", str(settings.memory_mb), "--sandbox" if settings.sandbox else "--no-sandbox"),
        *(["--leantree"] if settings.leantree else []),
    ]
    try:
        stand_in.install(folder, toolchain.version, config.dump({"lean": lean}), flags)
    except (stand_in.NotOurs, OSError) as error:
        print(f"proofmesh repl: {error}", file=sys.stderr)
        return WRONG
    folder = folder.absolute()
    print(f"{folder / stand_in.REPL}\n{folder / stand_in.LAKE}")
    return DONE


def _absolute(text: str) -> str:
    """A setting that names a folder from anywhere; others, such as a toolchain's name, as they are."""
    return str(Path(text).absolute()) if text and Path(text).is_dir() else text


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
