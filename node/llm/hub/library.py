"""Checks for the required packages, and finds or downloads the hub's snapshots. Does not import transformers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from node.llm.address import BadModel, HubAddress
from node.llm.client import INSTALL
from node.llm.hub.folders import CODE, SMALL_FILES, WEIGHTS, Place, digest_of, has_weights, local_folder, read_config
from node.model.hub.folders import ADAPTER_CONFIG, CONFIG


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
