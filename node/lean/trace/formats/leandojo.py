"""Writes LeanDojo's schema: theorems with traced and annotated tactics, and a corpus of premises.

The schema is that of LeanDojo's Benchmark 4 (Yang et al. 2023, arXiv 2306.15626): lists of {url, commit, file_path,
full_name, start, end, traced_tactics} with 1-based lines and columns, and `corpus.jsonl` with {path, imports,
premises}. `theorem_statement` is from LeanDojo-v2. Tactics are as written, including composed ones. A premise is
annotated if the run has its declaration. The folder has LeanDojo's files: random/{train,val,test}.json, corpus.jsonl,
traced_files.jsonl, metadata.json. We add theorems.json with all three splits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from common.seeds import derive_seed
from node.lean.trace.formats.own import printed
from node.lean.trace.infotree import Position
from node.lean.trace.records import Declared, Premise, TracedFile, TracedTactic, TracedTheorem

Declarations = Mapping[str, tuple[str, Declared]]
"""The file and the declaration of every name that the run has traced."""


def theorem(file: TracedFile, traced: TracedTheorem, declarations: Declarations) -> dict[str, Any]:
    """One entry of the list of theorems."""
    return {
        "url": file.url,
        "commit": file.commit,
        "file_path": file.path,
        "full_name": traced.name,
        "theorem_statement": traced.statement,
        "start": _place(traced.start),
        "end": _place(traced.end),
        "traced_tactics": [_tactic(tactic, declarations) for block in traced.blocks for tactic in block.tactics],
    }


def corpus(file: TracedFile) -> dict[str, Any]:
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


def splits(theorems: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """`train`, `val` and `test`, chosen by the theorem's name and file only, so that every trace chooses the same."""
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "val": [], "test": []}
    for each in theorems:
        place = derive_seed("leandojo-split", each["file_path"], each["full_name"]) % 10
        parts[SPLIT_OF.get(place, "train")].append(each)
    return parts


def ordered(files: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
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


def _tactic(tactic: TracedTactic, declarations: Declarations) -> dict[str, Any]:
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
