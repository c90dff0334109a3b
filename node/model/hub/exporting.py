"""Writes one of our networks as a folder in Hugging Face's format."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers import GenerationConfig
from transformers.utils import logging

from node.model.files import state_tensors
from node.model.hub.configuration_proofmesh import ProofmeshConfig
from node.model.hub.folders import written_folder
from node.model.hub.modeling_proofmesh import ProofmeshForCausalLM
from node.model.hub.names import OUTPUT_MATRIX, ShapeError, hub_name, hub_shape
from node.model.hub.tokenizers import fast_tokenizer, save_tokenizer
from node.model.tokenizer import BOS, EOS, PAD, Tokenizer
from node.model.trained import PROOFS_KEY
from node.model.transformer import Transformer

TEMPLATE = "proofmesh"
"""The prompt template (in `node/llm/families`) of exported networks."""

AUTO_MAP = {
    "AutoConfig": "configuration_proofmesh.ProofmeshConfig",
    "AutoModel": "modeling_proofmesh.ProofmeshModel",
    "AutoModelForCausalLM": "modeling_proofmesh.ProofmeshForCausalLM",
}

CODE = ("configuration_proofmesh.py", "modeling_proofmesh.py")


class NotExportable(ValueError):
    """A network that Hugging Face's format cannot represent; the text says why."""


@dataclass(frozen=True)
class Origin:
    """The origin of a network, for its card and for importing it again."""

    step: int = 0
    training: Mapping[str, Any] = field(default_factory=dict)
    """The configuration of the run that trained it."""
    evaluation: str = ""
    """A sentence with its evaluation result; may be empty."""


def export(model: Transformer, tokenizer: Tokenizer, out: Path, origin: Origin, *, force: bool = False) -> None:
    """Write the folder: weights, configuration, tokenizer, model code and model card.

    Raises NotExportable, FolderExists, and OSError (disk full, read-only).
    """
    try:
        shape = hub_shape(model.config)
    except ShapeError as error:
        raise NotExportable(str(error)) from error
    specials: dict[str, Any] = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS}
    ours: dict[str, Any] = {
        "auto_map": dict(AUTO_MAP),
        "proofmesh_template": TEMPLATE,
        "proofmesh_step": origin.step,
        "proofmesh_proofs": bool(origin.training.get(PROOFS_KEY)),
        "proofmesh_tokenizer": tokenizer.digest,
    }
    config = ProofmeshConfig(**shape, **specials, **ours)
    network = ProofmeshForCausalLM(config)
    tensors = {hub_name(name): tensor for name, tensor in state_tensors(model).items()}
    missing = network.load_state_dict(tensors, strict=False)
    assert set(missing.missing_keys) <= ({OUTPUT_MATRIX} if model.config.tied else set()), missing
    network.generation_config = GenerationConfig(do_sample=True, **specials)
    with written_folder(out, force=force) as folder, _quiet():
        network.save_pretrained(folder)
        save_tokenizer(fast_tokenizer(tokenizer, model.config.context, reads_specials=True), folder)
        for name in CODE:
            shutil.copyfile(Path(__file__).with_name(name), folder / name)
        (folder / "README.md").write_text(card(model, origin.step, origin.training, origin.evaluation), "utf-8")


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide transformers' progress bars: writing one of our networks takes only a moment."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


# --- writes the model card of an exported network ---------------------------------------------------------------------

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
