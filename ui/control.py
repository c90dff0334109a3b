"""What a person may do from the monitor, with `--allow-control` and a token: ask nodes what they do, have them leave,
pause a learner's collection, evaluate now, submit a statement.

All of it goes over the broker, with the operator's key where the broker has keys, and as `proofmesh diagnose` and
`proofmesh prove --url` do it.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import OrderedDict
from typing import Annotated, Any

import msgspec
import structlog

from common.bus import Bus, BusError, Role
from common.life.node import NodeSettings
from common.output.command import UserError
from common.protocol.messages import Diagnosis, LogRecord
from common.watch.diagnosis import LONGEST_SECONDS, ask

log = structlog.get_logger("ui")

CONNECT_SECONDS = 10.0

MOST_SUBMITTED = 50
"""Statements that are remembered."""

AT_ONCE = 4
"""Statements that are searched at once; further ones are refused."""

HEADER = "X-Proofmesh-Control"
"""A header that all requests must have. A form of a foreign page cannot send it, and a script of one may not."""


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /api/control/ask."""

    what: Diagnosis
    node: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    """Beginning of the ids of those that are asked."""
    seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_SECONDS)] = 10.0
    level: Annotated[str, msgspec.Meta(max_length=20)] = ""


class Submission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /api/control/submit."""

    statement: Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
    """Lean: `theorem t : 1 + 1 = 2`, or a proposition."""
    seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 60.0
    simulations: Annotated[int, msgspec.Meta(gt=0, le=100_000)] = 2000


class Submitted(msgspec.Struct):
    """A submitted statement, and what became of it."""

    number: int
    statement: str
    begun: float
    """Unix time."""
    outcome: str = "searching"
    reason: str = ""
    lean: str = ""
    """The theorem with its proof, which Lean has verified."""
    by: str = ""
    simulations: int = 0
    seconds: float = 0.0


class Control:
    """Acts on the mesh of one run."""

    def __init__(self, node: NodeSettings) -> None:
        self._node = node
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self.submitted: OrderedDict[int, Submitted] = OrderedDict()
        """By number, the oldest first."""

    async def ask(self, question: Question) -> dict[str, Any]:
        """Ask nodes, and return their answers and who was silent. Raises UserError."""
        answers: list[LogRecord] = []
        log.warning("control", what=str(question.what), node=question.node)
        try:
            node = self._node
            bus = await Bus.connect(node.bus, run=node.run, name="control", role=Role.ADMIN, wait=CONNECT_SECONDS)
            try:
                silent = await ask(
                    bus,
                    question.node,
                    [question.what],
                    answers.append,
                    seconds=question.seconds,
                    level=question.level,
                )
            finally:
                await bus.close()
        except BusError as error:
            raise UserError(f"the broker: {error}") from error
        told = [{"node": each.node_id, "event": each.event, "fields": each.fields} for each in answers]
        return {"answers": told, "silent": sorted({node for node, _ in silent})}

    def submit(self, submission: Submission) -> Submitted:
        """Begin to search for a proof. Raises UserError."""
        if len(self._tasks) >= AT_ONCE:
            raise UserError(f"{AT_ONCE} statements are being searched already; wait for one of them")
        from node.proving.statements import statement_target

        target = statement_target(submission.statement)
        submitted = Submitted(next(self._numbers), submission.statement, time.time())
        self.submitted[submitted.number] = submitted
        while len(self.submitted) > MOST_SUBMITTED:
            self.submitted.popitem(last=False)
        task = asyncio.create_task(self._search(submitted, target, submission), name="submitted statement")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return submitted

    async def close(self) -> None:
        """Give up what is being searched."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _search(self, submitted: Submitted, target: Any, submission: Submission) -> None:
        # The monitor is a page about a mesh; only this has it search, through the library that `prove --url` has.
        from node.play.attempts import ProvingFailed
        from node.proving.answers import answer
        from node.proving.prover import Budget, mesh_prover

        try:
            async with mesh_prover(self._node.bus, self._node.run) as prover:
                found = await answer(prover, target, Budget(submission.seconds, submission.simulations))
        except (UserError, ProvingFailed, BusError) as error:
            submitted.outcome, submitted.reason = "error", str(error)
            return
        submitted.outcome, submitted.reason, submitted.lean = found.outcome, found.reason, found.lean
        submitted.by, submitted.simulations, submitted.seconds = found.by, found.simulations, found.seconds
