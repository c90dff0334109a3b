"""Messages for attempts at theorems and for their results. Learners, evaluations and people send attempts to provers,
which send a result that is too large for one message in parts.
"""

from __future__ import annotations

import enum
import hashlib
import math
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from common.lean import ProofTree, Theorem
from common.limits import MOST_LISTED, Name, Samples
from common.protocol.messages import MAX_MESSAGE_BYTES, Count, MalformedMessage, Message, Seconds, decode
from common.settings import SAMPLES, Sampling

MOST_PACKED = 2**20
"""Most bytes of a kept search in a result: two messages. Trees of 1,000 expansions have a tenth."""

MAX_PARTS = 32
"""Most parts of one result: 16 MiB, far more than any attempt needs. Read, a result may take ten times that."""


Effort = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
"""What one attempt took of something. The records add them up, in numbers below 2^63: a prover that reports more than
it can have done must not end a run."""


class Purpose(enum.StrEnum):
    """What an attempt is for. Provers take attempts in the order of this list."""

    INTERACTIVE = "interactive"
    """A person waits for the result (`proofmesh prove`)."""
    EVAL = "eval"
    """Scores a pinned weight version; never trains."""
    DISPROVE = "disprove"
    """Tries to prove the negation of a train statement."""
    TRAIN = "train"
    """Tries to prove a train statement."""


TRAINED_PURPOSES = (Purpose.TRAIN, Purpose.DISPROVE)
"""Purposes whose transitions are training data. Evaluations try test statements: they give scores, never training
data."""


HELD_SECONDS = 3600.0
"""An attempt that provers have had for so long without a result is dispatched again. A prover may renew its lease for
ever, by mistake or on purpose, and the broker does not tell who holds which. Time in the queue does not count."""

LEARNER, SELF_PLAY = "learner", "stp"
"""The clients with durable results: a run has one of each."""

Client = Annotated[str, msgspec.Meta(pattern=r"\A(learner|stp|[a-z0-9-]{1,40}\.[a-z0-9-]{1,48})\Z")]
"""Who asks for attempts and gets their results: the learner, self-play, or one process of `eval` or `prove`."""


class AttemptOutcome(enum.StrEnum):
    """The outcome of an attempt. Provers report all of these except `rejected`, which only the learner records."""

    PROVED = "proved"
    """Reported: the search found a proof. Recorded: Lean verified it."""
    FAILED = "failed"
    """The search tried every tactic, or used up its budget of simulations or Lean attempts. This says something about
    the theorem and the policy."""
    BAD_STATEMENT = "bad-statement"
    """Lean refuses the statement."""
    UNDECIDED = "undecided"
    """The search found no proof, but infrastructure lost some of its expansions, or its time ran out. This says
    nothing about the theorem."""
    ERROR = "error"
    """Infrastructure failed. This says nothing about the theorem."""
    POISONED = "poisoned"
    """Delivered too many times without a result. It is not delivered again."""
    REJECTED = "rejected"
    """Recorded: a prover reported a proof, and Lean's verification refused it."""

    @property
    def decided(self) -> bool:
        """Whether this says something about the theorem or the policy."""
        return self not in (AttemptOutcome.UNDECIDED, AttemptOutcome.ERROR, AttemptOutcome.POISONED)


class Method(enum.StrEnum):
    """How a prover searches (`node.prover.search.methods`)."""

    MCTS = "mcts"
    """Monte Carlo tree search, as AlphaProof's."""
    BEST_FIRST = "best-first"
    """Best-first search: the most probable path first, as in GPT-f, ReProver and BFS-Prover."""
    RANDOM = "random"
    """Expands a random open state; all have equal probability."""
    WHOLE_PROOF = "whole-proof"
    """No search: the policy samples whole proofs, and Lean checks each (`node.prover.whole_proof`)."""


TreeMethod = Literal["mcts", "best-first", "random"]
"""The methods that search a tree, as text, for options."""

MethodName = Literal[TreeMethod, "whole-proof"]
"""All methods."""


