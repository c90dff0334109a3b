"""Finds a source of statements: a local file or folder, a known data set by its name, or an id of the hub."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.bank import bank, hub, manifest
from node.bank.known import KNOWN, DataSet, known
from node.bank.rows import SUFFIXES, TEXTS, left_out_of, read
from node.bank.texts import Row

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
        """Its rows. Raises SourceProblem."""
        files = self.data_set.hub.files if self.data_set is not None and not self.config and not self.local else ""
        every_kind = self.data_set is None
        revision = self.requested_revision
        return read(self.origin, config=self.config, revision=revision, files=files, every_kind=every_kind)

    def left_out(self) -> str:
        """A note with the files of a folder that are not read; empty if there are none. Raises SourceProblem."""
        if not self.local or not Path(self.origin).is_dir():
            return ""
        names = left_out_of(Path(self.origin), every_kind=self.data_set is None)
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return f"not read of {self.origin}: {', '.join(names[:MOST_NAMED])}{more}" if names else ""

    def revision(self) -> str:
        """The commit of the hub's copy; empty for local files. Raises SourceProblem."""
        return "" if self.local else hub.revision_of(self.origin, self.requested_revision) or self.requested_revision


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
    return (path / manifest.FILE).is_file() and bool(bank.splits(path))
