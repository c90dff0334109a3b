"""What cheating completions are paid: by our reward nothing, by three common checkers what docs/cheats.md says."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from node.lean.adapters.repl.session import ReplSession
from node.lean.gaps.finder import Elaborator, ReplOptions
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.rewards.lean_reward import LeanReward
from tests.node.rewards.cheats import CHEATS, HONEST, Cheat
from tests.node.rewards.checkers import Read, kimina_rl_pays, repl_pays, verifiers_pays

PAGE = Path(__file__).parents[3] / "docs" / "cheats.md"

ALL = (HONEST, *CHEATS)


@pytest.mark.lean
def test_a_cheat_is_paid_nothing_and_a_proof_is():
    reward = LeanReward(kind="proofs", at_once=2)  # as in test_lean_reward.py: the same processes
    completions, statements = [each.completion for each in ALL], [each.statement for each in ALL]
    rewards = reward(completions=completions, theorem=statements)
    paid = dict(zip((each.name for each in ALL), rewards, strict=True))
    assert paid == {each.name: float(each is HONEST) for each in ALL}


@pytest.mark.lean
async def test_common_checkers_pay_what_the_page_says():
    lean = Elaborator(LeanToolchain.pocket(), ReplOptions(), seconds=60)
    session = ReplSession(lean)
    try:
        rows = [f"| {each.name} | {' | '.join(await _paid(session, each))} |" for each in ALL]
    finally:
        await lean.stop()
    written = re.findall(r"^\| (?!answer|---).*\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert written == rows


async def _paid(session: ReplSession, cheat: Cheat) -> list[str]:
    """What ours and the three checkers pay, in the order of the table."""
    said = msgspec.to_builtins(await session.answer(json.dumps({"cmd": cheat.code})))
    assert "message" not in said, said
    read = Read(said.get("messages") or [], said.get("sorries") or [])
    paid = (verifiers_pays(cheat.code, cheat.statement, read), kimina_rl_pays(read), repl_pays(read))
    return [f"{value:g}" for value in (float(cheat is HONEST), *paid)]
