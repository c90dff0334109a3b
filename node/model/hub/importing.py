"""Reads one of our networks from a folder in Hugging Face's format, also after further training."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import msgspec
import safetensors
import torch
from safetensors.torch import load_file

from node.model.files import FileMismatch, build_model
from node.model.hub.folders import ADAPTER_CONFIG, CONFIG
from node.model.hub.names import EMBEDDING, OUTPUT_MATRIX, HubShape, ShapeError, own_name, own_shape
from node.model.tokenizer import Tokenizer
from node.model.transformer import Transformer

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
