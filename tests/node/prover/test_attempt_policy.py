"""Attempts that name their policy: a real broker, a real network of random weights, real Lean."""

from pathlib import Path

from common.bus import Bus, BusSettings
from common.lean import Theorem
from common.protocol.attempts import Attempt, AttemptOutcome, Purpose
from tests.node.prover.nodes import inference_node, played, run_folder

SWAP = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")


def attempt(attempt_id: str, policy: str = "", purpose: Purpose = Purpose.EVAL, **changes: object) -> Attempt:
    fields = {"theorem_id": "t", "theorem": SWAP, "simulations": 40, "seed": 1, "samples": 4} | changes
    return Attempt(attempt_id=attempt_id, purpose=purpose, policy=policy, **fields)  # type: ignore[arg-type]


async def test_network_and_list_together_prove_on_a_mesh_that_serves_a_checkpoint(
    bus: Bus, broker: BusSettings, lean_proxy: object, tmp_path: Path
) -> None:
    tactics = tmp_path / "mine.txt"
    tactics.write_text("intro h\nexact ⟨h.2, h.1⟩\n", encoding="utf-8")
    attempts = [
        attempt("configured"),
        attempt("named", "inference+tactics"),
        attempt("turns", "inference,tactics", simulations=0, lean_attempts=200),
        attempt("alone", "inference"),
        attempt("list", "tactics"),
        attempt("pinned", weights=7),
    ]
    async with inference_node(bus, broker, f"own:{run_folder(tmp_path)}"):
        found = await played(bus, attempts, policy=f"inference+tactics:{tactics}")
    assert {name for name, result in found.items() if result.outcome is AttemptOutcome.PROVED} >= {
        "configured",
        "named",
        "turns",
        "list",
        "pinned",
    }, found
    statistics = {name: result.statistics for name, result in found.items()}
    assert found["alone"].outcome.decided, found["alone"].message
    for name in ("configured", "named", "turns", "alone", "pinned"):
        assert (statistics[name].weights_first, statistics[name].weights_last) == (7, 7)
        assert statistics[name].tokens > 0
    assert statistics["alone"].samples == 4 * statistics["alone"].expansions
    assert statistics["configured"].samples == (4 + 2) * statistics["configured"].expansions
    assert (statistics["list"].weights_last, statistics["list"].tokens) == (0, 0)


async def test_what_cannot_be_had_is_an_error_that_says_so(bus: Bus, lean_proxy: object, tmp_path: Path) -> None:
    """There is no inference node: an evaluation must not go on with the list alone, a person who waits may."""
    tactics, other = tmp_path / "mine.txt", tmp_path / "other.txt"
    for file in (tactics, other):
        file.write_text("intro h\nexact ⟨h.2, h.1⟩\n", encoding="utf-8")
    attempts = [
        attempt("evaluation", "inference+tactics"),
        attempt("training", purpose=Purpose.TRAIN),
        attempt("person", purpose=Purpose.INTERACTIVE),
        attempt("list", "tactics"),
        attempt("its file", f"inference+tactics:{tactics}", purpose=Purpose.INTERACTIVE),
        attempt("other file", f"tactics:{other}"),
        attempt("unknown", "gpt"),
        attempt("own", "own:runs/demo"),
    ]
    found = await played(bus, attempts, policy=f"inference+tactics:{tactics}", policy_patience=0.3)
    errors = {name: result.message for name, result in found.items() if result.outcome is AttemptOutcome.ERROR}
    assert {name for name, result in found.items() if result.proof} == {"person", "list", "its file"}, found
    assert errors.keys() == {"evaluation", "training", "other file", "unknown", "own"}
    assert "tactic.request" in errors["evaluation"] and "tactic.request" in errors["training"]
    assert "only files of its own configuration" in errors["other file"]
    assert "there is no policy `gpt`; there are `inference`" in errors["unknown"]
    assert "proofmesh up --policy own:PATH" in errors["own"]
