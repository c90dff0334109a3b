"""A network that has learned two conjectures and two proofs by heart, by the code of `proofmesh train`."""

from pathlib import Path
from typing import Any

from node.model.checkpoint_folders import newest_whole
from tests.node.training.small import write_jsonl
from tests.node.training.writer import PROOFS, trained

CONJECTURES: list[dict[str, Any]] = [
    {
        **PROOFS[0],
        "lemma": "theorem And.comm (a b : Prop) : a ∧ b ↔ b ∧ a",
        "conjecture": "theorem conjecture_1_1 (p q r : Prop) : p ∧ q ∧ r → r ∧ p",
    },
    {
        **PROOFS[1],
        "lemma": "theorem true : True",
        "conjecture": "theorem conjecture_1_2 (n : Nat) (h : n = 3) : n + n = 6",
        "weight": 2.0,
    },
]


def trained_conjecturer(folder: Path, **changes: Any) -> Path:
    """The checkpoint's folder."""
    conjectures = write_jsonl(folder / "conjectures.jsonl", CONJECTURES)
    proofs = write_jsonl(folder / "proofs.jsonl", PROOFS[:2])
    size = {"steps": 160, "batch_tokens": 512, "micro_tokens": 512, "length": 256}
    run = trained(folder, (f"conjectures:{conjectures}*3", f"proofs:{proofs}"), 320, **(size | changes))
    found, _ = newest_whole(run / "checkpoints")
    assert found is not None
    return found
