"""`prove`, `eval` and `models try` with a language model in this process: real weights, and real Lean."""

from pathlib import Path

import pytest

from common.output.command import Exit
from node.command.evaluate import command as eval_command
from node.command.proofs import prove as prove_command
from tests.commands import Called, Command, Run
from tests.node.llm.hub.tiny import SWAP, saved, taught

pytestmark = pytest.mark.compute  # imports transformers

STATEMENT = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"

ALONE = ("--closing", "--searching")
"""Nothing but the search: no closing tactics, no search of the library."""


@pytest.fixture(scope="module")
def prover(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has memorized one proof."""
    return saved(taught(SWAP), tmp_path_factory.mktemp("models") / "swap-prover")


@pytest.mark.usefixtures("lent_lean")
def test_a_model_proves_what_it_has_learned(prove: Run, prover: Path) -> None:
    policy = f"hf:{prover}@bfs-prover-v1"
    code, out, err = prove(*ALONE, "--policy", policy, "--models.hf.device", "cpu", STATEMENT)
    assert code == Exit.DONE and out.startswith("theorem swap") and "accepted by Lean" in err, err
    assert "by language model" in err and f"{prover}@bfs-prover-v1: " in err and "tokens in" in err
    assert len(err.splitlines()) == 3, err  # no words of the libraries


@pytest.mark.usefixtures("lent_lean")
@pytest.mark.parametrize("command", [prove_command.main, eval_command.main])
def test_what_cannot_be_had_is_a_clear_line(command: Command, called: Called, prover: Path) -> None:
    Path("empty").mkdir()
    told = {
        "hf:./nowhere@bfs-prover-v1": "hf:./nowhere: there is no such folder",
        "hf:empty@bfs-prover-v1": "hf:empty: the folder has no config.json",
        f"hf:{prover}": "no template is known for the model",
        f"hf:{prover}@nope": "no template `nope`",
        f"hf:{prover}+./nowhere@bfs-prover-v1": "hf:./nowhere: there is no such folder",
    }
    rest = [STATEMENT] if command is prove_command.main else ["--bench", "pocket", "--out", "e"]
    for policy, words in told.items():
        code, out, err = called(command, "--policy", policy, *rest)
        lines = [line for line in err.splitlines() if not line.startswith("searching")]
        assert code == 2 and not out and len(lines) == 1 and words in lines[0], err
