"""Limits and options of worker processes, and their command line."""

from __future__ import annotations

from dataclasses import dataclass

from node.lean.settings import LeanProcessSettings

URI = "file:///proofmesh/Batch.lean"
"""The document's name. The file does not exist: Lean reads the text that we send."""

REPORT_DELAY_MS = 2
"""Between two reports of diagnostics and progress: the default of 200 would dominate every edit, and 0 costs a third
more CPU for reports that nobody reads (measured with `proofmesh bench lean`)."""

LOADING_SECONDS = 5.0
"""Seconds before a request that waits for a header import gets Busy. Provers (and LeanTree clients, through their
server) ask again then; they would not wait much longer for an answer."""


@dataclass(frozen=True)
class WorkerOptions:
    """Limits and options of a worker process."""

    heartbeats: int = 40_000
    """Lean's `maxHeartbeats` for one declaration: about two seconds of elaboration, a fifth of Lean's default."""
    memory_mb: int = 1024
    """Memory in MB beyond what its header took, at which the process is killed."""
    start_seconds: float = 60.0
    """Limit for start and header (a large library takes long to import)."""
    loading_seconds: float = 60.0
    """Seconds that a request waits for the import of its header, before the answer is Busy. The import goes on."""
    spares: int = 2
    """Processes kept beside the workers for headers that come again; the least recently used ends first."""
    in_file: bool = False
    """For the texts of files: Lean's own options hold there, for which these texts were written."""
    extra: tuple[str, ...] = ()
    """More arguments for `lean`."""

    def arguments(self) -> list[str]:
        """Command-line arguments of the worker.

        Lean reports all diagnostics; linters would only cost time.
        """
        options = {
            "server.reportDelayMs": REPORT_DELAY_MS,
            "maxErrors": 1_000_000,
            "linter.all": "false",
        }
        if not self.in_file:
            # As in verification, where the statement is a term: a free name is an error, not one more binder.
            options |= {"maxHeartbeats": self.heartbeats, "autoImplicit": "false"}
        # One task thread: there are as many workers as cores, and a second thread costs a third more CPU an edit.
        return ["--worker", "-j1", *(f"-D{name}={value}" for name, value in options.items()), *self.extra, URI]


def worker_options(settings: LeanProcessSettings) -> WorkerOptions:
    """How workers run with these settings."""
    return WorkerOptions(
        heartbeats=settings.heartbeats,
        memory_mb=settings.memory_mb,
        start_seconds=settings.lean.header_seconds,
        loading_seconds=LOADING_SECONDS,
        spares=settings.spares,
    )
