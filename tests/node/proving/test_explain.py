"""What a search did, as it is written, read again and shown."""

from pathlib import Path

import msgspec
import pytest

from common.output.command import Exit
from common.records.searches import FailedTactic, SearchState, SearchTree, TakenTactic
from node.command.proofs.inspect import main
from node.lean.opened import OpenedLean
from node.proving.answers import answer
from node.proving.explain import Explanation, SearchRecorder, best_line, read
from node.proving.prover import Budget
from node.proving.statements import statement_target
from tests.node.proving.local import pocket_prover

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


def test_the_best_line_follows_the_proof_or_else_the_visits():
    assert [(state.id, taken.tactic) for state, taken in best_line(SEARCH)] == [(0, "simp"), (2, "rfl")]
    unsolved = msgspec.structs.replace(SEARCH.states[0], best=None)
    states = (unsolved, *SEARCH.states[1:])
    line = best_line(msgspec.structs.replace(SEARCH, states=states))
    assert [taken.tactic for _, taken in line] == ["cases h"]


def test_inspect_shows_the_tree_and_a_states_tactics(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
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
