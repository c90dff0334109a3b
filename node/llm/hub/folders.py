"""Models and adapters as folders: where they are, what their config.json says, and a digest of what is in them.

Without transformers: commands look here before they load anything.
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
"""Bytes of a file up to which all of it goes into a digest. Reading the weights of a large model takes minutes."""
BLOCKS, BLOCK = 64, 2**16
"""Of a larger file: so many parts of so many bytes, at equal distances."""


@dataclass(frozen=True)
class Place:
    """Where the files of a model or an adapter are."""

    folder: Path
    commit: str = ""
    """Of the hub's snapshot; empty: a folder of the user's."""


def local_folder(name: str) -> Path | None:
    """The folder that a name means; None: it is an id of the hub. Raises BadModel: it is a path, and no folder."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise BadModel(f"hf:{name}: a file; name the folder that it is in")
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise BadModel(f"hf:{name}: there is no such folder")
    return None


def config_of(name: str) -> Mapping[str, Any]:
    """config.json of a local folder; empty for an id of the hub. Raises BadModel."""
    folder = local_folder(name)
    return read_config(folder, CONFIG, name) if folder else {}


def read_config(folder: Path, file: str, name: str) -> Mapping[str, Any]:
    """A JSON object of a model's folder. Raises BadModel."""
    try:
        found = json.loads((folder / file).read_text(encoding="utf-8"))
    except FileNotFoundError:
        what = "model" if file == CONFIG else "LoRA adapter"
        hint = _hint(folder, file)
        raise BadModel(
            f"hf:{name}: the folder has no {file}, so it is no {what} in Hugging Face's format{hint}"
        ) from None
    except OSError as error:
        raise BadModel(f"hf:{name}: {file} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise BadModel(f"hf:{name}: {file} is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise BadModel(f"hf:{name}: {file} holds no object")
    return found


def _hint(folder: Path, file: str) -> str:
    if file == CONFIG and (folder / ADAPTER_CONFIG).is_file():
        return "; it is an adapter: write hf:MODEL+ADAPTER"
    if file == CONFIG and (folder / "state.json").is_file():
        return "; a checkpoint of proofmesh's own network is own:PATH"
    if file == ADAPTER_CONFIG and (folder / CONFIG).is_file():
        return "; it is a model: write hf:MODEL"
    return ""


def has_weights(folder: Path) -> bool:
    """Whether weights are there that transformers reads."""
    return any(path.is_file() for pattern in WEIGHTS for path in folder.glob(pattern))


def digest_of(folder: Path) -> str:
    """Names the files of a model or an adapter: all bytes of small ones; of those above 64 MiB the size, a safetensors
    header, and 64 blocks at equal distances. Raises OSError."""
    found = hashlib.blake2b()
    for path in sorted({path for pattern in (*SMALL_FILES, *WEIGHTS) for path in folder.glob(pattern)}):
        if path.is_file():
            found.update(f"{path.name} {path.stat().st_size}\n".encode())
            with path.open("rb") as file:
                _add(found, file, path.stat().st_size)
    return found.hexdigest()[:DIGITS]


def _add(found: hashlib.blake2b, file: BinaryIO, size: int) -> None:
    if size <= WHOLE:
        found.update(file.read())
        return
    if file.name.endswith(".safetensors"):
        # The length of the header as 8 bytes, then the header: names, types and shapes of the tensors.
        (length,) = struct.unpack("<Q", file.read(8))
        found.update(file.read(min(length, WHOLE)))
    for number in range(BLOCKS):
        file.seek((size - BLOCK) * number // (BLOCKS - 1))
        found.update(file.read(BLOCK))
