"""Training examples for a small language model from the bank: prompts of two published families, and completions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from common.lean import Theorem
from common.seeds import is_held_out
from node.bank import bank
from node.bank.bank import load_proofs
from node.lean.text.script import INDENT
from node.learner.choosing.data import HELD_OUT_SHARE
from node.llm.prompts import proof_prompt, tactic_prompt
from node.llm.templates import load

STEPS_FAMILY = "bfs-prover-v1"
"""Prompt: a state and `:::`. Completion: a tactic."""

PROOFS_FAMILY = "stp"
"""Prompt: a statement that ends in `:= by` in an open code block. Completion: the rest of the block."""


@dataclass(frozen=True)
class Example:
    """A prompt and its completion. Only the completion counts in the loss."""

    prompt: str
    completion: str


@dataclass(frozen=True)
class BankExamples:
    """The examples of the bank's warm start."""

    trained: list[Example]
    held_out: list[Example]
    """Examples of held-out theorems, the same as in the demo's warm start."""


def step_example(state: str, tactic: str) -> Example:
    """An example of one proof step."""
    return Example(tactic_prompt(load(STEPS_FAMILY), state).text, tactic)


def proof_example(theorem: Theorem, script: str) -> Example:
    """An example of a whole proof. `script`: a block of tactics without indentation."""
    return Example(proof_prompt(load(PROOFS_FAMILY), theorem).text, f"\n{textwrap.indent(script, INDENT)}\n```")


def from_bank() -> BankExamples:
    """The examples of the warm start: steps and whole proofs. Raises BankError."""
    proofs = {each.theorem.name: each for each in load_proofs(warm_start=True)}
    trained: list[Example] = []
    held_out: list[Example] = []
    for name, rows in groupby(bank.load_transitions(warm_start=True), lambda row: row.theorem):
        chosen = held_out if is_held_out(name, HELD_OUT_SHARE) else trained
        chosen += [step_example(row.state, row.tactic) for row in rows]
        if proof := proofs.get(name):
            chosen.append(proof_example(proof.theorem, proof.script))
    return BankExamples(trained, held_out)


def texts(examples: Iterable[Example]) -> Iterator[str]:
    """All texts to train a tokenizer on."""
    for example in examples:
        yield example.prompt
        yield example.completion
