"""Subjects on the broker, and the table of all channels: who sends and reads which messages on each of them.

The bus adds the run's name in front of a subject, so that one broker serves several runs. `broker.streams` sets the
storage limits. `docs/protocol.md` is generated from the table, and a test checks that no message and no subject is
missing.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import re
import secrets
from dataclasses import dataclass

from common.output.command import UserError
from common.protocol import attempts, messages
from common.protocol.attempts import LEARNER, SELF_PLAY, Purpose

ASKED = "asked"
"""The queue for the evaluations of people and programs: the run's own are in `eval`."""

QUEUES = (Purpose.INTERACTIVE, Purpose.EVAL, ASKED, Purpose.DISPROVE, Purpose.TRAIN)
"""Queues of attempts, in the order in which provers take from them."""

TACTIC_REQUEST = "tactic.request"
LEAN_RUN = "lean.run"
LEAN_VERIFY = "lean.verify"
LEAN_CHECK = "lean.check"
LEAN_CHECK_GONE = "lean.check.gone"
PAUSE = "ctl.inference.pause"
RESUME = "ctl.inference.resume"
DIAGNOSIS = "ctl.diagnosis"

SIGNED = frozenset({LEAN_VERIFY})
"""Subjects whose replies count only with the signature of one of the run's verifiers (`common.bus.signing`)."""

VERIFIERS = "verifiers"
"""State key with the public keys of the run's verifiers."""

ANNOUNCED = frozenset({"weights", "model", "pause", PAUSE, RESUME})
"""State keys and requests that count only with the signature of a learner, for readers that know the keys of the run's
learners."""

OWNER = "client"
"""The owner of commands that have no key, or the run's own key for clients."""

DURABLE_CLIENTS = (LEARNER, SELF_PLAY)
"""Clients whose results wait until they have stored them. The results of all others are kept for an hour."""

LONGEST_RUN_NAME = 40
"""Most characters of a run name."""

_RUN_NAME = re.compile(rf"[a-z0-9]([a-z0-9-]{{0,{LONGEST_RUN_NAME - 2}}}[a-z0-9])?")


class BadRunName(UserError, ValueError):
    """A run name that cannot be part of subjects and folder names."""


def check_run_name(name: str) -> str:
    """Return the name, or raise BadRunName: 1-40 lower-case letters, digits and inner hyphens."""
    if not _RUN_NAME.fullmatch(name):
        raise BadRunName(
            f"bad run name {name!r}: use 1 to {LONGEST_RUN_NAME} lower-case letters, digits and hyphens, such as "
            "`demo-2` (the name is part of every subject on the broker)"
        )
    return name


def result(client: str) -> str:
    """Subject for the results of one durable client's attempts (`common.protocol.attempts.Client`)."""
    return f"theorem.result.{client}"


def answer(client: str, attempt_id: str, piece: int | str) -> str:
    """Subject for the result of one attempt of any other client, or a piece of it, from 0. The broker checks subjects,
    so a client can look up its own results and no others. `*` as id or piece: all."""
    part = attempt_id if attempt_id == "*" else hashlib.blake2b(attempt_id.encode(), digest_size=12).hexdigest()
    return f"{result(client)}.{part}.{piece}"


def to_client(client: str, attempt_id: str, piece: int) -> str:
    """Subject for a result, or a piece of one, for whichever client."""
    return result(client) if client in DURABLE_CLIENTS else answer(client, attempt_id, piece)


def new_client(command: str, owner: str = OWNER) -> str:
    """A client name for a command that asks for attempts (`eval`, `prove`), which no other process has. `owner`: whose
    key it uses; the broker lets a key ask for attempts, and read results, only under its owner's name."""
    return f"{owner}.{command}-{secrets.token_hex(8)}"


def todo(purpose: str, client: str = LEARNER) -> str:
    """Subject for the attempts of one purpose that a client asks for. All clients of an owner share it, so that the
    broker can bound how many attempts of an owner wait."""
    owner, of_owner, _ = client.partition(".")
    return f"theorem.todo.{purpose}.of.{owner}" if of_owner else f"theorem.todo.{purpose}.{client}"


def queue(purpose: str, client: str) -> str:
    """Which of QUEUES an attempt waits in. Nobody but the learner and self-play can fill the queues of their own."""
    return purpose if client in DURABLE_CLIENTS or purpose == Purpose.INTERACTIVE else ASKED


