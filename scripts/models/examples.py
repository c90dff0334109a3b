"""What a small language model learns from the bank: prompts of two published families, and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from common.lean import ProofTree, Theorem
from common.seeds import derive_seed
from node.bank import bank
from node.bank.bank import BankTransition
from node.lean.text.script import proof_script
from node.learner.data import HELD_OUT_SHARE
from node.llm.prompts import proof_prompt, tactic_prompt
from node.llm.templates import load
from scripts.models.proof_trees import proof_of

STEPS_FAMILY = "bfs-prover-v1"
"""A state and `:::`, answered by a tactic."""

PROOFS_FAMILY = "stp"
"""A statement that ends in `:= by` inside a block of code, answered by the rest of the block."""


@dataclass(frozen=True)
class Example:
    """A prompt, and what the model shall answer. Only the answer counts in the loss."""

    prompt: str
    completion: str


@dataclass(frozen=True)
class BankExamples:
    """The examples of the bank's warm start."""

    trained: list[Example]
    held_out: list[Example]
    """Of theorems that are not trained on, the same ones that the demo's warm start holds out."""


def step_example(state: str, tactic: str) -> Example:
    """A step of a proof."""
    return Example(tactic_prompt(load(STEPS_FAMILY), state).text, tactic)


def proof_example(theorem: Theorem, proof: ProofTree) -> Example:
    """A whole proof, up to the end of its block of code."""
    return Example(proof_prompt(load(PROOFS_FAMILY), theorem).text, f"\n{proof_script(proof)}\n```")


def from_bank() -> BankExamples:
    """Steps and whole proofs of the warm start. Raises BankError."""
    rule = bank.manifest_of().warm_start
    statements = {each.theorem.name: each.theorem for each in bank.load_statements("train")}
    trained: list[Example] = []
    held_out: list[Example] = []
    # All transitions: a proof counts only if the warm start may use every step of it.
    for name, group in groupby(bank.load_transitions(), lambda row: row.theorem):
        rows = list(group)
        allowed = [row for row in rows if rule is None or rule.takes(row.level, row.tactic)]
        chosen = held_out if derive_seed("held-out", name) % HELD_OUT_SHARE == 0 else trained
        chosen += [step_example(row.state, row.tactic) for row in allowed]
        if len(allowed) == len(rows):
            chosen += proofs_of(name, rows, statements)
    return BankExamples(trained, held_out)


def proofs_of(name: str, rows: Sequence[BankTransition], statements: Mapping[str, Theorem]) -> Iterator[Example]:
    """The whole proof of a theorem, or of the negation of one, where its transitions allow one tree only."""
    proof = proof_of(rows)
    if proof is not None:
        theorem = statements[name] if name in statements else statements[name.removesuffix("_neg")].negation()
        yield proof_example(theorem, proof)


def texts(examples: Iterable[Example]) -> Iterator[str]:
    """All that a tokenizer is trained on."""
    for example in examples:
        yield example.prompt
        yield example.completion
