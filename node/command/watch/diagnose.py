"""`proofmesh diagnose [NODE]`: asks the nodes of a running mesh what they are doing, and prints their answers.

NODE is the beginning of a node's id, such as `prover` (`proofmesh status` lists them); without it, all nodes are asked.

    --level debug       log from this level on, for --seconds
    --stacks            where each thread and each task is
    --profile           a profile of the processor time of --seconds, if py-spy is installed there
    --memory            the objects in memory, and what is allocated within --seconds

Profiles and tables of memory are files on the node's machine; its answer names them. A broker with keys lets only the
operator ask (the key `admin`). On the machine of a node, `kill -USR1 PROCESS` prints its stacks to its log, also if it
is stuck, and `kill -USR2 PROCESS` switches the level between `debug` and the configured one.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from common.config import MeshOptions
from common.limits import Timeout
from common.output.command import Exit, UserError, command
from common.output.visible import say
from common.protocol.messages import Diagnosis, DiagnosisRequest, LogRecord

ANSWER_SECONDS = 10.0
"""For an answer to arrive, beyond the seconds that were asked for: a busy node has other work in between."""


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

    seconds: Timeout = 10.0
    """How long the level holds, and a profile or a look at the memory lasts."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    return command(DiagnoseSettings, list(argv), _diagnose, prog="proofmesh diagnose", description=__doc__, log="error")


async def _diagnose(settings: DiagnoseSettings) -> int:
    from common.bus import Bus, Role
    from common.protocol.subjects import DIAGNOSIS, telemetry

    # 1. The questions.
    what = {Diagnosis.STACKS: settings.stacks, Diagnosis.PROFILE: settings.profile, Diagnosis.MEMORY: settings.memory}
    asked = [kind for kind, wanted in {Diagnosis.LEVEL: bool(settings.level), **what}.items() if wanted]
    if not asked:
        raise UserError("say what to ask: --level, --stacks, --profile or --memory")
    mesh = settings.mesh()
    name = secrets.token_hex(6)
    waiting: set[tuple[str, str]] = set()
    answered = asyncio.Event()

    def hear(_: str, record: LogRecord) -> None:
        if record.fields.get("asked") == name:
            _show(record)
            waiting.discard((record.node_id, record.fields.get("answers", "")))
            if not waiting:
                answered.set()

    # 2. Ask, and print what the nodes log about it.
    bus = await Bus.connect(mesh.bus, run=mesh.run, name="diagnose", role=Role.ADMIN, wait=settings.wait)
    try:
        there = [info.node_id for info in await bus.nodes() if info.node_id.startswith(settings.node)]
        if not there:
            raise UserError(f"run {mesh.run} has no node {settings.node or 'at all'}; `proofmesh status` lists nodes")
        waiting.update((each, kind) for each in there for kind in asked)
        await bus.subscribe(telemetry("*", "*", "log"), LogRecord, hear)
        for kind in asked:
            question = DiagnosisRequest(
                asked=name, nodes=settings.node, what=kind, seconds=settings.seconds, level=settings.level
            )
            await bus.publish(DIAGNOSIS, question)
        lasting = settings.seconds * (settings.profile + settings.memory)
        with suppress(TimeoutError):
            await asyncio.wait_for(answered.wait(), lasting + ANSWER_SECONDS)
    finally:
        await bus.close()
    # 3. Who is silent.
    for each in sorted({each for each, _ in waiting}):
        say(f"{each} does not answer: it is stuck, or of an earlier version; `kill -USR1` prints its stacks to its log")
    return Exit.FAILED if waiting else Exit.DONE


def _show(record: LogRecord) -> None:
    """Print an answer."""
    rest = {key: value for key, value in record.fields.items() if key not in ("asked", "answers", "node", "stack")}
    say(f"{record.node_id}: {record.event}{''.join(f' {key}={value}' for key, value in rest.items())}")
    if stack := record.fields.get("stack"):
        say(f"  {stack.rstrip()}", indent="  ")
