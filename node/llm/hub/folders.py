"""Folders of models and adapters: finds them, reads their config.json, and computes a digest of their files.

Does not import transformers, so that commands can check a folder before they load anything.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from node.llm.address import BadModel
from node.model.checkpoint_folders import DIGITS
from node.model.hub.folders import ADAPTER_CONFIG, CONFIG

TEMPLATE_KEY = "proofmesh_template"
"""In config.json: the name of the prompts' template, or a .toml file in the model's folder."""

WEIGHTS = ("*.safetensors", "*.bin")
SMALL_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.toml", "*.tiktoken")
"""A tokenizer, the configurations, a chat template."""
CODE = "*.py"

WHOLE = 64 * 2**20
"""Files up to this many bytes are digested whole. Reading the weights of a large model would take minutes."""
BLOCKS, BLOCK = 64, 2**16
"""Number and size of the evenly spaced blocks that are digested of a larger file."""


@dataclass(frozen=True)
class Place:
    """The location of a model's or adapter's files."""

    folder: Path
    commit: str = ""
    """Commit of the hub's snapshot; empty for a user's folder."""


def local_folder(name: str) -> Path | None:
    """The folder with this name; None if the name is a hub id. Raises BadModel for a path that is not a folder."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise BadModel(f"hf:{name}: this is a file; name its folder")
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise BadModel(f"hf:{name}: there is no such folder; check the path")
    return None


def config_of(name: str) -> Mapping[str, Any]:
    """The config.json of a local folder; empty for a hub id. Raises BadModel."""
    folder = local_folder(name)
    return read_config(folder, CONFIG, name) if folder else {}


def read_config(folder: Path, file: str, name: str) -> Mapping[str, Any]:
    """Read a JSON object from a model's folder. Raises BadModel."""
    try:
        config = json.loads((folder / file).read_text(encoding="utf-8"))
    except FileNotFoundError:
        kind = "model" if file == CONFIG else "LoRA adapter"
        hint = _hint(folder, file)
        raise BadModel(
            f"hf:{name}: the folder has no {file}, so it is not a {kind} in Hugging Face's format{hint}"
        ) from None
    except OSError as error:
        raise BadModel(f"hf:{name}: {file} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise BadModel(f"hf:{name}: {file} is not JSON ({error})") from None
    if not isinstance(config, dict):
        raise BadModel(f"hf:{name}: {file} is not a JSON object")
    return config


def _hint(folder: Path, file: str) -> str:
    if file == CONFIG and (folder / ADAPTER_CONFIG).is_file():
        return "; it is an adapter: write hf:MODEL+ADAPTER"
    if file == CONFIG and (folder / "state.json").is_file():
        return "; it is a checkpoint of proofmesh's own network: write own:PATH"
    if file == ADAPTER_CONFIG and (folder / CONFIG).is_file():
        return "; it is a model: write hf:MODEL"
    return ""


def has_weights(folder: Path) -> bool:
    """Whether the folder has weights that transformers can read."""
    return any(path.is_file() for pattern in WEIGHTS for path in folder.glob(pattern))


def digest_of(folder: Path) -> str:
    """A digest of the files of a model or an adapter: all bytes of files up to 64 MiB; of larger ones the size, the
    safetensors header, and 64 evenly spaced blocks. Raises OSError."""
    state = hashlib.blake2b()
    for path in sorted({path for pattern in (*SMALL_FILES, *WEIGHTS) for path in folder.glob(pattern)}):
        if path.is_file():
            state.update(f"{path.name} {path.stat().st_size}\n".encode())
            with path.open("rb") as file:
                _add(state, file, path.stat().st_size)
    return state.hexdigest()[:DIGITS]


def _add(state: hashlib.blake2b, file: BinaryIO, size: int) -> None:
    if size <= WHOLE:
        state.update(file.read())
        return
    if file.name.endswith(".safetensors"):
        # The length of the header as 8 bytes, then the header: names, types and shapes of the tensors.
        (length,) = struct.unpack("<Q", file.read(8))
        state.update(file.read(min(length, WHOLE)))
    for number in range(BLOCKS):
        file.seek((size - BLOCK) * number // (BLOCKS - 1))
        state.update(file.read(BLOCK))
