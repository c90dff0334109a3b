"""The bank's own proofs are accepted: rules and checks against cheats must not reject honest proofs."""

import pytest

from node.lean.check.verify.verifier import Verifier
from node.lean.text.rules import proof_problem, statement_problem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.verify.recorded import honest

pytestmark = pytest.mark.lean

MOST = 320


@pytest.mark.parametrize("number", [60, pytest.param(MOST, marks=pytest.mark.slow)])
async def test_honest_proofs_are_accepted(number):
    proofs = honest(number)
    for theorem, script in proofs:
        assert proof_problem(script) == "" and statement_problem(theorem.binders, theorem.conclusion) == ""
    verifier = Verifier(await LeanToolchain.pocket().confined(), at_once=2, seconds=60, memory_mb=2048)
    replies = await verifier.verify_many(proofs)
    await verifier.stop()
    refused = [(proof, reply) for proof, reply in zip(proofs, replies, strict=True) if not reply.accepted]
    assert refused == []