class Ended(enum.StrEnum):
    """Why a search ended without a proof."""

    SIMULATIONS = "simulations"
    """Its budget of simulations was used up."""
    LEAN_ATTEMPTS = "lean-attempts"
    """Its budget of tactics for Lean was used up."""
    SECONDS = "seconds"
    """Its time ran out. How far a search comes in that time depends on the machines and their load, so this says
    nothing about the theorem."""
    EXHAUSTED = "exhausted"
    """No tactic was left to try, or too many proofs were refused. A larger budget would change nothing."""


class Transition(msgspec.Struct, frozen=True):
    """One training example: the proof plays `tactic` at `state`. The longest branch from there has `remaining_steps`
    tactics, this one included."""

    state: str
    tactic: str
    remaining_steps: Count


class Attempt(Message, frozen=True):
    """One attempt to prove (or disprove) a theorem. Provers lease attempts: when a prover crashes, its lease expires,
    and the attempt is delivered again."""

    attempt_id: Name
    theorem_id: Name
    theorem: Theorem
    """The statement to prove. For a disproof, this is already the negation."""
    purpose: Purpose
    simulations: Count
    """Budget: most expansions that are backed up, or most whole proofs that are sampled; 0: no limit. The search ends
    when the first of its budgets is used up."""
    seed: int
    client: Client = LEARNER
    """Who gets the result. Attempts that are played in the same process need none."""
    weights: Count | None = None
    """Pinned weight version (evaluation); None is the latest."""
    samples: Samples = SAMPLES
    """K: tactics sampled per expansion, or whole proofs per request. Every prover uses this number, so that evaluations
    can be compared."""
    explore: Count = 0
    """Candidates of the prover's fixed list that are added to the samples of an expansion."""
    method: Name = Method.MCTS
    """How to search. A plain string, so that a prover that does not know the method can end the attempt with an
    error."""
    lean_attempts: Count = 0
    """Budget: most tactics, or whole proofs, that are sent to Lean; 0: no limit."""
    seconds: Seconds = 0.0
    """Budget: time since the theorem was opened, without final verification; 0: no limit."""
    correct: Count = 0
    """For `whole-proof`: how many times a refused proof goes back to the policy with Lean's errors, to be corrected."""
    then: Name = ""
    """For `whole-proof`: the search method that uses the second half of the budget. It starts from the correct
    beginnings of the failed proofs. Empty: no search."""
    first: Count = 0
    """For `whole-proof`: how many proofs of this theorem earlier attempts have requested. A source with a fixed list of
    proofs continues after these."""
    policy: str = ""
    """The policy that proposes tactics or writes proofs: `inference`, `openai:MODEL@TEMPLATE` or
    `hf:ID_OR_FOLDER@TEMPLATE` (a model that inference nodes serve), `tactics`, a mixture such as `inference+tactics`,
    or policies that take turns, `inference,tactics`; empty: the policy of the prover's configuration. A plain string,
    so that a prover that does not know the policy can end the attempt with an error."""
    verify: bool = False
    """Have lean-proxies verify every proof before it is reported. After a refusal the search goes on within its
    budget."""
    every_proof: bool = False
    """For `whole-proof`: do not stop at the first proof. Every sample that the budget allows is tried, and the result
    lists all different proofs that Lean's workers have accepted (`AttemptResult.proofs`). The sender of the attempt
    verifies them, so this cannot be combined with `verify`, `correct` or `then`."""
    sampling: Sampling | None = None
    """How tactics and proofs are sampled; None: as the prover is configured."""
    tactic_seconds: Seconds = 0.0
    """Time limit of one tactic in Lean, if it is shorter than the prover's own and the lean-proxy's; 0: theirs."""
    keep_search: bool = False
    """Whether the result has the trees of the search (`AttemptResult.search`)."""
    traced: bool = False
    """Whether the nodes that play and record it make spans of it (`common.watch.spans`)."""


MOST_HEADS = 32
"""Most heads of tactics that an attempt counts; further ones are counted together, as `…`."""

FINENESS = 8
"""Bins of values for each doubling of the remaining steps (`value_bin`)."""

VALUE_BINS = 64
"""From 1 step to 256, which is more than any network foretells."""


