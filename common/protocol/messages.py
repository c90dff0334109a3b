"""All messages that are sent over the broker, as typed structs: msgpack on the wire, validated when they are decoded.

Each message is a msgpack map with a `type` (which struct), a `v` (schema version) and its fields. Any msgpack library
can read it. `decode` raises only subclasses of MessageError; the bus decides what happens then.

Attempts and their results are in `common.protocol.attempts`, subjects in `common.protocol.subjects`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from common.files import NOT_JSON
from common.lean import Outcome, Step, Texts, Theorem
from common.limits import LONGEST_NAME, MOST_CANDIDATES, MOST_LISTED, MOST_REPORTED, MOST_SAMPLES, Name, Samples
from common.output.visible import visible
from common.settings import PLAIN, Sampling

SCHEMA_VERSION = 3
"""Version of all messages. It increases when a field changes its meaning or a required field is added. Nodes refuse
versions they do not know."""

MAX_MESSAGE_BYTES = 512 * 1024
"""Largest message (the broker's own limit is 1 MiB). Weights and long logs go through the object store."""


LONGEST_REASON = 300
"""Most characters of the text that says what is wrong with a payload."""


Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A count that JSON, SQLite and floats can also represent. A message with a count out of this range is malformed."""

Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""A duration."""


Moment = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
"""A Unix time. What is no time of this era is refused: no reader has to expect an infinite one."""


LogProbability = Annotated[float, msgspec.Meta(ge=-1e9, le=1e3)]
"""The logarithm of a probability, or of a density. It may be a little above 0 after rounding. Infinite ones and NaN are
refused: they would end the search that gets them."""

Tokens = Annotated[int, msgspec.Meta(ge=0, le=2**22)]
"""Tokens of one reply: more than its samples can have. The sums of an attempt are among what a result may say."""


NodeName = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME, pattern=r"\A[A-Za-z0-9-]*\Z")]
"""The id of a node that a reply names, to be part of a subject (`common.life.context.new_node_id`); or empty."""


class FailureKind(enum.StrEnum):
    """Why a request cannot be answered."""

    ERROR = "error"
    MALFORMED = "malformed"
    VERSION = "version"
    OVERSIZED = "oversized"
    BAD_STATEMENT = "bad-statement"
    """Lean refuses the statement."""
    UNKNOWN_WEIGHTS = "unknown-weights"
    """This node cannot serve the requested weight version."""
    TOO_LONG = "too-long"
    """The prompt does not fit into the language model's context; a shorter one might."""
    MODEL = "model"
    """The language model returned no samples. This says nothing about the theorem."""


class MessageError(ValueError):
    """A payload that is not a message of the expected type."""


class MalformedMessage(MessageError):
    """Not msgpack, not the expected type, a missing field or a wrong one; the text says which."""


class UnknownVersion(MessageError):
    """A message of a schema version that this node does not know."""


class OversizedMessage(MessageError):
    """A message over MAX_MESSAGE_BYTES."""


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Base of all messages."""

    v: int = SCHEMA_VERSION


# --- replies that any request may get -------------------------------------------------------------------------------


class Busy(Message, frozen=True):
    """The queue is full, or the service is paused: retry after `retry_after` seconds, at this node or another."""

    retry_after: Seconds
    reason: str = "busy"


class Failure(Message, frozen=True):
    """The request cannot be answered, and a retry will not help, except for UNKNOWN_WEIGHTS: another node may have
    them, or this one soon."""

    reason: str
    kind: FailureKind = FailureKind.ERROR


# --- tactics: prover -> inference -----------------------------------------------------------------------------------


class TacticRequest(Message, frozen=True):
    """A request for samples: tactics at a proof state together with its value, or whole proofs of a statement, or
    conjectures."""

    state: str
    """A proof state; with `proof` a statement, `theorem NAME BINDERS : CONCLUSION`; with `conjecture` the prompt's text
    (`node.model.prompt.conjecture_prompt`)."""
    samples: Samples
    seed: int
    """Sampling depends only on (seed, sample index), never on the other rows of the batch."""
    weights: int | None = None
    """Requested weight version; None is the latest. A node that cannot serve it answers with a Failure of kind
    `unknown-weights`."""
    sampling: Sampling = PLAIN
    proof: bool = False
    """Sample whole proofs of the statement."""
    conjecture: bool = False
    """Sample conjectures."""


class SampledTactic(msgspec.Struct, frozen=True):
    """One sample of the policy."""

    tactic: str
    log_probability: LogProbability
    """Sum of the tokens' log-probabilities under the policy at temperature 1, end-of-tactic token included."""
    complete: bool = True
    """False: the completion was cut off. It is never sent to Lean."""
    tokens: Tokens | None = None
    """Tokens of a whole proof or a conjecture, its end included. None: a tactic."""


