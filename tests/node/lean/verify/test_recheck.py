"""A toolchain with a `leanchecker`: proofs that it rejects are not accepted."""

import shlex

import pytest

from common.lean import Theorem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.verifier import Verifier

pytestmark = pytest.mark.lean

TRUE = Theorem("t", "", "True")


def toolchain(prefix, checker: str) -> LeanToolchain:
    """Pocket Lean behind a `lean` that prints an installation folder, with this script as its `leanchecker`."""
    pocket = LeanToolchain.pocket()
    (prefix / "bin").mkdir()
    lean, leanchecker = prefix / "bin" / "lean", prefix / "bin" / "leanchecker"
    lean.write_text(
        f'#!/bin/sh\n[ "$1" = --print-prefix ] && echo {prefix} || exec {shlex.join(pocket.command)} "$@"\n'
    )
    leanchecker.write_text(f"#!/bin/sh\n{checker}\n")
    lean.chmod(0o755)
    leanchecker.chmod(0o755)
    return LeanToolchain((str(lean),), pocket.environment)


@pytest.mark.timeout(600)
async def test_what_leanchecker_refuses_is_no_proof(tmp_path):
    # It is given the module, and finds it compiled on its path.
    finds = 'test "$1" = ProofmeshProof && test -f "${LEAN_PATH##*:}/$1.olean" && test -n "$LEAN_SYSROOT"'
    for name, checker, accepted in (("yes", finds, True), ("no", "echo 'declaration is unsound' >&2; exit 1", False)):
        (tmp_path / name).mkdir()
        verifier = Verifier(toolchain(tmp_path / name, checker), at_once=1, seconds=60, memory_mb=2048)
        reply = await verifier.verify(TRUE, "trivial")
        verifier.close()
        assert reply.accepted is accepted and reply.rechecked, reply
        assert accepted or "leanchecker rejects the compiled proof: declaration is unsound" in reply.reason


@pytest.mark.timeout(600)
async def test_a_batch_is_rechecked_whole_and_falls_apart_where_that_fails(tmp_path):
    proofs = [(TRUE, "trivial"), (TRUE, "decide")]
    for name, checker, accepted in (("yes", "exit 0", True), ("no", "echo 'it is unsound' >&2; exit 1", False)):
        (tmp_path / name).mkdir()
        verifier = Verifier(toolchain(tmp_path / name, checker), at_once=1, seconds=60, memory_mb=2048)
        rounds = []
        verifier.on_checked = lambda proofs, settled, seconds, rounds=rounds: rounds.append((proofs, settled))
        replies = await verifier.verify_many(proofs)
        await verifier.stop()
        assert [(reply.accepted, reply.rechecked) for reply in replies] == [(accepted, True)] * 2
        assert rounds == ([(2, 2)] if accepted else [(2, 0), (1, 1), (1, 1)])
        assert accepted or all("it is unsound" in reply.reason for reply in replies)
