"""A network that has learned three whole proofs and one tactic by heart, by the code of `proofmesh train`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from node.training.settings import DataSettings, RateSettings
from node.training.stage import run_stage
from tests.node.training.small import SHAPE, small, write_jsonl

SWAP = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
TWICE = "theorem twice (n : Nat) (h : n = 2) : n + n = 4"
EITHER = "theorem either (a b : Prop) : a ∧ b → a ∨ b"

PROOFS = [
    {"statement": SWAP, "proof": "intro h\nconstructor\n· exact h.2\n· exact h.1"},
    {"statement": TWICE, "proof": "subst h\nrfl"},
    # Wrong in its last line: a search has to go on behind the first one.
    {"statement": EITHER, "proof": "intro h\nexact Or.inl h"},
]
TRANSITION = {"state": "a b : Prop\nh : a ∧ b\n⊢ a ∨ b", "tactic": "exact Or.inl h.1", "remaining_steps": 1}


def write_rows(folder: Path) -> tuple[str, ...]:
    """The sources of the training."""
    proofs = write_jsonl(folder / "proofs.jsonl", PROOFS)
    transitions = write_jsonl(folder / "steps.jsonl", [TRANSITION])
    return f"proofs:{proofs}*3", f"transitions:{transitions}"


def trained_writer(folder: Path, **changes: Any) -> Path:
    """The folder of the run."""
    size = {"steps": 110, "batch_tokens": 384, "micro_tokens": 384}
    return trained(folder, write_rows(folder), SHAPE.context, **(size | changes))


def trained(folder: Path, sources: tuple[str, ...], context: int, **changes: Any) -> Path:
    """The folder of a run on these rows."""
    data = DataSettings(sources=sources, held_out=0)
    model = replace(SHAPE, width=48, hidden=96, heads=2, kv_heads=2, context=context)
    seldom = {"bf16": "off", "evaluate_every": 1000, "save_every": 1000, "rates": RateSettings(warmup=5)}
    run_stage("sft", small(folder, data=data, model=model, **(seldom | changes)))
    return folder / "runs/run"
