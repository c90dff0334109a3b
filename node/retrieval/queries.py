"""Proof states with the premises that their tactics name, from LeanDojo's lists of theorems.

They are split by theorem, and become training examples: a state, a premise that its tactic names, and premises that
it does not name.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from common.files import NOT_JSON
from common.seeds import derive_seed
from node.retrieval.corpus import Corpus, Position, RetrievalError, query_text
from node.retrieval.ranking import Bm25

SPLITS = ("train", "val", "test")
"""Names of LeanDojo's splits and their files."""


class _Provenance(msgspec.Struct):
    full_name: str
    def_path: str = ""


class _Tactic(msgspec.Struct):
    state_before: str
    annotated_tactic: tuple[str, list[_Provenance]]


class _Theorem(msgspec.Struct):
    file_path: str
    full_name: str
    start: Position
    traced_tactics: list[_Tactic]


@dataclass(frozen=True)
class Query:
    """A proof state, and the premises that its tactic names."""

    state: str
    positives: tuple[int, ...]
    """Numbers of these premises; all are accessible."""
    theorem: str
    file: int
    start: Position
    """Start of the theorem in its file."""


@dataclass
class Counts:
    """How much was read, and how much of it gives no query."""

    theorems: int = 0
    tactics: int = 0
    without: int = 0
    """Tactics that name no premise."""
    unknown: int = 0
    """Premises that the corpus does not have."""
    inaccessible: int = 0
    """Premises that are not accessible to the theorem according to the corpus: declared later in its file, or in files
    that it does not import. If there are many, the corpus and the theorems do not belong together."""

    def __str__(self) -> str:
        return (
            f"{self.theorems:,} theorems, {self.tactics:,} tactics; {self.without:,} tactics name no premise; of the "
            f"premises, {self.unknown:,} are not in the corpus and {self.inaccessible:,} not accessible"
        )


@dataclass
class Queries:
    """The queries of one or more files, split by theorem."""

    train: list[Query] = field(default_factory=list)
    held_out: list[Query] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    digest: str = ""
    """Digest of the files that they were read from."""


def read_queries(paths: Sequence[Path], corpus: Corpus, *, held_out: int) -> Queries:
    """Reads queries from lists of theorems, or from folders with such files.

    A folder has `random/train.json` and so on (LeanDojo's splits; val and test are held out), or `theorems.json`, of
    which one in `held_out` theorems is held out, by its name. Raises RetrievalError if a file is missing or has another
    format.
    """
    queries, digest = Queries(), hashlib.blake2b(digest_size=16)
    for path, split in _files(paths):
        try:
            content = path.read_bytes()
            theorems = msgspec.json.decode(content, type=list[_Theorem])
        except OSError as error:
            raise RetrievalError(f"{path}: cannot be read ({error.strerror})") from error
        except NOT_JSON as error:
            raise RetrievalError(f"{path}: not a list of LeanDojo's theorems: {error}") from error
        digest.update(content)
        for theorem in theorems:
            is_test = split == "test" if split else is_held_out(theorem.full_name, held_out)
            (queries.held_out if is_test else queries.train).extend(_of(theorem, corpus, queries.counts))
    queries.digest = digest.hexdigest()
    return queries


def is_held_out(theorem: str, one_of: int) -> bool:
    """Whether a theorem is held out. The choice is the same on every machine; 0: no theorem is held out."""
    digest = hashlib.blake2b(theorem.encode(), digest_size=8, person=b"held out").digest()
    return one_of > 0 and int.from_bytes(digest, "big") % one_of == 0


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Each file with its split: `train`, `test`, or empty if the names of the theorems decide."""
    for path in paths:
        if path.is_file():
            yield path, ""
            continue
        random = next((folder for folder in (path / "random", path) if (folder / "train.json").is_file()), None)
        if random is not None:
            for split in SPLITS:
                if (file := random / f"{split}.json").is_file():
                    yield file, "train" if split == "train" else "test"
        elif (path / "theorems.json").is_file():
            yield path / "theorems.json", ""
        else:
            raise RetrievalError(
                f"{path}: has neither theorems.json nor random/train.json; `proofmesh trace --format leandojo` writes "
                "the first into OUT/leandojo"
            )


def _of(theorem: _Theorem, corpus: Corpus, counts: Counts) -> Iterator[Query]:
    counts.theorems += 1
    counts.tactics += len(theorem.traced_tactics)
    with_premises = [each for each in theorem.traced_tactics if each.annotated_tactic[1]]
    counts.without += len(theorem.traced_tactics) - len(with_premises)
    if not with_premises:
        return
    try:
        file = corpus.file(theorem.file_path)
    except RetrievalError:
        counts.unknown += sum(len(each.annotated_tactic[1]) for each in with_premises)
        return
    mask = corpus.accessible(file, theorem.start)
    for tactic in with_premises:
        positives = []
        for number in _numbers(tactic.annotated_tactic[1], corpus, counts):
            if mask[number]:
                positives.append(number)
            else:
                counts.inaccessible += 1
        if positives:
            named = tuple(dict.fromkeys(positives))
            yield Query(tactic.state_before, named, theorem.full_name, file, theorem.start)


def _numbers(named: Iterable[Any], corpus: Corpus, counts: Counts) -> Iterator[int]:
    for each in named:
        numbers = corpus.numbers(each.full_name, each.def_path) or corpus.numbers(each.full_name)
        if numbers:
            yield numbers[0]
        else:
            counts.unknown += 1


# --- training examples ------------------------------------------------------------------------------------------------
# Hard negatives are accessible but wrong (arXiv 2306.15626, section 5: some are from the theorem's own file). Half of
# them are premises that BM25 ranks highest: they look similar and are the hardest to distinguish from the right one.

HARD_AMONG = 30
"""Hard negatives are sampled from this many premises that BM25 ranks highest."""

Example = dict[str, str]
"""Columns `anchor`, `positive`, `negative_1`, ...: what MultipleNegativesRankingLoss reads, in this order."""


def examples(queries: Sequence[Query], corpus: Corpus, negatives: int, seed: int) -> Iterator[Example]:
    """One example for each premise of each state; equal seeds give equal examples. States with too few accessible
    premises for the negatives are left out."""
    bm25 = Bm25(corpus) if negatives else None
    for number, query in enumerate(queries):
        wrong: list[int] = []
        if bm25 is not None:
            mask = corpus.accessible(query.file, query.start).copy()
            mask[list(query.positives)] = False
            rng = random.Random(derive_seed(seed, number))
            hard = bm25.best(query.state, mask, HARD_AMONG)
            wrong = rng.sample(hard, min(len(hard), (negatives + 1) // 2))
            mask[wrong] = False
            allowed = np.flatnonzero(mask)
            if len(wrong) + len(allowed) < negatives:
                continue
            wrong += [int(allowed[rng.randrange(len(allowed))]) for _ in range(negatives - len(wrong))]
        for positive in query.positives:
            row = {"anchor": query_text(query.state), "positive": corpus.premises[positive].text}
            yield row | {f"negative_{k}": corpus.premises[each].text for k, each in enumerate(wrong, 1)}
