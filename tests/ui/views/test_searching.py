import asyncio
import functools
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.bus import Bus
from common.lean import Theorem
from common.life.context import NodeContext
from common.protocol.attempts import AttemptOutcome
from common.protocol.subjects import todo
from common.records import searches
from common.records.readers import DATABASE, TheoremResult, read_groups
from common.records.rows import PARTS, Verdict
from common.records.searches import KeptSearches, SearchState, SearchTree, TakenTactic, packed
from common.records.store import Store
from tests.message_values import node_info
from tests.node.learner.builders import PROVED, planned, result, row
from tests.node.prover.nodes import running
from tests.ui.monitors import ask, mesh
from tests.waiting import eventually
from ui.runs import Kind, NotHere, Run
from ui.service import asking
from ui.views import BadQuery
from ui.views.searching import MOST_COUNTED, goal


@pytest.fixture
def small(tmp_path: Path) -> Run:
    """A run with a theorem of each result: `easy` proved, `hard` failed twice, `false` disproved, `bad` refused, `new`
    without a result; `scored` is a test statement that an evaluation proved."""
    store = Store(tmp_path / DATABASE)
    store.add_theorems([*(row(name) for name in ("easy", "hard", "false", "bad", "new")), row("scored", "test")])
    evaluation = store.begin_evaluation("before", 1, 16, 1.0)
    failed, refused = Verdict(AttemptOutcome.FAILED), Verdict(AttemptOutcome.BAD_STATEMENT)
    told = [("easy", "train", PROVED), ("hard", "train", failed), ("hard", "train", failed)]
    told += [("false", "disprove", PROVED), ("bad", "train", refused), ("scored", "eval", PROVED)]
    plans = [planned(number, name, purpose) for number, (name, purpose, _) in enumerate(told, start=1)]
    plans[-1] = replace(plans[-1], evaluation=evaluation)
    store.dispatch([*plans, planned(7, "new")], 1.0)
    for plan, (_, _, verdict) in zip(plans, told, strict=True):
        store.record(result(plan.attempt), verdict, now=2.0)
    store.close()
    return Run("small", Kind.LEARNER, tmp_path)


def names(found: dict[str, Any]) -> list[str]:
    return [each["theorem_id"] for each in found["rows"]]


def test_theorems_are_found_by_what_is_known_of_them_and_all_count(small: Run) -> None:
    known = {"open": "hard", "proved": "easy", "disproved": "false", "refused": "bad", "untried": "new"}
    for each, name in known.items():
        found = ask(small, "theorems", result=each)
        assert (names(found), found["total"], found["rows"][0]["known"]) == ([name], 1, each)
    found = ask(small, "theorems", order="name")
    assert names(found) == ["bad", "easy", "false", "hard", "new"] and found["total"] == 5
    (level,) = ask(small, "levels")["levels"]
    assert {each: level[each] for each in TheoremResult} == dict.fromkeys(TheoremResult, 1)
    assert (level["theorems"], level["attempts"], level["failures"]) == (5, 4, 2)
    assert names(ask(small, "theorems"))[:2] == ["hard", "new"], "the hardest comes first"
    # Test statements have the results of evaluations, and only they.
    found = ask(small, "theorems", split="test")
    assert [(each["theorem_id"], each["result"]) for each in found["rows"]] == [("scored", "proved 1 of 1")]
    assert ask(small, "theorem", id="scored")["known"] == "proved" and ask(small, "theorem", id="hard")["failures"] == 2


def test_filters_and_pages_of_theorems_agree_with_their_counts(made: Run) -> None:
    groups = read_groups(made.records)
    family = groups[0].family
    whole = [each for each in groups if each.family == family]
    shown: list[str] = []
    for start in range(0, 200, 7):
        found = ask(made, "theorems", family=family, order="name", limit=7, from_=start)
        assert found["total"] == sum(each.theorems for each in whole)
        shown += names(found)
    assert shown == sorted(set(shown)) and len(shown) == sum(each.theorems for each in whole)
    assert names(ask(made, "theorems", text="train_00007")) == ["train_00007"]
    assert ask(made, "theorems", text="no theorem has this")["total"] == 0
    # A page behind the last one is empty and says how many there are.
    assert ask(made, "theorems", from_=10**6) == {"total": 60, "rows": []}
    behind = ask(made, "attempts", from_=10**6)
    assert (behind["rows"], behind["total"]) == ([], 261)
    assert ask(made, "attempts", text="made-26", from_=500)["total"] == 3


