"""Opens sources as tables or streams of rows for the stages of training: shuffled, divided among ranks, resumable.

Files and datasets of the hub are read through Hugging Face `datasets`; the bank, pocket Lean's library and folders
through `node.data.reading`. Files are .jsonl, .json, .txt, .lean (these also .gz) or .parquet, patterns allowed.
Lines of JSON are decoded here, one by one, so that rows may differ in shape and an error names its row.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from common.files import NOT_JSON
from common.seeds import derive_seed
from node.bank import bank
from node.bank.bank import load_proofs
from node.data import grammar, reading
from node.data.errors import InputError
from node.data.grammar import CONJECTURES, HUB, LEAN, POCKET, PROOFS, TEXT, TRANSITIONS, Source
from node.data.rows import Row
from node.lean.toolchain.pocket.build import SOURCES

KINDS = (TEXT, LEAN, TRANSITIONS, PROOFS, CONJECTURES)
"""What the stages read."""

BUILDERS = {".jsonl": "text", ".json": "text", ".txt": "document", ".lean": "document", ".parquet": "parquet"}
"""The `datasets` reader of a file, by its suffix: lines, whole files, or tables."""


def parse(text: str) -> Source:
    """A source of a stage: `KIND:WHERE[@SPLIT][*WEIGHT]`. Raises InputError."""
    return grammar.parse(text, KINDS)


class RowSource(Protocol):
    """An endless stream of rows for one rank, epoch after epoch."""

    spec: Source

    def next(self) -> Row:
        """The next row. Raises InputError."""

    def state(self) -> dict[str, Any]:
        """The position, as JSON values."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a stored position."""

    def once(self, limit: int) -> Iterator[Row]:
        """All rows of all ranks in stored order, at most `limit`; independent of `next`."""


class Table:
    """Rows with random access, shuffled for each epoch. Of n ranks, rank r takes every n-th row from row r on."""

    def __init__(self, spec: Source, rows: Sequence[Row], *, rank: int, ranks: int, seed: int) -> None:
        if not len(rows):
            raise InputError(f"data {spec.name}: there is nothing in it")
        self.spec, self._rows, self._rank, self._ranks, self._seed = spec, rows, rank, ranks, seed
        self._taken = 0
        self._order: tuple[int, np.ndarray] = (-1, np.zeros(0, np.int64))

    def next(self) -> Row:
        epoch, place = divmod(self._taken * self._ranks + self._rank, len(self._rows))
        if self._order[0] != epoch:
            seed = derive_seed(self._seed, "order", *self.spec.seed, epoch)
            self._order = (epoch, np.random.default_rng(seed).permutation(len(self._rows)))
        row = self._row(int(self._order[1][place]))
        self._taken += 1
        return row

    def state(self) -> dict[str, Any]:
        return {"taken": self._taken}

    def restore(self, state: dict[str, Any]) -> None:
        self._taken = int(state["taken"])

    def once(self, limit: int) -> Iterator[Row]:
        for place in range(min(limit, len(self._rows))):
            yield self._row(place)

    def _row(self, place: int) -> Row:
        return decoded(self._rows[place], self.spec, place)


class Stream:
    """Rows that an IterableDataset streams. Ranks divide its files, or take rows by turns.

    It keeps its own place through `datasets`' state. The order is that of the files; the loader mixes within its
    window.
    """

    def __init__(self, spec: Source, dataset: Any, *, rank: int, ranks: int) -> None:
        from datasets.distributed import split_dataset_by_node

        self.spec, self._whole = spec, dataset
        self._mine = split_dataset_by_node(dataset, rank=rank, world_size=ranks) if ranks > 1 else dataset
        self._rows: Iterator[Row] | None = None
        self._epoch = self._number = 0

    def next(self) -> Row:
        for _ in range(2):
            if self._rows is None:
                self._rows = iter(self._mine)
            with explained(self.spec):
                row = next(self._rows, None)
            if row is not None:
                self._number += 1
                return decoded(row, self.spec, self._number - 1)
            if self._number == 0:
                raise InputError(f"data {self.spec.name}: there is nothing in it (for this rank)")
            self._rows, self._number, self._epoch = None, 0, self._epoch + 1
            self._rewind(None)
        raise InputError(f"data {self.spec.name}: has no rows any more")

    def state(self) -> dict[str, Any]:
        inner = self._mine.state_dict() if self._rows is not None else None
        return {"epoch": self._epoch, "number": self._number, "inner": inner}

    def restore(self, state: dict[str, Any]) -> None:
        self._epoch, self._number, self._rows = int(state["epoch"]), int(state["number"]), None
        self._rewind(state["inner"])

    def _rewind(self, state: dict[str, Any] | None) -> None:
        self._mine.load_state_dict(state)

    def once(self, limit: int) -> Iterator[Row]:
        with explained(self.spec):
            for place, row in enumerate(self._whole.take(limit)):
                yield decoded(row, self.spec, place)


