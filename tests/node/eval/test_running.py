"""Which attempts are missing, and how they are played: several at once, again after failures, until told to stop."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from node.eval.folder import AttemptRecord, EvaluationFolder, Standing, StatementRecord, read
from node.eval.player import FAILURES, TRIES, EvaluationFailed, Runner, Slot, Slots, due
from tests.node.eval.small import plan, statement

TURNS = 20
"""Of the event loop that an attempt takes: time for others to begin."""


class Script:
    """A player that answers what it is told to, by statement: one answer for each try, the last one for ever."""

    def __init__(self, answers: Mapping[str, list[Standing]], slots: int = 2) -> None:
        self._answers = answers
        self.slots = Slots(slots)
        self.tries: Counter[tuple[str, int]] = Counter()
        self.most = 0

    async def play(self, statement: StatementRecord, number: int, slot: Slot) -> AttemptRecord:
        self.most = max(self.most, self.slots.taken)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        answers = self._answers.get(statement.name, [Standing.SOLVED])
        standing = answers[min(self.tries[statement.name, number], len(answers) - 1)]
        self.tries[statement.name, number] += 1
        return AttemptRecord(name=statement.name, number=number, standing=standing, reason=f"said {standing}")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[EvaluationFolder]:
    with EvaluationFolder(tmp_path) as opened:
        opened.begin(plan())
        opened.write(plan(), [])
        yield opened


async def test_every_attempt_is_recorded_once_with_no_more_searches_than_slots(folder: EvaluationFolder):
    player = Script({"b": [Standing.UNSOLVED]}, slots=3)
    statements = [statement(name) for name in "abcdefgh"]
    heard: list[AttemptRecord] = []
    await Runner(player, folder, asyncio.Event(), heard.append).run(due(statements, [], 2))
    kept = read(folder.path).attempts
    assert sorted((each.name, each.number) for each in kept) == [(name, n) for name in "abcdefgh" for n in (0, 1)]
    assert list(kept) == heard
    assert player.most == 3
    assert player.slots.taken == 0


async def test_infrastructure_failures_are_tried_again_and_counted(folder: EvaluationFolder):
    player = Script({"a": [Standing.UNDECIDED, Standing.SOLVED], "b": [Standing.UNDECIDED]})
    await Runner(player, folder, asyncio.Event()).run(due([statement("a"), statement("b")], [], 1))
    kept = {each.name: each for each in read(folder.path).attempts}
    assert (kept["a"].standing, kept["a"].tries) == (Standing.SOLVED, 2)
    assert (kept["b"].standing, kept["b"].tries) == (Standing.UNDECIDED, TRIES)


async def test_machinery_that_fails_again_and_again_ends_the_evaluation(folder: EvaluationFolder):
    statements = [statement(f"s{number}") for number in range(3 * FAILURES)]
    player = Script({each.name: [Standing.UNDECIDED] for each in statements})
    with pytest.raises(EvaluationFailed, match=f"{FAILURES} attempts in a row failed .* said undecided"):
        await Runner(player, folder, asyncio.Event()).run(due(statements, [], 1))


async def test_when_it_is_to_stop_nothing_more_begins_and_what_was_decided_is_kept(folder: EvaluationFolder):
    stopping = asyncio.Event()
    statements = [statement(f"s{number}") for number in range(50)]
    heard: list[AttemptRecord] = []

    def recorded(record: AttemptRecord) -> None:
        heard.append(record)
        if len(heard) == 3:
            stopping.set()

    player = Script({}, slots=1)
    await Runner(player, folder, stopping, recorded).run(due(statements, [], 1))
    assert 3 <= len(heard) < 10
    assert list(read(folder.path).attempts) == heard


async def test_a_search_that_waits_for_its_verification_leaves_its_slot_to_another():
    slots = Slots(1)
    first = await slots.take()
    waiting = asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    first.leave()
    second = await waiting
    back = asyncio.create_task(first.come_back())
    await asyncio.sleep(0)
    assert not back.done()
    second.leave()
    second.leave()  # once only
    await back
    assert slots.taken == 1