class SearchShape(msgspec.Struct, frozen=True):
    """What a tree search did with its expansions, counted once at its end (`node.prover.agent`).

    A state is off the proof if the reported proof does not pass through it; without a proof, all states are.
    """

    expanded: Effort = 0
    """States that were expanded."""
    expansions: Effort = 0
    """Expansions of these states."""
    dead: Effort = 0
    """Of these states: those without a proof and without a tactic that may still lead to one."""
    dead_expansions: Effort = 0
    """Expansions of dead states. The first of each was needed; `dead_expansions - dead` were not."""
    choices: Effort = 0
    """States with two or more visited actions: only there the search has compared tactics."""
    depth: Effort = 0
    """Depth of the deepest expanded state; the root has depth 0."""
    depths: Effort = 0
    """Sum of the depths of all expansions."""
    proof_steps: Effort = 0
    """Tactics on the longest branch of the proof; 0 without a proof."""
    on_proof: Effort = 0
    """States on the proof with a value of the network."""
    error_on_proof: Seconds = 0.0
    """Sum over them of |V + remaining steps|, in steps."""
    off_proof: Effort = 0
    """Solved states off the proof with a value of the network; `error_off_proof` is their sum of errors."""
    error_off_proof: Seconds = 0.0
    solved: Annotated[tuple[Effort, ...], msgspec.Meta(max_length=VALUE_BINS)] = ()
    """By bin of the value (`value_bin`), the number of solved states off the proof."""
    unsolved: Annotated[tuple[Effort, ...], msgspec.Meta(max_length=VALUE_BINS)] = ()
    """The same for states without a proof."""
    tried: Annotated[dict[str, Effort], msgspec.Meta(max_length=MOST_HEADS + 1)] = {}
    """By first word, the number of tactics that were tried; of these, `legal` ran without error and led on."""
    legal: Annotated[dict[str, Effort], msgspec.Meta(max_length=MOST_HEADS + 1)] = {}
    used: Annotated[dict[str, Effort], msgspec.Meta(max_length=MOST_HEADS + 1)] = {}
    """By first word, the number of tactics in the proof."""


def value_bin(value: float) -> int:
    """The bin of a value V = minus the remaining steps: eight for each doubling, so that they tell 10 steps from 11."""
    return min(VALUE_BINS - 1, int(FINENESS * math.log2(max(1.0, -value))))


class PlayParts(msgspec.Struct, frozen=True):
    """Where the time of a played attempt went, from its lease to its result: seconds, each moment counted once
    (`common.life.timeline`)."""

    asked: Seconds = 0.0
    """When the broker stored the attempt: Unix time of the broker's clock."""
    search: Seconds = 0.0
    """Nothing was in flight: the prover computed."""
    policy_wait: Seconds = 0.0
    """Requests waited at inference nodes, or to be sent again."""
    policy_run: Seconds = 0.0
    lean_wait: Seconds = 0.0
    """The same at lean-proxies."""
    lean_run: Seconds = 0.0
    verify_wait: Seconds = 0.0
    """The same for the verification of proofs before the result, if the attempt asks for it."""
    verify_run: Seconds = 0.0
    bus: Seconds = 0.0
    """Requests and replies were under way, or not read yet."""
    idle: Seconds = 0.0
    """For so long the prover's search slot had been free before: no part of the attempt's own time."""


