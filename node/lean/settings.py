"""Settings of Lean on this machine: which Lean, how many processes, their limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from common.limits import Duration, Megabytes, Natural, Positive, Timeout
from common.machine import read_machine, sizes
from common.settings import LeanSettings


@dataclass
class LeanProcessSettings:
    """Lean processes that run tactics, and fresh ones that verify proofs."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """Which Lean, with which project and header: section [lean] of the file."""

    workers: Natural = 0
    """Lean workers. 0 means one for each core except one, at least two, and at most as many as half of the memory
    holds."""

    queue: Natural = 16
    """Requests that may wait for each worker. When the queue is full, further requests get `busy, retry after`."""

    heartbeats: Natural = 0
    """Lean's `maxHeartbeats` for a candidate. 0: with pocket Lean 40,000, about two seconds of elaboration; with
    another Lean 200,000, its own default, which proofs in Mathlib need."""

    memory_mb: Megabytes = 1024
    """Memory that a worker may use in addition to its header's. A candidate above it gets the outcome `memory`."""

    spares: Natural = 6
    """Idle Lean processes that stay alive with the header that they have loaded, and with the states of a slow theorem
    that they have kept, for later requests. The least recently used one ends first."""

    tactic_seconds: Duration = 0.0
    """Longest timeout of a candidate in seconds, whatever a request asks for. 0: with pocket Lean 5, with another Lean
    25."""

    verifications: Natural = 0
    """Verifications that run at the same time. 0 means one for two cores."""

    verify_batch: Positive = 100
    """Most proofs that one verification checks together, in three processes. 1 verifies each proof alone. A proof
    without a clear verdict in a batch is verified alone, so verdicts and reasons do not depend on the batch."""

    verify_seconds: Timeout = 60.0
    """Time limit of each process of a verification."""

    verify_memory_mb: Megabytes = 2048
    """Memory limit of each process of a verification."""

    sandbox: bool = True
    """Confine Lean processes as far as the system allows: no network, no child processes, one folder to write to, and
    only their toolchain, project and input to read."""

    cache: Natural = 20_000
    """Most outcomes in the cache (about 1 KB each)."""

    def resolved_workers(self) -> int:
        """Workers on this machine. At least two, so that a slow tactic does not block all requests."""
        return self.workers or sizes(read_machine()).lean_workers

    def resolved_heartbeats(self) -> int:
        """Lean's `maxHeartbeats` for a candidate."""
        return self.heartbeats or (40_000 if self.lean.is_pocket else 200_000)

    def resolved_tactic_seconds(self) -> float:
        """Longest timeout of a candidate in seconds."""
        return self.tactic_seconds or (5.0 if self.lean.is_pocket else 25.0)

    def resolved_verifications(self) -> int:
        """Verifications that run at the same time on this machine."""
        return self.verifications or sizes(read_machine()).verifications
