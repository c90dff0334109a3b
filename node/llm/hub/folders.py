"""Folders of models and adapters: finds or downloads them, reads their config.json, computes a digest of their files.

Does not import transformers, so that commands can check packages and a folder before they load anything.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from node.llm.address import BadModel, HubAddress
from node.llm.servers import INSTALL
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


# ----------------------------------------------------------------------------------------------------------------------
# Checks for the required packages, and finds or downloads the hub's snapshots. Does not import transformers.


def check(address: HubAddress) -> None:
    """Check that the packages are installed and that local folders hold what they should. Raises BadModel."""
    for package in ("transformers", "huggingface_hub", *(("peft",) if address.adapter else ())):
        if importlib.util.find_spec(package) is None:
            raise BadModel(f"`{address}`: models in this process need the package `{package}`; run {INSTALL}")
    for name, file in named(address):
        if folder := local_folder(name):
            _check_folder(folder, file, name)


def check_found(address: HubAddress) -> None:
    """Check that a model and its adapter are here, in a folder or the hub's cache, or that the hub has them. It asks
    the hub for one small file. Raises BadModel."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    for name, file in named(address):
        if local_folder(name) is None:
            try:
                _downloaded(name, [file], local_files_only=True)
            except LocalEntryNotFoundError:
                _downloaded(name, [file])


def named(address: HubAddress) -> list[tuple[str, str]]:
    """The name of the model, and of the adapter if there is one, each with the file that its folder must have."""
    return [(address.model, CONFIG), *([(address.adapter, ADAPTER_CONFIG)] if address.adapter else [])]


def _check_folder(folder: Path, file: str, name: str) -> None:
    """Raises BadModel."""
    read_config(folder, file, name)
    if not has_weights(folder):
        raise BadModel(f"hf:{name}: the folder has no weights (a .safetensors or .bin file)")


def place_of(name: str, file: str, *, code: bool = False) -> Place:
    """Find the files of a model or an adapter; a hub id's files are downloaded if they are missing. `file`: the file
    that the folder must have; `code`: also download Python code. Raises BadModel."""
    folder = local_folder(name)
    place = Place(folder) if folder else _snapshot(name, code)
    _check_folder(place.folder, file, name)
    return place


def _snapshot(name: str, code: bool) -> Place:
    """The local snapshot of a hub id, downloaded if it is not complete. Raises BadModel."""
    from huggingface_hub.errors import LocalEntryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    small = [*SMALL_FILES, *([CODE] if code else [])]
    try:
        here = _downloaded(name, [*small, *WEIGHTS], local_files_only=True)
        if has_weights(here) and ((here / CONFIG).is_file() or (here / ADAPTER_CONFIG).is_file()):
            return Place(here, here.name)
    except LocalEntryNotFoundError:
        pass
    folder = _downloaded(name, [*small, "*.safetensors"])
    if not has_weights(folder):
        folder = _downloaded(name, [*small, *WEIGHTS])
    return Place(folder, folder.name)


def _downloaded(name: str, files: list[str], **arguments: Any) -> Path:
    """Raises BadModel, and LocalEntryNotFoundError if files are missing and `local_files_only` is set."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        return Path(snapshot_download(name, allow_patterns=files, **arguments))
    except HFValidationError:
        raise BadModel(f"hf:{name}: there is no such folder, and an id of the hub is written OWNER/NAME") from None
    except GatedRepoError:
        raise BadModel(
            f"hf:{name}: its owner grants access on request; request it on the model's page, then run `hf auth login`"
        ) from None
    except RepositoryNotFoundError:
        raise BadModel(f"hf:{name}: there is no such folder, and no such model on the hub (or a private one)") from None
    except LocalEntryNotFoundError as error:
        if arguments:
            raise
        raise _unreachable(name, error) from None
    except (OSError, ValueError) as error:  # no connection, no disk space, or an invalid response
        raise _unreachable(name, error) from None


def _unreachable(name: str, error: Exception) -> BadModel:
    why = " ".join(str(error.__cause__ or error).split())[:200]
    return BadModel(
        f"hf:{name}: there is no such folder, and the model cannot be downloaded ({why or type(error).__name__}); "
        "name a folder, or download it on a machine with a network (`hf download`)"
    )


def weights_of(address: HubAddress) -> str:
    """The identity of the weights of a model and its adapter: the commit of the hub's snapshot, or a digest of the
    folder. Missing files of a hub id are downloaded. Raises BadModel."""
    parts = []
    for name, file in named(address):
        place = place_of(name, file)
        try:
            parts.append(place.commit[:12] or digest_of(place.folder))
        except OSError as error:
            raise BadModel(f"hf:{name}: {error.filename} cannot be read ({error.strerror})") from None
    return "+".join(parts)
