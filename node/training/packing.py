"""Packs documents into rows of one length by first-fit decreasing, and makes tensors of the rows.

First-fit decreasing (Johnson, 1973) needs at most 11/9 of the fewest rows; on documents as short as transitions next to
nothing is left empty (LOG.md). No token attends across documents: the mask sees to that, and rotary angles depend on
distances alone, so a document reads the same wherever it lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from node.model.tokenizer import PAD
from node.training.documents import Document

Packed = tuple[Document, ...]
"""Documents of one row."""


def first_fit_decreasing(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Put indices into bins of at most `capacity`, longest first, each into the first bin with room. Deterministic.

    Raises ValueError for a length over the capacity. O(n log n): a tournament tree finds the first bin with room.
    """
    if lengths and max(lengths) > capacity:
        raise ValueError(f"a document of {max(lengths)} tokens does not fit into a row of {capacity}")
    size = 1
    while size < len(lengths):
        size *= 2
    room = [capacity] * (2 * size)  # room[1] is the root; leaf `size + b` is bin b
    bins: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        length, node = lengths[index], 1
        while node < size:
            node = 2 * node if room[2 * node] >= length else 2 * node + 1
        if node - size == len(bins):
            bins.append([])
        bins[node - size].append(index)
        room[node] -= length
        while node := node // 2:
            room[node] = max(room[2 * node], room[2 * node + 1])
    return bins


def pack(documents: Sequence[Document], length: int) -> list[Packed]:
    """Pack all documents into rows of at most `length` tokens."""
    bins = first_fit_decreasing([len(document.tokens) for document in documents], length)
    return [tuple(documents[index] for index in each) for each in bins]


@dataclass(frozen=True)
class PackedBatch:
    """One forward pass: B rows of T tokens, D documents, N predicted tokens, M values."""

    tokens: Tensor
    """(B, T) int64."""
    documents: Tensor | None
    """(B, T) int64: the document of each token, -1 for padding; None: one document in each row, which needs no mask."""
    prefix: Tensor
    """(B,) int64: tokens of the first document's prompt, for a prefix LM, whose rows hold one document."""
    policy_at: Tensor
    """(N,) int64: flattened positions whose next token is predicted by the policy."""
    targets: Tensor
    """(N,) int64: those next tokens."""
    after_at: Tensor
    """(A,) int64: flattened positions whose next token belongs to a state after a tactic."""
    after_targets: Tensor
    """(A,) int64: those next tokens."""
    failed_at: Tensor
    """(F,) int64: flattened positions whose next token belongs to a failed tactic."""
    failed_targets: Tensor
    """(F,) int64: those next tokens."""
    failed_owner: Tensor
    """(F,) int64: the number of the failed tactic of each of these tokens, from 0."""
    failed: int
    """Number of failed tactics."""
    owner: Tensor
    """(N,) int64: the document of each predicted token."""
    weights: Tensor | None
    """(N,) float32: the weight of each predicted token in the loss, which is its document's; None: all are 1."""
    weight: float
    """Sum of the weights."""
    value_at: Tensor
    """(M,) int64: flattened positions of the values."""
    remaining_steps: Tensor
    """(M,) float32: the target of each value, in steps."""
    valued: Tensor
    """(M,) int64: the document of each value."""
    count: int
    """Number of documents."""
    characters: int
    """Bytes of the text of the predicted tokens."""
    used: int
    """Number of tokens that are not padding."""

    def to(self, device: torch.device | str) -> PackedBatch:
        """The batch on a device (asynchronously from pinned memory)."""
        return self._mapped(lambda part: part.to(device, non_blocking=True))

    def pinned(self) -> PackedBatch:
        """The batch in pinned memory, which a GPU can copy asynchronously."""
        return self._mapped(Tensor.pin_memory)

    def _mapped(self, change: Callable[[Tensor], Tensor]) -> PackedBatch:
        parts: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        changed: dict[str, Any] = {name: change(part) for name, part in parts.items() if isinstance(part, Tensor)}
        return replace(self, **changed)


def collate(rows: Sequence[Packed], length: int) -> PackedBatch:
    """Convert rows to tensors, padded on the right to `length`."""
    tokens, numbers = [], []
    policy_at: list[int] = []
    targets: list[int] = []
    owner: list[int] = []
    after_at: list[int] = []
    after_targets: list[int] = []
    failed_at: list[int] = []
    failed_targets: list[int] = []
    failed_owner: list[int] = []
    failed = 0
    value_at: list[int] = []
    steps: list[float] = []
    valued: list[int] = []
    weights: list[float] = []
    count = 0
    for row, documents in enumerate(rows):
        flat: list[int] = []
        marks: list[int] = []
        for document in documents:
            start, size = row * length + len(flat), len(document.tokens)
            flat += document.tokens
            marks += [count] * size
            end = document.prompt + document.predicted
            if document.failed:
                failed_at += range(start + document.prompt - 1, start + end - 1)
                failed_targets += document.tokens[document.prompt : end]
                failed_owner += [failed] * document.predicted
                failed += 1
                count += 1
                continue
            policy_at += range(start + document.prompt - 1, start + end - 1)
            targets += document.tokens[document.prompt : end]
            owner += [count] * document.predicted
            weights += [document.weight] * document.predicted
            if document.after:
                # The first token of the state after is a mark, which says nothing: what follows it is predicted.
                after_at += range(start + end, start + size - 1)
                after_targets += document.tokens[end + 1 :]
            if document.remaining_steps is not None:
                value_at.append(start + document.prompt - 1)
                steps.append(document.remaining_steps)
                valued.append(count)
            count += 1
        tokens.append(flat + [PAD] * (length - len(flat)))
        numbers.append(marks + [-1] * (length - len(marks)))
    alone = all(len(documents) == 1 for documents in rows)
    return PackedBatch(
        tokens=torch.tensor(tokens),
        documents=None if alone else torch.tensor(numbers),
        prefix=torch.tensor([documents[0].prompt for documents in rows]),
        policy_at=torch.tensor(policy_at, dtype=torch.int64),
        targets=torch.tensor(targets, dtype=torch.int64),
        owner=torch.tensor(owner, dtype=torch.int64),
        weights=None if set(weights) <= {1.0} else torch.tensor(weights, dtype=torch.float32),
        weight=math.fsum(weights),
        after_at=torch.tensor(after_at, dtype=torch.int64),
        after_targets=torch.tensor(after_targets, dtype=torch.int64),
        failed_at=torch.tensor(failed_at, dtype=torch.int64),
        failed_targets=torch.tensor(failed_targets, dtype=torch.int64),
        failed_owner=torch.tensor(failed_owner, dtype=torch.int64),
        failed=failed,
        value_at=torch.tensor(value_at, dtype=torch.int64),
        remaining_steps=torch.tensor(steps, dtype=torch.float32),
        valued=torch.tensor(valued, dtype=torch.int64),
        count=count,
        characters=sum(document.characters for documents in rows for document in documents),
        used=sum(len(document.tokens) for documents in rows for document in documents),
    )
