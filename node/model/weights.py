"""Weights files: one safetensors file with everything an inference node needs. Its metadata has the configuration and
the tokenizer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import safetensors
import torch
from safetensors.torch import load_file, save_file

from common.files import replacing
from node.model.files import (
    FileMismatch,
    build_model,
    config_from_dict,
    config_to_dict,
    digest,
    state_tensors,
    written,
)
from node.model.tokenizer import Tokenizer, TokenizerError
from node.model.transformer import Transformer

__all__ = ["SCHEMA_VERSION", "Weights", "WeightsError", "digest", "read", "write"]

SCHEMA_VERSION = 1
"""Incremented when the meaning of a tensor or of the metadata changes."""


class WeightsError(ValueError):
    """A weights file that is missing, truncated, of another schema, or inconsistent; the text names the file."""


@dataclass(frozen=True)
class Weights:
    """The content of a weights file."""

    model: Transformer
    """In evaluation mode, without gradients."""
    tokenizer: Tokenizer
    information: dict[str, str] = field(default_factory=dict)
    """Notes of the writer: version, step, run, ..."""


def write(path: Path, model: Transformer, tokenizer: Tokenizer, information: dict[str, str] | None = None) -> str:
    """Write the file atomically and return its digest.

    Raises OSError (disk full, read-only).
    """
    metadata = {
        "proofmesh": str(SCHEMA_VERSION),
        "model": json.dumps(config_to_dict(model.config)),
        "tokenizer": tokenizer.to_json(),
        "information": json.dumps(information or {}),
    }
    with replacing(path) as temporary:
        with written(temporary):
            save_file(state_tensors(model), temporary, metadata=metadata)
        return digest(temporary)


def read(path: Path, device: torch.device | str = "cpu") -> Weights:
    """Read a weights file onto a device. Raises WeightsError."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
        tensors = load_file(path)
    except FileNotFoundError as error:
        raise WeightsError(f"{path}: there is no such weights file") from error
    except (OSError, safetensors.SafetensorError) as error:
        raise WeightsError(f"{path}: not a complete safetensors file ({error})") from error
    if metadata.get("proofmesh") != str(SCHEMA_VERSION):
        schema = metadata.get("proofmesh", "none")
        raise WeightsError(f"{path}: weights of schema {schema}; this version reads schema {SCHEMA_VERSION}")
    try:
        tokenizer = Tokenizer.from_json(metadata["tokenizer"])
        model = build_model(config_from_dict(json.loads(metadata["model"])), tensors, tokenizer)
        information = dict(json.loads(metadata["information"]))
    except (FileMismatch, TokenizerError, KeyError, json.JSONDecodeError) as error:
        raise WeightsError(f"{path}: {error}") from error
    return Weights(model.to(device).eval().requires_grad_(False), tokenizer, information)
