"""How Lean runs on this machine: which Lean, how many processes, and their limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from common.lean_settings import LeanSettings
from common.limits import Megabytes, Natural, Positive, Timeout
from common.sizing import read_machine, sizes


@dataclass
class LeanProcessSettings:
    """Lean processes that run tactics, and fresh ones that verify proofs."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """Which Lean, with which project and header: section [lean] of the file."""

    workers: Natural = 0
    """Lean workers; 0 takes one per core but one, at least two, and no more than half of the memory holds."""

    queue: Natural = 16
    """Requests that may wait for each worker; beyond that the answer is `busy, retry after`."""

    heartbeats: Positive = 40_000
    """Lean's `maxHeartbeats` for a batch or a candidate: about two seconds of elaboration."""

    memory_mb: Megabytes = 1024
    """Memory that a worker may take beyond what its header took; what it was running then gets the outcome `memory`."""

    spares: Natural = 2
    """Lean processes kept beside the workers for headers that come again; the least recently used ends first."""

    tactic_seconds: Timeout = 10.0
    """Most seconds for a candidate, whatever a request asks for."""

    verifications: Natural = 0
    """Proofs verified at once; 0 takes one per two cores."""

    verify_batch: Positive = 100
    """Proofs that wait are verified together, at most so many in three processes; 1 verifies each alone. What has no
    clear verdict there is verified alone: verdicts and reasons are the same."""

    verify_seconds: Timeout = 60.0
    """Time limit of each process of a verification."""

    verify_memory_mb: Megabytes = 2048
    """Memory limit of a verification's processes, each."""

    sandbox: bool = True
    """Confine Lean processes as far as the system allows: no network, files read-only, no processes of their own."""

    cache: Natural = 20_000
    """Outcomes that are remembered (about 1 KB each)."""

    def resolved_workers(self) -> int:
        """Workers on this machine. Two even on few cores, so that a slow tactic does not stop everything."""
        return self.workers or sizes(read_machine()).lean_workers

    def resolved_verifications(self) -> int:
        """Verifications at once on this machine."""
        return self.verifications or sizes(read_machine()).verifications
