"""From rows to batches: packs documents into rows of one length, makes tensors of the rows, and loads them endlessly:
deterministic, with a share for each rank, resumable to the exact sample.

First-fit decreasing (Johnson, 1973) needs at most 11/9 of the fewest rows; on documents as short as transitions next to
nothing is left empty (LOG.md). No token attends across documents: the mask sees to that, and rotary angles depend on
distances alone, so a document reads the same wherever it lies.

Documents are collected until they fill a window, packed into rows, and the rows are shuffled. The loader's state is the
place of each source at the start of the window, and how many of the window's rows have been returned.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from common.seeds import derive_seed
from node.data.errors import InputError
from node.data.rows import BadRow, Row
from node.data.tables import RowSource, open_source, parse
from node.model.tokenizer import PAD, Tokenizer
from node.training.documents import Document, Encoder, Purpose, Room
from node.training.settings import DataSettings

# --- packing ----------------------------------------------------------------------------------------------------------

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
    policy_at: Tensor
    """(N,) int64: flattened positions whose next token is predicted by the policy."""
    targets: Tensor
    """(N,) int64: those next tokens."""
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
            policy_at += range(start + document.prompt - 1, start + size - 1)
            targets += document.tokens[document.prompt :]
            owner += [count] * document.predicted
            weights += [document.weight] * document.predicted
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
        policy_at=torch.tensor(policy_at, dtype=torch.int64),
        targets=torch.tensor(targets, dtype=torch.int64),
        owner=torch.tensor(owner, dtype=torch.int64),
        weights=None if set(weights) <= {1.0} else torch.tensor(weights, dtype=torch.float32),
        weight=math.fsum(weights),
        value_at=torch.tensor(value_at, dtype=torch.int64),
        remaining_steps=torch.tensor(steps, dtype=torch.float32),
        valued=torch.tensor(valued, dtype=torch.int64),
        count=count,
        characters=sum(document.characters for documents in rows for document in documents),
        used=sum(len(document.tokens) for documents in rows for document in documents),
    )


# --- loading ----------------------------------------------------------------------------------------------------------

BARREN = 100_000
"""Number of consecutive rows without a document after which the data counts as empty."""

SCANNED = 200_000
"""Most rows searched for held-out documents."""


@dataclass(frozen=True)
class Reader:
    """A source and the function that makes documents of its rows."""

    source: RowSource
    encoder: Encoder


def readers(
    settings: DataSettings,
    tokenizer: Tokenizer,
    room: Room,
    seed: int,
    *,
    rank: int = 0,
    ranks: int = 1,
    names: Sequence[str] = (),
) -> list[Reader]:
    """Open `names`, by default the settings' sources. Raises InputError."""
    found = []
    for name in names or settings.sources:
        spec = parse(name)
        if spec.kind in ("proofs", "conjectures") and not tokenizer.has_roles:
            raise InputError(
                f"data {name}: this tokenizer has no marks of roles, which tell a statement from a state; begin with a "
                "fresh network, whose tokenizer is trained here or by `proofmesh tokenizer train`"
            )
        source = open_source(
            spec,
            rank=rank,
            ranks=ranks,
            seed=seed,
            streaming=settings.streaming,
            split=settings.split,
            cache=settings.cache,
        )
        found.append(Reader(source, Encoder(tokenizer, spec.kind, settings, room, seed)))
    if not found:
        raise InputError("there is no data: name some with --data.sources, such as transitions:bank")
    return found


@dataclass(frozen=True)
class LeftOut:
    """How many tactics, proofs and conjectures were too long to be documents, and of how many documents and these."""

    number: int
    of: int


def left_out(sources: Sequence[Reader]) -> LeftOut:
    """Over all sources, so far."""
    number = sum(each.encoder.left_out for each in sources)
    return LeftOut(number, number + sum(each.encoder.made for each in sources))


