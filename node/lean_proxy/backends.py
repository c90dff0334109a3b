"""The backend that is configured."""

from __future__ import annotations

import shlex

from node.lean_proxy.backend import Backend
from node.lean_proxy.settings import LeanProxySettings
from node.lean_proxy.toolchain import LeanToolchain
from node.lean_proxy.worker.process import WorkerOptions


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