def samples(model: str) -> str:
    """Subject for requests to the nodes that serve a language model. Each model has its own subject."""
    return f"sample.request.{hashlib.blake2b(model.encode(), digest_size=8).hexdigest()}"


def samples_at_work(node_id: str) -> str:
    """Subject for polling one node about the sample requests that it works on."""
    return f"sample.at-work.{node_id}"


def searches_at_work(node_id: str) -> str:
    """Subject for asking one prover about the searches that it works on."""
    return f"search.at-work.{node_id}"


def lean_run_at(node_id: str) -> str:
    """Subject for tactics on a theorem of which one lean-proxy has kept states."""
    return f"lean.run.at.{node_id}"


def telemetry(role: str, node_id: str, kind: str) -> str:
    return f"telemetry.{role}.{node_id}.{kind}"


# ----------------------------------------------------------------------------------------------------------------------
# The table of channels: each subject, bucket key and object store, with senders, readers and messages.


class Delivery(enum.StrEnum):
    """How the broker delivers messages of a subject."""

    WORK_QUEUE = "work queue"
    """Stored in a stream until one reader has acknowledged it. When a lease expires, the message is delivered again."""
    REQUEST = "request and reply"
    """One node of the queue group gets the request and replies. Nothing is stored; the sender retries."""
    REQUEST_ALL = "request to all"
    """Every node that serves the subject gets the request and acknowledges it."""
    PUBLISH = "publish"
    """All current subscribers get it. Nothing is stored."""
    HISTORY = "publish, with history"
    """As `publish`; a stream also keeps the newest messages for readers that start later."""
    STATE = "state"
    """A key of a key-value bucket. Readers get the current value first, then every change."""
    REGISTRY = "registry"
    """A key of a key-value bucket whose entries expire unless their node renews them."""
    OBJECT = "object store"
    """A file, stored in chunks and checked by its digest."""


@dataclass(frozen=True)
class Channel:
    """A subject, a bucket key, or an object store."""

    name: str
    """Without the run's name; `<...>` stands for a part that varies."""
    delivery: Delivery
    carries: tuple[type[messages.Message], ...]
    """The messages that are sent on it; empty: a file."""
    senders: tuple[str, ...]
    """Roles and commands."""
    readers: tuple[str, ...]
    replies: tuple[type[messages.Message], ...] = ()
    """Replies of the reader, other than Busy and Failure."""
    stored_in: str = ""
    """The stream, bucket or object store that stores it; empty: it is not stored."""
    queue_group: str = ""
    """For requests: the group of nodes that share them."""
    notes: str = ""
    """Facts that do not fit into the table's columns."""


EVERY_NODE = "every node"

