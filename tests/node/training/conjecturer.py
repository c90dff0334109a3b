"""A network that has learned two conjectures and two proofs by heart, by the code of `proofmesh train`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from node.model.checkpoint_folders import newest_whole
from node.training.settings import DataSettings, RateSettings
from node.training.stage import run_stage
from tests.node.training.small import SHAPE, small, write_jsonl
from tests.node.training.writer import PROOFS, SWAP, TWICE

CONJECTURES: list[dict[str, Any]] = [
    {
        "lemma": "theorem And.comm (a b : Prop) : a ∧ b ↔ b ∧ a",
        "statement": SWAP,
        "proof": PROOFS[0]["proof"],
        "conjecture": "theorem conjecture_1_1 (p q r : Prop) : p ∧ q ∧ r → r ∧ p",
    },
    {
        "lemma": "theorem true : True",
        "statement": TWICE,
        "proof": PROOFS[1]["proof"],
        "conjecture": "theorem conjecture_1_2 (n : Nat) (h : n = 3) : n + n = 6",
        "weight": 2.0,
    },
]


def write_rows(folder: Path) -> tuple[str, ...]:
    """The sources of the training."""
    conjectures = write_jsonl(folder / "conjectures.jsonl", CONJECTURES)
    proofs = write_jsonl(folder / "proofs.jsonl", PROOFS[:2])
    return f"conjectures:{conjectures}*3", f"proofs:{proofs}"


def trained_conjecturer(folder: Path, **changes: Any) -> Path:
    """The checkpoint's folder."""
    settings = small(
        folder,
        data=DataSettings(sources=write_rows(folder), held_out=0),
        model=replace(SHAPE, width=48, hidden=96, heads=2, kv_heads=2, context=320),
        length=256,
        rates=RateSettings(warmup=5),
        **({"steps": 160, "batch_tokens": 512, "micro_tokens": 512, "bf16": "off"} | changes),
        evaluate_every=1000,
        save_every=1000,
    )
    run_stage("sft", settings)
    found, _ = newest_whole(folder / "runs/run/checkpoints")
    assert found is not None
    return found
