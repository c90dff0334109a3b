"""The backend that is configured."""

from __future__ import annotations

import shlex

from node.lean_proxy.backend import Backend
from node.lean_proxy.settings import LeanProxySettings
from node.lean_proxy.toolchain import LeanToolchain
from node.lean_proxy.worker.process import WorkerOptions

LOADING_SECONDS = 5.0
"""Who asks for what needs a header that is being loaded is told so after that: provers (and LeanTree clients, through
their server) ask again, and wait little longer for a word."""


def worker_options(settings: LeanProxySettings) -> WorkerOptions:
    """How workers run with these settings."""
    return WorkerOptions(
        heartbeats=settings.heartbeats,
        memory_mb=settings.memory_mb,
        start_seconds=settings.lean.header_seconds,
        loading_seconds=LOADING_SECONDS,
        spares=settings.spares,
    )


def make_backend(settings: LeanProxySettings, toolchain: LeanToolchain, options: WorkerOptions) -> Backend:
    """A backend for these settings, not started yet."""
    workers = settings.resolved_workers()
    queue = workers * settings.queue
    if settings.lean.backend == "repl":
        from node.lean_proxy.repl.backend import ReplBackend

        return ReplBackend(toolchain, tuple(shlex.split(settings.lean.repl_command)), options, workers, queue)
    if settings.lean.backend == "leantree":
        from node.lean_proxy.leantree.backend import LeanTreeBackend

        return LeanTreeBackend(settings.lean.leantree_url, workers, queue, toolchain.default_header)
    from node.lean_proxy.pool import Pool

    return Pool(toolchain, options, workers=workers, queue=queue)
