"""Names of a run's streams, consumers and buckets on the broker, and the times that go with them."""

from __future__ import annotations

from common.subjects import PURPOSES

ACK_WAIT = 30.0
"""Seconds until a lease that nobody renewed is given to another node. Long enough for a Lean proxy's restart, short
enough that a killed prover's attempt is soon taken up."""

NODE_TTL = 10.0
"""Seconds until a node that no longer renews its registry entry is gone; nodes renew every third of it."""

RESULTS = "results"
TODO_PREFIX = "todo-"
CONSUMERS = (*(TODO_PREFIX + purpose for purpose in PURPOSES), RESULTS)


def todo_stream(run: str) -> str:
    return f"{run}-todo"


def results_stream(run: str) -> str:
    return f"{run}-results"


def history_stream(run: str) -> str:
    return f"{run}-history"


def stream_of(run: str, consumer: str) -> str:
    """The stream that a consumer reads. Raises ValueError for a consumer that no run has."""
    if consumer not in CONSUMERS:
        raise ValueError(f"no consumer {consumer!r}; a run has {', '.join(CONSUMERS)}")
    return results_stream(run) if consumer == RESULTS else todo_stream(run)


def state_bucket(run: str) -> str:
    return f"{run}-state"


def nodes_bucket(run: str) -> str:
    return f"{run}-nodes"


def weights_bucket(run: str) -> str:
    return f"{run}-weights"
