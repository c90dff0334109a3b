"""Converts our networks to folders in Hugging Face's format, and back, also after further training there."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import safetensors
import torch
from safetensors.torch import load_file
from transformers import GenerationConfig
from transformers.utils import logging

from node.model.checkpoint_folders import PROOFS_KEY
from node.model.config import FileMismatch, ModelConfig, ModelConfigError
from node.model.hub.configuration_proofmesh import ProofmeshConfig
from node.model.hub.folders import ADAPTER_CONFIG, CONFIG, written_folder
from node.model.hub.tokenizers import fast_tokenizer, save_tokenizer
from node.model.tokenizer import BOS, EOS, PAD, Tokenizer
from node.model.transformer import Transformer
from node.model.weights import build_model, state_tensors

# --- names and shapes of tensors --------------------------------------------------------------------------------------

_PARTS = (
    ("embedding.weight", "model.embed_tokens.weight"),
    ("policy.weight", "lm_head.weight"),
    ("value.weight", "value_head.weight"),
    ("blocks.{}.attention.query.weight", "model.layers.{}.self_attn.q_proj.weight"),
    ("blocks.{}.attention.key.weight", "model.layers.{}.self_attn.k_proj.weight"),
    ("blocks.{}.attention.value.weight", "model.layers.{}.self_attn.v_proj.weight"),
    ("blocks.{}.attention.out.weight", "model.layers.{}.self_attn.o_proj.weight"),
    ("blocks.{}.attention.gain", "model.layers.{}.self_attn.q_gain"),
    ("blocks.{}.feed_forward.up.weight", "model.layers.{}.mlp.up_proj.weight"),
    ("blocks.{}.feed_forward.down.weight", "model.layers.{}.mlp.down_proj.weight"),
)
_TO_HUB = dict(_PARTS)
_TO_OWN = {theirs: ours for ours, theirs in _PARTS}
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")

OUTPUT_MATRIX, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


class ShapeError(ValueError):
    """A shape or tensor that the other format cannot represent; the text says which."""


class HubShape(msgspec.Struct, frozen=True):
    """The shape in the config.json of an exported network."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    value_bins: int
    rope_theta: float
    full_every: int
    final_logit_softcapping: float | None = None
    tie_word_embeddings: bool = False
    sliding_window: int | None = None
    tactic_tokens: int = ModelConfig.tactic_tokens


def hub_name(own: str) -> str:
    """Hugging Face's name of one of our tensors. Raises ShapeError."""
    return _renamed(own, _TO_HUB)


def own_name(hub: str) -> str:
    """Our name for a tensor in Hugging Face's format. Raises ShapeError."""
    return _renamed(hub, _TO_OWN)


def hub_shape(config: ModelConfig) -> dict[str, Any]:
    """One of our shapes as arguments of `ProofmeshConfig`."""
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.width,
        "intermediate_size": config.hidden,
        "num_hidden_layers": config.depth,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "max_position_embeddings": config.context,
        "value_bins": config.value_bins,
        "rope_theta": config.rope_base,
        "final_logit_softcapping": config.softcap or None,
        "full_every": config.full_every,
        "tie_word_embeddings": config.tied,
        "sliding_window": config.window or None,
        "tactic_tokens": config.tactic_tokens,
    }


def own_shape(shape: HubShape) -> ModelConfig:
    """Convert a shape in Hugging Face's format to ours. Raises ShapeError."""
    try:
        return ModelConfig(
            vocab_size=shape.vocab_size,
            depth=shape.num_hidden_layers,
            width=shape.hidden_size,
            heads=shape.num_attention_heads,
            kv_heads=shape.num_key_value_heads,
            hidden=shape.intermediate_size,
            context=shape.max_position_embeddings,
            value_bins=shape.value_bins,
            rope_base=shape.rope_theta,
            tied=shape.tie_word_embeddings,
            window=shape.sliding_window or 0,
            full_every=shape.full_every,
            softcap=shape.final_logit_softcapping or 0.0,
            tactic_tokens=shape.tactic_tokens,
        ).check()
    except ModelConfigError as error:
        raise ShapeError(str(error)) from error


def _renamed(name: str, table: dict[str, str]) -> str:
    """Raises ShapeError if the table does not have the tensor."""
    number = _NUMBER.search(name)
    pattern = name if number is None else f"{name[: number.start()]}{{}}{name[number.end() :]}"
    if pattern not in table:
        raise ShapeError(f"unknown tensor `{name}`; a proofmesh network does not have it")
    return table[pattern].format(number.group() if number else "")


# --- writing a folder -------------------------------------------------------------------------------------------------

TEMPLATE = "proofmesh"
"""The prompt template (in `node/llm/families`) of exported networks."""

AUTO_MAP = {
    "AutoConfig": "configuration_proofmesh.ProofmeshConfig",
    "AutoModel": "modeling_proofmesh.ProofmeshModel",
    "AutoModelForCausalLM": "modeling_proofmesh.ProofmeshForCausalLM",
}