def test_attempts_are_filtered_and_counted(made: Run) -> None:
    whole = ask(made, "attempts", limit=200)
    assert [each["number"] for each in whole["rows"]] == [*range(261, 61, -1)] and whole["total"] == 261
    outstanding = ask(made, "attempts", outcome="outstanding")
    assert [each["attempt_id"] for each in outstanding["rows"]] == ["made-261"]
    assert outstanding["rows"][0]["total"] is None
    proved = ask(made, "attempts", outcome="proved", purpose="eval", limit=200)
    assert {(each["outcome"], each["purpose"]) for each in proved["rows"]} == {("proved", "eval")}
    assert proved["total"] == len(proved["rows"]) < MOST_COUNTED
    assert {each["outcome"] for each in ask(made, "attempts", text="undecided")["rows"]} == {"undecided"}
    assert {each["prover_id"] for each in ask(made, "attempts", text="prover-made-1")["rows"]} == {"prover-made-1"}


def test_an_attempt_has_its_parts_spans_search_and_logs(made: Run, tmp_path: Path) -> None:
    found = ask(made, "attempt", id="made-10")
    assert [each["part"] for each in found["parts"]] == list(PARTS)
    assert sum(each["seconds"] for each in found["parts"]) == pytest.approx(found["total"], abs=0.2)
    assert found["kept"] and "theorem" in found["statement"]
    spans = ask(made, "attempt_spans", id="made-10")
    assert spans["total"] == len(spans["spans"]) == 11 and spans["spans"][0]["start"] == 0
    assert ask(made, "attempt_spans", id="made-11")["total"] == 0  # not traced
    assert ask(made, "attempt_logs", id="made-10") == []
    with pytest.raises(NotHere, match="no attempt"):
        ask(made, "attempt", id="made-1000")
    (tmp_path / "logs").mkdir()
    lines = [f'{{"time": {n}, "level": "info", "event": "e{n}", "attempt": "made-{n}"}}\n' for n in (1, 10, 100)]
    (tmp_path / "logs" / "prover.log").write_text("".join(lines))
    found = ask(Run("r", Kind.LEARNER, tmp_path), "attempt_logs", id="made-10")
    assert [each["event"] for each in found] == ["e10"]


def test_a_theorem_has_its_attempts_and_proofs(made: Run) -> None:
    name = ask(made, "theorems", result="proved", limit=1)["rows"][0]["theorem_id"]
    found = ask(made, "theorem", id=name)
    assert found["attempts_total"] == len(found["tries_shown"]) >= found["attempts"] > 0
    assert {each["theorem_id"] for each in found["tries_shown"]} == {name}
    proof = next(each for each in found["proofs"] if not each["disproof"])
    assert proof["axioms"] == "propext" and proof["lean"].startswith(f"theorem {name} ")
    with pytest.raises(NotHere, match="no theorem"):
        ask(made, "theorem", id="nothing")


def test_kept_searches_come_by_interest_or_by_time(made: Run) -> None:
    rows = ask(made, "searches", limit=200)["rows"]
    assert [each["interest"] for each in rows] == sorted((each["interest"] for each in rows), reverse=True)
    newest = ask(made, "searches", order="newest", limit=200)
    assert sorted(each["attempt_id"] for each in newest["rows"]) == sorted(each["attempt_id"] for each in rows)
    assert newest["rows"][0]["attempt_id"] == "made-260" and newest["total"] == len(rows)
    proved = ask(made, "searches", outcome="proved")
    assert {each["outcome"] for each in proved["rows"]} == {"proved"} and proved["total"] < newest["total"]


