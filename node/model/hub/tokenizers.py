"""Converts our tokenizers to Hugging Face's format."""

from __future__ import annotations

import json
from pathlib import Path

import tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from node.model.tokenizer import BOS, EOS, PAD, SPECIAL, Tokenizer


def fast_tokenizer(tokenizer: Tokenizer, context: int, *, reads_specials: bool) -> PreTrainedTokenizerFast:
    """A tokenizer with the same ids that puts bos before each text.

    `reads_specials`: whether text such as "<|eos|>" becomes a special token. In our own tokenizer it stays text.
    """
    inner = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    bos = SPECIAL[BOS]
    inner.post_processor = TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A $B", special_tokens=[(bos, BOS)])
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token=bos,
        eos_token=SPECIAL[EOS],
        pad_token=SPECIAL[PAD],
        padding_side="left",
        split_special_tokens=not reads_specials,
        clean_up_tokenization_spaces=False,
        model_max_length=context,
        # Without token types, which `generate` rejects.
        model_input_names=["input_ids", "attention_mask"],
    )


def save_tokenizer(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write a tokenizer that transformers 4 can also read."""
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    # transformers 5 writes a class name that version 4 does not know. Version 5 reads both names.
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    path.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