CODE = ("configuration_proofmesh.py", "modeling_proofmesh.py")


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

    Raises FolderExists, and OSError (disk full, read-only).
    """
    shape = hub_shape(model.config)
    # Only now, with transformers' model classes, which takes seconds.
    from node.model.hub.modeling_proofmesh import ProofmeshForCausalLM

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


# --- reading a folder -------------------------------------------------------------------------------------------------

TOKENIZER, WEIGHTS, INDEX = "tokenizer.json", "model.safetensors", "model.safetensors.index.json"


class BadFolder(ValueError):
    """A folder without a complete network of ours; the text says what is wrong, where, and what to do."""


class _Config(HubShape, frozen=True):
    """The parts of config.json that are read."""

    model_type: str = ""
    proofmesh_step: int = 0
    proofmesh_proofs: bool = False
    proofmesh_tokenizer: str = ""
    """Digest of the tokenizer."""


class _Kind(msgspec.Struct, frozen=True):
    model_type: str = ""


class _Index(msgspec.Struct, frozen=True):
    weight_map: dict[str, str]


@dataclass(frozen=True)
class Imported:
    """The network in a folder."""

    model: Transformer
    tokenizer: Tokenizer
    step: int
    """Training steps before the export."""
    proofs: bool = False
    """Whether the network was trained on whole proofs."""


def read_folder(folder: Path) -> Imported:
    """Read a network from its folder. Raises BadFolder."""
    config = _config(folder)
    try:
        shape = own_shape(config)
        tokenizer = _tokenizer(folder)
        if config.proofmesh_tokenizer not in ("", tokenizer.digest):
            raise BadFolder(
                f"{folder / TOKENIZER} is not the tokenizer that was exported ({tokenizer.vocab_size:,} tokens now); "
                "train without adding tokens, because a network's vocabulary is fixed"
            )
        tensors = {own_name(name): tensor.float() for name, tensor in _tensors(folder, config).items()}
        model = build_model(shape, tensors, tokenizer)
    except (ShapeError, FileMismatch) as error:
        raise BadFolder(f"{folder}: {error}") from error
    return Imported(model, tokenizer, config.proofmesh_step, config.proofmesh_proofs)


def _config(folder: Path) -> _Config:
    """Read config.json. Raises BadFolder if it is missing, damaged, or of another architecture."""
    path = folder / CONFIG
    if (folder / ADAPTER_CONFIG).is_file():
        raise BadFolder(
            f"{folder} holds an adapter; merge it into its base (peft's merge_and_unload), then import the result"
        )
    try:
        content = path.read_bytes()
        kind = msgspec.json.decode(content, type=_Kind).model_type
        if kind != "proofmesh":
            content_type = f"a model of type `{kind}`" if kind else "a model without a model_type"
            raise BadFolder(f"{folder} holds {content_type}; only networks exported by proofmesh can be imported")
        return msgspec.json.decode(content, type=_Config)
    except FileNotFoundError as error:
        raise BadFolder(f"{folder} holds no complete model in Hugging Face's format: no {CONFIG}") from error
    except OSError as error:
        raise BadFolder(f"{path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadFolder(f"{path}: {error}") from error


def _tokenizer(folder: Path) -> Tokenizer:
    """Read our tokenizer without the settings that transformers adds. Raises BadFolder."""
    path = folder / TOKENIZER
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Tokenizer.from_json(json.dumps(content | {"post_processor": None, "padding": None, "truncation": None}))
    except OSError as error:
        raise BadFolder(f"{path}: {error.strerror}; the folder is not complete") from error
    except (ValueError, TypeError) as error:  # includes TokenizerError
        raise BadFolder(f"{path}: {error}") from error


def _tensors(folder: Path, config: HubShape) -> dict[str, torch.Tensor]:
    """All tensors of the folder, without an output matrix that is tied to the embedding. Raises BadFolder."""
    tensors: dict[str, torch.Tensor] = {}
    for path in _files(folder):
        try:
            tensors |= load_file(path)
        except (OSError, safetensors.SafetensorError) as error:
            raise BadFolder(f"{path}: not a complete safetensors file ({error})") from error
    if "value_head.weight" not in tensors:
        raise BadFolder(f"{folder}: the value head is missing (`value_head.weight`); a search needs it")
    if config.tie_word_embeddings and OUTPUT_MATRIX in tensors:
        if not torch.equal(tensors[OUTPUT_MATRIX], tensors[EMBEDDING]):
            raise BadFolder(f"{folder}: `{OUTPUT_MATRIX}` differs from the embedding, but config.json ties them")
        del tensors[OUTPUT_MATRIX]
    return tensors


def _files(folder: Path) -> list[Path]:
    """The weights files: a single one, or those in the index. Raises BadFolder."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    try:
        index = msgspec.json.decode((folder / INDEX).read_bytes(), type=_Index)
    except FileNotFoundError as error:
        raise BadFolder(f"{folder}: no {WEIGHTS}: the folder is not complete") from error
    except (OSError, msgspec.DecodeError) as error:
        raise BadFolder(f"{folder / INDEX}: {error}") from error
    return [folder / name for name in sorted(set(index.weight_map.values()))]
