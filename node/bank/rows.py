"""Reads data sets as rows: JSON, JSON lines, parquet, plain text, Lean files, folders of these, Hugging Face ids."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from node.bank import hub
from node.bank.problems import SourceProblem
from node.bank.texts import Row, statements_of_lean, statements_of_text

SUFFIXES = (".jsonl", ".json", ".parquet", ".jsonl.gz", ".json.gz")
TEXTS = (".txt", ".lean")
"""Endings of files without fields."""

NO_DATA = ("lakefile.lean", "import.json", "bank.json", "lake-manifest.json")
"""Files in a folder of data that are not data."""

_SPLIT = re.compile(r"(train|valid|validation|dev|test)(?![a-z])")
_HUGGING_FACE = re.compile(r"[\w.-]+/[\w.-]+")


def read(
    source: str, *, config: str = "", revision: str = "", files: str = "", every_kind: bool = True
) -> Iterator[Row]:
    """The rows of a source. For a Hugging Face data set, the field `split` is the split of the row.

    `config`, `revision`, `files`: for a Hugging Face data set. `every_kind`: for a folder, see `files_of`. Raises
    SourceProblem.
    """
    path = Path(source)
    if path.is_dir():
        for each in files_of(path, every_kind=every_kind):
            of_text = {"file": str(each.relative_to(path))} if each.suffix == ".txt" else {}
            yield from ({**of_text, **row} for row in _in_split(each, path.parent))
    elif path.exists():
        yield from _in_split(path, path.parent)
    elif _HUGGING_FACE.fullmatch(source) and not source.endswith((*SUFFIXES, *TEXTS)):
        yield from hub.rows(source, config, revision, files)
    else:
        raise SourceProblem(
            f"{source}: no file, no folder, no known data set (`proofmesh bank list`), no hub id (OWNER/NAME); check "
            "the name"
        )


def _in_split(path: Path, above: Path) -> Iterator[Row]:
    """The rows of a file, with the split in its path below the folder `above`."""
    split = split_of(path.relative_to(above))
    yield from ({"split": split, **row} for row in _file(path)) if split else _file(path)


def split_of(path: Path) -> str:
    """The split in the name of a file or of its folder: `data/test-00000.parquet`, `MiniF2F/Valid.lean`."""
    for part in reversed(path.parts):
        if match := _SPLIT.match(part.lower()):
            return match.group(1)
    return ""


def files_of(folder: Path, *, every_kind: bool = True) -> list[Path]:
    """The files of a folder that are read. Raises SourceProblem if there are none.

    `every_kind`: all kinds of files. Otherwise the data files, or the Lean files if there are no data files, because
    the repository of a known data set may have the same statements in both.
    """
    visible = _visible(folder)
    kinds = [(*SUFFIXES, *TEXTS)] if every_kind else [SUFFIXES, (".lean",)]
    by_kind = ([each for each in visible if each.name.endswith(kind) and each.name not in NO_DATA] for kind in kinds)
    if files := next((each for each in by_kind if each), []):
        return files
    raise SourceProblem(f"{folder}: no {', '.join(dict.fromkeys(sum(kinds, ())))} in this folder; check the path")


def left_out_of(folder: Path, *, every_kind: bool = True) -> list[str]:
    """Paths of the files in a folder that are not read, without hidden files. Raises SourceProblem."""
    files = set(files_of(folder, every_kind=every_kind))
    return [str(each.relative_to(folder)) for each in _visible(folder) if each not in files]


def _visible(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if not _hidden(each, folder) and each.is_file())


def _hidden(path: Path, folder: Path) -> bool:
    """True when a part of a path below a folder starts with a dot: `.lake`, `.git`, `.cache`."""
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _file(path: Path) -> Iterator[Row]:
    if path.suffix == ".parquet":
        yield from _parquet(path)
    elif path.suffix in TEXTS:
        yield from _text(path)
    elif not path.name.endswith(SUFFIXES):
        raise SourceProblem(f"{path}: unknown format; known are {', '.join((*SUFFIXES, *TEXTS))}")
    elif ".jsonl" in path.name:
        yield from _lines(path)
    else:
        yield from _document(path)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The decompressed content of a file. Raises SourceProblem, also while the content is read."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceProblem(f"{path}: cannot be read ({error}); replace the file if it is damaged") from error


def _lines(path: Path) -> Iterator[Row]:
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.strip():
                yield _row(f"{path}, line {number}", _decoded(f"{path}, line {number}", line))


def _text(path: Path) -> Iterator[Row]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors of Windows write a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        raise SourceProblem(f"{path}: cannot be read as UTF-8 text ({error}); save the file as UTF-8") from error
    if path.suffix == ".lean":
        yield from ({**row, "file": str(path)} for row in statements_of_lean(text))
    else:
        yield from statements_of_text(text)


def _document(path: Path) -> Iterator[Row]:
    """A list of rows, or lists of rows by split (or under one name, such as `data`)."""
    with _opened(path) as file:
        content = _decoded(str(path), file.read().removeprefix(codecs.BOM_UTF8))
    if isinstance(content, list):
        for number, row in enumerate(content):
            yield _row(f"{path}, entry {number}", row)
        return
    if not isinstance(content, dict) or not any(isinstance(value, list) for value in content.values()):
        raise SourceProblem(f"{path}: neither a list of statements nor an object with such lists by split")
    for name, rows in content.items():
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
        raise SourceProblem(
            f"{path}: cannot be read as parquet ({error}); replace the file if it is damaged"
        ) from error


def _decoded(where: str, data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise SourceProblem(f"{where}: {error}") from error
    except UnicodeDecodeError as error:
        raise SourceProblem(f"{where}: not UTF-8 text ({error.reason}); save the file as UTF-8") from error


def _row(where: str, value: Any) -> Row:
    if not isinstance(value, dict):
        raise SourceProblem(
            f"{where}: a {type(value).__name__} instead of an object; write one JSON object for each row"
        )
    return value
