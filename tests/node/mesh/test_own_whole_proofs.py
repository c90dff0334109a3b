"""Our network trained on whole proofs: training, and proofs that Lean accepts, alone and on a mesh."""

import json
from functools import partial
from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.lean import Theorem
from common.output.command import Exit
from common.protocol.attempts import Attempt, AttemptOutcome, Method, Purpose
from node.command.proofs import prove
from node.lean.text.script import proof_script
from node.play.policies import check
from node.prover.policies.names import BadPolicy
from tests.commands import Called, Run
from tests.node.play.opened import open_policy
from tests.node.prover.nodes import inference_node, played
from tests.node.training.writer import SWAP, TWICE, trained_writer

pytestmark = pytest.mark.slow

NOTHING_ELSE = "[prove]\nclosing = []\nsearching = []\n"


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a network that has memorized the proofs."""
    return trained_writer(tmp_path_factory.mktemp("writer"))


@pytest.fixture
def proves(called: Called, tmp_path: Path) -> Run:
    """`prove` with the network alone."""
    (tmp_path / "alone.toml").write_text(NOTHING_ELSE, encoding="utf-8")
    run = partial(called, prove.main)
    return lambda *arguments: run(*arguments, "--config", str(tmp_path / "alone.toml"), "--json", "--seconds", "60")


def test_a_network_proves_what_it_has_learned_under_other_names(proves: Run, writer: Path) -> None:
    how = ("--method", "whole-proof", "--policy", f"own:{writer}", "--simulations", "24")
    for statement in ("theorem t (a b : Prop) : a ∧ b → b ∧ a", TWICE):
        code, out, err = proves(statement, *how)
        assert code == Exit.DONE, err
        found = json.loads(out)
        assert found["by"] == "network" and "\n" in found["proof"].strip()
    code, out, err = proves("theorem t (p q : Prop) : p → q", *how)
    assert code == Exit.FAILED and "24 simulations" in json.loads(out)["reason"]
    code, _, err = proves(SWAP, *how[:-1], "64", "--samples", "64")
    assert code == Exit.UNAVAILABLE and "64 samples asked for; this network gives 1 to 32 at once" in err
    code, out, err = proves(f"theorem long : {'True ∧ ' * 200}True", *how)
    assert code == Exit.FAILED
    assert json.loads(out)["reason"] == "no more proofs were to be had after 0", "it is more than the network reads"


async def test_a_mesh_writes_whole_proofs_with_the_network_that_proposes_its_tactics(
    bus: Bus, broker: BusSettings, lean_proxy: object, writer: Path
) -> None:
    def attempt(name: str, theorem: Theorem, **changes: object) -> Attempt:
        fields = {"purpose": Purpose.EVAL, "simulations": 24, "seed": 1, "method": Method.WHOLE_PROOF, "verify": True}
        return Attempt(attempt_id=name, theorem_id="t", theorem=theorem, **{**fields, **changes})  # type: ignore[arg-type]

    swap, either = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p"), Theorem("t", "(p q : Prop)", "p ∧ q → p ∨ q")
    attempts = [
        attempt("whole", swap),
        attempt("again", swap),
        attempt("wrong", either),
        attempt("both", either, then=Method.BEST_FIRST),
        attempt("corrected", either, correct=1),
        attempt("idle", swap, policy="inference+tactics"),
    ]
    async with inference_node(bus, broker, str(writer)):
        found = await played(bus, attempts, policy="inference")
    whole = found["whole"]
    assert whole.outcome is AttemptOutcome.PROVED, whole.message
    assert whole.proof is not None and "\n" in proof_script(whole.proof)
    assert whole.statistics.tokens > 10
    assert found["again"].proof == whole.proof, "the same seed, the same proofs"
    assert found["wrong"].outcome is AttemptOutcome.FAILED and found["both"].outcome is AttemptOutcome.PROVED
    for name, says in (("corrected", "a network of ours corrects nothing"), ("idle", "`tactics` proposes tactics")):
        assert found[name].outcome is AttemptOutcome.ERROR and says in found[name].message


async def test_what_cannot_write_proofs_is_refused_before_anything_starts(run_folder: Path, writer: Path) -> None:
    whole = "whole-proof"
    check(f"own:{writer}", whole)
    check(f"own:{writer}", whole, "mcts")
    check(f"own:{writer}+tactics", whole, "mcts")
    check(f"own:{writer}", "mcts")
    with pytest.raises(BadPolicy, match=r"cannot write whole proofs: .* no marks of roles.*; train one with"):
        check(f"own:{run_folder}", whole)
    with pytest.raises(BadPolicy, match="a network of ours corrects nothing; leave --correct out"):
        check(f"own:{writer}", whole, correct=1)
    with pytest.raises(BadPolicy, match="`tactics` proposes tactics, and the method whole-proof alone has no use"):
        check(f"own:{writer}+tactics", whole)
    with pytest.raises(BadPolicy, match="has 2 parts that write whole proofs"):
        check(f"own:{writer}+own:{run_folder}", whole, "mcts")
    file = writer.parent.parent / "list.jsonl"
    file.write_text('{"name": "t", "proof": "rfl"}\n', encoding="utf-8")
    check(f"own:{run_folder}+proofs:{file}", whole, "mcts")  # the file writes, the network proposes tactics
    async with open_policy(f"own:{writer}+proofs:{file}", whole=True) as opened:
        assert type(opened.proofs).__name__ == "ListedProofs"
