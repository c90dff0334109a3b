"""Replays recorded transitions with the lean-proxy's code, and checks states, branches and the final proof."""

from collections.abc import Iterator, Sequence

from common.lean import OutcomeKind, Step, Theorem
from common.protocol.messages import LeanRunReply, LeanRunRequest
from node.bank.bank import BankTransition
from node.lean.requests import Requests

SECONDS = 10.0
"""Timeout of each tactic when it runs alone."""


async def replay(requests: Requests, theorem: Theorem, rows: Sequence[BankTransition]) -> str:
    """Replay the transitions of one theorem (a proof in pre-order). Returns the problem, or an empty string."""
    remaining = iter(rows)
    problem, _ = await _play(requests, theorem, (), remaining)
    if not problem and next(remaining, None) is not None:
        return f"{theorem.name}: proved before all transitions were played"
    return problem


async def _play(
    requests: Requests, theorem: Theorem, path: tuple[Step, ...], rows: Iterator[BankTransition]
) -> tuple[str, int]:
    """Replay a branch; returns the problem, and the number of steps on the longest branch from here."""
    row = next(rows, None)
    if row is None:
        return f"{theorem.name}: a branch is still open after the last transition", 0
    reply = await requests.run(LeanRunRequest(theorem, path, (row.tactic,), SECONDS))
    if not isinstance(reply, LeanRunReply):
        return f"{theorem.name}: {reply}", 0
    if reply.state != row.state:
        return f"{theorem.name}: the state is\n{reply.state}\nbut was recorded as\n{row.state}", 0
    outcome = reply.outcomes[0]
    if outcome.kind not in (OutcomeKind.PROVED, OutcomeKind.GOALS):
        return f"{theorem.name}: {row.tactic}: {outcome.kind}: {outcome.message}", 0
    longest = 0
    for index in range(len(outcome.branches)):
        problem, steps = await _play(requests, theorem, (*path, Step(row.tactic, index, outcome.layout)), rows)
        if problem:
            return problem, 0
        longest = max(longest, steps)
    if row.remaining_steps != longest + 1:
        return f"{theorem.name}: {row.tactic}: {longest + 1} remaining steps, but recorded {row.remaining_steps}", 0
    return "", longest + 1
