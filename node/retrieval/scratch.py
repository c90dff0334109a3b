"""A small encoder with fresh weights and a tokenizer trained on the corpus, for use without a pretrained model.

`static`: the mean of learned token vectors (StaticEmbedding of sentence-transformers). It encodes a text in a tenth of
a millisecond, and is better with little data. `transformer`: a small BERT.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from common.limits import Positive

if TYPE_CHECKING:
    import tokenizers
    import torch
    from sentence_transformers import SentenceTransformer

PAD, UNKNOWN = "[PAD]", "[UNK]"


@dataclass
class Shape:
    """Shape of an encoder with fresh weights."""

    kind: Literal["static", "transformer"] = "static"
    """`static`: the mean of token vectors. `transformer`: a small BERT with mean pooling."""
    width: Positive = 256
    """Length of a vector."""
    vocab_size: Positive = 8000
    """Most tokens of the vocabulary; the tokenizer is trained on the corpus and the states."""
    depth: Positive = 2
    """Layers of a transformer."""
    heads: Positive = 4
    """Attention heads of a transformer."""

    def check(self) -> None:
        """Checks conditions on several settings. Raises ValueError."""
        if self.width % self.heads:
            raise ValueError(f"width {self.width}: must be a multiple of --shape.heads {self.heads}")


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
