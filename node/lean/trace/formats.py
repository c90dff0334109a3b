"""Writes the results of a trace in the requested formats: our own, LeanDojo's and LeanTree's."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import msgspec

from common.files import write_whole
from common.seeds import derive_seed
from node.lean.text.goals import from_text
from node.lean.trace.infotree import LeanSource, Position
from node.lean.trace.records import Declared, Premise, TracedBlock, TracedFile, TracedStep, TracedTactic, TracedTheorem
from node.lean.trace.session import Work, stored_result

# --- our own formats: a row for each theorem, each atomic step, or each transition for the training -------------------

NO_GOALS = "no goals"
"""How Lean prints an empty list of goals."""


def printed(goals: tuple[str, ...]) -> str:
    """Goals as Lean prints a state, with tags."""
    return "\n\n".join(goals) or NO_GOALS


def theorem_rows(file: TracedFile) -> Iterator[dict[str, Any]]:
    """One row for each theorem, with its tactics as written, its trees, and its error if it has one."""
    for theorem in file.theorems:
        yield {**_origin(file), **msgspec.to_builtins(theorem)}


def context_row(file: TracedFile, text: str) -> dict[str, Any]:
    """A file's text, and the contexts of its theorems: length in characters by digest."""
    ends = {theorem.context_digest: theorem.context_end for theorem in file.theorems}
    return {**_origin(file), "text": text, "contexts": ends}


def step_rows(file: TracedFile) -> Iterator[dict[str, Any]]:
    """One row for each atomic step."""
    for theorem in file.theorems:
        for number, block in enumerate(theorem.blocks):
            for index, step in enumerate(block.steps):
                yield {
                    **_origin(file),
                    "theorem": theorem.name,
                    "kind": theorem.kind,
                    "context": theorem.context_digest,
                    "statement": theorem.statement,
                    "block": number,
                    "step": index,
                    "parent": step.parent,
                    "branch": step.branch,
                    "state_before": printed(step.goals),
                    "state_after": printed(step.after),
                    "state": step.state,
                    "tactic": step.tactic,
                    "start": step.start,
                    "end": step.end,
                    "remaining_steps": step.remaining_steps,
                    "premises": [premise.full_name for premise in step.premises],
                    "split": block.split,
                }


def progress_rows(file: TracedFile) -> Iterator[dict[str, Any]]:
    """One row for each atomic step in LeanProgress's format (LeanDojo-v2's `ProgressTrainer`).

    A row has the state as the policy reads it, the tactics that led to it, the tactic, and the number of tactics on the
    longest branch after it (0: it ends the branch). We add `theorem` and `statement`, which other readers ignore.
    """
    for theorem in file.theorems:
        for block in theorem.blocks:
            paths: list[str] = []  # for each step, the tactics up to and including it
            for step in block.steps:
                prefix = paths[step.parent] if step.parent >= 0 else ""
                paths.append(f"{prefix}\n{step.tactic}" if prefix else step.tactic)
                yield {
                    "goal": step.state,
                    "prefix": prefix,
                    "tactic": step.tactic,
                    "steps_remaining": step.remaining_steps - 1,
                    "theorem": f"{file.path}:{theorem.name}",
                    "statement": theorem.statement,
                }


def transition_rows(file: TracedFile) -> Iterator[dict[str, Any]]:
    """One row for each atomic step, for `node.bank.bank.BankTransition`. The family is the file, the level 1 to 4."""
    for theorem in file.theorems:
        for block in theorem.blocks:
            for step in block.steps:
                yield _transition(file, theorem, step, len(block.steps))