class Loader:
    """Rows of packed documents from a mixture of sources, for training."""

    def __init__(self, sources: Sequence[Reader], length: int, window: int, seed: int) -> None:
        self._readers, self._length, self._window_rows, self._seed = sources, length, window, seed
        self._taken = [0.0] * len(sources)
        """Tokens taken from each source."""
        self._number = 0
        """Number of windows begun. The number of rows read seeds augmentation."""
        self._read = 0
        self._window: list[Packed] = []
        self._given = 0
        self._start = self._place()

    def rows(self, count: int) -> list[Packed]:
        """The next rows. Raises InputError."""
        found: list[Packed] = []
        while len(found) < count:
            if self._given == len(self._window):
                self._fill()
            take = self._window[self._given : self._given + count - len(found)]
            self._given += len(take)
            found += take
        return found

    @property
    def left_out(self) -> LeftOut:
        """What was too long, of all that this process has read."""
        return left_out(self._readers)

    def state(self) -> dict[str, Any]:
        """The position, as JSON values."""
        return {**self._start, "given": self._given}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a stored position with the rows that follow it. Raises InputError."""
        if len(state["sources"]) != len(self._readers):
            raise InputError(
                f"the checkpoint was made with {len(state['sources'])} sources, there are {len(self._readers)}"
            )
        for reader, place in zip(self._readers, state["sources"], strict=True):
            reader.source.restore(place)
        self._taken, self._number, self._read = list(state["taken"]), int(state["number"]), int(state["read"])
        self._window, self._given = [], 0
        self._start = self._place()
        if state["given"]:
            self._fill()
            self._given = int(state["given"])

    def _place(self) -> dict[str, Any]:
        return {
            "sources": [reader.source.state() for reader in self._readers],
            "taken": list(self._taken),
            "number": self._number,
            "read": self._read,
        }

    def _fill(self) -> None:
        self._start = self._place()
        documents: list[Document] = []
        tokens, wanted, barren = 0, self._window_rows * self._length, 0
        while tokens < wanted:
            fresh = self._next()
            documents += fresh
            tokens += sum(len(document.tokens) for document in fresh)
            barren = 0 if fresh else barren + 1
            if barren > BARREN:
                raise InputError("the data holds no documents to train on (all of it is empty, or held out)")
        rows = pack(documents, self._length)
        order = np.random.default_rng(derive_seed(self._seed, "window", self._number)).permutation(len(rows))
        self._window = [rows[place] for place in order]
        self._number, self._given = self._number + 1, 0

    def _next(self) -> list[Document]:
        """Documents of one row, from the source whose share of the tokens is furthest below its target."""
        weights = [reader.source.spec.weight for reader in self._readers]
        chosen = min(range(len(weights)), key=lambda index: self._taken[index] / weights[index])
        reader = self._readers[chosen]
        documents = encoded(reader, reader.source.next(), "train", self._read)
        self._read += 1
        # A row that gives nothing counts a token, so that a barren source does not hold up the others.
        self._taken[chosen] += max(1, sum(len(document.tokens) for document in documents))
        return documents


def encoded(reader: Reader, row: Row, purpose: Purpose, number: int) -> list[Document]:
    """Documents of a row. Raises InputError."""
    try:
        return list(reader.encoder.documents(row, purpose, number))
    except BadRow as error:
        spec = reader.source.spec
        raise InputError(f"data {spec.kind}:{spec.where}: {error}") from error


def held_out(settings: DataSettings, tokenizer: Tokenizer, room: Room, seed: int) -> tuple[list[Document], LeftOut]:
    """Documents for evaluation, the same on every rank: from `valid`, or held out from `sources` in proportion to
    their weights; and what was too long to be one. Raises InputError."""
    names = settings.valid or settings.sources
    purpose: Purpose = "all" if settings.valid else "valid"
    found: list[Document] = []
    sources = readers(settings, tokenizer, room, seed, names=names)
    total = sum(reader.source.spec.weight for reader in sources)
    for reader in sources:
        tokens, wanted = 0, settings.valid_tokens * reader.source.spec.weight / total
        for number, row in enumerate(reader.source.once(SCANNED)):
            documents = encoded(reader, row, purpose, number)
            found += documents
            tokens += sum(len(document.tokens) for document in documents)
            if tokens >= wanted:
                break
    return found, left_out(sources)


def batches(rows: Sequence[Packed], length: int, micro_rows: int) -> list[PackedBatch]:
    """Micro-batches of at most `micro_rows` rows."""
    return [collate(rows[start : start + micro_rows], length) for start in range(0, len(rows), micro_rows)]


Ready = tuple[list[PackedBatch], dict[str, Any]]
"""The micro-batches of a step, and the position of the loader after them."""


class Prefetch:
    """Prepares the batches of the next step in a thread during the current step."""

    def __init__(self, make: Callable[[], Ready], ahead: int = 2) -> None:
        self._make = make
        self._queue: queue.Queue[Ready | BaseException] = queue.Queue(ahead)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="loader", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[Ready]:
        while True:
            ready = self._queue.get()
            if isinstance(ready, BaseException):
                raise ready
            yield ready

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        while self._thread.is_alive():
            try:
                self._queue.get(timeout=0.1)
            except queue.Empty:
                continue

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._queue.put(self._make())
            except BaseException as error:  # whatever it is, the step that waits for the batch must raise it
                self._queue.put(error)
                return
