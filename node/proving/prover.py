"""What finds and verifies proofs for a person who waits: in this process (`solo.py`), or on a running mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from common.attempts import AttemptOutcome
from common.lean import ProofTree, Theorem
from common.messages import LeanVerifyReply


class ProvingFailed(RuntimeError):
    """The machinery failed, and that says nothing about the theorem; the text says what failed."""


@dataclass(frozen=True)
class Budget:
    """What one theorem may cost. Whichever ends first."""

    seconds: float = 20.0
    simulations: int = 2000
    """Expansions of proof states."""
    lean_attempts: int = 0
    """Tactics that searches may send to Lean; 0: no limit. What is tried beside a search is not counted: closing
    tactics, names of the file, searches of the library."""


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    outcome: AttemptOutcome
    """`proved`, `failed` or `bad-statement`; an infrastructure's failure is raised."""
    script: tuple[str, ...] = ()
    """The proof, line by line; the first line begins in column 0."""
    reason: str = ""
    """Why there is none; or Lean's words on the statement."""
    proof: ProofTree | None = None
    """The proof as it was found, before it was made short; `script` may be another one."""
    simulations: int = 0
    seconds: float = 0.0
    by: str = ""
    """What found it: `closing tactics`, `list of tactics`, `network`, `network and list`, or the name of a tactic that
    searched the library."""


class TheoremProver(Protocol):
    """Finds proofs, and has Lean verify them. Several theorems at once are as fast as its Lean processes allow."""

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        """Look for a proof; it is not verified yet. Raises ProvingFailed."""

    async def verify(self, theorem: Theorem, script: tuple[str, ...]) -> LeanVerifyReply:
        """Lean's word on a proof, from fresh processes. Raises ProvingFailed."""