def test_a_tree_comes_by_columns_and_its_states_one_by_one(made: Run, tmp_path: Path) -> None:
    """The tree has no text in full, so that 10,000 states are some 100 kB; a state has all of its own."""
    long = "exact " + "f " * 500
    taken = TakenTactic(long, 1.0, 2, -2.0, (1, 2))
    states = (
        SearchState(0, "h : p\n⊢ p ∧ q", 0, 3, -2.0, 1, None, tactics=(taken,), at=0.5),
        SearchState(1, "h : p\n⊢ p\n\nx : Nat\n⊢ x = x", 1, 1, float("inf"), 0, 0, long),
        SearchState(2, "⊢ q", 1, 0, 0.0, 0, 0, long, dead=True),
    )
    shutil.copytree(made.path(""), tmp_path, dirs_exist_ok=True)
    kept = KeptSearches(tmp_path, 2**24)
    with kept._transaction() as db:
        trees = packed([SearchTree("theorem t : p ∧ q", 3, 4, 1, states)] * 2)
        db.execute("UPDATE searches SET trees = ? WHERE attempt_id = 'made-5'", (trees,))
    kept.close()
    run = Run("r", Kind.LEARNER, tmp_path)
    found = ask(run, "search", id="made-5")
    columns = found["columns"]
    assert columns["goal"] == ["p ∧ q", "2 goals: p", "q"] and columns["parent"] == [None, 0, 0]
    assert columns["value"] == [-2.0, None, 0.0] and columns["dead"] == [0, 0, 1] and columns["at"] == [0.5, None, None]
    ((text, prior, visits, value, steps, dead, children),) = columns["tactics"][0]
    assert len(text) < 80 and (prior, visits, value, steps, dead, children) == (1.0, 2, -2.0, None, 0, [1, 2])
    assert [each["states"] for each in found["trees"]] == [3, 3]
    whole = ask(run, "state", id="made-5", tree=1, state=0)
    assert whole["tactics"][0]["tactic"] == long and whole["tactics"][0]["leaves"] == ["2 goals: p", "q"]
    assert whole["state"] == "h : p\n⊢ p ∧ q"
    with pytest.raises(NotHere, match="no tree 2"):
        ask(run, "search", id="made-5", tree=2)
    with pytest.raises(NotHere, match="no state 3"):
        ask(run, "state", id="made-5", state=3)


def test_a_goal_is_one_short_line() -> None:
    assert [goal(state) for state in ("", "no turnstile", "⊢ a\n  b")] == ["", "no turnstile", "a b"]
    assert goal("⊢ " + "x" * 10_000) == "x" * 90 + "…"


def test_a_wrong_parameter_is_refused(made: Run) -> None:
    for view, wrong in (
        ("theorems", {"order": "best"}),
        ("theorems", {"limit": "201"}),
        ("theorems", {"from": "-1"}),
        ("attempts", {"unknown": "1"}),
        ("state", {"id": "a", "state": "x"}),
    ):
        with pytest.raises(BadQuery):
            ask(made, view, **wrong)


def test_evaluations_show_searches_and_a_run_that_keeps_none_says_so(made: Run, small: Run, tmp_path: Path) -> None:
    assert ask(small, "searches")["keeps"] is False and ask(small, "attempt", id="run-1")["kept"] is False
    with pytest.raises(NotHere, match="keeps no search"):
        ask(small, "search", id="run-1")
    (tmp_path / "evaluation").mkdir()
    shutil.copy(made.path(searches.FILE), tmp_path / "evaluation")
    run = Run("e", Kind.EVALUATION, tmp_path / "evaluation")
    assert ask(run, "searches")["total"] > 0 and ask(run, "search", id="made-5")["in_records"] is False
    with pytest.raises(NotHere, match="has no attempts"):
        ask(run, "theorems")


async def test_a_search_that_goes_on_shows_its_tree_until_it_is_over(bus: Bus, lean_proxy: NodeContext) -> None:
    endless = Theorem("endless", "(f : Nat → Nat) (n : Nat)", "f n = f (n + 1)")
    attempt = planned(1, "endless").attempt
    attempt = msgspec.structs.replace(attempt, theorem=endless, simulations=10**6)
    context = NodeContext("ui", lean_proxy.settings)
    context.bus = bus
    watched = mesh(bus.run, node_info("prover-1"), node_info("prover-2"))
    watched.ask = asking(context)
    asks = functools.partial(asyncio.to_thread, ask, watched)
    async with running(bus, policy="tactics") as searching:
        await bus.publish_durable(todo(attempt.purpose, attempt.client), attempt, message_id="a")
        await eventually(lambda: searching.counts["simulations"] >= 3)
        found = await asks("at_work")
        (row,) = found["rows"]
        assert (row["prover"], row["attempt_id"], row["theorem_id"]) == ("prover-1", attempt.attempt_id, "endless")
        assert found["silent"] == 1  # nobody answers for prover-2
        tree = await asks("search", id=attempt.attempt_id, prover="prover-1")
        assert tree["kept"]["outcome"] == "running" and tree["trees"][0]["simulations"] >= 3
        shown = await asks("state", id=attempt.attempt_id, prover="prover-1", state=0)
        assert shown["state"].endswith("⊢ f n = f (n + 1)") and shown["tactics_total"] > 0
        with pytest.raises(NotHere, match="the search may be over"):
            await asks("search", id="another", prover="prover-1")
        with pytest.raises(NotHere, match="no prover 'lean-proxy-1' at work"):
            await asks("search", id=attempt.attempt_id, prover="lean-proxy-1")
