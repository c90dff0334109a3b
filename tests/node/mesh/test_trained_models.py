"""Models of ours and of other people's servers that have memorized proofs: `prove` and a mesh accept these."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.lean import Theorem
from common.output.command import Exit
from common.protocol.attempts import Attempt, AttemptOutcome, Method, Purpose
from node.lean.text.script import proof_script
from node.play.policies import check
from node.prover.policies.names import BadPolicy
from tests.commands import Run
from tests.node.llm.small_llama import trained_folder
from tests.node.play.opened import open_policy
from tests.node.prover.nodes import inference_node, played
from tests.node.training.writer import SWAP, TWICE, trained_writer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a network that has memorized the proofs."""
    return trained_writer(tmp_path_factory.mktemp("writer"))


@pytest.fixture
def proves(prove: Run, tmp_path: Path) -> Run:
    """`prove` with the network alone."""
    (tmp_path / "alone.toml").write_text("[prove]\nclosing = []\nsearching = []\n", encoding="utf-8")
    return lambda *arguments: prove(*arguments, "--config", str(tmp_path / "alone.toml"), "--json", "--seconds", "60")


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


async def test_a_mesh_writes_whole_proofs(bus: Bus, broker: BusSettings, lean_proxy: object, writer: Path) -> None:
    def attempt(name: str, theorem: Theorem, **changes: object) -> Attempt:
        fields = {"purpose": Purpose.EVAL, "simulations": 24, "seed": 1, "method": Method.WHOLE_PROOF, "verify": True}
        return Attempt(attempt_id=name, theorem_id="t", theorem=theorem, **{**fields, **changes})  # type: ignore[arg-type]

    swap, either = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p"), Theorem("t", "(p q : Prop)", "p ∧ q → p ∨ q")
    attempts = [attempt("whole", swap), attempt("again", swap), attempt("wrong", either)]
    attempts += [attempt("both", either, then=Method.BEST_FIRST), attempt("corrected", either, correct=1)]
    attempts += [attempt("idle", swap, policy="inference+tactics")]
    async with inference_node(bus, broker, str(writer)):
        found = await played(bus, attempts, policy="inference")
    whole = found["whole"]
    assert whole.outcome is AttemptOutcome.PROVED, whole.message
    assert whole.proof is not None and "\n" in proof_script(whole.proof) and whole.statistics.tokens > 10
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


# --- a third-party server: transformers serve, with a Llama that has memorized one proof ------------------------------
STATEMENT = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"


LOADING_SECONDS = 180.0
"""Seconds to import transformers and the server's packages on a busy machine."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's policy, without a template. It loads the model when it starts."""
    pytest.importorskip("fastapi", reason="transformers serve is not installed: pip install 'proofmesh[serving]'")
    folder = trained_folder(tmp_path_factory)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = tmp_path_factory.mktemp("hub")
    log = home / "log"
    program = Path(sys.executable).with_name("transformers")
    with log.open("w") as out:
        command = [program, "serve", folder, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
        env = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env)
    try:
        deadline = time.monotonic() + LOADING_SECONDS
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield f"openai:http://127.0.0.1:{port}#{folder}"
    finally:
        process.kill()
        process.wait()


def answers(url: str) -> bool:
    """Whether the server accepts connections."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@pytest.fixture
def searches(prove: Run) -> Run:
    """With nothing but the search: no closing tactics, no search of the library."""
    return partial(prove, "--closing", "--searching")


def test_it_proves_a_theorem_step_by_step(served: str, searches: Run) -> None:
    code, out, err = searches("--policy", f"{served}@bfs-prover-v1", "--json", STATEMENT)
    assert code == Exit.DONE, err
    assert "returns one sample per request" in err and json.loads(out)["outcome"] == "proved", err


def test_it_proves_a_theorem_by_a_whole_proof(served: str, searches: Run) -> None:
    code, out, err = searches("--method", "whole-proof", "--policy", f"{served}@stp", STATEMENT)
    assert code == Exit.DONE and "exact ⟨h.2, h.1⟩" in out, err
