"""A sentence-transformers model as the encoder of premises and states."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from common.files import sync
from node.retrieval.errors import RetrievalError
from node.retrieval.texts import query_text

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
"""Shape (texts, width); each vector has length 1."""

MODULES = "modules.json"
"""A file that every saved sentence-transformers model has."""


def load_encoder(name: str, *, device: str = "cpu") -> SentenceTransformer:
    """Loads a model from a folder or from Hugging Face's hub. A plain transformer gets mean pooling.

    Raises RetrievalError.
    """
    folder = Path(name)
    if folder.is_dir() and not ((folder / MODULES).is_file() or (folder / "config.json").is_file()):
        inside = folder / "model"
        if not (inside / MODULES).is_file():
            raise RetrievalError(f"{name}: has no model (no {MODULES}, no config.json); name the folder of a model")
        name = str(inside)
    elif not folder.exists() and (name.startswith((".", "/")) or name.count("/") > 1):
        raise RetrievalError(f"{name}: no such folder; name the folder of a model, or an id of Hugging Face's hub")
    from sentence_transformers import SentenceTransformer

    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)  # errors are raised anyway
    try:
        return SentenceTransformer(name, device=device)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise RetrievalError(f"{name}: cannot be loaded as an encoder: {reason}") from error


def encode_states(model: SentenceTransformer, states: Sequence[str]) -> Vectors:
    """Vectors of proof states."""
    vectors = model.encode_query(
        [query_text(state) for state in states], convert_to_numpy=True, show_progress_bar=False
    )
    return _normal(vectors)


def encode_premises(model: SentenceTransformer, texts: Sequence[str]) -> Vectors:
    """Vectors of premises, by their texts (`Premise.text`)."""
    return _normal(model.encode_document(list(texts), convert_to_numpy=True, show_progress_bar=False))


def digest_of(model: SentenceTransformer) -> str:
    """A digest of the weights, independent of the file format."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def save_encoder(model: SentenceTransformer, folder: Path) -> None:
    """Writes the model into a folder, atomically. Raises OSError, and errors of libraries on a full disk."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # left by a killed process
    try:
        model.save_pretrained(str(part), create_model_card=False)
        for file in part.rglob("*"):
            sync(file)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _normal(vectors: NDArray[np.float32]) -> Vectors:
    """The vectors, scaled to length 1. Raises RetrievalError if they are not finite."""
    if not np.isfinite(vectors).all():
        raise RetrievalError("the encoder gives values that are not finite: its weights are damaged; get them again")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