class TacticReply(Message, frozen=True):
    """Samples in order, and the value of the state. Duplicates stay, since their count is the prior. Without samples if
    the prompt of whole proofs or conjectures is longer than the network's context."""

    tactics: Annotated[tuple[SampledTactic, ...], msgspec.Meta(max_length=MOST_SAMPLES)]
    value: float
    """V: minus the expected number of remaining tactics (<= 0); 0 for whole proofs and conjectures."""
    weights: Count
    """The weight version that gave the samples."""
    tokens: Tokens | None = None
    """Tokens of these samples, their ends included; None: not counted."""


# --- Lean: prover and learner -> lean-proxy -------------------------------------------------------------------------


class LeanRunRequest(Message, frozen=True):
    """Run candidate tactics on the state that `path` leads to. Without tactics: open the theorem (if the path is empty)
    or return the state's text."""

    theorem: Theorem
    path: Annotated[tuple[Step, ...], msgspec.Meta(max_length=MOST_LISTED)] = ()
    tactics: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_CANDIDATES)] = ()
    timeout: Seconds = 10.0
    """Wall-clock seconds for each candidate when it runs alone."""
    messages: bool = True
    """Whether outcomes of kind `error` need Lean's message. Without messages Lean works less."""


class LeanRunReply(Message, frozen=True):
    """One outcome per candidate, in order."""

    state: str
    """The text of the state at the end of the path."""
    outcomes: Annotated[tuple[Outcome, ...], msgspec.Meta(max_length=MOST_CANDIDATES)] = ()
    elapsed: Seconds = 0.0
    """Seconds of Lean time, queueing excluded."""
    longest: Seconds = 0.0
    """Most seconds that this lean-proxy lets a candidate run; 0: it does not say."""
    holder: NodeName = ""
    """The lean-proxy to ask about this theorem next (`lean.run.at.<lean-proxy>`), because its Lean has kept states that
    take long to reach; empty: any."""


class LeanVerifyRequest(Message, frozen=True):
    """Check a proof in fresh processes: two files, and their content as data for the kernel; axioms. The learner sends
    this, because it does not trust the proofs that provers report."""

    theorem: Theorem
    script: str
    """The tactic block after `:= by`."""


ANY_PROOF = "trivial"
"""A script for a statement whose proof does not matter: whether Lean refuses the statement is."""


class LeanVerifyReply(Message, frozen=True):
    accepted: bool
    reason: str = ""
    """Why the proof is not accepted, for people to read."""
    axioms: Texts = ()
    lean_version: Name = ""
    elapsed: Seconds = 0.0
    rechecked: bool = False
    """Whether the process of the kernel has checked the compiled proof as data. No proof is accepted without that."""
    header: str = ""
    """The configured header of the Lean that gave the verdict, above statements without a header of their own."""


# --- snippets: serve -> lean-proxy ----------------------------------------------------------------------------------


class LeanCheckRequest(Message, frozen=True):
    """Check a snippet: any Lean text. The sender publishes LeanCheckGone when it does not need the reply any more."""

    check_id: Name
    code: str
    seconds: Seconds
    """Time limit of its elaboration."""
    infotree: Name = ""
    """The info trees to include in the reply, in the community REPL's terms; empty: none."""
    fresh: bool = False
    """Whether it needs a Lean process that has not run anything else."""
    against: str = ""
    """The theorems that the snippet must prove, as Lean text with `sorry` for proofs; empty: those that it states."""
    allow_own_syntax: bool = False
    """Without `against`: also accept theorems that depend on syntax, attributes, variables or code of the snippet."""


