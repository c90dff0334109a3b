"""One command line, from its flags to its exit code. All commands, and scripts with flags, run through `command`.

    def main(argv: Sequence[str] | None = None) -> int:
        return command(Settings, argv, _run, prog="proofmesh thing", description=__doc__)

    def _run(settings: Settings) -> int:            # or `async def`
        ...
        raise UserError("--out: give another folder")    # one line on standard error, exit code 2

`Exit` names the exit codes. A module of a command imports nothing heavy for `--help`: nor does this one.
"""

from __future__ import annotations

import enum
import os
import select
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from common.output.visible import say

S = TypeVar("S")


class Exit(enum.IntEnum):
    """Exit codes of all commands. A command's help says what its codes mean for it."""

    DONE = 0
    FAILED = 1
    """The work is not done, or the answer is no: not proved, not healthy, training could not go on."""
    UNUSABLE = 2
    """The user can mend it: arguments, configuration, files, names."""
    UNAVAILABLE = 3
    """Infrastructure failed: no broker, no node, no Lean that answers."""
    DRAINED = 4
    """A node has left because its operator asked it to; `proofmesh up` does not start it again."""
    INTERRUPTED = 130
    """128 + SIGINT, as in shells."""
    READER_GONE = 141
    """128 + SIGPIPE: the reader of the output has ended, as in `proofmesh verify FILES | head -1`."""


class UserError(Exception):
    """What the user can understand and mend. The message says what is wrong, where, and what to do; it is all that a
    command prints of it."""

    exit_code: int = Exit.UNUSABLE


def command(
    settings_type: Any,
    argv: Sequence[str] | None,
    run: Callable[[S], int | Coroutine[Any, Any, int]],
    *,
    prog: str,
    description: str | None = None,
    default: S | None = None,
    log: str = "",
    interrupted: str = "interrupted",
    config: Sequence[Any] = (),
) -> int:
    """Parse flags into settings, run, and return the exit code; invalid flags and `--help` end the program.

    `argv`: the arguments; None: those of this process. `default`: settings from a file, which flags override. `log`:
    the level from which logs are printed; empty: whatever was configured. `interrupted`: what Ctrl-C says. `config`:
    markers of tyro. Raises ConfigError if a flag has a value that it cannot have.
    """

    def work() -> int:
        import tyro

        from common.config import check_flags

        # 1. Flags.
        parse: Any = tyro.cli
        given = tyro.MISSING_NONPROP if default is None else default
        settings = parse(
            settings_type, args=argv, default=given, prog=prog, description=description, config=config or None
        )
        check_flags(settings)
        # 2. Only now what takes time to import: `--help` has ended above.
        import asyncio

        if log:
            from common.life import logging

            logging.configure(log)
        # 3. The work; whatever the user can mend ends it in one line.
        try:
            code = run(settings)
            return asyncio.run(code) if isinstance(code, Coroutine) else code
        except UserError as error:
            return refuse(prog, error, error.exit_code)
        except (KeyboardInterrupt, asyncio.CancelledError):  # cancelled: a second Ctrl-C
            return refuse(prog, interrupted, Exit.INTERRUPTED)

    return until_reader_leaves(work)


def refuse(prog: str, message: object, code: int = Exit.UNUSABLE) -> int:
    """Print why a command ends, in one line on standard error; returns the exit code."""
    say(f"{prog}: {message}", file=sys.stderr)
    return code


def until_reader_leaves(work: Callable[[], int]) -> int:
    """Run the work of a command; returns its exit code, or READER_GONE when nobody reads its output any more."""
    try:
        try:
            return work()
        finally:
            sys.stdout.flush()  # also when the parser of options ends the program after `--help`
    except BrokenPipeError:
        if not _reader_is_gone():
            raise
        # What is still buffered goes nowhere, or Python would complain about it at its end.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        return Exit.READER_GONE


def _reader_is_gone() -> bool:
    """Whether the output is a pipe that nobody reads any more: other pipes and connections break, too."""
    pipes = select.poll()
    for stream in (sys.stdout, sys.stderr):
        try:
            pipes.register(stream.fileno(), 0)
        except (OSError, ValueError):  # a stream that is closed, or is no file
            continue
    return any(event & select.POLLERR for _, event in pipes.poll(0))
