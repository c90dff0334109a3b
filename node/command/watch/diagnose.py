"""`proofmesh diagnose [NODE]`: asks the nodes of a running mesh what they are doing, and prints their answers.

NODE is the beginning of a node's id, such as `prover` (`proofmesh status` lists them); without it, all nodes are asked.

    --level debug       log from this level on, for --seconds
    --stacks            where each thread and each task is
    --profile           a profile of the processor time of --seconds, if py-spy is installed there
    --memory            the objects in memory, and what is allocated within --seconds
    --do drain          leave for good, once the work is finished or handed back
    --do pause|resume   a learner: dispatch no attempts to learn, or dispatch them again
    --do evaluate       a learner: evaluate the newest weights now, beside learning

Profiles and tables of memory are files on the node's machine; its answer names them. A broker with keys lets only the
operator ask (the key `admin`). On the machine of a node, `kill -USR1 PROCESS` prints its stacks to its log, also if it
is stuck, and `kill -USR2 PROCESS` switches the level between `debug` and the configured one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from common.config import MeshOptions
from common.limits import Timeout
from common.output.command import Exit, UserError, command
from common.output.visible import say
from common.protocol.messages import Diagnosis, LogRecord


@dataclass
class DiagnoseSettings(MeshOptions):
    """Ask the nodes of a mesh what they are doing."""

    node: Annotated[str, tyro.conf.Positional] = ""
    """Beginning of the ids of the nodes that are asked; empty: all."""

    level: Literal["", "debug", "info", "warning", "error"] = ""
    """Log from this level on."""

    stacks: bool = False
    """Show where each thread and each task is."""

    profile: bool = False
    """Write a profile of the processor time (py-spy)."""

    memory: bool = False
    """Write a table of objects and allocations."""

    do: Literal["", "drain", "pause", "resume", "evaluate"] = ""
    """Have them do this."""

    seconds: Timeout = 10.0
    """How long the level holds, and a profile or a look at the memory lasts."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    return command(DiagnoseSettings, list(argv), _diagnose, prog="proofmesh diagnose", description=__doc__, log="error")


async def _diagnose(settings: DiagnoseSettings) -> int:
    from common.bus import Bus, Role
    from common.watch.diagnosis import ask

    what = {Diagnosis.STACKS: settings.stacks, Diagnosis.PROFILE: settings.profile, Diagnosis.MEMORY: settings.memory}
    asked = [kind for kind, wanted in {Diagnosis.LEVEL: bool(settings.level), **what}.items() if wanted]
    asked += [Diagnosis(settings.do)] if settings.do else []
    if not asked:
        raise UserError("say what to ask: --level, --stacks, --profile, --memory or --do")
    if settings.do and not settings.node:
        raise UserError(f"--do {settings.do}: name the nodes, such as `proofmesh diagnose learner --do {settings.do}`")
    mesh = settings.mesh()
    failed = False

    def show(record: LogRecord) -> None:
        nonlocal failed
        failed |= "failed" in record.fields
        _show(record)

    bus = await Bus.connect(mesh.bus, run=mesh.run, name="diagnose", role=Role.ADMIN, wait=settings.wait)
    try:
        silent = await ask(bus, settings.node, asked, show, seconds=settings.seconds, level=settings.level)
    finally:
        await bus.close()
    for each in sorted({node for node, _ in silent}):
        say(f"{each} does not answer: it is stuck, or of an earlier version; `kill -USR1` prints its stacks to its log")
    return Exit.FAILED if silent or (settings.do and failed) else Exit.DONE


def _show(record: LogRecord) -> None:
    """Print an answer."""
    rest = {key: value for key, value in record.fields.items() if key not in ("asked", "answers", "node", "stack")}
    say(f"{record.node_id}: {record.event}{''.join(f' {key}={value}' for key, value in rest.items())}")
    if stack := record.fields.get("stack"):
        say(f"  {stack.rstrip()}", indent="  ")
