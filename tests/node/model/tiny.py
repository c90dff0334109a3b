"""A network small enough for tests, with weights far from zero so that its predictions differ from place to place."""

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from node.model.config import ModelConfig
from node.model.tokenizer import EOS, Tokenizer
from node.model.transformer import Transformer
from node.model.weights import Weights

torch.set_num_threads(1)  # tests share the machine

TEXTS = (
    "p q : Prop\nh₀ : p ∧ q\n⊢ q ∧ p",
    "exact ⟨h₀.2, h₀.1⟩",
    "n m : Nat\nih : n + 0 = n\n⊢ n + m = m + n",
    "rw [Nat.add_comm, ← Nat.mul_assoc] <;> simp_all",
    "induction n with\n| zero => rfl\n| succ n ih => simp [ih]",
)


@functools.cache
def tiny_tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS * 20, 330)


@functools.cache
def role_tokenizer(size: int = 330) -> Tokenizer:
    """One with marks of roles."""
    return Tokenizer.train(TEXTS * 20, size, roles=True)


def tiny_model(seed: int = 0, ends: float = 0.0, sharpness: float = 1.0, **changes: int | bool) -> Transformer:
    """`ends` is about the logit of the end token; `sharpness` scales the others."""
    shape = {"vocab_size": tiny_tokenizer().vocab_size, "depth": 2, "width": 32, "hidden": 64, "context": 160}
    model = Transformer(ModelConfig(**(shape | changes)))  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(seed)
    model.reset(generator)
    scales = {"out.weight": 0.2, "down.weight": 0.2, "policy.weight": 0.3 * sharpness, "value.weight": 0.3}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            for suffix, scale in scales.items():
                if name.endswith(suffix):
                    parameter.normal_(0.0, scale, generator=generator)
            if name.endswith("gain"):
                parameter.uniform_(0.5, 2.0, generator=generator)
        if ends:
            # One number of the residual stream that no block writes and that is the same everywhere.
            for block in model.blocks:
                block.attention.out.weight[0] = block.feed_forward.down.weight[0] = 0.0
            model.embedding.weight[:, 0] = 3.0
            model.policy.weight[:, 0] = 0.0
            model.policy.weight[EOS] = torch.nn.functional.one_hot(torch.tensor(0), model.config.width) * ends / 2
    return model.eval()


def tiny_weights(seed: int = 0, version: int = 1, **changes: float) -> Weights:
    return Weights(tiny_model(seed, **changes), tiny_tokenizer(), {"version": str(version)})  # type: ignore[arg-type]


@functools.cache
def tiny_tokens() -> Tensor:
    """(4, 12) ids, for a loss whose gradient reaches every weight."""
    return torch.randint(5, 300, (4, 12), generator=torch.Generator().manual_seed(5))


def tiny_loss(model: Transformer) -> Tensor:
    """Cross-entropy of each next token, and of the value at each end."""
    tokens = tiny_tokens()
    at = torch.arange(tokens.numel()).reshape(tokens.shape)
    policy, value = model(tokens, at[:, :-1].flatten(), at[:, -1])
    return F.cross_entropy(policy, tokens[:, 1:].flatten()) + F.cross_entropy(value, torch.arange(4))
