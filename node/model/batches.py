"""Training batches from transitions: bucketed by length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from common.messages import Transition
from node.model.names import Names
from node.model.prompt import prompt_tokens, tactic_tokens
from node.model.tokenizer import EOS, PAD, STATE, Tokenizer

PASS_TOKENS = 80
"""What a forward and backward pass costs beside its tokens, in tokens: the demo's network takes about 10 ms for a pass
and 0.12 ms for a token, on a CPU core with others at work."""


@dataclass(frozen=True)
class Example:
    """One transition as tokens."""

    tokens: tuple[int, ...]
    """Prompt and tactic, end-of-tactic token included."""
    prompt: int
    """How many of them are the prompt."""
    remaining_steps: float
    """A whole number, unless it is a mean over several proofs (two-hot targets)."""
    after: tuple[int, ...] = ()
    """Tokens of the state that the tactic led to, for the auxiliary loss: they follow the tactic's end, and nothing
    that is used for a proof depends on them."""

    @property
    def targets(self) -> int:
        """Supervised tokens: the tactic and its end."""
        return len(self.tokens) - self.prompt


@dataclass(frozen=True)
class Batch:
    """One forward pass: B sequences padded on the right to T tokens."""

    tokens: Tensor
    """(B, T) int64."""
    policy_at: Tensor
    """(N,) int64: flattened positions whose next token is supervised."""
    targets: Tensor
    """(N,) int64: those next tokens."""
    value_at: Tensor
    """(B,) int64: flattened positions where the value is read (the end of each prompt)."""
    remaining_steps: Tensor
    """(B,) int64, or float32 for means: tactics left on the longest branch, this one included."""
    after_at: Tensor | None = None
    """(A,) int64: flattened positions whose next token is one of the state after the tactic; None: no such tokens."""
    after_targets: Tensor | None = None
    """(A,) int64: those next tokens."""

    def to(self, device: torch.device | str) -> Batch:
        """The batch on a device (asynchronously from pinned memory)."""
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        moved = {name: part.to(device, non_blocking=True) for name, part in parts.items() if part is not None}
        return Batch(**moved)

    @property
    def padding(self) -> float:
        """Share of positions that are padding."""
        return float((self.tokens == PAD).float().mean())


def encode_transition(tokenizer: Tokenizer, transition: Transition, limit: int, tactic_limit: int = 64) -> Example:
    """Tokens of a transition with canonical names, at most `limit` in all. The tactic keeps its room (at most
    `tactic_limit` tokens, the end lost beyond that), the state is shortened to what is left."""
    names = Names(transition.state)
    tactic = tactic_tokens(tokenizer, names.hide(transition.tactic))[: min(tactic_limit, limit // 2)]
    prompt = prompt_tokens(tokenizer, names.state, limit - len(tactic))
    return Example((*prompt, *tactic), len(prompt), transition.remaining_steps)


def after_tokens(tokenizer: Tokenizer, state: str, limit: int) -> tuple[int, ...]:
    """`<state> STATE <eos>` for Example.after, at most `limit` tokens: the end of a longer one is left out."""
    return (STATE, *tokenizer.encode(state)[: max(0, limit - 2)], EOS)


def encode_transitions(
    tokenizer: Tokenizer, transitions: Iterable[Transition], limit: int, tactic_limit: int = 64
) -> list[Example]:
    """`encode_transition` for each, in order."""
    return [encode_transition(tokenizer, transition, limit, tactic_limit) for transition in transitions]


def collate(examples: Sequence[Example]) -> Batch:
    """One batch of all the examples, padded to the longest."""
    longest = max(len(example.tokens) + len(example.after) for example in examples)
    tokens: list[list[int]] = []
    policy_at: list[int] = []
    targets: list[int] = []
    value_at: list[int] = []
    after_at: list[int] = []
    for row, example in enumerate(examples):
        start, length = row * longest, len(example.tokens)
        whole = (*example.tokens, *example.after)
        tokens.append([*whole, *[PAD] * (longest - len(whole))])
        policy_at.extend(range(start + example.prompt - 1, start + length - 1))
        targets.extend(example.tokens[example.prompt :])
        value_at.append(start + example.prompt - 1)
        # The first token after the tactic's end is a mark, which says nothing: what follows it is supervised.
        after_at.extend(range(start + length, start + len(whole) - 1))
    steps = [example.remaining_steps for example in examples]
    whole_steps = all(isinstance(step, int) for step in steps)
    batch = Batch(
        tokens=torch.tensor(tokens, dtype=torch.int64),
        policy_at=torch.tensor(policy_at, dtype=torch.int64),
        targets=torch.tensor(targets, dtype=torch.int64),
        value_at=torch.tensor(value_at, dtype=torch.int64),
        remaining_steps=torch.tensor(steps, dtype=torch.int64 if whole_steps else torch.float32),
    )
    if not after_at:
        return batch
    after = torch.tensor(after_at, dtype=torch.int64)
    return replace(batch, after_at=after, after_targets=batch.tokens.flatten()[after + 1])


def group_by_length(lengths: Sequence[int], token_budget: int) -> list[list[int]]:
    """Indices in groups of similar length, each of at most `token_budget` padded tokens (one example may pass it
    alone).

    Groups cover every index once, longest first, and are the cheapest in padded tokens plus PASS_TOKENS for each
    group, found by dynamic programming over the sorted lengths. Deterministic: ties keep their order.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    cost = [0] * (len(order) + 1)  # of the cheapest grouping of order[i:]
    end = [0] * len(order)
    for first in range(len(order) - 1, -1, -1):
        width = max(1, lengths[order[first]])
        furthest = min(len(order), first + max(1, token_budget // width))
        choices = [(stop - first) * width + cost[stop] for stop in range(first + 1, furthest + 1)]
        end[first] = first + 1 + choices.index(min(choices))
        cost[first] = (end[first] - first) * width + PASS_TOKENS + cost[end[first]]
    groups: list[list[int]] = []
    first = 0
    while first < len(order):
        groups.append(order[first : end[first]])
        first = end[first]
    return groups


def make_batches(examples: Sequence[Example], token_budget: int) -> list[Batch]:
    """Micro-batches of at most `token_budget` padded tokens each that together hold every example once."""
    lengths = [len(example.tokens) + len(example.after) for example in examples]
    return [collate([examples[index] for index in group]) for group in group_by_length(lengths, token_budget)]
