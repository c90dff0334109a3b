"""Rewards with real Lean: here, over the service and over a mesh the same; infrastructure that fails is None."""

import asyncio
import multiprocessing
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from node.rewards.asking import close
from node.rewards.lean_reward import BadRow, LeanReward, RewardValues, Unavailable, Verdict
from tests.node.serve.conftest import serving

pytestmark = pytest.mark.lean

PAGE = Path(__file__).parents[3] / "docs" / "rewards.md"

FOUR = "theorem t : 2 + 2 = 4"
ADD = "theorem add (n : Nat) : 0 + n = n"
SWAP = "theorem t (p q : Prop) : p ∧ q → q ∧ p"

PROOFS = [
    (FOUR, "\n  rfl\n```", Verdict.VERIFIED),
    (FOUR, [{"role": "assistant", "content": f"So:\n```lean4\n{FOUR} := by\n  rfl\n```"}], Verdict.VERIFIED),
    ("2 + 2 = 4", "rfl", Verdict.VERIFIED),
    ("theorem t : 2 + 2 = 5", "rfl", Verdict.REJECTED),
    (FOUR, "native_decide", Verdict.REJECTED),
    (FOUR, "sorry", Verdict.NO_PROOF),
    (FOUR, "", Verdict.NO_PROOF),
    ("theorem t : 1 = 2", "repeat (have := trivial)", Verdict.LIMIT),
    ("theorem t : no_such_thing 1 = 2", "exact?", Verdict.REJECTED),
    (ADD, "cases n with\n| zero => rfl\n| succ n => exact congrArg Nat.succ (add n)", Verdict.VERIFIED),
    (ADD, "exact add n", Verdict.REJECTED),
    ("theorem Nat.add_comm (a b : Nat) : a + b = b + a", "exact Nat.add_comm a b", Verdict.VERIFIED),
    ("theorem t (p q : Prop) (hint : p) (says : q) : p ∧ q", "exact ⟨hint, says⟩", Verdict.VERIFIED),
    ("theorem t (p : Prop) (h : p) : p", "have hint := h\nexact hint", Verdict.VERIFIED),
]
STEPS = [
    ([], "intro h", [], Verdict.LEGAL),
    ([], "skip", [], Verdict.UNCHANGED),
    (["intro h", "constructor"], "rotate_left", [], Verdict.UNCHANGED),
    (["intro h"], "show q ∧ p", ["exact ⟨h.2, h.1⟩"], Verdict.UNCHANGED),
    ([], "exact h", [], Verdict.ERROR),
    ([], "intro h", ["exact ⟨h.2, h.1⟩"], Verdict.WITHIN_BUDGET),
    (["intro h", "constructor"], "exact h.2", [], Verdict.CLOSES_GOAL),
    (["intro h", "constructor", "exact h.2"], "exact h.1", [], Verdict.CLOSES_THEOREM),
    (["no such tactic"], "intro h", [], Verdict.UNKNOWN),
    ([], "exact sorry", [], Verdict.ERROR),
]


STATEMENTS, COMPLETIONS, VERDICTS = (list(column) for column in zip(*PROOFS, strict=True))
BEFORE, TACTICS, AFTER, JUDGED = (list(column) for column in zip(*STEPS, strict=True))
COLUMNS: dict[str, Any] = {"theorem": [SWAP] * len(STEPS), "steps": BEFORE, "remaining": AFTER}


