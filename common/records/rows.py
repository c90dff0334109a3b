"""Types of the rows in the learner's database, and a theorem's record for the matchmaker. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import msgspec

from common.lean import Theorem
from common.protocol.attempts import Attempt, AttemptOutcome, PlayParts, Transition


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
    """An attempt that is about to be dispatched."""

    number: int
    """Increases over the run; seeds derive from it."""
    attempt: Attempt
    evaluation: int | None = None


@dataclass(frozen=True)
class VerifiedProof:
    """A proof that Lean accepted. The states of its transitions are unchecked reports of the prover."""

    script: str
    transitions: tuple[Transition, ...]
    axioms: tuple[str, ...] = ()
    lean_version: str = ""
    header: str = ""
    """The configured header of that Lean."""
    weights: tuple[float, ...] = ()
    """How often training draws each transition, relative to others: 0 never, so it is only recorded. Empty: 1 each."""


@dataclass(frozen=True)
class Verdict:
    """The final outcome of an attempt, after verification."""

    outcome: AttemptOutcome
    message: str = ""
    proof: VerifiedProof | None = None
    """The proof, if the attempt proved its statement."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A decided attempt to prove a train statement."""

    theorem_id: str
    proved: bool


class Example(NamedTuple):
    """A recorded transition, for training."""

    number: int
    """Its id in the database; ids count up in the order of recording."""
    transition: Transition
    weight: float = 1.0
    """How often training draws it, relative to others; 0: never."""


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
    """True for an evaluation beside learning, False for one in its own phase."""
    worked: float | None = None
    """Seconds that the run had been running when the evaluation finished."""
    given_up: float | None = None
    """Time at which it was abandoned without a result."""
    step: int = 0
    """Training step of the weights."""

    @property
    def open(self) -> bool:
        """True while it is neither finished nor abandoned."""
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
    """The counts that check the rule recorded = dispatched - outstanding."""

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


# ----------------------------------------------------------------------------------------------------------------------
# A theorem's record for the matchmaker: counts of the attempts to prove or to disprove it.


@dataclass(slots=True)
class Standing:
    """The record of one theorem."""

    attempts: int = 0
    """Attempts with a decided result, to prove or to disprove it."""
    failures: int = 0
    """Number of `attempts` that found neither a proof nor a disproof."""
    tries: int = 0
    """Number of `attempts` to prove it."""
    proofs: int = 0
    """Number of `tries` that proved it."""
    disproved: bool = False
    refused: bool = False
    """Lean does not accept the statement."""
    in_a_row: int = 0
    """Number of latest `tries` in a row that proved it."""

    @property
    def proved(self) -> bool:
        return self.proofs > 0

    @property
    def decided(self) -> bool:
        """Proved, disproved, or refused by Lean."""
        return self.proved or self.disproved or self.refused


def learn(standing: Standing, disproof: bool, outcome: str) -> None:
    """Update a theorem's record with one outcome. An undecided outcome says nothing about the theorem."""
    if not AttemptOutcome(outcome).decided:
        return
    if outcome == AttemptOutcome.BAD_STATEMENT:
        standing.refused = True
        return
    success = outcome == AttemptOutcome.PROVED
    standing.attempts += 1
    standing.failures += not success
    if disproof:
        standing.disproved |= success
        return
    standing.tries += 1
    standing.proofs += success
    standing.in_a_row = standing.in_a_row + 1 if success else 0


# ----------------------------------------------------------------------------------------------------------------------
# Where the time of an attempt went, from its dispatch to its record.


@dataclass(frozen=True)
class Parts:
    """Seconds by part, in the order of an attempt's life. Their sum is the time from dispatch to record.

    Times of two machines are compared only by way of the broker, which stamps the attempt and its result.
    """

    dispatch: float
    """From the learner's record of it until the broker had stored it."""
    queue: float
    """Until a prover played it; also earlier plays that were lost."""
    search: float
    """The prover computed, and waited for nothing."""
    policy_wait: float
    policy_run: float
    lean_wait: float
    lean_run: float
    verify_wait: float
    verify_run: float
    """Verification of proofs, by the prover and by the learner."""
    bus: float
    """Requests and replies were under way, or not read yet."""
    result_wait: float
    """The result waited for the learner."""
    store: float
    """The learner recorded it."""


class Part(NamedTuple):
    """What people read about a part of an attempt's time."""

    name: str
    advice: str
    """What makes it shorter."""


PARTS = {
    "dispatch": Part("dispatch", "the learner or the broker was slow to send it; `proofmesh doctor` measures both"),
    "queue": Part(
        "queue",
        "it waited for a prover: start more provers, or raise [prover] searches; a lower [learner] ahead has fewer"
        " attempts wait, and an evaluation sends all of its own at once",
    ),
    "search": Part("search", "the prover's own computing: start provers on more cores"),
    "policy_wait": Part(
        "policy: wait",
        "requests waited at inference nodes: start another one, or raise [inference.engine] slots; while the network"
        " trains on the same machine, inference is paused",
    ),
    "policy_run": Part("policy: run", "the network computed: a GPU, a smaller network, or a lower [learner] samples"),
    "lean_wait": Part(
        "Lean: wait", "requests waited for a Lean worker: start another lean-proxy, or raise [lean_proxy] workers"
    ),
    "lean_run": Part("Lean: run", "Lean ran tactics: lower [prover] tactic_seconds or [learner] samples"),
    "verify_wait": Part(
        "verification: wait",
        "proofs wait to be verified together: lower [learner] verify_gather; else raise [lean_proxy] verifications",
    ),
    "verify_run": Part(
        "verification: run",
        "Lean checked the proof from the start: long proofs, or many in one [lean_proxy] verify_batch",
    ),
    "bus": Part(
        "bus",
        "messages were under way, or not read yet: the prover is busy (lower [prover] searches), or the broker"
        " is far away",
    ),
    "result_wait": Part(
        "result: wait", "the result waited for the learner: raise [learner] results, or give it cores of its own"
    ),
    "store": Part("record", "the learner's disk is slow: put [learner] directory on another one"),
}
"""By the names of `Parts`, in their order."""


@dataclass(frozen=True)
class Arrival:
    """How a result came to the learner."""

    stored: float
    """When the broker stored it: Unix time of the broker's clock."""
    received: float
    """Unix time of the learner's clock, which is `ahead` seconds ahead of the broker's."""
    ahead: float
    spent: Mapping[str, float]
    """Seconds by part that the learner spent on it."""

    def parts(self, created: float, play: PlayParts) -> Parts:
        """The parts of an attempt that was created at this Unix time of the learner's clock. A part that clocks which
        do not agree would make negative is 0."""
        played = {name: value for name, value in msgspec.structs.asdict(play).items() if name not in ("asked", "idle")}
        around = {
            "dispatch": play.asked + self.ahead - created,
            "queue": self.stored - play.asked - sum(played.values()),
            "result_wait": self.received - self.ahead - self.stored,
        }
        seconds: Counter[str] = Counter()
        for known in (played, self.spent, around):
            seconds.update(known)
        return Parts(**{each.name: max(0.0, seconds[each.name]) for each in fields(Parts)})
