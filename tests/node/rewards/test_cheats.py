"""What cheating completions are paid: by our reward nothing, by three common checkers what docs/cheats.md says. The
checkers are written anew, from the project's own description or behaviour; the sources are named."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.lean.adapters.repl.session import ReplSession
from node.lean.gaps.finder import Elaborator, ReplOptions
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.rewards.lean_reward import LeanReward
from tests.node.rewards.cheats import CHEATS, HONEST, Cheat


@dataclass(frozen=True)
class Read:
    """Lean's answer about a text, as the community REPL gives it."""

    messages: Sequence[dict[str, Any]]
    sorries: Sequence[dict[str, Any]]

    def texts(self, severity: str) -> list[str]:
        """The messages of a severity."""
        return [each["data"] for each in self.messages if each["severity"] == severity]


def verifiers_pays(code: str, statement: str, read: Read) -> float:
    """`LeanRubric` of PrimeIntellect-ai/verifiers (verifiers/envs/experimental/composable/tasksets/lean/lean_task.py):
    the lines that state the theorem, up to `:= by`, must stand in the file as they were, between two marks; `lean` must
    end with 0; and its output must not hold ``declaration uses 'sorry'``.

    Whoever cheats writes around the protected lines and leaves them alone.
    """
    if f"\n{statement} := by\n" not in f"\n{code}":
        return 0.0
    said = "\n".join(each["data"] for each in read.messages)
    return 0.0 if read.texts("error") or re.search(r"declaration uses 'sorry'", said) else 1.0


def kimina_rl_pays(read: Read) -> float:
    """project-numina/kimina-prover-rl: 1 where the Kimina Lean Server's answer has no error message and no sorries."""
    return 0.0 if read.texts("error") or read.sorries else 1.0


def repl_pays(read: Read) -> float:
    """The check of a plain REPL, as DeepSeek-Prover-V1.5 publishes it (`complete` of its verifier): no errors, no
    sorries, and no warning ``declaration uses 'sorry'`` or with `failed`. It asks for no axioms."""
    warned = any("declaration uses 'sorry'" in text or "failed" in text for text in read.texts("warning"))
    return 0.0 if read.texts("error") or read.sorries or warned else 1.0


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
