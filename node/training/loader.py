"""An endless data loader: deterministic, with a share for each rank, resumable to the exact sample.

Documents are collected until they fill a window, packed into rows, and the rows are shuffled. The loader's state is the
place of each source at the start of the window, and how many of the window's rows have been returned.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from common.seeds import derive_seed
from node.data.errors import InputError
from node.data.rows import BadRow, Row
from node.data.tables import RowSource, open_source, parse
from node.model.tokenizer import Tokenizer
from node.training.documents import Document, Encoder, Purpose
from node.training.packing import Packed, PackedBatch, collate, pack
from node.training.settings import DataSettings

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
    length: int,
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
        found.append(Reader(source, Encoder(tokenizer, spec.kind, settings, length, seed)))
    if not found:
        raise InputError("there is no data: name some with --data.sources, such as transitions:bank")
    return found


class Loader:
    """Rows of packed documents from a mixture of sources, for training."""

    def __init__(self, sources: Sequence[Reader], length: int, window: int, seed: int, *, packed: bool = True) -> None:
        self._readers, self._length, self._window_rows, self._seed = sources, length, window, seed
        self._packed = packed
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
        rows = pack(documents, self._length) if self._packed else [(document,) for document in documents]
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


def held_out(settings: DataSettings, tokenizer: Tokenizer, length: int, seed: int) -> list[Document]:
    """Documents for evaluation, the same on every rank: from `valid`, or held out from `sources` in proportion to
    their weights. Raises InputError."""
    names = settings.valid or settings.sources
    purpose: Purpose = "all" if settings.valid else "valid"
    found: list[Document] = []
    sources = readers(settings, tokenizer, length, seed, names=names)
    total = sum(reader.source.spec.weight for reader in sources)
    for reader in sources:
        tokens, wanted = 0, settings.valid_tokens * reader.source.spec.weight / total
        for number, row in enumerate(reader.source.once(SCANNED)):
            documents = encoded(reader, row, purpose, number)
            found += documents
            tokens += sum(len(document.tokens) for document in documents)
            if tokens >= wanted:
                break
    return found


def batches(rows: Sequence[Packed], length: int, micro_rows: int, *, packed: bool = True) -> list[PackedBatch]:
    """Micro-batches of at most `micro_rows` rows; unpacked rows are grouped by length and padded to the
    longest."""
    if not packed:
        rows = sorted(rows, key=lambda row: -len(row[0].tokens))
    groups = [rows[start : start + micro_rows] for start in range(0, len(rows), micro_rows)]
    return [collate(group, length if packed else len(group[0][0].tokens)) for group in groups]


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