CHANNELS: tuple[Channel, ...] = (
    Channel(
        "theorem.todo.<purpose>.<durable client>",
        Delivery.WORK_QUEUE,
        (attempts.Attempt,),
        senders=("learner", "stp"),
        readers=("prover",),
        stored_in="<run>-todo",
        notes="One consumer for each queue, `todo-<queue>`. Provers take from them in the order of "
        "`common.protocol.subjects.QUEUES`. A prover takes no more attempts than it has free searches, renews each "
        "lease three "
        "times within the acknowledgement wait, and acknowledges after the broker has stored the result.",
    ),
    Channel(
        "theorem.todo.<purpose>.of.<owner>",
        Delivery.WORK_QUEUE,
        (attempts.Attempt,),
        senders=("eval --url", "prove --url"),
        readers=("prover",),
        stored_in="<run>-asked",
        notes="`<purpose>` is `interactive` or `eval`. `<owner>` is the name of the key that the command has, `client` "
        "without one. The attempt names the client that gets its result, `<owner>.<client>`; each command chooses a "
        "`<client>` that no other has. A prover refuses an attempt for a client of another owner than its subject's: "
        "its result would go to somebody who has not asked.",
    ),
    Channel(
        "theorem.result.<durable client>",
        Delivery.WORK_QUEUE,
        (attempts.AttemptResult, attempts.ResultPart),
        senders=("prover",),
        readers=("learner", "stp"),
        stored_in="<run>-results",
        notes="A result goes to the client that the attempt names (`client`). The learner reads the consumer "
        "`results-learner`, self-play `results-stp` of the stream `<run>-stp`. They acknowledge a result after they "
        "have recorded it in SQLite. The first result of an attempt id counts; later ones are ignored.",
    ),
    Channel(
        "theorem.result.<owner>.<client>.<attempt>.<piece>",
        Delivery.HISTORY,
        (attempts.AttemptResult, attempts.ResultPart),
        senders=("prover",),
        readers=("eval --url", "prove --url"),
        stored_in="<run>-answers",
        notes="`<attempt>` is a digest of the attempt's id, `<piece>` counts the messages of a result, from 0. The "
        "broker keeps results for an hour, and drops the oldest if they are many. A client hears its results as they "
        "are published, and looks up those of outstanding attempts by their subjects after an outage.",
    ),
    Channel(
        TACTIC_REQUEST,
        Delivery.REQUEST,
        (messages.TacticRequest,),
        senders=("prover", "stp", "suggest --url"),
        readers=("inference",),
        replies=(messages.TacticReply,),
        queue_group="inference",
    ),
    Channel(
        "sample.request.<model>",
        Delivery.REQUEST,
        (messages.SampleRequest,),
        senders=("prover", "suggest --url"),
        readers=("inference",),
        replies=(messages.SampleReply,),
        queue_group="inference",
        notes="Served by inference nodes with a language model (`[inference] model`). `<model>` is a digest of the "
        "model's name, so that nodes with different models do not take each other's requests.",
    ),
    Channel(
        "sample.at-work.<node>",
        Delivery.REQUEST,
        (messages.SampleWait,),
        senders=("prover", "suggest --url"),
        readers=("inference",),
        replies=(messages.SampleReply,),
        notes="Served by the node that works on the request.",
    ),
    Channel(
        "search.at-work.<prover>",
        Delivery.REQUEST,
        (messages.SearchesQuestion,),
        senders=("ui",),
        readers=("prover",),
        replies=(messages.SearchesAtWork,),
        notes="Served by each prover: its running searches, and the trees of one of them.",
    ),
    Channel(
        LEAN_RUN,
        Delivery.REQUEST,
        (messages.LeanRunRequest,),
        senders=("prover", "stp", "prove --url"),
        readers=("lean-proxy",),
        replies=(messages.LeanRunReply,),
        queue_group="lean-proxy",
    ),
    Channel(
        "lean.run.at.<lean-proxy>",
        Delivery.REQUEST,
        (messages.LeanRunRequest,),
        senders=("prover", "stp", "prove --url"),
        readers=("lean-proxy",),
        replies=(messages.LeanRunReply,),
        notes="Served by the lean-proxy whose last reply named itself (`LeanRunReply.holder`). It answers `Busy` when "
        "others may answer sooner; then, and when it has gone, the asker asks them all.",
    ),
    Channel(
        LEAN_VERIFY,
        Delivery.REQUEST,
        (messages.LeanVerifyRequest,),
        senders=("learner", "prover", "stp", "prove --url"),
        readers=("verifier",),
        replies=(messages.LeanVerifyReply,),
        queue_group="lean-proxy",
        notes="The learner has every proof verified before the proof counts. A prover does so only for attempts with "
        "`verify`. Verifiers are the lean-proxies with a key ([lean_proxy] key). They sign every reply, `Busy` and "
        "`Failure` too, and a reply counts only with the signature of a verifier that the asker knows "
        "(`common/bus/signing.py`).",
    ),
    Channel(
        LEAN_CHECK,
        Delivery.REQUEST,
        (messages.LeanCheckRequest,),
        senders=("serve --url",),
        readers=("lean-proxy",),
        replies=(messages.LeanCheckReply,),
        queue_group="lean-proxy",
    ),
    Channel(
        LEAN_CHECK_GONE,
        Delivery.PUBLISH,
        (messages.LeanCheckGone,),
        senders=("serve --url",),
        readers=("lean-proxy",),
    ),
    Channel(
        PAUSE,
        Delivery.REQUEST_ALL,
        (messages.PauseRequest,),
        senders=("learner",),
        readers=("inference",),
        replies=(messages.PauseAcknowledged,),
        notes="The same hold is also the state key `pause`, for nodes that start later or were disconnected.",
    ),
    Channel(
        RESUME,
        Delivery.REQUEST_ALL,
        (messages.PauseRequest,),
        senders=("learner",),
        readers=("inference",),
        replies=(messages.PauseAcknowledged,),
    ),
    Channel(
        DIAGNOSIS,
        Delivery.PUBLISH,
        (messages.DiagnosisRequest,),
        senders=("diagnose",),
        readers=(EVERY_NODE,),
        notes="Sent by `proofmesh diagnose`. Only the operator's key (`admin`) may publish it.",
    ),
    Channel(
        telemetry("<role>", "<id>", "heartbeat"),
        Delivery.PUBLISH,
        (messages.Heartbeat,),
        senders=(EVERY_NODE,),
        readers=("ui", "learner", "demo", "status"),
        notes="About once a second.",
    ),
    Channel(
        telemetry("<role>", "<id>", "log"),
        Delivery.PUBLISH,
        (messages.LogRecord,),
        senders=(EVERY_NODE,),
        readers=("ui", "learner", "diagnose"),
        notes="The learner writes those of other machines into the run's folder.",
    ),
    Channel(
        telemetry("<role>", "<id>", "spans"),
        Delivery.PUBLISH,
        (messages.Spans,),
        senders=("prover", "learner"),
        readers=("learner",),
        notes="Of attempts with `traced`.",
    ),
    Channel(
        telemetry("learner", "<id>", "point"),
        Delivery.HISTORY,
        (messages.Point,),
        senders=("learner",),
        readers=("ui", "demo"),
        stored_in="<run>-history",
    ),
    Channel(
        telemetry("learner", "<id>", "proof"),
        Delivery.HISTORY,
        (messages.ProofFound,),
        senders=("learner",),
        readers=("ui",),
        stored_in="<run>-history",
    ),
    Channel(
        "weights",
        Delivery.STATE,
        (messages.WeightsState,),
        senders=("learner", "stp"),
        readers=("inference",),
        stored_in="<run>-state",
    ),
    Channel(
        VERIFIERS,
        Delivery.STATE,
        (messages.VerifierKeys,),
        senders=("broker",),
        readers=("verifier", "learner", "prover", "stp", "eval --url", "prove --url"),
        stored_in="<run>-state",
        notes="Read by nodes without [bus] verifiers, when they first need it. In a run without keys, a verifier lists "
        "itself if nobody is listed.",
    ),
    Channel(
        "model",
        Delivery.STATE,
        (messages.ModelState,),
        senders=("stp",),
        readers=("inference",),
        stored_in="<run>-state",
        notes="Read by inference nodes with `[inference] follow`, which serve a language model that a run trains.",
    ),
    Channel(
        "pause",
        Delivery.STATE,
        (messages.PauseHold,),
        senders=("learner",),
        readers=("inference",),
        stored_in="<run>-state",
    ),
    Channel(
        "<role>.<node id>",
        Delivery.REGISTRY,
        (messages.NodeInfo,),
        senders=(EVERY_NODE,),
        readers=("ui", "learner", "prover", "stp", "status", "eval --url", "prove --url"),
        stored_in="<run>-nodes",
    ),
    Channel(
        "<object name>",
        Delivery.OBJECT,
        (),
        senders=("learner", "stp"),
        readers=("inference",),
        stored_in="<run>-weights",
        notes="A version of the weights as a safetensors file. `WeightsState` names the object and its blake2b digest.",
    ),
)
"""All channels of a run."""

