"""Limits and options of worker processes, and their command line."""

from __future__ import annotations

from dataclasses import dataclass

from node.lean.settings import LeanProcessSettings

URI = "file:///proofmesh/Batch.lean"
"""The document's name. The file does not exist: Lean reads the text that we send."""

REPORT_DELAY_MS = 2
"""Milliseconds between two reports of diagnostics and progress. The default of 200 would be most of an edit's time, and
0 costs a third more CPU for reports that are not read (measured with `proofmesh bench lean`)."""

LOADING_SECONDS = 5.0
"""Seconds before a request that waits for a header import gets Busy. Provers (and LeanTree clients, through their
server) then retry. They would not wait much longer for a reply."""


@dataclass(frozen=True)
class WorkerOptions:
    """Limits and options of a worker process."""

    heartbeats: int = 40_000
    """Lean's `maxHeartbeats` for one declaration: about two seconds of elaboration, a fifth of Lean's default."""
    memory_mb: int = 1024
    """Memory in MB, in addition to the header's, at which the process is killed."""
    start_seconds: float = 60.0
    """Time limit of the start with its header (importing a large library takes long)."""
    loading_seconds: float = 60.0
    """Seconds before a request that waits for a header import gets Busy. The import continues."""
    spares: int = 2
    """Idle processes that stay alive with their header for later requests. The least recently used one ends first."""
    in_file: bool = False
    """True for texts of files: they run with Lean's default options, for which they were written."""
    extra: tuple[str, ...] = ()
    """More arguments for `lean`."""

    def arguments(self) -> list[str]:
        """Command-line arguments of the worker: Lean reports all diagnostics, and runs no linters, to save time."""
        options = {
            "server.reportDelayMs": REPORT_DELAY_MS,
            "maxErrors": 1_000_000,
            "linter.all": "false",
        }
        if not self.in_file:
            # As in verification, where the statement is a term: an unbound name is an error, not an implicit binder.
            options |= {"maxHeartbeats": self.heartbeats, "autoImplicit": "false"}
        # One task thread: there are as many workers as cores, and a second thread costs a third more CPU per edit.
        return ["--worker", "-j1", *(f"-D{name}={value}" for name, value in options.items()), *self.extra, URI]


def worker_options(settings: LeanProcessSettings) -> WorkerOptions:
    """The worker options for these settings."""
    return WorkerOptions(
        heartbeats=settings.heartbeats,
        memory_mb=settings.memory_mb,
        start_seconds=settings.lean.header_seconds,
        loading_seconds=LOADING_SECONDS,
        spares=settings.spares,
    )
