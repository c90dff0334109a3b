"""Small models with random weights, saved as people save theirs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import torch
import transformers  # imports model classes with their first use, which takes seconds
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

torch.set_num_threads(1)  # tests share the machine

TEXTS = (
    "p q : Prop\nh : p ∧ q\n⊢ q ∧ p:::",
    "p q : Prop\n⊢ p ∧ q → q ∧ p:::",
    "exact ⟨h.2, h.1⟩",
    "intro h",
    "constructor",
    "rw [Nat.add_comm, ← Nat.mul_assoc] <;> simp_all",
)

SPECIAL = ("<pad>", "<s>", "</s>", "<|im_end|>")

SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


@functools.cache
def _bpe() -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    wanted = {"vocab_size": 330, "special_tokens": list(SPECIAL), "show_progress": False}
    trainer = trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **wanted)
    tokenizer.train_from_iterator(TEXTS * 20, trainer)
    begin = {"single": "<s> $A", "pair": "<s> $A $B", "special_tokens": [("<s>", 1)]}
    tokenizer.post_processor = processors.TemplateProcessing(**begin)
    return str(tokenizer.to_str())


def tiny_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Byte-level, with `<s>` before each text."""
    names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "additional_special_tokens": ["<|im_end|>"]}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(_bpe()), **names)


def llama(seed: int = 0, sharpness: float = 20.0, **changes: object) -> transformers.LlamaForCausalLM:
    """`sharpness`: how far its probabilities are from equal."""
    torch.manual_seed(seed)
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    tokenizer = tiny_tokenizer()
    shape = {"vocab_size": len(tokenizer), "max_position_embeddings": 256, **SHAPE, **ends}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**(shape | changes)))  # type: ignore[arg-type]
    with torch.no_grad():
        model.lm_head.weight.mul_(sharpness)
    return model.eval()


def t5(seed: int = 0) -> transformers.T5ForConditionalGeneration:
    torch.manual_seed(seed)
    shape = {"vocab_size": len(tiny_tokenizer()), "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    config = transformers.T5Config(**shape, pad_token_id=0, eos_token_id=2, decoder_start_token_id=0)
    return transformers.T5ForConditionalGeneration(config).eval()


def saved(
    model: transformers.PreTrainedModel, folder: Path, tokenizer: transformers.PreTrainedTokenizerFast | None = None
) -> Path:
    """A folder with a model and its tokenizer."""
    model.save_pretrained(folder)
    (tokenizer or tiny_tokenizer()).save_pretrained(folder)
    return folder


SWAP = {
    "p q : Prop\n⊢ p ∧ q → q ∧ p:::": "intro h",
    "p q : Prop\nh : p ∧ q\n⊢ q ∧ p:::": "constructor",
    "p q : Prop\nh : p ∧ q\n⊢ q:::": "exact h.2",
    "p q : Prop\nh : p ∧ q\n⊢ p:::": "exact h.1",
}
"""A proof of `p ∧ q → q ∧ p`, as BFS-Prover is asked and answers."""


def taught(pairs: Mapping[str, str], steps: int = 100) -> transformers.LlamaForCausalLM:
    """A model that answers these prompts, because it has learned them by heart."""
    tokenizer = tiny_tokenizer()
    tokenizer.padding_side = "right"
    model = llama(sharpness=1.0, hidden_size=64, intermediate_size=128).train()
    batch = tokenizer([f"{prompt}{answer}</s>" for prompt, answer in pairs.items()], padding=True, return_tensors="pt")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(**batch, labels=labels).loss.backward()
        optimizer.step()
    return model.eval()
