"""A small evaluation, and how it is played in a place: on a mesh, or here."""

import asyncio
import time
from pathlib import Path

from common.lean import Theorem
from common.protocol.messages import NodeFacts, NodeInfo
from node.eval.alone import LoneVenue
from node.eval.folder import AttemptRecord, Budgets, EvaluationFolder, Plan, StatementRecord, read
from node.eval.over_mesh import MeshVenue
from node.eval.player import Runner, due, open_player
from tests.message_values import named
from tests.node.eval.small import plan, statement

STATEMENTS = [
    statement("swap", theorem=Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")),
    statement("false", theorem=Theorem("false", "(p q : Prop)", "p → q")),
    statement("missing", theorem=Theorem("missing", "", "Missing.thing")),
]

OF = plan(budgets=Budgets(simulations=16))


def info(role: str, searches: int = 0, facts: NodeFacts | None = None, number: int = 1) -> NodeInfo:
    capacity, started = {"searches": searches} if searches else {}, time.time()
    where = {"node_id": named(f"{role}-{number}"), "role": role, "host": "here", "pid": 1, "version": "1"}
    return NodeInfo(**where, started=started, capacity=capacity, facts=facts)  # type: ignore[arg-type]


async def evaluated(
    venue: LoneVenue | MeshVenue, folder: Path, of: Plan = OF, statements: list[StatementRecord] = STATEMENTS
) -> dict[str, AttemptRecord]:
    with EvaluationFolder(folder) as opened:
        opened.begin(of)
        opened.write(of, statements)
        async with open_player(venue, of) as player:
            await Runner(player, opened, asyncio.Event()).run(due(statements, [], 1))
    return {each.name: each for each in read(folder).attempts}
