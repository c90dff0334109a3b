"""README.md of the models that are made here, in the form of Hugging Face's model cards."""

from __future__ import annotations

from pathlib import Path

from scripts.models.shape import LlamaShape

_HEAD = """---
license: mit
library_name: {library}
pipeline_tag: text-generation
tags: [lean4, theorem-proving, proofmesh]
---
"""

_DATA = """It was trained on the proofs of easy theorems (propositional and first-order logic, numbers, lists) that are
the warm start of proofmesh's own bank, in two published forms at once: single steps as BFS-Prover V1 is asked
(`STATE:::`, answered by a tactic), and whole proofs as STP is (a statement that ends in `:= by` in an open block of
code, answered by the rest of the block). Only answers count in the loss. Theorems of its size are what it proves:
it knows the core library's lemmas that these proofs use, and nothing of Mathlib.
"""

_MODEL = """# A small Llama that proves easy theorems

A `LlamaForCausalLM` of {depth} layers, width {width}, {heads} heads ({kv_heads} for keys and values), made by
`just small-llama` of proofmesh to try the paths of other people's models where the hub cannot be reached.

{data}
## Use

In proofmesh, step by step and by whole proofs:

    proofmesh prove --policy hf:FOLDER 'theorem t (p q : Prop) : p ∧ q → q ∧ p'
    proofmesh prove --method whole-proof --policy hf:FOLDER@stp 'theorem t (p q : Prop) : p ∧ q → q ∧ p'

On a server: `vllm serve FOLDER`, then `--policy openai:http://localhost:8000#FOLDER@bfs-prover-v1`, or `@stp`.

The tokenizer begins every text with `<|bos|>` and has no chat template. A text that spells a special token is read as
text (`split_special_tokens`).
"""

_ADAPTER = """# A LoRA adapter of a small Llama

An adapter for the model in `{base}`, made by `just small-llama FOLDER --lora BASE` of proofmesh.

{data}
## Use

    proofmesh prove --policy hf:BASE+FOLDER 'theorem t (p q : Prop) : p ∧ q → q ∧ p'
    vllm serve BASE --enable-lora --lora-modules NAME=FOLDER
"""


def model_card(shape: LlamaShape) -> str:
    """Of a model from scratch."""
    numbers = {name: getattr(shape, name) for name in ("depth", "width", "heads", "kv_heads")}
    return _HEAD.format(library="transformers") + _MODEL.format(data=_DATA, **numbers)


def adapter_card(base: Path) -> str:
    """Of a LoRA adapter of the model in a folder."""
    return _HEAD.format(library="peft") + _ADAPTER.format(base=base.name, data=_DATA)
