"""The interface of interactive provers: `solo.py` proves in this process, `remote.py` on a running mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from common.lean import ProofTree, Theorem
from common.protocol.attempts import AttemptOutcome
from common.protocol.messages import LeanVerifyReply


class ProvingFailed(RuntimeError):
    """The infrastructure failed, so there is no result about the theorem. The message has the reason."""


@dataclass(frozen=True)
class Budget:
    """The limits for one theorem. The first limit that is reached ends the search."""

    seconds: float = 20.0
    simulations: int = 2000
    """Expansions of proof states."""
    lean_attempts: int = 0
    """Most tactics that searches may send to Lean; 0: no limit. Closing tactics, names of the file and library searches
    are not counted."""


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    outcome: AttemptOutcome
    """`proved`, `failed` or `bad-statement`. Failures of infrastructure are raised."""
    script: tuple[str, ...] = ()
    """The proof, line by line; the first line begins in column 0."""
    reason: str = ""
    """Why there is no proof; or Lean's error about the statement."""
    proof: ProofTree | None = None
    """The proof that the search found, before shortening. `script` may differ."""
    simulations: int = 0
    seconds: float = 0.0
    by: str = ""
    """The source of the proof: `closing tactics`, `list of tactics`, `network`, `network and list`, or the name of a
    tactic that searched the library."""


class TheoremProver(Protocol):
    """Finds proofs, and has Lean verify them. Several theorems may be searched concurrently."""

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        """Search for a proof, without final verification. Raises ProvingFailed."""

    async def verify(self, theorem: Theorem, script: tuple[str, ...]) -> LeanVerifyReply:
        """Lean's verdict on a proof, from fresh processes. Raises ProvingFailed."""
