"""Encoders of premises and states: models of sentence-transformers, loaded, saved, or made with fresh weights."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from common.files import sync
from node.retrieval.corpus import RetrievalError, query_text

if TYPE_CHECKING:
    import tokenizers
    import torch
    from sentence_transformers import SentenceTransformer

    from node.retrieval.train_command import Shape

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


# --- fresh weights, for use without a pretrained model ----------------------------------------------------------------

PAD, UNKNOWN = "[PAD]", "[UNK]"


def fresh_encoder(shape: Shape, texts: Iterable[str], max_length: int) -> SentenceTransformer:
    """An encoder with random weights; seed torch before the call. `max_length`: most tokens of a text that a
    transformer reads."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

    tokenizer = trained_tokenizer(texts, shape.vocab_size)
    if shape.kind == "static":
        static = StaticEmbedding(tokenizer, embedding_dim=shape.width)
        return SentenceTransformer(modules=[static, Normalize()], device="cpu")
    return SentenceTransformer(modules=[*_bert(shape, tokenizer, max_length), Normalize()], device="cpu")


def trained_tokenizer(texts: Iterable[str], vocab_size: int) -> tokenizers.Tokenizer:
    """A byte-pair tokenizer. It splits names at dots and underscores, so that their parts become separate tokens."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(r"[^\W\d_]+['₀-₉]*|\d+|[^\w\s]|_"), "isolated"),
        ]
    )
    tokenizer.decoder = decoders.BPEDecoder()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, min_frequency=2, special_tokens=[PAD, UNKNOWN], show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _bert(shape: Shape, tokenizer: tokenizers.Tokenizer, max_length: int) -> list[torch.nn.Module]:
    """The modules of a small BERT."""
    import tempfile

    from sentence_transformers.base.modules.transformer import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=shape.width,
        intermediate_size=4 * shape.width,
        num_hidden_layers=shape.depth,
        num_attention_heads=shape.heads,
        max_position_embeddings=max_length,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
    )
    # No `token_type_ids`: there is one text only, and they would be a tensor of zeros.
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        model_max_length=max_length,
        model_input_names=["input_ids", "attention_mask"],
    )
    with tempfile.TemporaryDirectory() as folder:  # the module can only load a model from a folder
        BertModel(config).save_pretrained(folder)
        fast.save_pretrained(folder)
        transformer = Transformer(folder, max_seq_length=max_length)
    return [transformer, Pooling(shape.width, pooling_mode="mean")]
