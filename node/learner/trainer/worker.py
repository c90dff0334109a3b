"""One rank's part of the learner's training: encodes transitions, packs batches, takes steps, writes files.

The first rank reads transitions from files, which only its machine has, and sends them to the others as tokens.
This module does not use pipes, the broker or clocks.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import cachetools
import msgspec

from common.records.transitions import TransitionReader
from node.data.errors import NotFinite
from node.learner.trainer.messages import Picks, StartConfig
from node.model import checkpoint, weights
from node.model.checkpoint import Checkpoint
from node.model.checkpoint_folders import proofs_note
from node.model.config import ModelConfig
from node.model.optimizer import OptimizerSettings
from node.training.documents import Document, Room, transition_document
from node.training.loader import PackedBatch, batches, first_fit_decreasing
from node.training.trainer import RankDevice, StepSettings, Trainer, WeightAverage, put, weights_of

CACHED_DOCUMENTS = 50_000
"""Size of the cache of encoded transitions: some 100 MB at most. Encoding one takes about 30 µs."""

ROW = 256
"""Tokens of a row that transitions are packed into, unless one is longer. Shorter rows are filled less well; longer
ones waste more on masked attention across documents."""

LATEST = "latest"
"""Key in a checkpoint's optimizer state: the latest weights, which training continues from, if the checkpoint's network
is the moving average."""

ROUNDED = 64
"""Longer rows have a multiple of this many tokens, so that the compiler sees few shapes."""


class RankWorker:
    """The network, its optimizer and its data, on one rank of a group."""

    def __init__(self, config: StartConfig, device: RankDevice) -> None:
        self.device = device
        loaded = load_everywhere(Path(config.checkpoint), device)
        self.tokenizer, self.run_config = loaded.tokenizer, loaded.config
        self.trainer = Trainer(loaded.model, step_settings(config), device)
        self.trainer.step_number = loaded.step
        self._average_steps = config.average_steps
        self._average: WeightAverage | None = None
        if loaded.optimizer is not None:
            self.trainer.optimizer.load_state_dict(loaded.optimizer)
            if LATEST in loaded.optimizer:  # the checkpoint's network is the average
                self._average = WeightAverage(self.trainer.model, config.average_steps)
                put(self.trainer.model, loaded.optimizer[LATEST])
        self._token_budget = config.token_budget
        self._readers: dict[str, TransitionReader] = {}
        self.left_out: set[tuple[str, int]] = set()
        """Transitions that were asked for so far and left out, because their tactic is too long (first rank only)."""
        self._documents: cachetools.LRUCache[tuple[str, int], Document] = cachetools.LRUCache(CACHED_DOCUMENTS)

    @property
    def step_number(self) -> int:
        return self.trainer.step_number

    # --- data -------------------------------------------------------------------------------------------------------

    def read(self, picks: Picks) -> list[Document]:
        """The picked transitions as tokens, without those of `left_out` (first rank only). Raises
        UnreadableRecords."""
        documents = [self._document(file, number) for file, numbers in picks for number in numbers]
        return [document for document in documents if document is not None]

    def aligned(self, picks: Picks, values: Sequence[float]) -> list[float | None]:
        """The values of the documents that `read` returned, one for each pick; None for those that it left out."""
        left = iter(values)
        return [
            None if (file, number) in self.left_out else next(left) for file, numbers in picks for number in numbers
        ]

    def _reader(self, file: str) -> TransitionReader:
        if file not in self._readers:
            self._readers[file] = TransitionReader(Path(file))
        return self._readers[file]

    @property
    def _room(self) -> Room:
        config = self.trainer.model.config
        return Room(config.context, config.longest_tactic)

    def _document(self, file: str, number: int) -> Document | None:
        if (file, number) in self.left_out:
            return None
        document = self._documents.get((file, number))
        if document is None:
            transition = self._reader(file).read(number)
            document = transition_document(self.tokenizer, transition, self._room)
            if document is None:
                self.left_out.add((file, number))
            else:
                self._documents[file, number] = document
        return document

    def _share(self, documents: Sequence[Document]) -> list[PackedBatch]:
        own = share(documents, self.device.rank, self.device.ranks)
        return micro_batches(own, self.trainer.model.config, self._token_budget)

    # --- steps ------------------------------------------------------------------------------------------------------

    def step(self, documents: Sequence[Document], factor: float, *, average: bool = False) -> dict[str, float]:
        """One optimizer step on all documents, over all ranks; returns the metrics of the whole batch before the step.
        `average`: from the first such step on, files hold the moving average of the weights, not the latest weights.

        Without any document the step only counts: all transitions of the batch were left out, and whoever waits for
        this step must not wait for ever. Raises ValueError for fewer documents than ranks, and NotFinite; the weights
        are then unchanged.
        """
        if not documents:
            self.trainer.step_number += 1
            return {}
        if len(documents) < self.device.ranks:
            raise ValueError(
                f"a batch of {len(documents)} transitions cannot be divided among {self.device.ranks} ranks: raise "
                "[learner.trainer] batch (or rl_batch), or lower ranks"
            )
        if average and self._average_steps and self._average is None:
            self._average = WeightAverage(self.trainer.model, self._average_steps)
        metrics = self.trainer.step(self._share(documents), factor)
        if self._average is not None:
            self._average.update(self.trainer.model)
        return metrics

    def evaluate(self, documents: Sequence[Document]) -> dict[str, float]:
        """Metrics of the documents, over all ranks. Raises ValueError if there are none."""
        if not documents:
            longest = self.trainer.model.config.longest_tactic
            raise ValueError(
                f"nothing to measure: no tactic has at most {longest} tokens ([learner.model] tactic_tokens)"
            )
        return self.trainer.evaluate(self._share(documents))

    def log_probabilities(self, documents: Sequence[Document]) -> list[float]:
        """log p of each transition's tactic, in nats, under the weights that would be published, over all ranks.
        Raises NotFinite."""
        own = longest_first(documents)[self.device.rank :: self.device.ranks]
        config = self.trainer.model.config
        batches, order = packed([documents[index] for index in own], config, self._token_budget)
        with self._acting():
            own_values = self.trainer.log_probabilities(batches)
        gathered = self.device.gather([(own[place], value) for place, value in zip(order, own_values, strict=True)])
        values = dict(pair for part in gathered for pair in msgspec.convert(part, list[tuple[int, float]]))
        if not all(map(math.isfinite, values.values())):
            raise NotFinite("the network's log-probabilities are not finite")
        return [values[index] for index in range(len(documents))]

    # --- files ------------------------------------------------------------------------------------------------------

    def save(self, directory: Path) -> None:
        """Write a checkpoint (first rank only): the network that would be published, and the state to continue training
        from. Raises OSError."""
        state = self.trainer.optimizer.state_dict()
        if self._average is not None:
            state[LATEST] = weights_of(self.trainer.model)
        with self._acting():
            checkpoint.save(
                directory,
                self.trainer.model,
                self.tokenizer,
                step=self.step_number,
                optimizer=state,
                config=self.run_config,
            )

    def write_weights(self, path: Path, information: dict[str, str]) -> str:
        """Write the weights to publish to a file (first rank only); returns its digest. Raises OSError."""
        with self._acting():
            return weights.write(path, self.trainer.model, self.tokenizer, information | proofs_note(self.run_config))

    def restore(self, path: Path) -> None:
        """Replace the trained weights by those of a file, on all ranks. The optimizer keeps its state.

        Raises OSError, WeightsError."""
        content = self.device.broadcast(path.read_bytes() if self.device.first else b"")
        with tempfile.NamedTemporaryFile(prefix="proofmesh-weights-", suffix=".safetensors") as file:
            file.write(content)
            file.flush()
            published = weights_of(weights.read(Path(file.name)).model)
        put(self.trainer.model, published)
        if self._average is not None:
            self._average = WeightAverage(self.trainer.model, self._average_steps)

    def _acting(self) -> AbstractContextManager[None]:
        """Inside this context, the network has the weights that would be published."""
        return self._average.acting(self.trainer.model) if self._average is not None else nullcontext()


def longest_first(documents: Sequence[Document]) -> list[int]:
    """Indices of the documents, from long to short."""
    return sorted(range(len(documents)), key=lambda index: -len(documents[index].tokens))


def share(documents: Sequence[Document], rank: int, ranks: int) -> list[Document]:
    """One rank's documents. Ranks take turns from long to short documents, so that their shares take equally long."""
    return [documents[index] for index in longest_first(documents)[rank::ranks]]