def test_whole_proofs_and_steps_are_paid_by_what_lean_says():
    reward = LeanReward(at_once=2, seconds=2)
    logged: dict[str, Any] = {}
    logs = {"log_extra": logged.__setitem__, "log_metric": logged.__setitem__}
    paid = reward(completions=COMPLETIONS, theorem=STATEMENTS, **logs)
    assert paid == [float(each is Verdict.VERIFIED) for each in VERDICTS]
    assert logged["verdict"] == VERDICTS and logged["reason"][3] and logged["lean/verified"] == 7 / len(VERDICTS)

    step = LeanReward(kind="steps", at_once=2, seconds=3, finishers=(), values=RewardValues(legal=0.25))
    judged = step.judge(TACTICS, **COLUMNS)
    assert [each.verdict for each in judged] == JUDGED, judged
    assert step(completions=TACTICS, **COLUMNS) == [0.25, 0.0, 0.0, 0.0, 0.0, 0.7, 0.3, 1.0, None, 0.0]
    finishing = LeanReward(kind="steps", at_once=2, seconds=3, finishers=("exact ⟨h.2, h.1⟩", "assumption"))
    assert finishing(completions=["intro h"], theorem=[SWAP]) == [0.7]
    finishing = LeanReward(kind="steps", at_once=2, seconds=3)
    closed, open_ = "theorem t : 2 = 2", "theorem t : ∀ p q : Nat, p = p"
    assert finishing(completions=["skip", "intro p q"], theorem=[closed, open_]) == [0.0, 0.7]


@pytest.mark.slow
@pytest.mark.broker
async def test_the_service_and_a_mesh_say_the_same(broker, run_name, lean_proxy):
    async with serving() as wire:
        for where, run in ((wire.url, "demo"), (broker.url, run_name)):
            reward = LeanReward(where=where, run=run, seconds=3)
            paid = await reward.score(completions=COMPLETIONS, theorem=STATEMENTS)
            assert paid == [float(each is Verdict.VERIFIED) for each in VERDICTS]
            step = LeanReward(kind="steps", where=where, run=run, seconds=3, finishers=())
            judged = await asyncio.to_thread(step.judge, TACTICS, **COLUMNS)
            assert [each.verdict for each in judged] == JUDGED
    await asyncio.to_thread(close)


def test_what_cannot_be_reached_is_none_and_says_so():
    for where in ("http://127.0.0.1:9", "nats://127.0.0.1:9"):
        reward = LeanReward(where=where, patience=0.2)
        assert reward(completions=["rfl", ""], theorem=[FOUR, FOUR]) == [None, 0.0]
        with pytest.raises(Unavailable, match=re.escape("127.0.0.1:9")):
            reward.check()


def test_columns_that_are_wrong_are_named():
    reward = LeanReward()
    for columns, words in (
        ({}, "no column `theorem`"),
        ({"theorem": [FOUR, FOUR]}, "needs one value for each of the 1"),
        ({"theorem": ["theorem t (x : Nat"]}, "never closed"),
        ({"theorem": [3]}, "must be the text of a statement"),
    ):
        with pytest.raises(BadRow, match=words):
            reward(completions=["rfl"], **columns)
    with pytest.raises(BadRow, match="is for tactic"):
        LeanReward(template="bfs-prover-v1")(completions=["rfl"], theorem=[FOUR])
    with pytest.raises(ValueError, match="nats://HOST:PORT"):
        LeanReward(where="localhost:8000")


def _paid(packed: bytes, found: Any) -> None:
    found.put(pickle.loads(packed)(completions=["rfl"], theorem=[FOUR]))


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_it_can_be_pickled_and_called_in_other_processes(method):
    reward = LeanReward(at_once=2, seconds=3)
    assert reward(completions=["rfl"], theorem=[FOUR]) == [1.0]  # a fork inherits an open home, and leaves it alone
    context = multiprocessing.get_context(method)
    found = context.Queue()
    process = context.Process(target=_paid, args=(pickle.dumps(reward), found))
    process.start()
    assert found.get(timeout=120) == [1.0]
    process.join(30)


def test_the_lines_for_verl_and_openrlhf_on_the_page_work():
    page = PAGE.read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^```python (\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    assert set(blocks) == {"verl", "openrlhf"}
    spaces: dict[str, dict[str, Any]] = {name: {} for name in blocks}
    for name, text in blocks.items():
        exec(text, spaces[name])
    score = spaces["verl"]["compute_score"]
    assert score("minif2f", "\n  rfl\n```", FOUR, {}) == 1.0 and score("minif2f", "omg", FOUR) == 0.0
    found = spaces["openrlhf"]["reward_func"](["P\n  rfl", "Q\n  no"], ["P", "Q"], [FOUR, FOUR])
    assert found["rewards"].tolist() == [1.0, 0.0]
