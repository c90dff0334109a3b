"""The small types that go in and out of the learner's records."""

from __future__ import annotations

from dataclasses import dataclass

from common.attempts import Attempt, AttemptOutcome, Transition
from common.lean import Theorem


@dataclass(frozen=True, slots=True)
class TheoremRow:
    """A theorem of the run. Its name is its id."""

    theorem: Theorem
    split: str
    """`train` or `test`."""
    family: str
    level: int


@dataclass(frozen=True)
class Planned:
    """An attempt about to be dispatched."""

    number: int
    """Counts up over the run; seeds derive from it."""
    attempt: Attempt
    evaluation: int | None = None


@dataclass(frozen=True)
class VerifiedProof:
    """A proof that Lean accepted. The states of its transitions are the prover's word; everything else was checked."""

    script: str
    transitions: tuple[Transition, ...]
    axioms: tuple[str, ...] = ()
    lean_version: str = ""


@dataclass(frozen=True)
class Verdict:
    """What an attempt came to, after verification."""

    outcome: AttemptOutcome
    message: str = ""
    proof: VerifiedProof | None = None
    """What is recorded of a proved attempt."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A decided attempt to prove a train statement."""

    theorem_id: str
    proved: bool


@dataclass(frozen=True)
class WeightsRow:
    """A version of the weights in the run's object store."""

    version: int
    step: int
    digest: str
    object_name: str


@dataclass(frozen=True)
class EvaluationRow:
    """One evaluation of a pinned weight version."""

    label: str
    evaluation_id: int
    weights: int
    simulations: int
    created: float
    finished: float | None
    beside: bool = False
    """Beside learning, and no phase of its own."""
    worked: float | None = None
    """Seconds that the run had been at work when it was finished."""
    given_up: float | None = None
    """When it was ended without a result."""
    step: int = 0
    """Training step of the weights."""

    @property
    def open(self) -> bool:
        """Begun, and neither finished nor given up."""
        return self.finished is None and self.given_up is None


@dataclass(frozen=True)
class Tried:
    """A statement of an evaluation with the outcomes of its attempts, in order; None: still outstanding."""

    theorem_id: str
    family: str
    level: int
    outcomes: tuple[AttemptOutcome | None, ...]


@dataclass(frozen=True)
class Audit:
    """The numbers behind the rule recorded = dispatched - outstanding."""

    dispatched: int
    outstanding: int
    recorded: int
    both: int
    """Ids both outstanding and recorded."""
    neither: int
    """Ids dispatched and then lost."""
    strays: int
    """Results of attempts that were never dispatched."""

    @property
    def sound(self) -> bool:
        return self.recorded == self.dispatched - self.outstanding and not (self.both or self.neither or self.strays)
