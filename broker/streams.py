"""The streams, consumers and buckets of a run on the broker, with all their size limits."""

from __future__ import annotations

from broker.settings import HEADROOM
from common.bus import (
    ACK_WAIT,
    NODE_TTL,
    BucketSpec,
    Bus,
    ConsumerSpec,
    HistorySpec,
    ObjectStoreSpec,
    RunSpec,
    StreamSpec,
    names,
)
from common.protocol.attempts import LEARNER, SELF_PLAY, Purpose
from common.protocol.messages import MAX_MESSAGE_BYTES
from common.protocol.subjects import ASKED, DURABLE_CLIENTS, QUEUES, result, telemetry, todo

MIB = 1024 * 1024

TODO_BYTES = (16 * MIB, 256 * MIB)
"""Size at the start, and the most. The broker reserves the size of each stream, so a run begins with little and its
streams grow when they fill (`broker.watch`). An attempt has about 1 KiB, so a quarter of a million may be outstanding.
If the stream is full, attempts wait in the learner's outbox."""

RESULTS_BYTES = (64 * MIB, 1024 * MIB)
"""For the learner. A result has 10 to 500 KiB, so thousands can wait while the learner is down. If the stream is full,
provers keep their results and wait."""

SELF_PLAY_BYTES = (16 * MIB, 1024 * MIB)
"""For self-play, which few runs have. In a stream of its own: nobody reads it without self-play, and whoever fills it
keeps no result from the learner."""

ANSWERS_BYTES, ANSWERS_SECONDS = (16 * MIB, 256 * MIB), 3600.0
"""For all other clients. The oldest results are dropped, so a client that has vanished fills nothing. Each client reads
its results as they are stored; after an outage it reads them again."""

DUPLICATE_WINDOW = 600.0
"""Seconds in which the broker drops a second copy of an attempt or result (published again after an outage) by its id.
Later copies waste time but do no harm: the learner counts an attempt id once."""

WEIGHTS_BYTES = 32 * MIB
"""Initial size of the store of weight versions. The learner lets it grow to the versions
that it keeps, and deletes the others. [broker] max_store_mb bounds it."""

HISTORY_MESSAGES = 20_000
HISTORY_BYTES = (8 * MIB, 64 * MIB)
"""Points of the curves and proofs, kept for monitors that start late: days of points, the latest proofs."""

MAX_ACK_PENDING = 20_000
"""Most leases at a time in the whole mesh, for each consumer. The server's default of 1,000 would silently slow down a
mesh of some hundred provers."""

ATTEMPTS_WAITING = 32_768
"""Most attempts of one purpose that the learner, self-play, or one owner of clients may have in the queue, leased ones
included: as many as all leases, and half as many again to have ready. Others wait in their sender's outbox."""

MAX_WAITING = 4_096
"""Most waiting pull requests, one for each prover and purpose; the server's default is 512."""


def run_spec(run: str, *, ack_wait: float = ACK_WAIT, node_ttl: float = NODE_TTL) -> RunSpec:
    """All streams, consumers and buckets of a run. Times in seconds."""
    largest = MAX_MESSAGE_BYTES + HEADROOM

    def own(client: str) -> str:
        return f"{run}.{result(client)}"

    def waiting(stream: str) -> tuple[str, ...]:
        of = [queue for queue in QUEUES if names.stream_of(run, names.TODO_PREFIX + queue) == stream]
        return tuple(f"{run}.{_waiting_in(queue)}" for queue in of)

    todo_limits = (*TODO_BYTES, largest, DUPLICATE_WINDOW, ATTEMPTS_WAITING)
    return RunSpec(
        streams=(
            StreamSpec(names.todo_stream(run), waiting(names.todo_stream(run)), *todo_limits),
            # Whoever fills this one keeps nobody from learning.
            StreamSpec(names.asked_stream(run), waiting(names.asked_stream(run)), *todo_limits),
            *(
                StreamSpec(names.results_stream(run, client), (own(client),), *size, largest, DUPLICATE_WINDOW)
                for client, size in ((LEARNER, RESULTS_BYTES), (SELF_PLAY, SELF_PLAY_BYTES))
            ),
        ),
        histories=(
            HistorySpec(names.history_stream(run), _announced(run), HISTORY_MESSAGES, *HISTORY_BYTES),
            HistorySpec(
                names.answers_stream(run), (own("*.*.*.*"),), -1, *ANSWERS_BYTES, ANSWERS_SECONDS, confirmed=True
            ),
        ),
        consumers=(
            *(_consumer(run, names.TODO_PREFIX + queue, _waiting_in(queue), ack_wait) for queue in QUEUES),
            *(_consumer(run, names.RESULTS_PREFIX + client, result(client), ack_wait) for client in DURABLE_CLIENTS),
        ),
        buckets=(
            # A few keys (weights, pause), each far below a message.
            BucketSpec(names.state_bucket(run), 4 * MIB, 8 * MIB, max_value_bytes=largest),
            # Some 500 bytes for each node; entries of nodes that have left expire.
            BucketSpec(names.nodes_bucket(run), 4 * MIB, 16 * MIB, max_value_bytes=64 * 1024, ttl=node_ttl),
        ),
        objects=(ObjectStoreSpec(names.weights_bucket(run), WEIGHTS_BYTES),),
    )


def _announced(run: str) -> tuple[str, ...]:
    """Subjects that a monitor needs from the start of the run."""
    return tuple(f"{run}.{telemetry('learner', '*', kind)}" for kind in ("point", "proof"))


def _waiting_in(queue: str) -> str:
    """The subjects of a queue's attempts."""
    if queue == ASKED:
        return todo(Purpose.EVAL, "*.*")
    return todo(queue, ">" if queue == Purpose.INTERACTIVE else "*")


def _consumer(run: str, name: str, subject: str, ack_wait: float) -> ConsumerSpec:
    stream = names.stream_of(run, name)
    return ConsumerSpec(name, stream, f"{run}.{subject}", ack_wait, MAX_ACK_PENDING, MAX_WAITING, names.MOST_LEASED)


async def ensure(bus: Bus, *, ack_wait: float = ACK_WAIT, node_ttl: float = NODE_TTL) -> list[str]:
    """Create the streams and buckets of the bus's run, or raise them to these limits. It may be repeated. Returns the
    names of those that it created.

    Raises StreamConflict if one exists with settings that cannot be changed, and Unanswered.
    """
    return await bus.ensure(run_spec(bus.run, ack_wait=ack_wait, node_ttl=node_ttl))


async def remove(bus: Bus) -> None:
    """Delete the streams and buckets of the bus's run."""
    await bus.remove()