class LeanCheckReply(Message, frozen=True):
    """The result of a snippet: `response` or `error`, never both."""

    seconds: Seconds
    accepted: bool
    """Whether everything that the snippet claims to prove is proved."""
    axioms: Texts = ()
    reason: str = ""
    """Why the snippet is not accepted, for people to read."""
    depends: Texts = ()
    """What the statements depend on among the declarations and syntax of the snippet itself."""
    runs_code: Texts = ()
    """Code of the snippet that runs while Lean elaborates it, or that changes what code does."""
    error: str = ""
    """Why Lean did not finish."""
    response: bytes = b""
    """The community REPL's response, as JSON; empty: none."""
    worker: Name = ""
    """Name of the worker, for diagnostics."""
    cpu_max: float | None = None
    memory_max: float | None = None


class LeanCheckGone(Message, frozen=True):
    """The reply to a LeanCheckRequest is not needed any more."""

    check_id: Name


# --- state in the key-value bucket ----------------------------------------------------------------------------------


class WeightsState(Message, frozen=True):
    """Key `weights`: the weight version that inference serves, and its object. Nodes find weights by version, never by
    a path from a message."""

    version: int
    digest: Name
    """blake2b of the safetensors file, hex."""
    object_name: Name
    """Name in the object store of the run."""
    step: int = 0
    pinned: Annotated[tuple[PinnedWeights, ...], msgspec.Meta(max_length=MOST_LISTED)] = ()
    """Versions that must stay available (for evaluations), each with its object."""


class PinnedWeights(msgspec.Struct, frozen=True):
    version: int
    digest: Name
    object_name: Name


class PauseHold(Message, frozen=True):
    """Key `pause`: the learner has GPUs for some seconds. Inference on them resumes when they are over, or when the
    learner releases it."""

    epoch: int
    seconds: Seconds
    """Counted by the reader's own clock, from the time when the broker stored the value; 0 is released."""
    gpus: Texts = ()
    """Ids of the GPUs; other inference nodes go on. Empty: every inference node pauses."""


class PauseRequest(Message, frozen=True):
    epoch: int
    seconds: Seconds
    """Counted from receipt; 0 resumes."""
    gpus: Texts = ()
    """As in PauseHold."""


class PauseAcknowledged(Message, frozen=True):
    """An inference node has paused its batch for this epoch. `paused=False`: it has resumed it, or computes on another
    GPU and goes on."""

    epoch: int
    node_id: Name
    paused: bool = True


# --- registry and telemetry -----------------------------------------------------------------------------------------


class Protection(msgspec.Struct, frozen=True):
    """What Lean processes are protected from, or limited in."""

    name: str
    works: bool
    how: str
    """The mechanisms; if it does not work, the reasons. For people to read."""

    def __str__(self) -> str:
        return self.how if self.works else f"NOT PROTECTED ({self.how})"