def decoded(row: Row, spec: Source, place: int) -> Row:
    """Parses a row whose only field is a line of JSON. Raises InputError."""
    if not is_lines(spec.where) or set(row) != {"text"}:
        return row
    line = row["text"]
    try:
        value = msgspec.json.decode(line)
    except NOT_JSON as error:
        raise InputError(f"{spec.where}: line {place + 1} is not JSON ({error}): {line[:80]!r}") from error
    if not isinstance(value, dict):
        raise InputError(f"{spec.where}: line {place + 1} is no JSON object: {line[:80]!r}")
    return value


def is_lines(where: str) -> bool:
    return _builder(Path(where)) == "text" and not where.startswith(HUB)


def _builder(path: Path) -> str | None:
    suffix = path.suffix if path.suffix != ".gz" else path.with_suffix("").suffix
    return BUILDERS.get(suffix)


def open_source(
    spec: Source,
    *,
    rank: int = 0,
    ranks: int = 1,
    seed: int = 0,
    streaming: bool = False,
    split: str = "train",
    cache: str = "",
) -> RowSource:
    """Open a source at its first row. Raises InputError if it is missing, unreadable or empty."""
    built_in = _built_in(spec)
    if built_in is not None:
        return Table(spec, built_in, rank=rank, ranks=ranks, seed=seed)
    dataset = _dataset(spec, streaming=streaming, split=split, cache=cache)
    if streaming:
        return Stream(spec, dataset, rank=rank, ranks=ranks)
    return Table(spec, dataset, rank=rank, ranks=ranks, seed=seed)


def _built_in(spec: Source) -> list[Row] | None:
    """The rows of the bank, of pocket Lean's library, or of a folder; None for files and the hub. Raises InputError."""
    try:
        if spec.is_bank and spec.kind == TRANSITIONS:
            return [msgspec.structs.asdict(row) for row in bank.load_transitions(warm_start=reading.is_warm(spec))]
        if spec.is_bank and spec.kind == PROOFS:
            proofs = load_proofs(warm_start=reading.is_warm(spec))
            return [
                {"name": each.theorem.name, "statement": each.theorem.signature, "proof": each.script}
                for each in proofs
            ]
        if spec.is_bank and spec.kind in (TEXT, LEAN):
            return [{"text": each.theorem.signature} for each in bank.load_statements("train")]
    except bank.BankError as error:
        raise InputError(str(error)) from error
    if spec.where == POCKET and spec.kind in (TEXT, LEAN):
        return [{"text": path.read_text(encoding="utf-8")} for path in sorted(SOURCES.rglob("*.lean"))]
    if spec.kind in (TRANSITIONS, PROOFS) and spec.path.is_dir():
        return list(reading.folder_rows(spec))
    return None


def _dataset(spec: Source, *, streaming: bool, split: str, cache: str) -> Any:
    import datasets

    datasets.disable_progress_bars()
    options: dict[str, Any] = {"streaming": streaming, "split": spec.split or split, "cache_dir": cache or None}
    with explained(spec):
        if spec.where.startswith(HUB):
            organisation, _, rest = spec.where[len(HUB) :].partition("/")
            name, _, config = rest.partition("/")
            return datasets.load_dataset(f"{organisation}/{name}", config or None, **options)
        if spec.split:
            raise InputError(f"data {spec.name}: only banks, LeanDojo's folders and datasets of the hub have splits")
        files = sorted(glob.glob(str(spec.path), recursive=True))  # noqa: PTH207 - patterns may be absolute
        if not files:
            raise InputError(f"data {spec.name}: there is no such file")
        builders = {_builder(Path(file)) for file in files}
        if None in builders or len(builders) > 1:
            raise InputError(f"data {spec.name}: give files of one kind: {', '.join(sorted(BUILDERS))}")
        if all(Path(file).stat().st_size == 0 for file in files):
            raise InputError(f"data {spec.name}: there is nothing in it")
        options["split"] = "train"  # the only one that files without names of splits have
        if (builder := builders.pop()) == "document":
            return datasets.load_dataset("text", data_files=files, sample_by="document", **options)
        return datasets.load_dataset(builder, data_files=files, **options)


@contextmanager
def explained(spec: Source) -> Iterator[None]:
    """Turn errors of `datasets` and pyarrow about unreadable data into an InputError that names the source.

    The error classes of `datasets`, pyarrow and fsspec have no common base.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        text = str(cause).strip().splitlines()
        reason = f"{type(cause).__name__}: {text[0] if text else 'it says no more'}"
        hint = "is the name right?" if spec.where.startswith(HUB) else "is it corrupt, or of another format?"
        raise InputError(f"data {spec.name}: cannot be read, {hint} ({reason})") from error
