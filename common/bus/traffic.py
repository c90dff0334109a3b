"""Metrics of messages and bytes on this process's connections, read from the client library's counts on each request of
`/metrics`."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from common.life import metrics

if TYPE_CHECKING:
    from nats.aio.client import Client

_FIELDS = {"in": ("in_msgs", "in_bytes"), "out": ("out_msgs", "out_bytes")}


class Traffic(Collector):
    """Messages and bytes in and out, over all connections that this process had."""

    def __init__(self) -> None:
        self._clients: weakref.WeakSet[Client] = weakref.WeakSet()
        self._past = {"in_msgs": 0, "in_bytes": 0, "out_msgs": 0, "out_bytes": 0}

    def follow(self, client: Client) -> None:
        self._clients.add(client)

    def forget(self, client: Client) -> None:
        """Add the counts of a closed connection to the totals."""
        if client in self._clients:
            self._clients.discard(client)
            for name in self._past:
                self._past[name] += client.stats[name]

    def collect(self) -> Iterator[CounterMetricFamily]:
        messages = CounterMetricFamily("proofmesh_bus_messages", "Messages through the broker", labels=["direction"])
        size = CounterMetricFamily("proofmesh_bus_bytes", "Payload bytes through the broker", labels=["direction"])
        for direction, (count, total) in _FIELDS.items():
            messages.add_metric([direction], self._sum(count))
            size.add_metric([direction], self._sum(total))
        yield messages
        yield size

    def _sum(self, name: str) -> int:
        return self._past[name] + sum(client.stats[name] for client in self._clients)


_traffic = Traffic()
metrics.METRICS.registry.register(_traffic)
follow = _traffic.follow
forget = _traffic.forget
