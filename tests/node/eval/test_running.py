"""Which attempts are missing, and how they are played: several at once, again after failures, until told to stop; the
folder of an evaluation: kept records, torn lines, one process at a time; and which statements are evaluated."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from common.lean import Theorem
from node.bank.benchmarks import Benchmark, BenchmarkStatement
from node.bank.importing import Refusal
from node.eval.folder import (
    ATTEMPTS,
    AttemptRecord,
    Budgets,
    EvaluationFolder,
    FolderError,
    Standing,
    StatementRecord,
    read,
)
from node.eval.player import FAILURES, TRIES, EvaluationFailed, Runner, Slot, Slots, due
from node.eval.statements import chosen, facts_of
from node.prover.search.parameters import SearchParameters
from tests.files import limited_files
from tests.node.eval.small import plan, solved, statement, unsolved

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
    assert list(kept) == heard and (player.most, player.slots.taken) == (3, 0)


async def test_infrastructure_failures_are_tried_again_and_counted_and_too_many_end_it(folder: EvaluationFolder):
    player = Script({"a": [Standing.UNDECIDED, Standing.SOLVED], "b": [Standing.UNDECIDED]})
    await Runner(player, folder, asyncio.Event()).run(due([statement("a"), statement("b")], [], 1))
    kept = {each.name: (each.standing, each.tries) for each in read(folder.path).attempts}
    assert kept == {"a": (Standing.SOLVED, 2), "b": (Standing.UNDECIDED, TRIES)}
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

    await Runner(Script({}, slots=1), folder, stopping, recorded).run(due(statements, [], 1))
    assert 3 <= len(heard) < 10 and list(read(folder.path).attempts) == heard


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
    for _ in range(2):  # it counts once
        second.leave()
    await back
    assert slots.taken == 1


# --- the folder -------------------------------------------------------------------------------------------------------
def begun(path, *records):
    with EvaluationFolder(path) as folder:
        folder.begin(plan())
        folder.write(plan(), [statement("a"), statement("b")])
        for record in records:
            folder.add(record)


def appended(path, line: bytes):
    with (path / ATTEMPTS).open("ab") as file:
        file.write(line)


def test_half_a_line_of_a_killed_process_is_cut_off_the_next_record_is_whole_and_a_damaged_line_is_named(tmp_path):
    begun(tmp_path, solved("a"))
    appended(tmp_path, b'{"name": "b", "numb')
    assert read(tmp_path).attempts == (solved("a"),)
    with EvaluationFolder(tmp_path) as folder:
        assert folder.begin(plan()).attempts == (solved("a"),)
        folder.add(unsolved("b"))
    assert read(tmp_path).attempts == (solved("a"), unsolved("b"))
    appended(tmp_path, b"oops\n")
    with pytest.raises(FolderError, match=r"attempts\.jsonl, line 3: cannot be read"):
        read(tmp_path)


def test_a_record_that_does_not_fit_on_the_disk_is_told_and_goes_when_the_evaluation_goes_on(tmp_path):
    begun(tmp_path, solved("a"))
    with EvaluationFolder(tmp_path) as folder:
        folder.begin(plan())
        before = (tmp_path / ATTEMPTS).stat().st_size
        with limited_files(before + 20), pytest.raises(FolderError, match="cannot be written"):
            folder.add(unsolved("b"))
        assert (tmp_path / ATTEMPTS).stat().st_size == before, "not half a record"
    with EvaluationFolder(tmp_path) as folder:
        folder.begin(plan())
        folder.add(unsolved("b"))
    assert read(tmp_path).attempts == (solved("a"), unsolved("b"))


def test_a_folder_holds_one_evaluation_and_one_process_works_on_it(tmp_path):
    begun(tmp_path)
    other = plan(budgets=Budgets(simulations=128), seed=7)
    with EvaluationFolder(tmp_path) as folder, pytest.raises(FolderError) as problem:
        folder.begin(other)
    assert "budgets.simulations was 64 and is 128; seed was 0 and is 7" in str(problem.value)
    with EvaluationFolder(tmp_path) as folder, pytest.raises(FolderError, match=r"search\.c_base was .* and is 200"):
        folder.begin(plan(search=SearchParameters(c_base=200.0).changes()))
    with EvaluationFolder(tmp_path), pytest.raises(FolderError, match="another evaluation is running in this folder"):
        EvaluationFolder(tmp_path)
    with EvaluationFolder(tmp_path):
        pass


# --- statements -------------------------------------------------------------------------------------------------------
def benchmark(count: int = 12) -> Benchmark:
    statements = tuple(
        BenchmarkStatement(Theorem(f"t{number}", "", "True"), "logic" if number % 3 else "nat", 1 + number % 2)
        for number in range(count)
    )
    return Benchmark("x", "x", "", statements, (Refusal("row 9", "it is empty", "row 9"),))


def test_a_sample_is_spread_and_always_the_same_and_all_rows_add_up():
    few = chosen(benchmark(), 6)
    assert few == chosen(benchmark(), 6) and [each.family for each in few].count("nat") == 2
    assert len(chosen(benchmark(), 0)) == len(chosen(benchmark(), 99)) == 12
    whole = facts_of(benchmark(), chosen(benchmark(), 0))
    assert (whole.rows, whole.statements + len(whole.unread), whole.notes) == (13, 13, ())
    sample = facts_of(benchmark(), chosen(benchmark(), 6))
    assert (sample.statements, sample.unread, sample.notes) == (6, (), ("6 of its 12 statements are evaluated",))
