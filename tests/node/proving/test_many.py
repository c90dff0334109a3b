"""Many statements: rows as files have them, and their answers as they come."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from common.lean import Theorem
from common.protocol.attempts import AttemptOutcome
from common.protocol.messages import LeanVerifyReply
from node.play.attempts import ProvingFailed
from node.proving.answers import Row, prove_rows, read_row
from node.proving.prover import Budget, Found

BUDGET = Budget(seconds=60, simulations=20)


@pytest.mark.parametrize(
    ("line", "kind", "row"),
    [
        (b'{"name": "a", "statement": "theorem t : True", "more": 1}', ".jsonl", Row("a", "theorem t : True")),
        (b'{"name": 7, "statement": "theorem t : True"}', "-", Row("7", "theorem t : True")),
        (b"  ", ".jsonl", None),
        (b"-- a comment", ".txt", None),
        (b"# another", "-", None),
        (
            "theorem t (p : Prop) : p → p := by sorry\r".encode(),
            ".txt",
            Row("", "theorem t (p : Prop) : p → p := by sorry"),
        ),
    ],
)
def test_rows_are_read_as_their_file_has_them(line: bytes, kind: str, row: Row | None):
    assert read_row(line, 3, kind) == row


@pytest.mark.parametrize(
    ("line", "name", "told"),
    [
        (b"theorem t : True", "line 3", "line 3: no JSON"),
        (b'{"name": "a"}', "a", "line 3: no `statement`"),
        (b'{"name": "a", "statement": null}', "a", "line 3: no `statement`"),
        (b"[1]", "line 3", "line 3: an object"),
        (b'{"name": ["a"], "statement": "theorem t : True"}', "line 3", "`name` is a text"),
        (b"\xff", "line 3", "line 3: not UTF-8"),
    ],
)
def test_a_bad_row_says_where_and_why(line: bytes, name: str, told: str):
    row = read_row(line, 3, ".jsonl")
    assert row is not None and row.name == name and told in row.problem


class Slow:
    """Finds nothing; holds `slow` back until it is let go; fails at `broken`."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.at_work = self.most_at_work = 0

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            if theorem.name == "slow":
                await self.let_go.wait()
            await asyncio.sleep(0)
            if theorem.name == "broken":
                raise ProvingFailed("Lean is gone")
            return Found(AttemptOutcome.FAILED, reason="nothing")
        finally:
            self.at_work -= 1

    async def verify(self, theorem: Theorem, script: tuple[str, ...]) -> LeanVerifyReply:
        raise AssertionError("nothing was found")


async def rows(*names: str) -> AsyncGenerator[Row]:
    for name in names:
        yield Row(name, f"theorem {name} : True")


async def test_answers_come_as_they_are_ready_and_so_many_at_once():
    prover, names = Slow(), []
    async for each in prove_rows(prover, rows("slow", "a", "broken", "a", "b"), BUDGET, at_once=2):
        names.append((each.name, each.outcome))
        if len(names) == 4:
            prover.let_go.set()
    assert names == [("a", "failed"), ("broken", "error"), ("a", "failed"), ("b", "failed"), ("slow", "failed")]
    assert prover.most_at_work == 2


async def test_who_stops_listening_ends_the_searches():
    prover = Slow()
    answers = prove_rows(prover, rows("a", "slow", "slow"), BUDGET, at_once=2)
    assert (await anext(answers)).name == "a"
    await answers.aclose()
    assert prover.at_work == 0
