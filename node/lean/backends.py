"""Makes the Lean backend that the configuration names."""

from __future__ import annotations

import shlex

from node.lean.backend import Backend
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.options import WorkerOptions


def make_backend(settings: LeanProcessSettings, toolchain: LeanToolchain, options: WorkerOptions) -> Backend:
    """The backend for these settings; the caller starts it."""
    workers = settings.resolved_workers()
    queue = workers * settings.queue
    if settings.lean.backend == "repl":
        from node.lean.adapters.repl.backend import ReplBackend

        return ReplBackend(toolchain, tuple(shlex.split(settings.lean.repl_command)), options, workers, queue)
    if settings.lean.backend == "leantree":
        from node.lean.adapters.leantree.backend import LeanTreeBackend

        return LeanTreeBackend(settings.lean.leantree_url, workers, queue, toolchain.default_header)
    from node.lean.worker.pool import Pool

    return Pool(toolchain, options, workers=workers, queue=queue)
