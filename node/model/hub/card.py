"""Writes the model card of an exported network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from node.model.transformer import Transformer

_CARD = """---
library_name: transformers
pipeline_tag: text-generation
tags: [lean4, theorem-proving, proofmesh]
---
# A network of proofmesh

It reads a proof state of Lean 4 and writes the next tactic; its value head estimates how many steps are left. It was
trained by proofmesh, a theorem prover in the style of AlphaProof, and exported after {step:,} training steps by
`proofmesh models export`. {evaluation}

## Architecture

{parameters:,} parameters: a decoder of {depth} layers, width {width}, {heads} query heads and {kv_heads} key-value
heads, hidden size {hidden}, vocabulary {vocab_size:,}, context {context:,}{options}. RMSNorm without gains, also on
queries and keys (with one gain for each query head); rotary positions on neighbouring pairs; squared ReLU;
{value_bins} bins of remaining steps in the value head. The code is in this folder and needs transformers 5:
`trust_remote_code=True`. Inside proofmesh it is built in.

## Use

A prompt is `<|state|>STATE<|tactic|>`; the tokenizer puts `<|bos|>` before it. **States are read with canonical
names**: hypotheses and bound variables are v0, v1, ... in order of appearance, and the tactic that comes back has these
names.
proofmesh renames both ways (template `proofmesh`):

    proofmesh prove --policy hf:FOLDER 'theorem t (p q : Prop) : p ∧ q → q ∧ p'

    from transformers import AutoModelForCausalLM, AutoTokenizer
    model = AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(FOLDER, trust_remote_code=True)
    prompt = tokenizer("<|state|>v0 v1 : Prop\\nv2 : v0 ∧ v1\\n⊢ v1 ∧ v0<|tactic|>", return_tensors="pt")
    print(model(**prompt).value[0, -1])         # minus the expected number of remaining steps
    print(tokenizer.decode(model.generate(**prompt, max_new_tokens=32)[0], skip_special_tokens=True))

The tokenizer reads text such as `<|eos|>` as a special token. Change such text in a state before encoding it:
proofmesh inserts a space.

`proofmesh models import FOLDER CHECKPOINT` converts this folder back to a proofmesh checkpoint, also after further
training with transformers.

## Training configuration

```json
{training}
```
"""


def card(model: Transformer, step: int, training: Mapping[str, Any], evaluation: str) -> str:
    """The text of a network's README.md."""
    config = model.config
    numbers = {name: value for name, value in vars(config).items() if isinstance(value, int)}
    return _CARD.format(
        **numbers,
        step=step,
        evaluation=evaluation,
        parameters=model.parameter_count(),
        options=_options(model),
        training=json.dumps(without_paths(dict(training)), indent=2, ensure_ascii=False),
    )


def without_paths(value: Any) -> Any:
    """Replace the paths in a configuration, because cards are published."""
    if isinstance(value, dict):
        return {key: without_paths(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_paths(each) for each in value]
    return "..." if isinstance(value, str) and value.startswith(("/", "~")) else value


def _options(model: Transformer) -> str:
    config = model.config
    options = [
        f"sliding window {config.window} (all but every {config.full_every}th layer and the last)"
        * bool(config.window),
        f"logits softly capped at {config.softcap:g}" * bool(config.softcap),
        "embedding and output matrix tied" * config.tied,
    ]
    return "".join(f", {each}" for each in options if each)
