"""Proofs and disproofs of targets, by real Lean in this process; what the searches did, as it is written, read again
and shown; and many statements: rows as files have them, and their answers as they come."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import msgspec
import pytest

from common.lean import Theorem
from common.output.command import Exit
from common.protocol.attempts import AttemptOutcome
from common.records.searches import FailedTactic, SearchState, SearchTree, TakenTactic
from node.command.proofs.inspect import main
from node.lean.opened import OpenedLean
from node.play.attempts import ProvingFailed
from node.proving.answers import answer, prove_rows
from node.proving.explain import Explanation, SearchRecorder, best_line, read
from node.proving.prover import Budget, Found, TheoremProver
from node.proving.rows import Row, read_row
from node.proving.statements import read_target, statement_target
from tests.node.proving.local import pocket_prover

BUDGET = Budget(seconds=60, simulations=40)

FILE = """namespace Foo
variable (p q : Prop)
def double (n : Nat) : Nat := n + n

theorem swap (h : p ∧ q) : q ∧ p := by
  constructor
  · sorry
  · exact h.1

theorem term (h : p) : p ∧ p := ⟨sorry, h⟩
theorem double_two : double 2 = 4 := by
  have : 2 = 2 := rfl
  rfl
theorem wrong (n : Nat) : double n = n + 1 := sorry
theorem other (n : Nat) : double n = n + 1 := wrong n
end Foo
"""


@pytest.fixture
async def prover(opened_lean: OpenedLean) -> AsyncIterator[TheoremProver]:
    async with pocket_prover(opened_lean) as prover:
        yield prover


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.lean"
    path.write_text(FILE, encoding="utf-8")
    return path


async def test_gaps_and_theorems_are_proved_or_disproved_where_they_stand_and_what_lean_refuses_is_told_in_its_words(
    prover: TheoremProver, file: Path, tmp_path: Path
):
    """A gap where tactics stand: test_remote.py. What is false by itself: tests/node/mesh/test_prove.py."""
    term = await answer(prover, read_target([f"{file}:10"]), BUDGET)
    assert term.outcome == "proved" and term.replacement.startswith("(by "), term
    theorem = await answer(prover, read_target([str(file), "double_two"]), BUDGET)
    assert theorem.outcome == "proved" and "have" not in theorem.lean and not theorem.replacement, theorem
    in_file = await answer(prover, read_target([f"{file}:14"]), BUDGET, disprove=True)
    assert in_file.outcome == "disproved" and "¬ (∀ (n : Nat), double n = n + 1)" in in_file.lean, in_file
    assert not in_file.replacement
    true = await answer(prover, read_target(["theorem t (n : Nat) : n = n"]), BUDGET, disprove=True)
    assert true.outcome == "proved", true
    bad = await answer(prover, read_target(["theorem t : nonsense"]), BUDGET, disprove=True)
    assert bad.outcome == "bad-statement" and "nonsense" in bad.reason
    path = tmp_path / "broken.lean"
    path.write_text("import NoSuchModule\ntheorem t : True := sorry\n", encoding="utf-8")
    broken = await answer(prover, read_target([f"{path}:2"]), BUDGET)
    assert broken.outcome == "bad-statement" and "NoSuchModule" in broken.reason


# --- many statements --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "kind", "row"),
    [
        (b'{"name": "a", "statement": "theorem t : True", "more": 1}', ".jsonl", Row("a", "theorem t : True")),
        (b'{"name": 7, "statement": "theorem t : True"}', "-", Row("7", "theorem t : True")),
        (b"  ", ".jsonl", None),
        (b"-- a comment", ".txt", None),
        (b"# another", "-", None),
        (b"theorem t (p : Prop) : p := by sorry\r", ".txt", Row("", "theorem t (p : Prop) : p := by sorry")),
    ],
)
def test_rows_are_read_as_their_file_has_them(line: bytes, kind: str, row: Row | None):
    assert read_row(line, 3, kind) == row


@pytest.mark.process
def test_rows_are_read_without_packages_that_programs_of_others_lack() -> None:
    """`proofmesh_verifiers` reads them in an environment with `verifiers` and few packages of ours."""
    heavy = "torch", "prometheus_client", "nats", "aiohttp", "structlog"
    code = f"import sys, node.proving.rows; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[]\n"


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


async def test_machinery_that_fails_is_an_error_and_not_a_failure():
    for disprove in (False, True):
        found = await answer(Slow(), read_target(["theorem broken : True"]), BUDGET, disprove=disprove)
        assert (found.outcome, found.reason) == ("error", "Lean is gone")


async def rows(*names: str) -> AsyncGenerator[Row]:
    for name in names:
        yield Row(name, f"theorem {name} : True")


async def test_answers_come_as_they_are_ready_so_many_at_once_and_who_stops_listening_ends_the_searches():
    prover, names = Slow(), []
    async for each in prove_rows(prover, rows("slow", "a", "broken", "a", "b"), BUDGET, at_once=2):
        names.append((each.name, each.outcome))
        if len(names) == 4:
            prover.let_go.set()
    assert names == [("a", "failed"), ("broken", "error"), ("a", "failed"), ("b", "failed"), ("slow", "failed")]
    assert prover.most_at_work == 2
    prover = Slow()
    answers = prove_rows(prover, rows("a", "slow", "slow"), BUDGET, at_once=2)
    assert (await anext(answers)).name == "a"
    await answers.aclose()
    assert prover.at_work == 0


# --- explanations -----------------------------------------------------------------------------------------------------
NASTY = "<script>alert('&')</script> \x1b[31m"

SEARCH = SearchTree(
    theorem=f"theorem t : {NASTY}",
    simulations=3,
    tactics_tried=4,
    tactics_failed=1,
    states=(
        SearchState(
            0, f"h : {NASTY}\n⊢ a", 0, 3, -2.0, 1, None, steps=2, best=1,
            tactics=(TakenTactic("cases h", 0.7, 2, -3.0, (1, 2)), TakenTactic("simp", 0.3, 1, -2.0, (2,), 2)),
            failed=(FailedTactic(NASTY, "error", NASTY), FailedTactic("skip", "useless", "changes nothing")),
        ),
        SearchState(1, "⊢ b", 1, 1, -4.0, 1, 0, "cases h"),
        SearchState(2, "⊢ c", 1, 1, -1.0, 1, 0, "cases h", steps=1, best=0, tactics=(
            TakenTactic("rfl", 1.0, 1, -1.0, (), 1),
        )),
    ),
)  # fmt: skip
EXPLANATION = Explanation("t", "proved", "accepted", f"theorem t : {NASTY} := by\n  simp", "search", 0.5, (SEARCH,))


def test_the_best_line_follows_the_proof_or_else_the_visits_and_inspect_shows_it_with_a_states_tactics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert [(state.id, taken.tactic) for state, taken in best_line(SEARCH)] == [(0, "simp"), (2, "rfl")]
    unsolved = msgspec.structs.replace(SEARCH.states[0], best=None)
    states = (unsolved, *SEARCH.states[1:])
    line = best_line(msgspec.structs.replace(SEARCH, states=states))
    assert [taken.tactic for _, taken in line] == ["cases h"]
    file = tmp_path / "search.json"
    file.write_bytes(msgspec.json.encode(EXPLANATION))
    assert main([str(file)]) == Exit.DONE
    shown = capsys.readouterr().out
    assert "3 simulations, 3 states" in shown and "best line" in shown and "[2] ⊢ c" in shown
    assert "\x1b" not in shown
    assert main([str(file), "0"]) == Exit.DONE
    shown = capsys.readouterr().out
    assert "<script>" in shown and "useless" in shown and "0.700" in shown


async def test_a_real_search_is_kept_with_leans_messages(opened_lean: OpenedLean, tmp_path: Path):
    recorder = SearchRecorder()
    target = statement_target("theorem t (f : Nat → Nat) (n m : Nat) : f (n + m) = f m + n")
    async with pocket_prover(opened_lean, recorder.watch) as prover:
        found = await answer(prover, target, Budget(seconds=60, simulations=6))
    json_file, html_file = recorder.write(tmp_path / "kept.json", found)
    assert (json_file.name, html_file.name) == ("kept.json", "kept.html")
    (search,) = read(json_file).searches
    assert search.simulations == 6 and sum(state.expansions for state in search.states) == 6
    root = search.states[0]
    assert root.visits == 6 and root.state.endswith("⊢ f (n + m) = f m + n")
    assert abs(sum(each.prior for each in root.tactics) - 1) < 1e-6
    assert any(each.kind == "error" and "failed" in each.message for each in root.failed)
    assert all(search.states[child].depth > 0 for each in root.tactics for child in each.children)
    assert "f (n + m) = f m + n" in html_file.read_text(encoding="utf-8")
