"""Prepares a lean-proxy: finds Lean, confines it, loads the configured header."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from common.bus import BadKey, Signer, persistently
from common.life.node import NodeContext, NodeFailure
from common.life.waiting import unless_stopped
from common.protocol import subjects
from common.protocol.messages import VerifierKeys
from common.sizing import read_machine
from node.lean.backend import Backend
from node.lean.process.protections import Protections
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain
from node.lean.worker.pool import Pool, prepare
from node.lean_proxy.settings import LeanProxySettings

WRONG_CONFIGURATION = 2
"""Exit code of a node whose configured Lean cannot be used."""


async def confined_toolchain(ctx: NodeContext, settings: LeanProxySettings, signer: Signer | None) -> LeanToolchain:
    """The configured Lean, confined as far as the system allows. Raises NodeFailure."""
    try:
        # Compiling pocket Lean's library takes seconds, and running `lake` may take as long.
        toolchain = await asyncio.to_thread(find, settings.lean)
    except LeanProblem as error:
        raise NodeFailure(str(error), WRONG_CONFIGURATION) from error
    if settings.sandbox:
        toolchain = await toolchain.confined()
    facts = toolchain.facts()
    ctx.facts = msgspec.structs.replace(facts, verifier=signer.public if signer is not None else "")
    found = {"version": facts.version, "toolchain": facts.name, "project": facts.project, "header": facts.header}
    ctx.log.info("Lean found", command=" ".join(toolchain.command), **found)
    _log_protections(ctx, toolchain.protections)
    for note in toolchain.notes:
        ctx.log.warning(note)
    return toolchain


def make_signer(ctx: NodeContext, settings: LeanProxySettings) -> Signer | None:
    """The key that signs verdicts, if this lean-proxy has one. Raises NodeFailure."""
    if not settings.key:
        ctx.log.info("this lean-proxy verifies no proofs, because it has no [lean_proxy] key")
        return None
    try:
        signer = Signer.of_file(Path(settings.key))
    except BadKey as error:
        raise NodeFailure(str(error), WRONG_CONFIGURATION) from error
    ctx.log.info("verdicts are signed", verifier=signer.public)
    return signer


async def check_listed(ctx: NodeContext, signer: Signer) -> None:
    """See that askers count this lean-proxy's verdicts, and say in its health if they do not. A run that lists no
    verifier gets the list of this node."""

    async def check() -> bool:
        configured = await ctx.bus.verifiers()
        if await ctx.bus.get_state(subjects.VERIFIERS, VerifierKeys) is None:
            await ctx.bus.list_verifiers(configured.keys or (signer.public,))
        return signer.public in (await ctx.bus.verifiers()).keys

    known = await persistently(check, "list of verifiers not read yet", until=ctx.stopping.is_set)
    problem = f"no node counts its verdicts: add {signer.public!r} to [bus] verifiers of the run's other machines"
    ctx.health("verifier", None if known else problem)


async def load_header(ctx: NodeContext, backend: Backend, *, size_to_machine: bool) -> None:
    """Load the configured header, which may take minutes; a stop of the node ends it. Raises NodeFailure.

    `size_to_machine`: reduce the number of workers to those that fit into memory, after measuring the header's memory.
    Only the `worker` backend loads the header here. The other backends load headers on demand.
    """
    if not isinstance(backend, Pool):
        return
    try:
        process = await unless_stopped(prepare(backend, read_machine() if size_to_machine else None), ctx.stopping)
    except LeanProblem as error:
        raise NodeFailure(str(error), WRONG_CONFIGURATION) from error
    if process is not None:
        seconds, memory = round(process.started_in, 2), round(process.header_mb)
        ctx.capacity["workers"] = backend.workers
        ctx.log.info("Lean is ready", header_seconds=seconds, header_mb=memory, workers=backend.workers)


def _log_protections(ctx: NodeContext, protections: Protections) -> None:
    facts = protections.facts()
    if gaps := protections.gaps():
        ctx.log.warning("Lean processes are not fully confined", **{name: facts[name] for name in gaps})
    else:
        ctx.log.info("Lean processes are confined", mechanisms=",".join(protections.mechanisms))
