"""Sources of statements: local files and folders, known data sets by name, ids of the Hugging Face hub; and their rows.

A row is a dictionary: of JSON, JSON lines or parquet, or of a statement in a `.txt` or `.lean` file.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from common.files import NOT_JSON, unpacked
from node.bank import bank
from node.bank.bank import BankError
from node.bank.known import KNOWN, DataSet, known
from node.bank.statements import Row, statements_of_lean, statements_of_text

# ----------------------------------------------------------------------------------------------------------------------
# Finds a source of statements: a local file or folder, a known data set by its name, or an id of the hub.

VARIABLE = "PROOFMESH_DATA"
"""Environment variable with a folder of local copies of data sets, in addition to the folders of a command line."""


MOST_NAMED = 10
"""Most file names in a note."""


@dataclass(frozen=True)
class Source:
    """A source of statements."""

    origin: str
    """A path, or an id of the hub."""
    data_set: DataSet | None = None
    """The data set, if it is a known one."""
    local: bool = True
    config: str = ""
    requested_revision: str = ""

    @property
    def name(self) -> str:
        """Its name in a bank: the name of the known data set, or else of its file, or its hub id."""
        if self.data_set is not None:
            return self.data_set.name
        return Path(self.origin).name.split(".")[0] if self.local else self.origin

    @property
    def is_bank(self) -> bool:
        """True when it is a theorem bank."""
        return self.local and is_bank(Path(self.origin))

    def rows(self) -> Iterator[Row]:
        """Its rows. Raises BankError."""
        files = self.data_set.hub.files if self.data_set is not None and not self.config and not self.local else ""
        every_kind = self.data_set is None
        revision = self.requested_revision
        return read_rows(self.origin, config=self.config, revision=revision, files=files, every_kind=every_kind)

    def left_out(self) -> str:
        """A note with the files of a folder that are not read; empty if there are none. Raises BankError."""
        if not self.local or not Path(self.origin).is_dir():
            return ""
        names = left_out_of(Path(self.origin), every_kind=self.data_set is None)
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return f"not read of {self.origin}: {', '.join(names[:MOST_NAMED])}{more}" if names else ""

    def revision(self) -> str:
        """The commit of the hub's copy; empty for local files. Raises BankError."""
        return "" if self.local else revision_of(self.origin, self.requested_revision) or self.requested_revision


def find(source: str, data: Sequence[Path] = (), *, config: str = "", revision: str = "") -> Source:
    """The source with a path, the name of a known data set, or an id of the hub. It is not read yet.

    `data`: folders with local copies; $PROOFMESH_DATA comes last. For a known data set without a local copy, the source
    is the hub's copy.
    """
    data_set = known(source)
    if Path(source).exists():
        return Source(str(_statements_below(Path(source), data_set)), data_set)
    if data_set is None or source.lower() not in KNOWN:
        return Source(source, data_set, local=False, config=config, requested_revision=revision)
    if (copy := local_copy(data_set, data)) is not None:
        return Source(str(copy), data_set)
    return Source(data_set.hub.id, data_set, local=False, config=config, requested_revision=revision)


def local_copy(data_set: DataSet, data: Sequence[Path]) -> Path | None:
    """The copy of a data set in these folders, files before folders; None without a copy."""
    configured = os.environ.get(VARIABLE)
    for folder in [*data, *([Path(configured)] if configured else [])]:
        for name in (data_set.name, *data_set.files):
            for ending in (*SUFFIXES, *TEXTS, ""):
                if (path := folder / f"{name}{ending}").exists():
                    return path
    return None


def _statements_below(path: Path, data_set: DataSet | None) -> Path:
    """The folder with the statements in a checkout of a data set's repository; otherwise the path itself."""
    inner = (path / name.partition("/")[2] for name in (data_set.files if data_set is not None else ()) if "/" in name)
    return next((each for each in inner if each.exists()), path)


def is_bank(path: Path) -> bool:
    """True when a folder is a theorem bank."""
    return (path / bank.MANIFEST).is_file() and bool(bank.splits(path))


# ----------------------------------------------------------------------------------------------------------------------
# Reads data sets as rows: JSON, JSON lines, parquet, plain text, Lean files, folders of these, Hugging Face ids.

SUFFIXES = (".jsonl", ".json", ".parquet", ".jsonl.gz", ".json.gz")
TEXTS = (".txt", ".lean")
"""Endings of files without fields."""

NO_DATA = ("lakefile.lean", "import.json", "bank.json", "lake-manifest.json")
"""Files in a folder of data that are not data."""

_SPLIT = re.compile(r"(train|valid|validation|dev|test)(?![a-z])")
_HUGGING_FACE = re.compile(r"[\w.-]+/[\w.-]+")


