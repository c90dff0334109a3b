"""`proofmesh repl`: the community REPL's protocol on standard input and output, over a Lean worker.

With it, tools for the REPL run on any toolchain, without building a REPL. Unlike in the REPL, a command that hangs or
uses too much memory is only an error of that command: environments and proof states remain.

`--install-stand-in FOLDER` writes a folder that `lean-interact` and `leantree` accept as a REPL built by Lake. It
starts this REPL with the other flags of the command line.

Exit code: 0 at the end of input, 2 for a wrong configuration or a Lean that cannot be used.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shlex
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import tyro

from common.files import write_whole
from common.limits import Megabytes, Positive, Timeout
from common.output.command import Exit
from common.output.visible import say
from common.settings import LeanSettings

if TYPE_CHECKING:
    from node.lean.adapters.repl.session import ReplSession
    from node.lean.toolchain.lean_toolchain import LeanToolchain

CONFINED = "PROOFMESH_CONFINED"
"""Set in the environment of a REPL that is already confined, together with the processes that it starts."""


@dataclass
class ReplSettings:
    """Speak the community REPL's JSON protocol on standard input and output, over a Lean worker."""

    seconds: Timeout = 60.0
    """Wall-clock limit of a command or tactic."""

    heartbeats: Positive = 200_000
    """Lean's `maxHeartbeats`, unless a command sets it (Lean's default is the same)."""

    memory_mb: Megabytes = 4096
    """Memory limit of a command."""

    sandbox: bool = True
    """Confine the Lean process as far as the system allows: no network, read-only files, no child processes."""

    leantree: bool = False
    """Add the fields of LeanTree's own REPL to every answer: the parts of goals, and the metavariables they share."""

    install_stand_in: Path | None = None
    """Write a folder that tools accept as a REPL built by Lake, and exit. Its `.lake/build/bin/repl` starts this REPL
    with the other flags given here; `lean-toolchain` names the version; `bin/lake` is for machines without Lake."""

    config: Path | None = None
    """A TOML file. Its section [lean] has the defaults of the flags for Lean."""

    lean: Annotated[LeanSettings, tyro.conf.arg(name="")] = field(default_factory=LeanSettings)
    """Which Lean, with which project and header."""


def main(argv: Sequence[str]) -> int:
    """Entry point. Returns the exit code."""
    from common import config

    file = config.config_file(argv)
    default = ReplSettings(config=file, lean=config.load_lean(file))
    settings = tyro.cli(ReplSettings, args=list(argv), default=default, prog="proofmesh repl")
    config.check_flags(settings)
    return asyncio.run(serve(settings))


async def serve(settings: ReplSettings) -> int:
    """Answer requests until the end of input. Returns the exit code."""
    from node.lean.adapters.repl.session import ReplSession
    from node.lean.gaps.finder import Elaborator, ReplOptions
    from node.lean.toolchain.find import find
    from node.lean.toolchain.lean_toolchain import LeanProblem

    try:
        toolchain = await asyncio.to_thread(find, settings.lean)
    except LeanProblem as error:
        say(f"proofmesh repl: {error}", file=sys.stderr)
        return Exit.UNUSABLE
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
    return Exit.DONE


def _install(settings: ReplSettings, folder: Path, toolchain: LeanToolchain) -> int:
    """Write the stand-in folder. Returns the exit code."""
    from common import config

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
        install(folder, toolchain.version, config.dump({"lean": lean}), flags)
    except (NotOurs, OSError) as error:
        say(f"proofmesh repl: {error}", file=sys.stderr)
        return Exit.UNUSABLE
    folder = folder.absolute()
    say(folder / REPL)
    say(folder / LAKE)
    return Exit.DONE


def _absolute(text: str) -> str:
    """An absolute path for a setting that names a folder. Other settings, such as a toolchain's name, stay the same."""
    return str(Path(text).absolute()) if text and Path(text).is_dir() else text


async def converse(session: ReplSession, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer all requests of a stream in order, until it ends or the reader of the answers closes its end."""
    from node.lean.adapters.repl.protocol import write

    async for request in requests(source):
        try:
            sink.write(write(await session.answer(request)))
            sink.flush()
        except BrokenPipeError:
            return


async def requests(source: BinaryIO) -> AsyncIterator[str]:
    """The requests of a stream, separated by blank lines. A block that starts with `#` or `--` is a comment."""
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
    """The lines of a stream as they arrive. A thread reads them: the stream may be a file, a pipe or a terminal."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        for line in source:
            loop.call_soon_threadsafe(queue.put_nowait, line)
        loop.call_soon_threadsafe(queue.put_nowait, b"")

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while line := await queue.get():
        yield line.decode("utf-8", errors="replace")


# --- a folder that tools accept as the community's REPL built by Lake, and that starts our REPL -----------------------
# Such tools run `lake env FOLDER/.lake/build/bin/repl`, and read Lean's version from `FOLDER/lean-toolchain`. The
# folder has both files, and a `lake` for machines without Lake.

REPL = Path(".lake", "build", "bin", "repl")
LAKE = Path("bin", "lake")
TOOLCHAIN = Path("lean-toolchain")
SETTINGS = Path("proofmesh.toml")

_MARK = "# proofmesh: stand-in"
"""A line of every script in such a folder. Files without it are not overwritten."""

_PACKAGES = Path(__file__).parents[4]
"""The folder of the package `node`, because the scripts run in other folders."""


class NotOurs(ValueError):
    """The folder has another file with one of the names; the text says which."""


def install(folder: Path, lean_version: str, settings: str, flags: Sequence[str]) -> None:
    """Write the folder, or overwrite an earlier one. Raises NotOurs, OSError.

    `settings`: the text of its proofmesh.toml. `flags`: more flags of `proofmesh repl`.
    """
    folder = folder.absolute()
    for name in (REPL, LAKE):
        path = folder / name
        if path.exists() and _MARK not in path.read_bytes().decode(errors="replace"):
            raise NotOurs(f"{path} exists and was not written by proofmesh; use another folder")
    write_whole(_made(folder / SETTINGS), settings.encode())
    write_whole(_made(folder / TOOLCHAIN), f"leanprover/lean4:v{lean_version}\n".encode())
    for name, script in ((REPL, _repl(folder, flags)), (LAKE, _lake(lean_version))):
        write_whole(_made(folder / name), script.encode())
        (folder / name).chmod(0o755)


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _repl(folder: Path, flags: Sequence[str]) -> str:
    command = [sys.executable, "-m", "node.command.cli", "repl", "--config", str(folder / SETTINGS), *flags]
    path = shlex.quote(str(_PACKAGES))
    return f"""#!/bin/sh
{_MARK}; starts `proofmesh repl`
PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}} exec {shlex.join(command)} "$@"
"""


def _lake(lean_version: str) -> str:
    return f"""#!/bin/sh
{_MARK} for Lean's `lake`: it has only the commands with which tools start a REPL
case "$1" in
    --version) echo "Lake (proofmesh's stand-in; Lean version {lean_version})" ;;
    build) ;;
    env) shift; [ $# -eq 0 ] && exec env; exec "$@" ;;
    *) echo "lake: '$1' needs Lean's own lake: proofmesh's stand-in has only env, build and --version" >&2
       exit 1 ;;
esac
"""