class LeanProxyFacts(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """The Lean of a lean-proxy."""

    version: str
    name: str = ""
    """The toolchain: pocket Lean, its name in elan, or the path of `lean`."""
    project: str = ""
    """Folder of the Lake project; empty: none."""
    library: Annotated[dict[str, str], msgspec.Meta(max_length=MOST_LISTED)] = {}
    """Commits of the project (`project`) and its packages, as far as they are known."""
    options: Texts = ()
    """Options of the project, as `NAME=VALUE`."""
    header: str = ""
    """The header of theorems that import nothing: Lean text, exactly as Lean gets it."""
    protections: Annotated[tuple[Protection, ...], msgspec.Meta(max_length=MOST_REPORTED)] = ()
    verifier: str = ""
    """The Ed25519 public key of its verdicts, in base64."""


class ProverFacts(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """How a prover plays attempts that do not say it."""

    policy: str
    leaves: int
    """Most expansions in flight within one search."""
    sampling: Sampling
    templates: Annotated[dict[str, str], msgspec.Meta(max_length=MOST_REPORTED)] = {}
    """The prompt template of each language model in the policy: its label in results."""


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """What an inference node serves: a language model."""

    model: str
    """The name that requests have to use."""
    template: str = ""
    """Its prompt template, if the model's name does not determine it."""
    digest: str = ""
    """Digest of its weights; empty: they are on a server."""
    trouble: str = ""
    """Why it gives no samples at present; empty: it does."""


class NetworkFacts(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """What an inference node serves: the mesh's own network."""

    weights: str = ""
    """Digest of weights that do not change; empty: the node serves the versions that the learner announces, or is still
    loading."""
    gpu: str | None = None
    """Id of the GPU that computes; empty: a CPU. None: the node does not say, and pauses for every learner."""


class BrokerFacts(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """What the node that keeps a run's streams has met."""

    lost: str = ""
    """The streams that had vanished last, and when they were made again."""
    offenders: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_LISTED)] = ()
    """Who sends more than a node needs to, or asks for what its role may not, and how to cut it off."""


NodeFacts = LeanProxyFacts | ProverFacts | ModelFacts | NetworkFacts | BrokerFacts
"""What a program needs to know about a node, by role."""

Facts = TypeVar("Facts", LeanProxyFacts, ProverFacts, ModelFacts, NetworkFacts, BrokerFacts)


class VerifierKeys(Message, frozen=True):
    """Key `verifiers`: the lean-proxies whose verdicts count, for askers that are not configured with their keys."""

    keys: Texts
    """Ed25519 public keys, in base64."""


class NodeInfo(Message, frozen=True):
    """A node's entry in the registry. It expires unless the node renews it."""

    node_id: Name
    role: Name
    host: Name
    pid: int
    version: Name
    started: Moment
    metrics_url: Name = ""
    capacity: Annotated[dict[str, Count], msgspec.Meta(max_length=MOST_REPORTED)] = {}
    state: Name = "running"
    """`starting`, `running`, `paused`, `draining`, `unhealthy`."""
    facts: NodeFacts | None = None
    """What the node serves, or how it plays. None: it is still starting, or its role has no facts."""
    problems: Annotated[dict[str, str], msgspec.Meta(max_length=MOST_REPORTED)] = {}
    """Why it is `unhealthy`, by part."""


def facts_of(nodes: Iterable[NodeInfo], kind: type[Facts]) -> dict[str, Facts]:
    """The facts of one kind, by node id."""
    return {node.node_id: node.facts for node in nodes if isinstance(node.facts, kind)}


class Heartbeat(Message, frozen=True):
    """`telemetry.<role>.<id>.heartbeat`: counters and gauges for the monitor, about once a second."""

    node_id: Name
    role: Name
    time: Moment
    state: Name
    values: Annotated[dict[str, float], msgspec.Meta(max_length=MOST_REPORTED)] = {}


class LogRecord(Message, frozen=True):
    """`telemetry.<role>.<id>.log`."""

    node_id: Name
    role: Name
    time: Moment
    level: Name
    event: str
    fields: Annotated[dict[str, str], msgspec.Meta(max_length=MOST_REPORTED)] = {}


class Span(msgspec.Struct, frozen=True):
    """A time in the life of an attempt (`common.watch.spans`)."""

    attempt: Name
    id: Name
    """16 hexadecimal digits."""
    name: Name
    """`policy`, `lean`, `verify`: the attempt waited for this. `attempt`, `dispatch`, `queue`, `play`, `store`."""
    start: Moment
    """Unix time of the node's clock."""
    seconds: Seconds
    parent: Name = ""
    """The id of the span that contains it."""
    node: Name = ""
    """Who answered, if that was one node."""
    requests: Count = 0
    """Requests that were sent, also those that were sent again."""
    waited: Seconds = 0.0
    """At the node, as are `ran`; the rest of the time the requests were under way, or lost."""
    ran: Seconds = 0.0
    left_out: Count = 0
    """Spans that were not made, because the attempt had too many."""


class Spans(Message, frozen=True):
    """`telemetry.<role>.<id>.spans`: spans that a node has made."""

    node_id: Name
    role: Name
    time: Moment
    spans: Annotated[tuple[Span, ...], msgspec.Meta(max_length=MOST_REPORTED)]


class Diagnosis(enum.StrEnum):
    """What an operator asks of nodes: what they do, or to do something."""

    LEVEL = "level"
    """Log from another level on, for a while."""
    STACKS = "stacks"
    """Log where each thread and each task is."""
    PROFILE = "profile"
    """Write a profile of the processor time of the next seconds (py-spy)."""
    MEMORY = "memory"
    """Write what objects there are, and what is allocated in the next seconds."""
    DRAIN = "drain"
    """Finish or hand back the work, and leave for good."""
    PAUSE = "pause"
    """A learner: dispatch no attempts to learn until it starts again, or RESUME."""
    RESUME = "resume"
    EVALUATE = "evaluate"
    """A learner: evaluate the newest weights now, beside learning."""


class DiagnosisRequest(Message, frozen=True):
    """`ctl.diagnosis`: a question to nodes. They answer with log records that have `asked` in their fields."""

    asked: Name
    """Names the question."""
    nodes: Name
    """For nodes whose id begins like that; empty: for all."""
    what: Diagnosis
    seconds: Seconds
    """How long."""
    level: Name = ""
    """Of LEVEL."""


class ProofFound(Message, frozen=True):
    """`telemetry.learner.<id>.proof`: a verified proof, for the monitor."""

    theorem_id: Name
    attempt_id: Name
    purpose: Name
    time: Moment
    lean: str
    """The theorem with its proof, as Lean text."""
    simulations: int = 0


class Point(Message, frozen=True):
    """`telemetry.learner.<id>.point`: one line of metrics.jsonl, for the monitor's curves."""

    time: Moment
    step: int
    values: Annotated[dict[str, float], msgspec.Meta(max_length=MOST_REPORTED)]


# --- samples of language models: prover -> inference ------------------------------------------------------------------
# A request gets a reply within HOLD seconds: its samples, or the id of the node that works on it. In the second case
# the sender polls that node on the node's own subject until it has the samples. So a crash of the node is noticed
# within seconds, however long its model samples. A node cancels work whose sender has stopped polling.

HOLD = 2.0
"""Seconds until a request that is not finished gets the reply "at work"."""

ANSWER = 4 * HOLD
"""Seconds without any reply after which the sender treats the node as crashed."""

Size = Annotated[int, msgspec.Meta(ge=0, le=2**20)]

MOST_TOKENS = 8192
"""Most tokens of a sample whose lengths and log-probabilities are sent. In longer samples, neighbouring tokens are
merged: a whole proof with its thoughts has tens of thousands."""


class ChatTurn(msgspec.Struct, frozen=True):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class SampleRequest(Message, frozen=True):
    """A request to sample texts from a language model. A retry, at the same node or another, has the same id."""

    request_id: Name
    model: Name
    """The model's name in the form of `node.llm.models`: `openai:MODEL` or `hf:ID_OR_FOLDER+ADAPTER`."""
    text: str = ""
    """Text to complete; empty if `messages` are given."""
    messages: Annotated[tuple[ChatTurn, ...], msgspec.Meta(max_length=MOST_LISTED)] = ()
    """Conversation to answer; empty if `text` is given."""
    count: Samples = 1
    seed: int = 0
    temperature: Annotated[float, msgspec.Meta(ge=0, le=100)] = 1.0
    top_p: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=2**20)] = 256
    stop: Texts = ()


