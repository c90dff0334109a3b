"""Reads datasets as rows: JSON, JSON lines, parquet, folders of these, or a Hugging Face id."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

Row = dict[str, Any]

SUFFIXES = (".jsonl", ".json", ".parquet", ".jsonl.gz", ".json.gz")

_HUGGING_FACE = re.compile(r"[\w.-]+/[\w.-]+")


class SourceProblem(ValueError):
    """A source cannot be read; the message says where and why."""


def read(source: str, *, config: str = "", revision: str = "") -> Iterator[Row]:
    """The rows of a source; `split` is filled in from a Hugging Face dataset's splits. Raises SourceProblem.

    `config`, `revision`: of a Hugging Face dataset.
    """
    path = Path(source)
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.name.endswith(SUFFIXES))
        if not files:
            raise SourceProblem(f"{source}: no {', '.join(SUFFIXES)} in this folder")
        for each in files:
            yield from _file(each)
    elif path.is_file():
        yield from _file(path)
    elif _HUGGING_FACE.fullmatch(source) and not source.endswith(SUFFIXES):
        yield from _hugging_face(source, config, revision)
    else:
        raise SourceProblem(f"{source}: no such file or folder, and no Hugging Face id (OWNER/NAME)")


def _file(path: Path) -> Iterator[Row]:
    if path.suffix == ".parquet":
        yield from _parquet(path)
        return
    if not path.name.endswith(SUFFIXES):
        raise SourceProblem(f"{path}: what format is it? There are {', '.join(SUFFIXES)}")
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError) as error:
        raise SourceProblem(f"{path}: cannot be read ({error})") from error
    if ".jsonl" in path.name:
        yield from _lines(path, data)
    else:
        yield from _document(path, data)


def _lines(path: Path, data: bytes) -> Iterator[Row]:
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            yield _row(f"{path}, line {number}", _decoded(f"{path}, line {number}", line))


def _document(path: Path, data: bytes) -> Iterator[Row]:
    """A list of rows, or lists of rows by split (or under one name, such as `data`)."""
    found = _decoded(str(path), data)
    if isinstance(found, list):
        for number, row in enumerate(found):
            yield _row(f"{path}, entry {number}", row)
        return
    if not isinstance(found, dict) or not any(isinstance(value, list) for value in found.values()):
        raise SourceProblem(f"{path}: a list of statements was expected, or lists of them by split")
    for name, rows in found.items():
        for number, row in enumerate(rows if isinstance(rows, list) else []):
            yield {"split": name, **_row(f"{path}, {name}, entry {number}", row)}


def _parquet(path: Path) -> Iterator[Row]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise SourceProblem(f"{path}: cannot be read as parquet ({error})") from error


def _hugging_face(name: str, config: str, revision: str) -> Iterator[Row]:
    import datasets

    try:
        found = datasets.load_dataset(name, config or None, revision=revision or None)
    except Exception as error:  # the library raises what its many parts raise
        told = str(error).split("\n")[0]
        raise SourceProblem(f"{name}: not to be had from Hugging Face ({type(error).__name__}: {told})") from error
    for split, rows in found.items():
        for row in rows:
            yield {"split": split, **row}


def _decoded(where: str, data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise SourceProblem(f"{where}: {error}") from error


def _row(where: str, found: Any) -> Row:
    if not isinstance(found, dict):
        raise SourceProblem(f"{where}: an object was expected, not {type(found).__name__}")
    return found
