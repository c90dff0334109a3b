"""Small attempts, results and theorems for the learner's tests."""

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from prometheus_client.parser import text_string_to_metric_families

from common.lean import ProofTree, Theorem
from common.life.metrics import METRICS
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, AttemptStatistics, Purpose, Transition
from common.records.rows import Example, Planned, TheoremRow, Verdict, VerifiedProof
from node.learner.algorithms.algorithm import Choice
from node.learner.algorithms.alphaproof import AlphaProof
from node.learner.choosing.matchmaker import Matchmaker
from node.learner.settings import LearnerSettings


def tiny_learner(bank: Path, **sections: dict[str, object]) -> str:
    """The settings of a learner with a tiny network, in a mesh file; `sections` are added."""
    learner = {
        **{"bank": str(bank), "ahead": 2.0, "verify_gather": 0.2, "keep_checkpoints": 2},
        "model": {"vocab_size": 320, "depth": 1, "width": 16, "heads": 2, "kv_heads": 2, "hidden": 32, "context": 64},
        "matchmaker": {"budget": 8, "disprove_chance": 0.2},
        "schedule": {"fresh": 2, "patience": 1.0, "steps_limit": 2, "training_budget": 0.9, "checkpoint_every": 1},
        "trainer": {"batch": 8, "threads": 1},
        "warm_start": {"steps": 4, "every": 2, "validation": 16, "decay": 0.0},
    }
    return tomli_w.dumps({"learner": learner | sections})


def choose(matchmaker: Matchmaker, number: int) -> Choice | None:
    """The attempt that AlphaProof chooses, with the settings of the matchmaker."""
    return AlphaProof(LearnerSettings(matchmaker=matchmaker.settings)).choose(matchmaker, number)


FAILED = Verdict(AttemptOutcome.FAILED)


def theorem(name: str = "t") -> Theorem:
    return Theorem(name, "(p q : Prop)", "p ∧ q → q ∧ p")


def row(name: str, split: str = "train", level: int = 1) -> TheoremRow:
    return TheoremRow(theorem(name), split, "logic", level)


def planned(number: int, name: str = "t", purpose: str = "train", evaluation: int | None = None) -> Planned:
    fields: dict[str, Any] = {"theorem_id": name, "theorem": theorem(name), "simulations": 16, "seed": number}
    return Planned(number, Attempt(attempt_id=f"run-{number}", purpose=Purpose(purpose), **fields), evaluation)


def transition(number: int) -> Transition:
    return Transition(f"⊢ {number} = {number}", "rfl", 1)


def proved(transitions: int = 2, first: int = 0) -> Verdict:
    """The verdict on a proof with so many transitions."""
    steps = tuple(transition(first + index) for index in range(transitions))
    return Verdict(AttemptOutcome.PROVED, proof=VerifiedProof("  rfl", steps, ("propext",), "4.35"))


PROVED = proved()


def result(attempt: Attempt, outcome: str = "proved", prover: str = "prover-a") -> AttemptResult:
    """What a prover sends."""
    said = {"theorem_id": attempt.theorem_id, "purpose": attempt.purpose, "prover_id": prover}
    statistics = AttemptStatistics(simulations=3, expansions=2, seconds=0.5)
    proof = ProofTree("rfl", state="⊢ 1 = 1") if outcome == "proved" else None
    known = AttemptOutcome(outcome)
    return AttemptResult(attempt.attempt_id, **said, outcome=known, proof=proof, statistics=statistics)


def examples(count: int) -> list[Transition]:
    """Transitions that a tiny network can learn."""
    lemmas = ("And.intro", "Or.inl", "rfl", "Nat.le_refl")
    return [
        Transition(f"p{index % 7} : Prop\n⊢ p{index % 7}", f"exact {lemmas[index % 4]}", 1 + index % 3)
        for index in range(count)
    ]


def write_bank(folder: Path, train: int = 24, test: int = 8) -> Path:
    """A tiny bank of real statements: identities of small numbers, and conjunctions to be swapped."""

    def statements(split: str, count: int, first: int) -> list[dict[str, object]]:
        swap = {"binders": "(p q : Prop)", "conclusion": "p ∧ q → q ∧ p", "family": "logic", "level": 2}
        sums = [f"{first + index} + 0 = {first + index}" for index in range(count)]
        rows = [
            swap if odd % 2 else {**swap, "binders": "", "conclusion": text, "family": "nat", "level": 1}
            for odd, text in enumerate(sums)
        ]
        return [{"name": f"{split}_{index}", **row} for index, row in enumerate(rows)]

    splits = {"train": statements("train", train, 100)}
    splits["valid"] = [row | {"conclusion": f"True ∧ ({row['conclusion']})"} for row in statements("valid", 4, 200)]
    splits["test"] = [row | {"conclusion": f"({row['conclusion']}) ∧ True"} for row in statements("test", test, 300)]
    for split, rows in splits.items():
        write_rows(folder / f"{split}.jsonl.gz", rows)
    transitions = []
    for index in range(400):
        step = {"state": f"⊢ {index} + 0 = {index}", "tactic": "rfl" if index % 3 else "simp"}
        about = {"theorem": f"train_{index % train}", "level": 1, "family": "nat", "remaining_steps": 1 + index % 2}
        transitions.append(about | step)
    write_rows(folder / "transitions.jsonl.gz", transitions)
    return folder


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(b"\n".join(msgspec.json.encode(row) for row in rows)))


def shown(name: str, **labels: str) -> float:
    """A value as `/metrics` shows it; 0 for a count that is not there yet."""
    for family in text_string_to_metric_families(METRICS.render().decode()):
        for sample in family.samples:
            if sample.name == f"proofmesh_{name}" and sample.labels == labels:
                return sample.value
    return 0.0


def rows(*numbers: int, start: int = 1) -> list[Example]:
    return [Example(start + index, Transition(f"⊢ {number}", "rfl", 1)) for index, number in enumerate(numbers)]