class SampleWait(Message, frozen=True):
    """Polls the node that works on a request for its samples."""

    request_id: Name


class SearchesQuestion(Message, frozen=True):
    """Asks a prover what it searches."""

    attempt: Name = ""
    """The trees of this attempt's search, too; empty: of none."""


class SearchAtWork(msgspec.Struct, frozen=True):
    """A search that goes on."""

    attempt_id: Name
    theorem_id: Name
    purpose: Name
    seconds: Seconds
    """Since it began."""
    simulations: Count = 0
    states: Count = 0
    """Of all its trees."""


class SearchesAtWork(Message, frozen=True):
    """What a prover searches."""

    searches: Annotated[tuple[SearchAtWork, ...], msgspec.Meta(max_length=MOST_LISTED)]
    trees: bytes = b""
    """Those of the attempt that was asked for, packed (`common.records.searches`). Empty: it is not searched here, has
    no tree yet, or its trees are too large for a message."""


class ModelState(Message, frozen=True):
    """Key `model` of a run's state: the language model that the run's inference nodes serve (those with `follow`)."""

    version: int
    """Increases with each model."""
    model: str
    """The name, as in SampleRequest. A node accepts only models of its configured servers, and folders below its
    `follow` folder."""


class TextSample(msgspec.Struct, frozen=True):
    """One text that a model has sampled."""

    text: str
    cut: bool = False
    """The text was cut off at the token limit."""
    token_count: Count = 0
    lengths: Annotated[tuple[Size, ...], msgspec.Meta(max_length=MOST_TOKENS)] = ()
    """Lengths of its tokens, in characters. If the text ended at a stop text, they may also cover text after it. Empty:
    the model does not report them."""
    log_probabilities: Annotated[tuple[float, ...], msgspec.Meta(max_length=MOST_TOKENS)] = ()
    """Log-probabilities of the same tokens."""


