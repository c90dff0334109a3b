"""Names of a run's streams, consumers and buckets on the broker, and their expiry times."""

from __future__ import annotations

import re
from collections.abc import Iterable

from common.protocol.attempts import LEARNER, Purpose
from common.protocol.subjects import ASKED, DURABLE_CLIENTS, QUEUES, result

ACK_WAIT = 30.0
"""Seconds until an unrenewed lease expires and its message goes to another node. Long enough for a restart of a
lean-proxy, short enough that the attempt of a killed prover soon continues."""

NODE_TTL = 10.0
"""Seconds until the registry entry of a node expires. Nodes renew it after a third of this time."""

MOST_LEASED = 256
"""Most messages that one request for leases may get. Who has room for more asks again."""

RESULTS_PREFIX = "results-"
TODO_PREFIX = "todo-"
CONSUMERS = (
    *(TODO_PREFIX + queue for queue in QUEUES),
    *(RESULTS_PREFIX + client for client in DURABLE_CLIENTS),
)


_OF_CLIENTS = (TODO_PREFIX + Purpose.INTERACTIVE, TODO_PREFIX + ASKED)
"""The consumers of what people and programs ask for."""


def todo_stream(run: str) -> str:
    return f"{run}-todo"


def asked_stream(run: str) -> str:
    return f"{run}-asked"


def results_stream(run: str, client: str = LEARNER) -> str:
    """The results of a durable client: who fills it keeps nobody else waiting."""
    return f"{run}-results" if client == LEARNER else f"{run}-{client}"


def answers_stream(run: str) -> str:
    return f"{run}-answers"


def history_stream(run: str) -> str:
    return f"{run}-history"


def stream_of(run: str, consumer: str) -> str:
    """The stream that a consumer reads. Raises ValueError for an unknown consumer."""
    if consumer not in CONSUMERS:
        raise ValueError(f"unknown consumer {consumer!r}; use one of {', '.join(CONSUMERS)}")
    if consumer.startswith(RESULTS_PREFIX):
        return results_stream(run, consumer.removeprefix(RESULTS_PREFIX))
    return asked_stream(run) if consumer in _OF_CLIENTS else todo_stream(run)


def stream_that_stores(run: str, subject: str) -> str:
    """The stream of attempts or results that stores a subject (without the run's name)."""
    if subject in map(result, DURABLE_CLIENTS):
        return results_stream(run, subject.removeprefix(result("")))
    if subject.startswith(result("")):
        return answers_stream(run)
    of_clients = subject.startswith(f"theorem.todo.{Purpose.INTERACTIVE}.") or ".of." in subject
    return asked_stream(run) if of_clients else todo_stream(run)


def state_bucket(run: str) -> str:
    return f"{run}-state"


def nodes_bucket(run: str) -> str:
    return f"{run}-nodes"


def node_key(role: str, node_id: str) -> str:
    """The key of a node in the registry. The role comes first: a role may write the entries of its own nodes only."""
    return f"{role}.{node_id}"


def weights_bucket(run: str) -> str:
    return f"{run}-weights"


def streams_of(run: str) -> tuple[str, ...]:
    """The names of all streams of a run: the broker keeps buckets and object stores in streams, too."""
    return (
        todo_stream(run),
        asked_stream(run),
        *(results_stream(run, client) for client in DURABLE_CLIENTS),
        answers_stream(run),
        history_stream(run),
        f"KV_{state_bucket(run)}",
        f"KV_{nodes_bucket(run)}",
        f"OBJ_{weights_bucket(run)}",
    )


def run_of(stream: str, subjects: Iterable[str]) -> str:
    """The run that a stream belongs to; empty for a stream of another program."""
    run = re.sub(r"^(KV|OBJ)_", "", stream).rpartition("-")[0]
    own = (f"{run}.", f"$KV.{run}-", f"$O.{run}-")
    return run if run and stream in streams_of(run) and all(subject.startswith(own) for subject in subjects) else ""
