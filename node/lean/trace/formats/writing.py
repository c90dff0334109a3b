"""Writes the results of a trace in the requested formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from common.files import write_whole
from node.lean.trace.formats import leandojo, leantree, own
from node.lean.trace.records import TracedFile
from node.lean.trace.session import Work, stored_result

FORMATS = ("proofmesh", "leandojo", "leantree", "transitions", "progress", "contexts")


def write(works: Sequence[Work], out: Path, formats: Sequence[str]) -> list[Path]:
    """Write the stored results of these files. Returns the paths of the written files."""
    written = []
    for name in formats:
        written += _WRITERS[name](works, out)
    return written


def _results(works: Sequence[Work]) -> Iterator[tuple[Work, TracedFile]]:
    """The stored results in the order of file names, one in memory at a time."""
    for work in sorted(works, key=lambda work: (str(work.group.root), work.name)):
        traced = stored_result(work)
        if traced is not None:
            yield work, traced


def _rows(path: Path, works: Sequence[Work], rows: Callable[[TracedFile], Iterator[dict[str, Any]]]) -> Path:
    return _lines(path, (row for _, traced in _results(works) for row in rows(traced)))


def _proofmesh(works: Sequence[Work], out: Path) -> list[Path]:
    return [
        _rows(out / "theorems.jsonl", works, own.theorem_rows),
        _rows(out / "steps.jsonl", works, own.step_rows),
    ]


def _transitions(works: Sequence[Work], out: Path) -> list[Path]:
    return [_rows(out / "transitions.jsonl.gz", works, own.transition_rows)]


def _progress(works: Sequence[Work], out: Path) -> list[Path]:
    return [_rows(out / "progress.jsonl", works, own.progress_rows)]


def _contexts(works: Sequence[Work], out: Path) -> list[Path]:
    """Write each file's text once. The context of a theorem is the beginning of that text, up to an offset."""
    lines = own.Lines(out / "contexts.jsonl")
    for work, traced in _results(works):
        lines.write(own.context_row(traced, work.file.read_text(encoding="utf-8")))
    lines.close()
    return [lines.path]


def _leandojo(works: Sequence[Work], out: Path) -> list[Path]:
    declarations = {each.full_name: (file.path, each) for _, file in _results(works) for each in file.declared}
    theorems, files, origins = [], {}, {}
    for _, file in _results(works):
        origins[file.url, file.commit] = file.lean_version
        good = [theorem for theorem in file.theorems if not theorem.error and theorem.name]
        theorems += [leandojo.theorem(file, theorem, declarations) for theorem in good]
        files[file.path] = leandojo.corpus(file)
    folder = out / "leandojo"
    metadata = {
        "dataset_name": "proofmesh trace, in LeanDojo's schema",
        "creation_time": datetime.now(UTC).isoformat(sep=" "),
        "from_repos": [
            {"url": url, "commit": commit, "lean_version": version} for (url, commit), version in origins.items()
        ],
        "num_theorems": len(theorems),
        "num_files": len(files),
    }
    (folder / "random").mkdir(parents=True, exist_ok=True)
    return [
        _json(folder / "theorems.json", theorems),
        *(_json(folder / "random" / f"{name}.json", part) for name, part in leandojo.splits(theorems).items()),
        _lines(folder / "corpus.jsonl", leandojo.ordered(files)),
        _lines(folder / "traced_files.jsonl", [{"traced_file_path": path} for path in files]),
        _json(folder / "metadata.json", metadata),
    ]


def _lines(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    lines = own.Lines(path)
    for row in rows:
        lines.write(row)
    lines.close()
    return path


def _leantree(works: Sequence[Work], out: Path) -> list[Path]:
    lines = own.Lines(out / "leantree.jsonl")
    for work, traced in _results(works):
        lines.write(leantree.file(traced, work.file.read_text(encoding="utf-8")))
    lines.close()
    return [lines.path]


def _json(path: Path, value: Any) -> Path:
    write_whole(path, msgspec.json.encode(value))
    return path


_WRITERS: dict[str, Callable[[Sequence[Work], Path], list[Path]]] = {
    "proofmesh": _proofmesh,
    "leandojo": _leandojo,
    "leantree": _leantree,
    "transitions": _transitions,
    "progress": _progress,
    "contexts": _contexts,
}