class SampleReply(Message, frozen=True):
    """Samples, or the node that works on them."""

    samples: Annotated[tuple[TextSample, ...], msgspec.Meta(max_length=MOST_SAMPLES)] = ()
    at_work: NodeName = ""
    """The node to poll with `SampleWait`; empty: `samples` is the result."""


# --- encoding and decoding --------------------------------------------------------------------------------------------

AnyMessage = TypeVar("AnyMessage", bound=Message)

_encoder = msgspec.msgpack.Encoder()
_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


class _Envelope(msgspec.Struct):
    """The fields of a payload that could not be decoded, to explain the error."""

    type: str = ""
    v: int = 0


def encode(message: Message) -> bytes:
    """The message as msgpack. Raises OversizedMessage."""
    payload = _encoder.encode(message)
    if len(payload) > MAX_MESSAGE_BYTES:
        raise OversizedMessage(
            f"{type(message).__name__} of {len(payload)} bytes; a message may have {MAX_MESSAGE_BYTES}: "
            "split it into parts or send it through the object store"
        )
    return payload


def decode(payload: bytes, *types: type[AnyMessage], limit: int = MAX_MESSAGE_BYTES) -> AnyMessage:
    """Decode a payload of up to `limit` bytes into one of the given message types.

    Raises MalformedMessage, UnknownVersion, OversizedMessage.
    """
    if len(payload) > limit:
        raise OversizedMessage(f"payload of {len(payload)} bytes; a message may have {limit}")
    # Making a decoder takes longer than decoding, so that each is made once.
    decoder = _decoders.get(types)
    if decoder is None:
        union: Any = types[0]
        for other in types[1:]:
            union = union | other
        decoder = _decoders[types] = msgspec.msgpack.Decoder(union)
    try:
        message: AnyMessage = decoder.decode(payload)
    except NOT_JSON as error:
        raise _explain(payload, error) from error
    # Fields may have changed their meaning: a version that is not ours is not read at all.
    if message.v != SCHEMA_VERSION:
        raise UnknownVersion(
            f"{type(message).__name__} of schema version {message.v}; this node knows {SCHEMA_VERSION}"
        )
    return message


def _explain(payload: bytes, error: Exception) -> MessageError:
    """The error for a payload that could not be decoded. It repeats parts of the payload, which anybody may have
    written, so it is made short and visible: it goes into logs and into the reply."""
    try:
        envelope = msgspec.msgpack.decode(payload, type=_Envelope)
    except NOT_JSON:
        return MalformedMessage(_line(f"not a message: {error}", LONGEST_REASON))
    kind = _line(envelope.type, 40) or "a message without type"
    if envelope.v not in (0, SCHEMA_VERSION):
        return UnknownVersion(f"{kind} of schema version {envelope.v}; this node knows {SCHEMA_VERSION}")
    return MalformedMessage(f"{kind}: {_line(str(error), LONGEST_REASON - 60)}")


def _line(text: str, longest: int) -> str:
    """The text as one line; of a long one, its beginning and its end, which says where in the message the fault is."""
    line = visible(text[:longest] + text[-longest:] if len(text) > 2 * longest else text)
    return line if len(line) <= longest else f"{line[: longest // 2 - 1]}…{line[-(longest // 2 - 1) :]}"