class AttemptStatistics(msgspec.Struct, frozen=True):
    """The cost of an attempt: in total, and until the proof was known.

    For `whole-proof`, a simulation is a proof that was sampled, and a Lean attempt is a proof that was sent to Lean.

    Expansions are counted in the order in which they were selected, not in which they came back. Expansions that were
    selected after the one that completed the proof do not count in `simulations` and `solved_at_...`. So an attempt
    that was solved at n simulations is solved with every budget of n or more, and unsolved with every smaller one, if
    nothing is lost and the same number of expansions may be in flight. The same holds for Lean attempts.
    """

    simulations: Effort = 0
    """Expansions that were backed up."""
    expansions: Effort = 0
    """Expansions that were requested, repeated ones included."""
    expansions_lost: Effort = 0
    """Expansions that failed for good because infrastructure lost all their outcomes several times."""
    nodes: Effort = 0
    """Nodes of the search tree."""
    tactics_tried: Effort = 0
    tactics_failed: Effort = 0
    seconds: Seconds = 0.0
    seconds_policy: Seconds = 0.0
    """Waiting for inference, summed over expansions (expansions overlap)."""
    seconds_lean: Seconds = 0.0
    weights_first: Count = 0
    """Weight version of the first reply of inference; 0: no reply."""
    weights_last: Count = 0
    ended: Ended | None = None
    """Why the search ended without a proof; None: it ended with a proof or an error, or there was no search. An attempt
    with `every_proof` does not end with a proof."""
    solved_at_simulations: Effort = 0
    """Simulations until the proof was known, the last one included; 0: not proved."""
    solved_at_lean_attempts: Effort = 0
    """Tactics tried until the proof was known. Of the last expansion, only those up to the one that completed the
    proof."""
    solved_at_seconds: Seconds = 0.0
    """Time until the proof was known, without the verification of proofs."""
    proofs_rejected: Effort = 0
    """Proofs that final verification refused before the search went on."""
    lean_attempts: Effort = 0
    """Tactics that were sent to Lean, also those of expansions whose result was not needed in the end. Lost ones are
    sent again and count once."""
    samples: Effort = 0
    """Tactics that the policy sampled, duplicates and incomplete ones included."""
    tokens: Effort = 0
    """Tokens of these samples; 0: the policy does not report them."""
    seconds_verify: Seconds = 0.0
    """Waiting for final verification; part of `seconds`."""
    corrections: Effort = 0
    """Simulations of `whole-proof`: proofs that were written to correct an earlier one."""
    duplicates: Effort = 0
    """Simulations of `whole-proof`: proofs that the attempt had tried before. They are not sent to Lean again."""
    without_proof: Effort = 0
    """Simulations of `whole-proof`: completions without a proof, and proofs that the text rules forbid. They are not
    sent to Lean."""
    correct: Effort = 0
    """For `every_proof`: samples that are proofs, repeated ones included."""
    shape: SearchShape | None = None
    """What the tree search did; None: there was none, or an older prover played the attempt."""
    parts: PlayParts | None = None
    """Where its time went; None: it was played without a broker, or by an older prover."""


class SampledProof(msgspec.Struct, frozen=True):
    """A sampled proof of an attempt with `every_proof`. Lean's workers have accepted it."""

    script: str
    """The block of tactics, without indentation, comments and empty lines."""
    count: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    """Samples with this proof; they may differ in comments and empty lines."""
    first: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    """Number of the first sample with this proof, counted from 1 in the attempt."""
    seconds: Seconds = 0.0
    """Seconds that Lean needed for it; 0: not known. Workers check many proofs in one document and do not report times
    of single ones."""


class KeptSearch(msgspec.Struct, frozen=True):
    """The trees of a search, which the learner keeps as they are (`common.records.searches`)."""

    trees: Annotated[bytes, msgspec.Meta(max_length=MOST_PACKED)]
    """msgpack, compressed by zlib; empty: they are too large."""
    left: Seconds = 0.0
    """Tactics that were missing for a proof, as the network estimates (`node.prover.record`)."""


class AttemptResult(Message, frozen=True):
    """The outcome of an attempt. A result that is too large for a message is sent as several `ResultPart`s
    (`common.protocol.attempts`)."""

    attempt_id: Name
    theorem_id: Name
    purpose: Purpose
    prover_id: Name
    outcome: AttemptOutcome
    message: str = ""
    proof: ProofTree | None = None
    """The script to verify and the transitions to train on are derived from it (`common.proofs`)."""
    statistics: AttemptStatistics = AttemptStatistics()
    proofs: Annotated[tuple[SampledProof, ...], msgspec.Meta(max_length=MOST_LISTED)] = ()
    """For an attempt with `every_proof`: all different proofs, in the order of their first samples, up to a size limit
    (`node.prover.whole_proof`)."""
    search: KeptSearch | None = None
    """The trees of the search, for an attempt that asks for them."""