ANY_REPLY: tuple[type[messages.Message], ...] = (messages.Busy, messages.Failure)
"""Replies that every request may get."""


NO_CHANNEL = "other"
"""Instead of a channel's name, for a subject that is on none."""

_BY_PARTS = tuple(
    (tuple(channel.name.split(".")), channel.name)
    for channel in CHANNELS
    if channel.delivery not in (Delivery.REGISTRY, Delivery.OBJECT)  # their names have only a part that varies
)


@functools.lru_cache(maxsize=1024)
def channel_name(subject: str) -> str:
    """The name in CHANNELS of the channel of a subject or state key: `sample.at-work.<node>` for every node.

    Metrics use it as a label, because subjects with a node's name become more with each start of a node. NO_CHANNEL for
    other subjects.
    """
    parts = subject.split(".")
    for pattern, name in _BY_PARTS:
        if len(pattern) == len(parts) and all(
            each.startswith("<") or each == part for each, part in zip(pattern, parts, strict=True)
        ):
            return name
    return NO_CHANNEL


def all_messages() -> tuple[type[messages.Message], ...]:
    """Every message class of the table, each once, in the order of the table."""
    classes = [kind for channel in CHANNELS for kind in (*channel.carries, *channel.replies)]
    return tuple(dict.fromkeys([*classes, *ANY_REPLY]))
