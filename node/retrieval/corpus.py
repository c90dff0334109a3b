"""The premises of a library, and which of them are accessible to a theorem.

A corpus is LeanDojo's `corpus.jsonl` (Yang et al. 2023, arXiv 2306.15626, section 4): a line for each file, {path,
imports, premises: [{full_name, code, start, end, kind}]}, which `proofmesh trace --format leandojo` also writes.
Accessible to a theorem are the declarations before it in its file, and all declarations of the files that its file
imports, directly or indirectly.

Premises and states are read as one line each, by encoders and by BM25.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from common.files import NOT_JSON
from node.lean.text.declarations import declarations
from node.lean.text.goals import split_goals


class RetrievalError(ValueError):
    """A corpus, a data set, a model or an index cannot be used. The text says which one, why, and what to do."""


# --- premises and proof states as texts -------------------------------------------------------------------------------

MOST_CHARACTERS = 2000
"""Most characters of the text of a premise or a state. Longer texts add little, and encoders truncate them anyway."""

_WORD = re.compile(r"[^\W\d_][^\W_]*|\d+|[^\w\s]")
_NAME = re.compile(r"[^\W\d][\w'!?₀-₉]*(?:\.[^\W\d][\w'!?₀-₉]*)*")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def premise_text(full_name: str, code: str) -> tuple[str, bool]:
    """A declaration on one line, `theorem Nat.add_comm (a b : Nat) : a + b = b + a`, and whether it is a theorem or
    axiom.

    The proof of a theorem is left out. The value of a definition is included, because it is its meaning.
    """
    parsed, _ = declarations(code)
    first = parsed[0] if parsed else None
    if first is not None and first.is_proof:
        return f"theorem {full_name} {first.statement}"[:MOST_CHARACTERS], True
    kind = first.kind if first is not None else "declaration"
    text = code if first is None else code.partition(first.kind)[2]
    words = text.split()
    if words and full_name.split(".")[-1] == words[0].split(".")[-1]:
        words = words[1:]
    return f"{kind} {full_name} {' '.join(words)}"[:MOST_CHARACTERS].rstrip(), False


def query_text(state: str) -> str:
    """A state on one line. It begins with the conclusion of the first goal, since truncation removes the end."""
    goals = split_goals(state) or [state]
    goal_texts = [
        f"⊢ {' '.join(conclusion.split())} , {' '.join(above.split())}".rstrip(" ,")
        for above, _, conclusion in (goal.rpartition("⊢") for goal in goals)
    ]
    return " | ".join(goal_texts)[:MOST_CHARACTERS]


def words(text: str) -> list[str]:
    """The BM25 terms of a text: full names, parts of names, and symbols, with repetitions."""
    terms = [name for name in _NAME.findall(text) if "." in name or "_" in name]
    for word in _WORD.findall(text):
        terms += [part.lower() for part in _HUMP.split(word)]
    return terms


# --- the premises, and what is accessible -----------------------------------------------------------------------------

Position = tuple[int, int]
"""Line and column, both from 1."""

Mask = NDArray[np.bool_]
"""Shape (premises,): True for the premises that are allowed."""

COLUMNS = 1 << 20
"""Larger than any column. A position as one number is `line * COLUMNS + column`."""

CORPUS = "corpus.jsonl"

INIT = "Init.lean"
"""The file that every file imports unless it starts with `prelude`."""


class PremiseRow(msgspec.Struct, frozen=True):
    """One declaration of a file, as LeanDojo writes it."""

    full_name: str
    code: str
    start: Position
    end: Position
    kind: str = ""


class FileRow(msgspec.Struct, frozen=True):
    """One line of `corpus.jsonl`."""

    path: str
    imports: tuple[str, ...]
    premises: tuple[PremiseRow, ...]


class Premise(msgspec.Struct, frozen=True, gc=False):
    """A declaration that a proof may name."""

    full_name: str
    text: str
    """Its statement on one line: the text for encoders and BM25."""
    file: int
    """The number of its file."""
    end: int
    """Its end in the file: `line * COLUMNS + column`."""
    is_proof: bool
    """True for theorems and axioms, False for definitions."""


class CorpusFile(msgspec.Struct, frozen=True):
    """A file of the library."""

    path: str
    imports: tuple[int, ...]
    """Numbers of the files in the corpus that it imports directly."""
    first: int
    """Number of its first premise; the premises of a file have consecutive numbers."""
    last: int
    """One more than the number of its last premise."""


class Corpus:
    """All premises, grouped by file."""

    def __init__(self, files: Sequence[CorpusFile], premises: Sequence[Premise], digest: str) -> None:
        """`digest`: digest of the file that it was read from."""
        self.files = tuple(files)
        self.premises = tuple(premises)
        self.digest = digest
        self._ends = np.array([each.end for each in premises], dtype=np.int64)
        self._paths = {file.path: number for number, file in enumerate(files)}
        self._masks: dict[tuple[int, ...], Mask] = {}
        self._first: dict[str, int] = {}
        self._more: dict[str, list[int]] = {}
        """Further premises of names that several files declare."""
        for number, premise in enumerate(premises):
            if self._first.setdefault(premise.full_name, number) != number:
                self._more.setdefault(premise.full_name, []).append(number)

    def __len__(self) -> int:
        return len(self.premises)

    def file(self, path: str) -> int:
        """The number of a file, given by its path, the end of its path, or its module name. Raises RetrievalError."""
        lean_path = path if path.endswith(".lean") else f"{path.replace('.', '/')}.lean"
        if lean_path in self._paths:
            return self._paths[lean_path]
        fitting = [
            number
            for corpus_path, number in self._paths.items()
            if corpus_path.endswith(f"/{lean_path}") or lean_path.endswith(f"/{corpus_path}")
        ]
        if len(fitting) != 1:
            how_many = "no file" if not fitting else f"{len(fitting)} files"
            raise RetrievalError(
                f"the corpus has {how_many} `{lean_path}`; name one as the corpus does, such as {self._some()}"
            )
        return fitting[0]

    def numbers(self, full_name: str, path: str = "") -> list[int]:
        """Numbers of the premises with this name; with a path, only those of that file."""
        if full_name not in self._first:
            return []
        numbers = [self._first[full_name], *self._more.get(full_name, ())]
        return [number for number in numbers if not path or self.files[self.premises[number].file].path == path]

    def everything(self) -> Mask:
        """All premises."""
        return np.ones(len(self), dtype=np.bool_)

    def imported(self, files: Iterable[int]) -> Mask:
        """Mask of the declarations of these files and of all files that they import, directly or indirectly. It is
        cached: do not change it."""
        key = tuple(sorted(set(files)))
        if key not in self._masks:
            mask = np.zeros(len(self), dtype=np.bool_)
            for number in reached(self.files, key):
                mask[self.files[number].first : self.files[number].last] = True
            if len(self._masks) * len(self) > MOST_KEPT:
                self._masks.clear()
            self._masks[key] = mask
        return self._masks[key]

    def accessible(self, file: int, before: Position | None = None) -> Mask:
        """Mask of the premises that are accessible in a file before a position (None: at its end), including its
        imports."""
        own = self.files[file]
        mask = self.imported(own.imports).copy()
        inside = slice(own.first, own.last)
        mask[inside] = True if before is None else self._ends[inside] <= as_number(before)
        return mask

    def _some(self) -> str:
        return ", ".join(f"`{file.path}`" for file in self.files[:2])


MOST_KEPT = 32_000_000
"""Most bytes of cached masks; there is one mask for each requested set of imports."""


def as_number(position: Position) -> int:
    """A position as one number, for comparisons."""
    return position[0] * COLUMNS + position[1]


def reached(files: Sequence[CorpusFile], begin: Iterable[int]) -> set[int]:
    """These files, and all files that they import, directly or indirectly."""
    seen: set[int] = set()
    waiting = list(begin)
    while waiting:
        number = waiting.pop()
        if number not in seen:
            seen.add(number)
            waiting += files[number].imports
    return seen


def read_corpus(path: Path) -> Corpus:
    """Reads `corpus.jsonl`, given as the file or its folder. Raises RetrievalError."""
    path = path if path.is_file() else path / CORPUS
    digest = hashlib.blake2b(digest_size=16)
    try:
        rows = list(_rows(path, digest))
    except OSError as error:
        raise RetrievalError(
            f"{path}: cannot be read ({error.strerror}); `proofmesh trace --format leandojo` writes a corpus"
        ) from error
    return corpus_of(rows, digest.hexdigest(), str(path))


def corpus_of(rows: Sequence[FileRow], digest: str, where: str = "the corpus") -> Corpus:
    """The corpus of these lines. Raises RetrievalError if there are no premises, or a file occurs twice."""
    paths = {row.path: number for number, row in enumerate(rows)}
    if len(paths) < len(rows):
        twice = next(row.path for number, row in enumerate(rows) if paths[row.path] != number)
        raise RetrievalError(f"{where}: the file `{twice}` occurs twice; trace each project into a separate folder")
    ends = _by_end(paths)
    imports = [tuple(_resolved(paths, ends, row.imports)) for row in rows]
    imports = _with_init(imports, ends)
    files: list[CorpusFile] = []
    premises: list[Premise] = []
    for number, row in enumerate(rows):
        first = len(premises)
        for each in row.premises:
            text, is_proof = premise_text(each.full_name, each.code)
            premises.append(Premise(each.full_name, text, number, as_number(each.end), is_proof))
        files.append(CorpusFile(row.path, imports[number], first, len(premises)))
    if not premises:
        raise RetrievalError(f"{where}: has no premises; `proofmesh trace --format leandojo` writes a corpus")
    return Corpus(files, premises, digest)


def _rows(path: Path, digest: hashlib.blake2b) -> Iterator[FileRow]:
    decoder = msgspec.json.Decoder(FileRow)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            digest.update(line)
            if not line.strip():
                continue
            try:
                yield decoder.decode(line)
            except NOT_JSON as error:
                raise RetrievalError(f"{path}, line {number}: not a file of a corpus: {error}") from error


def _by_end(paths: dict[str, int]) -> dict[str, list[int]]:
    """Files by every suffix of their paths that begins after a slash."""
    ends: dict[str, list[int]] = {}
    for path, number in paths.items():
        parts = path.split("/")
        for first in range(len(parts)):
            ends.setdefault("/".join(parts[first:]), []).append(number)
    return ends


def _resolved(paths: dict[str, int], ends: dict[str, list[int]], imports: Iterable[str]) -> Iterator[int]:
    """Numbers of the imported files that the corpus has. LeanDojo names imports by path, proofmesh by module."""
    for each in imports:
        if each in paths:
            yield paths[each]
        elif len(matches := ends.get(each, [])) == 1:
            yield matches[0]


def _with_init(imports: list[tuple[int, ...]], ends: dict[str, list[int]]) -> list[tuple[int, ...]]:
    """Adds the implicit import of `Init` to every file that `Init` itself does not import."""
    init_files = ends.get(INIT, [])
    if len(init_files) != 1:
        return imports
    bare = [CorpusFile("", each, 0, 0) for each in imports]
    below = reached(bare, init_files)
    return [each if number in below else (*each, *init_files) for number, each in enumerate(imports)]
