"""The context that a node's main function gets: bus, log, health, and tasks whose crash stops the node."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from common.bus.signing import own_identity
from common.life.metrics import METRICS, Metrics, gauge
from common.machine import own_host, own_version
from common.protocol.messages import Diagnosis, Heartbeat, NodeFacts, NodeInfo
from common.settings import NodeSettings
from common.watch.spans import SpanQueue

if TYPE_CHECKING:
    from common.bus import Bus


_problem = gauge("node_problem", "1 while a part of the node is unhealthy", ["part"])

_numbers = count()
"""Of the nodes in this process."""


def new_node_id(role: str) -> str:
    """`role-host-pid-fingerprint`, of letters, digits and hyphens only, since it is part of subjects and keys. The
    fingerprint is that of the key with which this process signs (`common.bus.signing`). Further nodes of one process
    have a number after the host."""
    number = next(_numbers)
    return own_identity().name(f"{role}-{own_host()}{f'-{number + 1}' if number else ''}-{os.getpid()}")


class NodeContext:
    """One node's life: identity, connection, health and tasks."""

    bus: Bus

    def __init__(
        self, role: str, settings: NodeSettings, capacity: dict[str, int] | None = None, key_role: str = ""
    ) -> None:
        self.role = role
        self.key_role = key_role or {"broker": "admin"}.get(role, role)
        """The role of the key that it shows to the broker."""
        self.settings = settings
        self.id = new_node_id(role)
        self.log: Any = structlog.get_logger(role)
        self.metrics: Metrics = METRICS
        self.metrics.describe(run=settings.run, role=role, version=own_version())
        self.capacity = dict(capacity or {})
        self.stopping = asyncio.Event()
        """Set by SIGTERM, SIGINT and by a crash: `main` finishes or hands back its work, then returns."""
        self.changed = asyncio.Event()
        """Set when the node's entry in the registry is out of date."""
        self.drained = False
        """Whether it stops because the operator has asked it to leave for good."""
        self.actions: dict[Diagnosis, Callable[[], Awaitable[str]]] = {}
        """What this node can be asked to do, beside what every node can. Each says what it has done, and raises
        UserError if it cannot."""
        self.crash: BaseException | None = None
        self.metrics_url = ""
        self.spans = SpanQueue()
        self.started = time.time()
        self._state = "starting"
        self._facts: NodeFacts | None = None
        self._problems: dict[str, str] = {}
        self._values: dict[str, float] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def state(self) -> str:
        """`starting`, `running`, ... or another phase that the role sets. `draining` and `unhealthy` hide it."""
        if self.stopping.is_set():
            return "draining"
        return "unhealthy" if self._problems else self._state

    @state.setter
    def state(self, state: str) -> None:
        self._state = state
        self.changed.set()

    @property
    def facts(self) -> NodeFacts | None:
        """What the node serves, or how it plays. Other nodes, `/healthz` and `proofmesh status` read it."""
        return self._facts

    @facts.setter
    def facts(self, facts: NodeFacts) -> None:
        self._facts = facts
        self.changed.set()

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run a task concurrently with `main`. If it crashes, its error is logged and the node stops with exit code
        1."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def fail(self, error: BaseException) -> None:
        """Stop the node with an error, as if a task had crashed."""
        if self.crash is None:
            self.crash = error
        self.stopping.set()
        self.changed.set()

    def health(self, key: str, problem: str | None) -> None:
        """Report a problem of one part of this node; None clears it. `/healthz`, the registry and, when it begins, the
        log show it."""
        before = self._problems.get(key)
        if problem is None:
            self._problems.pop(key, None)
        else:
            self._problems[key] = problem
        _problem.labels(key).set(problem is not None)
        if before != problem:
            self.changed.set()
        if problem is not None and before is None and self._state != "starting":
            self.log.error("unhealthy", part=key, problem=problem)

    def report(self, **values: float) -> None:
        """Set gauges and counters that all following heartbeats carry to the monitor."""
        self._values.update(values)

    def info(self) -> NodeInfo:
        """This node's entry in the registry."""
        return NodeInfo(
            node_id=self.id,
            role=self.role,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=own_version(),
            started=self.started,
            metrics_url=self.metrics_url,
            capacity=self.capacity,
            state=self.state,
            facts=self.facts,
            problems=dict(self._problems),
        )

    def heartbeat(self) -> Heartbeat:
        """The heartbeat to send now."""
        return Heartbeat(node_id=self.id, role=self.role, time=time.time(), state=self.state, values=dict(self._values))

    def healthz(self) -> dict[str, Any]:
        """The JSON of `/healthz`."""
        return {
            "status": "unhealthy" if self._problems else "ok",
            "problems": dict(self._problems),
            "state": self.state,
            "role": self.role,
            "id": self.id,
            "run": self.settings.run,
            "uptime_s": round(time.time() - self.started, 3),
            "facts": msgspec.to_builtins(self.facts),
        }

    async def cancel_tasks(self) -> None:
        """Cancel all spawned tasks, and wait until they have ended."""
        tasks = [task for task in self._tasks if not task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.log.error("task crashed; the node stops", task=task.get_name(), exc_info=error)
            self.fail(error)