def _transition(file: TracedFile, theorem: TracedTheorem, step: TracedStep, size: int) -> dict[str, Any]:
    return {
        "theorem": theorem.name,
        "level": min(4, (size + 1) // 2),  # up to 2, 4, 6, or more steps, as in the bank
        "family": file.path,
        "state": step.state,
        "tactic": step.tactic,
        "remaining_steps": step.remaining_steps,
    }


def _origin(file: TracedFile) -> dict[str, Any]:
    return {"file": file.path, "commit": file.commit, "url": file.url, "lean_version": file.lean_version}


class Lines:
    """Writes rows as JSON lines, gzipped if the name ends in .gz. The file appears once it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._partial = path.with_name(path.name + ".partial")
        # Without a time stamp in the archive, equal rows give equal bytes.
        zipped = path.suffix == ".gz"
        self._file: Any = gzip.GzipFile(self._partial, "wb", mtime=0) if zipped else self._partial.open("wb")

    def write(self, row: dict[str, Any]) -> None:
        self._file.write(msgspec.json.encode(row) + b"\n")

    def close(self) -> None:
        self._file.close()
        self._partial.replace(self.path)


# --- LeanDojo's schema: theorems with traced and annotated tactics, and a corpus of premises --------------------------
# The schema is that of LeanDojo's Benchmark 4 (Yang et al. 2023, arXiv 2306.15626): lists of {url, commit, file_path,
# full_name, start, end, traced_tactics} with 1-based lines and columns, and `corpus.jsonl` with {path, imports,
# premises}. `theorem_statement` is from LeanDojo-v2. Tactics are as written, including composed ones. A premise is
# annotated if the run has its declaration. The folder has LeanDojo's files: random/{train,val,test}.json, corpus.jsonl,
# traced_files.jsonl, metadata.json. We add theorems.json with all three splits.

Declarations = Mapping[str, tuple[str, Declared]]
"""The file and the declaration of every name that the run has traced."""


def dojo_theorem(file: TracedFile, traced: TracedTheorem, declarations: Declarations) -> dict[str, Any]:
    """One entry of the list of theorems."""
    return {
        "url": file.url,
        "commit": file.commit,
        "file_path": file.path,
        "full_name": traced.name,
        "theorem_statement": traced.statement,
        "start": _place(traced.start),
        "end": _place(traced.end),
        "traced_tactics": [_dojo_tactic(tactic, declarations) for block in traced.blocks for tactic in block.tactics],
    }


def dojo_corpus(file: TracedFile) -> dict[str, Any]:
    """One line of `corpus.jsonl`. `imports` are paths, as in LeanDojo."""
    return {
        "path": file.path,
        "imports": [f"{module.replace('.', '/')}.lean" for module in file.imports],
        "premises": [
            {
                "full_name": declared.full_name,
                "code": declared.code,
                "start": _place(declared.name_start),
                "end": _place(declared.name_end),
                "kind": f"command{declared.kind}",
            }
            for declared in file.declared
        ],
    }


SPLIT_OF = {0: "val", 1: "test"}
"""One theorem in ten is for each of these; the others are for training."""


def dojo_splits(theorems: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """`train`, `val` and `test`, chosen by the theorem's name and file only, so that every trace chooses the same."""
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "val": [], "test": []}
    for each in theorems:
        place = derive_seed("leandojo-split", each["file_path"], each["full_name"]) % 10
        parts[SPLIT_OF.get(place, "train")].append(each)
    return parts


