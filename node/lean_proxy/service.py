"""What a lean-proxy does: it finds Lean, confines it, loads the configured header, answers requests, and drains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from common.bus import BadKey, NotThere, Signer, persistently
from common.life.node import NodeContext, NodeFailure, run_node
from common.life.waiting import unless_stopped
from common.protocol import subjects
from common.protocol.messages import LeanCheckGone, LeanCheckRequest, LeanRunRequest, LeanVerifyRequest, VerifierKeys
from common.settings import NodeSettings
from node.lean.backend import Backend
from node.lean.check.files.proofs import ProofVerifier
from node.lean.opened import make_requests
from node.lean.process.protections import Protections
from node.lean.requests import Requests
from node.lean.snippets.checker import SnippetChecker, make_checker
from node.lean.snippets.snippet import SnippetLimits
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain
from node.lean.worker.pool import Pool, prepare
from node.lean_proxy.handlers import Checks, Handlers, report
from node.lean_proxy.settings import LeanProxySettings

OPEN_REQUESTS = 4096
"""Most open handlers. The backend's queue is far shorter, so most of these requests only get Busy."""

OPEN_PROOFS = 1024
"""Proofs that wait for a verdict, half of which one node may send while others do, too: a batch with a header that
takes long to import, or some with another one."""

QUEUE_GROUP = "lean-proxy"
"""The queue group of all lean-proxies: each request goes to one of them."""

WRONG_CONFIGURATION = 2
"""Exit code of a node whose configured Lean cannot be used."""


def main(settings: LeanProxySettings, node: NodeSettings) -> int:
    """Run a lean-proxy until it is stopped. Returns the exit code."""
    capacity, key_role = {"workers": settings.resolved_workers()}, "lean-proxy"
    if settings.key:
        capacity["verifications"], key_role = settings.resolved_verifications(), "verifier"
    return run_node("lean-proxy", node, lambda ctx: serve(ctx, settings), capacity=capacity, key_role=key_role)


async def serve(ctx: NodeContext, settings: LeanProxySettings) -> None:
    """Run a lean-proxy on a connected node, until the end of its drain. Raises NodeFailure."""
    # Keys and protections come first: a node that cannot confine Lean or sign verdicts does not start.
    signer = make_signer(ctx, settings)
    if signer is not None and ctx.bus.signer is not None:
        signer = await known_signer(ctx, signer, ctx.bus.signer)
    toolchain = await confined_toolchain(ctx, settings, signer)
    async with opened_lean(settings, toolchain) as lean:
        # The header is loaded before the node serves, so that its first request does not wait for an import.
        await load_header(ctx, lean.requests.backend)
        if isinstance(lean.requests.backend, Pool):
            lean.checker.limit(lean.requests.backend.workers)
        await answer(ctx, lean, signer)


@dataclass(frozen=True)
class ServedLean:
    """What a lean-proxy answers with."""

    requests: Requests
    """Runs tactics on the workers."""
    verifier: ProofVerifier
    """Verifies proofs in fresh processes."""
    checker: SnippetChecker
    """Checks snippets of the verification service, on workers that start with the first one."""
    room: int
    """Requests for tactics that run or wait, before one gets Busy."""


@asynccontextmanager
async def opened_lean(settings: LeanProxySettings, toolchain: LeanToolchain) -> AsyncIterator[ServedLean]:
    """Lean for the block: the workers' processes end with it. The worker backend's start with `load_header`."""
    workers = settings.resolved_workers()
    limits = SnippetLimits(
        workers=workers,
        header_seconds=settings.lean.header_seconds,
        queue=workers,
        memory_mb=settings.memory_mb,
        verify_seconds=settings.verify_seconds,
    )
    lean = ServedLean(
        make_requests(settings, toolchain),
        ProofVerifier(settings, toolchain),
        make_checker(toolchain, limits),
        room=workers * (1 + settings.queue),
    )
    lean.requests.backend.start()
    try:
        yield lean
    finally:
        await lean.requests.backend.stop()
        await lean.checker.stop()
        await lean.verifier.stop()


async def answer(ctx: NodeContext, lean: ServedLean, signer: Signer | None) -> None:
    """Answer the requests of the node's run until it is stopped and has answered what is open."""
    # 1. Tactics always, verdicts only with a key that the run knows, and snippets.
    handlers = Handlers(lean.requests, lean.verifier)
    await ctx.bus.serve(
        subjects.LEAN_RUN, LeanRunRequest, handlers.run, queue=QUEUE_GROUP, limit=OPEN_REQUESTS, room=lean.room
    )
    lean.requests.node = ctx.id
    await ctx.bus.serve(
        subjects.lean_run_at(ctx.id), LeanRunRequest, handlers.run_held, queue=None, limit=OPEN_REQUESTS, room=lean.room
    )
    if signer is not None:
        await check_listed(ctx, signer)
        await ctx.bus.serve(
            subjects.LEAN_VERIFY,
            LeanVerifyRequest,
            handlers.verify,
            queue=QUEUE_GROUP,
            limit=OPEN_REQUESTS,
            signer=signer,
            room=OPEN_PROOFS,
        )
    checks = Checks(lean.checker)
    await ctx.bus.serve(subjects.LEAN_CHECK, LeanCheckRequest, checks.check, queue=QUEUE_GROUP, limit=OPEN_REQUESTS)
    await ctx.bus.subscribe(subjects.LEAN_CHECK_GONE, LeanCheckGone, checks.gone)
    ctx.spawn(report(ctx, lean.requests, handlers), "lean-proxy report")
    # 2. On a stop the open requests are answered before Lean's processes end.
    await ctx.stopping.wait()
    await asyncio.gather(handlers.drained(), checks.drained())


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


async def known_signer(ctx: NodeContext, signer: Signer, own: Signer) -> Signer:
    """The one that the run lists. In a run with keys the broker says who is a verifier, and it knows those who have a
    verifier's key for the broker, `own`."""

    async def known() -> tuple[str, ...]:
        if keys := (await ctx.bus.verifiers()).keys:
            return keys
        raise NotThere("the run lists no verifier yet")

    keys = await persistently(known, "verifiers not read yet", until=ctx.stopping.is_set)
    if signer.public in keys or own.public not in keys:
        return signer
    ctx.log.info("verdicts are signed with the key for the broker, which the run lists", verifier=own.public)
    return own


async def check_listed(ctx: NodeContext, signer: Signer) -> None:
    """See that askers count this lean-proxy's verdicts, and say in its health if they do not. A run without keys that
    lists no verifier gets the list of this node."""

    async def check() -> bool:
        known = (await ctx.bus.verifiers()).keys
        if ctx.bus.signer is None and await ctx.bus.get_state(subjects.VERIFIERS, VerifierKeys) is None:
            known = known or (signer.public,)
            await ctx.bus.list_verifiers(known)
        return signer.public in known

    known = await persistently(check, "list of verifiers not read yet", until=ctx.stopping.is_set)
    problem = f"no node counts its verdicts: add {signer.public!r} to [bus] verifiers of the run's other machines"
    ctx.health("verifier", None if known else problem)


async def load_header(ctx: NodeContext, backend: Backend) -> None:
    """Load the configured header, which may take minutes; a stop of the node ends it. Raises NodeFailure.

    Only the `worker` backend loads the header here. The other backends load headers on demand.
    """
    if not isinstance(backend, Pool):
        return
    try:
        process = await unless_stopped(prepare(backend), ctx.stopping)
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
