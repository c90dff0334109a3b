"""The bank's own proofs are accepted: rules and checks against cheats must not reject honest proofs."""

import asyncio

import pytest
from msgspec.structs import replace

from common.lean import Theorem
from node.lean.process.fresh import Limits, run_fresh
from node.lean.text.lexing import lex
from node.lean.text.rules import proof_problem, statement_problem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.verdicts import STATEMENT, check_text, messages, proof_text, statement_text, verdict
from node.lean.verify.verifier import Verifier
from tests.node.lean.verify.recorded import honest

pytestmark = pytest.mark.lean

NUMBER = 320


def three_files_in_one(number: int, theorem: Theorem, script: str) -> str:
    """The text that a verification compiles in three files, under unique names."""
    theorem = replace(theorem, name=f"t{number}")
    check = check_text(theorem).split("\n", 2)[2].replace("ProofmeshCheck", f"Check{number}")
    text = statement_text("", theorem) + proof_text("", theorem, lex(script).bare) + check
    return text.replace(STATEMENT, f"Statement{number}")


async def test_hundreds_of_honest_proofs_are_accepted(tmp_path):
    # In one process for all, since 300 verifications take minutes: with the same rules, texts and reading.
    proofs = honest(NUMBER)
    for theorem, script in proofs:
        assert proof_problem(script) == "" and statement_problem(theorem.binders, theorem.conclusion) == ""
    texts = [three_files_in_one(number, theorem, script) for number, (theorem, script) in enumerate(proofs)]
    (tmp_path / "All.lean").write_text("\n".join(texts))
    toolchain = LeanToolchain.pocket()
    command = [*toolchain.command, "--json", "-DautoImplicit=false", "All.lean"]
    limits = Limits(seconds=170)
    finished = await run_fresh(command, environment=toolchain.environment, folder=tmp_path, limits=limits)
    told = [message for message in messages(finished) if message.severity == "error" or "axioms" in message.data]
    assert len(told) == NUMBER
    for number, message in enumerate(told):
        message.data = message.data.replace(f"'Check{number}'", "'ProofmeshCheck'")
        assert verdict([message])[0] == "", proofs[number]


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_each_is_accepted_by_a_verification_of_its_own():
    verifier = Verifier(await LeanToolchain.pocket().confined(), at_once=2, seconds=60, memory_mb=2048)
    proofs = honest(NUMBER)
    verdicts = await asyncio.gather(*(verifier.verify(theorem, script) for theorem, script in proofs))
    verifier.close()
    refused = [(proof, reply.reason) for proof, reply in zip(proofs, verdicts, strict=True) if not reply.accepted]
    assert refused == []
