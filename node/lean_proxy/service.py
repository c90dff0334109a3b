"""Runs a lean-proxy: finds Lean, loads its header, answers requests on the bus, drains."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from common.protocol import subjects
from common.protocol.messages import LeanCheckGone, LeanCheckRequest, LeanRunRequest, LeanVerifyRequest
from common.settings import NodeSettings
from node.lean_proxy.settings import LeanProxySettings

if TYPE_CHECKING:
    from common.life.node import NodeContext
    from node.lean.snippets.checker import SnippetChecker
    from node.lean.toolchain.lean_toolchain import LeanToolchain

OPEN_REQUESTS = 4096
"""Most open handlers. The backend's queue is far shorter, so most of these requests only get Busy."""

QUEUE_GROUP = "lean-proxy"
"""The queue group of all lean-proxies: each request goes to one of them."""


def main(settings: LeanProxySettings, node: NodeSettings) -> int:
    """Run a lean-proxy until it is stopped. Returns the exit code."""
    from common.life.node import run_node

    capacity = {"workers": settings.resolved_workers()}
    if settings.key:
        capacity["verifications"] = settings.resolved_verifications()
    return run_node("lean-proxy", node, lambda ctx: serve(ctx, settings), capacity=capacity)


async def serve(ctx: NodeContext, settings: LeanProxySettings) -> None:
    """Run a lean-proxy on a connected node, until the end of its drain. Raises NodeFailure."""
    from node.lean.check.files.proofs import ProofVerifier
    from node.lean.opened import make_requests
    from node.lean_proxy.checks import Checks
    from node.lean_proxy.handlers import Handlers
    from node.lean_proxy.report import report
    from node.lean_proxy.startup import check_listed, confined_toolchain, load_header, make_signer

    # 1. Keys and protections come first: a node that cannot confine Lean or sign verdicts does not start.
    signer = make_signer(ctx, settings)
    toolchain = await confined_toolchain(ctx, settings, signer)
    requests = make_requests(settings, toolchain)
    verifier = ProofVerifier(settings, toolchain)
    checker = make_checker(settings, toolchain)
    requests.backend.start()
    try:
        # 2. The header is loaded before the node serves, so that its first request does not wait for an import.
        await load_header(ctx, requests.backend, size_to_machine=settings.workers == 0)
        # 3. Serve: tactics always, verdicts only with a key that the run knows, and snippets.
        handlers = Handlers(requests, verifier)
        await ctx.bus.serve(subjects.LEAN_RUN, LeanRunRequest, handlers.run, queue=QUEUE_GROUP, limit=OPEN_REQUESTS)
        if signer is not None:
            await check_listed(ctx, signer)
            await ctx.bus.serve(
                subjects.LEAN_VERIFY,
                LeanVerifyRequest,
                handlers.verify,
                queue=QUEUE_GROUP,
                limit=OPEN_REQUESTS,
                signer=signer,
            )
        checks = Checks(checker)
        await ctx.bus.serve(subjects.LEAN_CHECK, LeanCheckRequest, checks.check, queue=QUEUE_GROUP, limit=OPEN_REQUESTS)
        await ctx.bus.subscribe(subjects.LEAN_CHECK_GONE, LeanCheckGone, checks.gone)
        ctx.spawn(report(ctx, requests, handlers), "lean-proxy report")
        # 4. On a stop the open requests are answered first, then Lean's processes end.
        await ctx.stopping.wait()
        await asyncio.gather(handlers.drained(), checks.drained())
    finally:
        await requests.backend.stop()
        await checker.stop()
        await verifier.stop()


def make_checker(settings: LeanProxySettings, toolchain: LeanToolchain) -> SnippetChecker:
    """The checker that answers `lean.check`."""
    from node.lean.snippets.making import HEARTBEATS, make_checker

    workers = settings.resolved_workers()
    return make_checker(
        toolchain,
        workers=workers,
        queue=workers,
        heartbeats=HEARTBEATS,
        memory_mb=settings.memory_mb,
        header_seconds=settings.lean.header_seconds,
        verify_seconds=settings.verify_seconds,
    )