def dojo_order(files: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of `corpus.jsonl` from lines by path, in the order that LeanDojo's reader needs.

    A file comes after all files that it imports. Imported files outside the run have a line without premises.
    """
    outside = {
        path: {"path": path, "imports": [], "premises": []} for each in files.values() for path in each["imports"]
    }
    every = {**outside, **files}
    graph = {path: each["imports"] for path, each in sorted(every.items())}
    try:
        return [every[path] for path in TopologicalSorter(graph).static_order()]
    except CycleError:  # circular imports, which Lean rejects
        return list(files.values())


def _dojo_tactic(tactic: TracedTactic, declarations: Declarations) -> dict[str, Any]:
    return {
        "tactic": tactic.tactic,
        "annotated_tactic": annotated(tactic, declarations),
        "state_before": printed(tactic.before),
        "state_after": printed(tactic.after),
    }


def annotated(tactic: TracedTactic, declarations: Declarations) -> list[Any]:
    """The text with `<a>...</a>` around each premise, and the declarations of these premises."""
    lines = tactic.tactic.split("\n")
    provenances: list[dict[str, Any]] = []
    named = [premise for premise in tactic.premises if premise.full_name in declarations]
    for premise in sorted(named, key=lambda premise: premise.start, reverse=True):
        row = premise.start[0] - tactic.start[0]
        begin = premise.start[1] - tactic.start[1]  # the text is dedented by the first line's column
        end = begin + premise.end[1] - premise.start[1]
        if premise.end[0] == premise.start[0] and row < len(lines) and _is_name(lines[row][begin:end], premise):
            lines[row] = f"{lines[row][:begin]}<a>{lines[row][begin:end]}</a>{lines[row][end:]}"
            provenances.insert(0, _provenance(premise, declarations))
    return ["\n".join(lines), provenances]


def _is_name(text: str, premise: Premise) -> bool:
    """True if a text is a premise's name or its last component. Premises in other notation are not annotated."""
    return bool(text) and text.lstrip("@").split(".")[-1] == premise.full_name.split(".")[-1]


def _provenance(premise: Premise, declarations: Declarations) -> dict[str, Any]:
    path, declared = declarations[premise.full_name]
    return {
        "full_name": premise.full_name,
        "def_path": path,
        "def_pos": _place(declared.name_start),
        "def_end_pos": _place(declared.name_end),
    }


def _place(position: Position) -> list[int]:
    """A position as in LeanDojo, which counts columns from 1."""
    return [position[0], position[1] + 1]


# --- LeanTree's schema: files, theorems, their `by` blocks, and each block's tree of factorised states ----------------
# The schema is that of `LeanFile.serialize` (Kripner et al. 2025, arXiv 2507.14722). Spans are character offsets. A
# tree lists its nodes with `state`, `tactic`, `proof_size`, `proof_depth`. For a failure, {"error": ...} replaces it.


def leantree_file(traced: TracedFile, text: str) -> dict[str, Any]:
    """The entry of a file. `text`: the traced text."""
    source = LeanSource(text)
    return {
        "path": traced.path,
        "imports": list(traced.imports),
        "theorems": [_leantree_theorem(theorem, source) for theorem in traced.theorems],
    }


def _leantree_theorem(theorem: TracedTheorem, source: LeanSource) -> dict[str, Any]:
    if theorem.error:
        return {"error": theorem.error}
    return {
        "span": _leantree_span(source, theorem.start, theorem.end),
        "by_blocks": [_leantree_block(block, source) for block in theorem.blocks],
        "context": list(theorem.context),
        **({"name": theorem.name} if theorem.name else {}),
    }


def _leantree_block(block: TracedBlock, source: LeanSource) -> dict[str, Any]:
    tree = {"error": block.problem} if block.problem else _leantree_tree(block.steps, source)
    return {"tree": tree, "span": _leantree_span(source, block.start, block.end)}


def _leantree_tree(steps: Sequence[TracedStep], source: LeanSource) -> dict[str, Any]:
    children: list[list[int]] = [[] for _ in steps]
    sizes = [1] * len(steps)
    for number in reversed(range(len(steps))):
        parent = steps[number].parent
        if parent >= 0:
            children[parent].insert(0, number)
            sizes[parent] += sizes[number]
    nodes = [
        {
            "id": str(number),
            "state": {"goals": [leantree_goal(text) for text in step.goals]},
            "tactic": {
                "tactic_string": step.tactic,
                "span": _leantree_span(source, step.start, step.end),
                "parent": str(number),
                "children": [str(child) for child in children[number]],
                "tactic_depends_on": None,
            },
            "proof_size": sizes[number],
            "proof_depth": step.remaining_steps,
        }
        for number, step in enumerate(steps)
    ]
    return {"nodes": nodes, "root_id": "0"}


def leantree_goal(text: str) -> dict[str, Any]:
    """The entry of a printed goal: type, hypotheses, tag."""
    read: dict[str, Any] = msgspec.to_builtins(from_text(text))
    return {**read, "hypotheses": list(read["hypotheses"])}


def _leantree_span(source: LeanSource, start: Position, end: Position) -> dict[str, int]:
    return {"start": source.offset(start), "finish": source.offset(end)}


# --- files of a trace -------------------------------------------------------------------------------------------------

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
        _rows(out / "theorems.jsonl", works, theorem_rows),
        _rows(out / "steps.jsonl", works, step_rows),
    ]


def _transitions(works: Sequence[Work], out: Path) -> list[Path]:
    return [_rows(out / "transitions.jsonl.gz", works, transition_rows)]


def _progress(works: Sequence[Work], out: Path) -> list[Path]:
    return [_rows(out / "progress.jsonl", works, progress_rows)]


def _contexts(works: Sequence[Work], out: Path) -> list[Path]:
    """Write each file's text once. The context of a theorem is the beginning of that text, up to an offset."""
    lines = Lines(out / "contexts.jsonl")
    for work, traced in _results(works):
        lines.write(context_row(traced, work.file.read_text(encoding="utf-8")))
    lines.close()
    return [lines.path]


def _leandojo(works: Sequence[Work], out: Path) -> list[Path]:
    declarations = {each.full_name: (file.path, each) for _, file in _results(works) for each in file.declared}
    theorems, files, origins = [], {}, {}
    for _, file in _results(works):
        origins[file.url, file.commit] = file.lean_version
        good = [theorem for theorem in file.theorems if not theorem.error and theorem.name]
        theorems += [dojo_theorem(file, theorem, declarations) for theorem in good]
        files[file.path] = dojo_corpus(file)
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
        *(_json(folder / "random" / f"{name}.json", part) for name, part in dojo_splits(theorems).items()),
        _lines(folder / "corpus.jsonl", dojo_order(files)),
        _lines(folder / "traced_files.jsonl", [{"traced_file_path": path} for path in files]),
        _json(folder / "metadata.json", metadata),
    ]


def _lines(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    lines = Lines(path)
    for row in rows:
        lines.write(row)
    lines.close()
    return path


def _leantree(works: Sequence[Work], out: Path) -> list[Path]:
    lines = Lines(out / "leantree.jsonl")
    for work, traced in _results(works):
        lines.write(leantree_file(traced, work.file.read_text(encoding="utf-8")))
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
