"""Reads from a checkpoint or weights file whether its network was trained on whole proofs and on conjectures. Without
torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from node.model.checkpoint_folders import STATE

PROOFS_KEY = "proofs"
"""Key in a checkpoint's configuration and in a weights file's information. Older files do not have it."""

NO_PROOFS = (
    "this network was not trained on whole proofs; train one with `proofmesh train sft --start PATH --data.sources "
    "transitions:bank proofs:bank`"
)
NO_ROLES = (
    "this network cannot write whole proofs: its tokenizer has no marks of roles, which tell statements from states; "
    "train one with `proofmesh train sft --data.sources transitions:bank proofs:bank`"
)

CONJECTURES_KEY = "conjectures"
"""Like PROOFS_KEY, for conjectures."""

NO_CONJECTURES = (
    "this network was not trained on conjectures; train one with `proofmesh train sft --start PATH --data.sources "
    "conjectures:FILE proofs:FILE`, files as `proofmesh stp prepare` makes them"
)
NO_CONJECTURE_ROLES = (
    "this network cannot write conjectures: its tokenizer has no marks of roles, which tell their prompts from states; "
    "train one with `proofmesh train sft --data.sources conjectures:FILE proofs:FILE`, files as `proofmesh stp "
    "prepare` makes them"
)


def proofs_note(config: Mapping[str, Any]) -> dict[str, str]:
    """The proofs and conjectures keys of a checkpoint's configuration, in the form of a weights file's information."""
    return {key: "yes" for key in (PROOFS_KEY, CONJECTURES_KEY) if config.get(key)}


def why_no_proofs(path: Path) -> str:
    """Why the network of a weights file or checkpoint folder cannot write whole proofs; empty if it can, as far as its
    metadata show."""
    from node.model.tokenizer import LEAN, ROLES

    tokenizer, proofs = _of_folder(path) if path.is_dir() else _of_file(path)
    tokens = {token.get("id"): token.get("content") for token in tokenizer.get("added_tokens", ())}
    if tokens.get(LEAN) != ROLES[-1]:
        return NO_ROLES
    return "" if proofs else NO_PROOFS


def _of_folder(path: Path) -> tuple[dict[str, Any], bool]:
    """The tokenizer, and whether the network was trained on proofs. Damaged folders raise no error before loading."""
    try:
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        tokenizer = json.loads((path / "tokenizer.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}, False
    return tokenizer, bool(state.get("config", {}).get(PROOFS_KEY))


def _of_file(path: Path) -> tuple[dict[str, Any], bool]:
    import safetensors

    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
        return json.loads(metadata["tokenizer"]), PROOFS_KEY in json.loads(metadata["information"])
    except (OSError, KeyError, ValueError, safetensors.SafetensorError):
        return {}, False
