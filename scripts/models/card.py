"""Writes the README.md of the small models, as Hugging Face model cards."""

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

_DATA = """It was trained on proofs of easy theorems (propositional and first-order logic, numbers, lists): the warm
start of proofmesh's own bank. It uses two published prompt formats: single steps as in BFS-Prover V1 (the prompt is
`STATE:::`, the completion a tactic), and whole proofs as in STP (the prompt is a statement that ends in `:= by` in an
open code block, the completion the rest of the block). Only completions count in the loss. It proves theorems of this
size: it knows the core library's lemmas that these proofs use, and nothing of Mathlib.
"""

_MODEL = """# A small Llama that proves easy theorems

A `LlamaForCausalLM` of {depth} layers, width {width}, {heads} heads ({kv_heads} for keys and values). It was made by
`just small-llama` of proofmesh, to try the code for pretrained models without access to the hub.

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
    """The card of a model trained from scratch."""
    numbers = {name: getattr(shape, name) for name in ("depth", "width", "heads", "kv_heads")}
    return _HEAD.format(library="transformers") + _MODEL.format(data=_DATA, **numbers)


def adapter_card(base: Path) -> str:
    """The card of a LoRA adapter of the model in a folder."""
    return _HEAD.format(library="peft") + _ADAPTER.format(base=base.name, data=_DATA)