def unplayed(attempt: Attempt, prover_id: str, outcome: AttemptOutcome, message: str) -> AttemptResult:
    """The result of an attempt that was not played, or whose result cannot be read."""
    return AttemptResult(
        attempt_id=attempt.attempt_id,
        theorem_id=attempt.theorem_id,
        purpose=attempt.purpose,
        prover_id=prover_id,
        outcome=outcome,
        message=message,
    )


class ResultPart(Message, frozen=True):
    """A piece of an encoded AttemptResult. Parts with the same ids and digest make one result."""

    attempt_id: Name
    prover_id: Name
    digest: Name
    """blake2b of the whole encoded result, hex. It tells apart the parts of two results of the same attempt, which may
    be delivered twice."""
    part: Annotated[int, msgspec.Meta(ge=0, lt=MAX_PARTS)]
    parts: Annotated[int, msgspec.Meta(ge=1, le=MAX_PARTS)]
    payload: bytes


# ----------------------------------------------------------------------------------------------------------------------
# Parts of a result that is too large for one message.

HEADROOM = 1024
"""Bytes of a part other than its payload and its ids: field names, numbers, the digest."""


def divide(result: AttemptResult, limit: int = MAX_MESSAGE_BYTES) -> list[AttemptResult | ResultPart]:
    """The result itself if it has at most `limit` bytes, else parts of at most `limit` bytes.

    A result that is too large for MAX_PARTS parts cannot be delivered. It loses its search; if it still is too
    large, it is replaced by an `error` that says so.
    """
    payload = msgspec.msgpack.encode(result)
    if len(payload) <= limit:
        return [result]
    # Each part carries the ids and a few fields besides its payload.
    room = limit - HEADROOM - len(result.attempt_id.encode()) - len(result.prover_id.encode())
    parts = -(-len(payload) // room) if room > 0 else MAX_PARTS + 1
    if parts > MAX_PARTS and result.search:
        return divide(msgspec.structs.replace(result, search=None), limit)
    if parts > MAX_PARTS:
        problem = f"the result has {len(payload)} bytes; {MAX_PARTS} messages have room for {MAX_PARTS * room}"
        return [msgspec.structs.replace(result, outcome=AttemptOutcome.ERROR, message=problem, proof=None, proofs=())]
    # The digest tells parts of different deliveries apart: an attempt may be played twice.
    digest = digest_of(payload)
    return [
        ResultPart(
            attempt_id=result.attempt_id,
            prover_id=result.prover_id,
            digest=digest,
            part=part,
            parts=parts,
            payload=payload[part * room : (part + 1) * room],
        )
        for part in range(parts)
    ]


def joined(payloads: Sequence[bytes], digest: str) -> AttemptResult:
    """The result from the payloads of its parts, in order. Raises MessageError."""
    payload = b"".join(payloads)
    if digest_of(payload) != digest:
        raise MalformedMessage(f"{len(payloads)} parts of a result do not match their digest {digest!r}")
    return decode(payload, AttemptResult, limit=MAX_PARTS * MAX_MESSAGE_BYTES)


def digest_of(payload: bytes) -> str:
    """blake2b of an encoded result, hex."""
    return hashlib.blake2b(payload, digest_size=16).hexdigest()


class PartialResults:
    """Collects parts of results in memory, for a client with few attempts. The learner stores them in its database."""

    def __init__(self) -> None:
        self._payloads: dict[tuple[str, str, str, int], dict[int, bytes]] = {}

    def add(self, part: ResultPart) -> AttemptResult | None:
        """The result that this part completes; None while parts are missing. Raises MessageError."""
        if sum(map(len, self._payloads.values())) >= 2 * MAX_PARTS:
            self._payloads.clear()
            raise MalformedMessage(f"attempt {part.attempt_id} has parts of many results, and none is whole")
        payloads = self._payloads.setdefault((part.attempt_id, part.prover_id, part.digest, part.parts), {})
        payloads[part.part] = part.payload
        if len(payloads) < part.parts:
            return None
        return joined([payloads[number] for number in sorted(payloads)], part.digest)