def read_rows(
    source: str, *, config: str = "", revision: str = "", files: str = "", every_kind: bool = True
) -> Iterator[Row]:
    """The rows of a source. For a Hugging Face data set, the field `split` is the split of the row.

    `config`, `revision`, `files`: for a Hugging Face data set. `every_kind`: for a folder, see `files_of`. Raises
    BankError.
    """
    path = Path(source)
    if path.is_dir():
        for each in files_of(path, every_kind=every_kind):
            of_text = {"file": str(each.relative_to(path))} if each.suffix == ".txt" else {}
            yield from ({**of_text, **row} for row in _in_split(each, path.parent))
    elif path.exists():
        yield from _in_split(path, path.parent)
    elif _HUGGING_FACE.fullmatch(source) and not source.endswith((*SUFFIXES, *TEXTS)):
        yield from rows_of_hub(source, config, revision, files)
    else:
        raise BankError(
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
    """The files of a folder that are read. Raises BankError if there are none.

    `every_kind`: all kinds of files. Otherwise the data files, or the Lean files if there are no data files, because
    the repository of a known data set may have the same statements in both.
    """
    visible = _visible(folder)
    kinds = [(*SUFFIXES, *TEXTS)] if every_kind else [SUFFIXES, (".lean",)]
    by_kind = ([each for each in visible if each.name.endswith(kind) and each.name not in NO_DATA] for kind in kinds)
    if files := next((each for each in by_kind if each), []):
        return files
    raise BankError(f"{folder}: no {', '.join(dict.fromkeys(sum(kinds, ())))} in this folder; check the path")


def left_out_of(folder: Path, *, every_kind: bool = True) -> list[str]:
    """Paths of the files in a folder that are not read, without hidden files. Raises BankError."""
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
        raise BankError(f"{path}: unknown format; known are {', '.join((*SUFFIXES, *TEXTS))}")
    elif ".jsonl" in path.name:
        yield from _lines(path)
    else:
        yield from _document(path)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The decompressed content of a file. Raises BankError, also while the content is read."""
    try:
        with unpacked(path) as file:
            yield file
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error}); replace the file if it is damaged") from error


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
        raise BankError(f"{path}: cannot be read as UTF-8 text ({error}); save the file as UTF-8") from error
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
        raise BankError(f"{path}: neither a list of statements nor an object with such lists by split")
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
        raise BankError(f"{path}: cannot be read as parquet ({error}); replace the file if it is damaged") from error


def _decoded(where: str, data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except UnicodeDecodeError as error:  # NOT_JSON has this one, too
        raise BankError(f"{where}: not UTF-8 text ({error.reason}); save the file as UTF-8") from error
    except NOT_JSON as error:
        raise BankError(f"{where}: {error}") from error


def _row(where: str, value: Any) -> Row:
    if not isinstance(value, dict):
        raise BankError(f"{where}: a {type(value).__name__} instead of an object; write one JSON object for each row")
    return value


# ----------------------------------------------------------------------------------------------------------------------
# Reads the rows and the revision of a data set on the Hugging Face hub.

SECONDS = 10.0
"""Time limit of a request for a revision. Without this request, `datasets` would retry for half a minute and print
warnings when there is no network."""


@cache
def revision_of(name: str, revision: str = "") -> str:
    """The current commit of a data set on the hub; empty if the hub cannot be reached. Raises BankError if the hub
    does not have the data set or the revision."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    try:
        info = huggingface_hub.HfApi().dataset_info(name, revision=revision or None, timeout=SECONDS)
    except HfHubHTTPError as error:
        message = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise BankError(
            f"{name}: the Hugging Face hub refuses it ({message}); check the id, log in with `hf auth login`, or name "
            "a local copy with --data FOLDER"
        ) from error
    except Exception:  # no network (each library has its own exceptions), or offline mode
        return ""
    return info.sha or ""


def rows_of_hub(name: str, config: str = "", revision: str = "", files: str = "") -> Iterator[Row]:
    """The rows of all splits, each with its `split`. A downloaded data set is read without a network.

    `files`: a pattern of the files to read, if a repository has files of several forms. Raises BankError.
    """
    commit = revision_of(name, revision)
    import datasets
    import huggingface_hub

    if not commit:
        # Without a network both libraries retry many times. In offline mode they use their cache at once.
        datasets.config.HF_HUB_OFFLINE = huggingface_hub.constants.HF_HUB_OFFLINE = True
    datasets.disable_progress_bars()
    options = {"revision": commit or revision or None, "data_files": files or None}
    try:
        loaded = datasets.load_dataset(name, config or None, **options)
    except Exception as error:  # the library raises exceptions of many other libraries
        message = str(error).split("\n")[0]
        folder = f"FOLDER/{name.rpartition('/')[2]}"
        raise BankError(
            f"{name}: cannot be loaded from the Hugging Face hub ({type(error).__name__}: {message}); on a machine "
            f"with a network run `hf download --repo-type dataset {name} --local-dir {folder}`, then name the folder "
            "with --data FOLDER"
        ) from error
    for split, part in loaded.items():
        for row in part:
            yield {"split": split, **row}