def micro_batches(documents: Sequence[Document], config: ModelConfig, token_budget: int) -> list[PackedBatch]:
    """All documents, packed into rows, in forward passes of at most `token_budget` tokens (a row may have more)."""
    return packed(documents, config, token_budget)[0]


def packed(
    documents: Sequence[Document], config: ModelConfig, token_budget: int
) -> tuple[list[PackedBatch], list[int]]:
    """`micro_batches`, and the documents' indices in the order of the passes."""
    if not documents:
        return [], []
    lengths = [len(document.tokens) for document in documents]
    length = row_length(max(lengths), config.context)
    rows = first_fit_decreasing(lengths, length)
    contents = [tuple(documents[index] for index in row) for row in rows]
    passes = batches(contents, length, max(1, token_budget // length))
    return passes, [index for row in rows for index in row]


def row_length(longest: int, context: int) -> int:
    """Tokens of a row for documents of at most `longest` tokens; `longest` fits into the network's `context`."""
    return min(context, max(ROW, -(-longest // ROUNDED) * ROUNDED))


def step_settings(config: StartConfig) -> StepSettings:
    """The settings of the training step, from the learner's settings."""
    return StepSettings(
        OptimizerSettings(matrix_rate=config.matrix_rate, rate=config.rate, warmup=config.warmup),
        config.loss,
        compile=config.compile,
    )


def load_everywhere(path: Path, device: RankDevice) -> Checkpoint:
    """Load the first rank's checkpoint on every rank: machines without the folder get its files. Raises
    CheckpointError."""
    if all(device.gather(path.is_dir())):
        return checkpoint.load(path)
    with tempfile.TemporaryDirectory(prefix="proofmesh-checkpoint-") as folder:
        names = [file.name for file in path.iterdir()] if device.first else []
        for name in msgspec.msgpack.decode(device.broadcast(msgspec.msgpack.encode(names)), type=list[str]):
            content = device.broadcast((path / name).read_bytes() if device.first else b"")
            (Path(folder) / Path(name).name).write_bytes(content)
        return checkpoint.load(Path(folder))
