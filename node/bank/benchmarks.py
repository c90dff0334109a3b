"""Reads the benchmarks of `proofmesh eval`: `pocket:test`, `textbook`, `bank:FOLDER`, `minif2f:test` and other known
data sets, or files; whole, or some families of them. Each row is counted: as a statement, or as unreadable with the
reason."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from common.lean import TacticRule, Theorem
from node.bank import bank
from node.bank.bank import BankError, Manifest, SourceRecord
from node.bank.elaboration import difference
from node.bank.importing import LEVEL, Imported, Names, Reader, Refusal
from node.bank.known import KNOWN, DataSet
from node.bank.sources import SUFFIXES, TEXTS, Source, find, is_bank
from node.lean.toolchain.lean_toolchain import LeanToolchain

POCKET = "pocket"
BANK = "bank:"
TEST = "test"


@dataclass(frozen=True)
class BenchmarkStatement:
    """A statement to be proved. Its theorem's name is its id, which is unique in the benchmark."""

    theorem: Theorem
    family: str
    level: int
    flaw: str = ""
    """A known flaw of the statement, with its source; empty if none is known."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """The remaining fields of its row."""


@dataclass(frozen=True)
class Benchmark:
    """The statements of an evaluation, and their source."""

    spec: str
    """The benchmark as the user named it."""
    name: str
    split: str
    """Empty for files, whose rows are all used."""
    statements: tuple[BenchmarkStatement, ...]
    unread: tuple[Refusal, ...] = ()
    """Rows that are not statements. They count neither as solved nor as unsolved."""
    source: str = ""
    """Files, a folder, or an id of the hub."""
    revision: str = ""
    """The commit of the hub's copy."""
    licence: str = ""
    homepage: str = ""
    paper: str = ""
    notes: tuple[str, ...] = ()
    """Remarks that a reader of the results needs."""
    rule: TacticRule | None = None
    """Which tactics a proof may have, by a bank's manifest; None: all."""
    tried: Mapping[str, SourceRecord] = field(default_factory=dict)
    """The sources of a user's bank by name, with the Lean under which their statements were tried."""

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return len(self.statements) + len(self.unread)

    @property
    def digest(self) -> str:
        """A digest of the content: the statements with names and headers, in order, and the unread rows. Equal content
        has equal digests, from any file or copy."""
        total = hashlib.blake2b(digest_size=16)
        for each in self.statements:
            total.update(repr((each.theorem.name, each.theorem.header, *each.theorem.stated)).encode())
        total.update(repr([each.name for each in self.unread]).encode())
        return total.hexdigest()


def load_benchmark(spec: str, *, data: Sequence[Path] = (), revision: str = "") -> Benchmark:
    """Read a benchmark: `pocket[:SPLIT]`, `witness[:SPLIT]`, `words[:SPLIT]`, `textbook`, `bank:FOLDER[:SPLIT]`,
    `NAME[:SPLIT]` of a known data set, or `FILE[,FILE]`. Behind a name, `[FAMILY, ...]` keeps some families alone:
    `puzzles[Wheels7]:test`.

    The default of SPLIT is `test`, and for a bank with statements in one split only, this one. `data`: folders with
    local copies of data sets. `revision`: revision of the hub's copy. It needs no Lean: `check_lean` asks
    whether the statements fit one. Raises BankError.
    """
    name, families, split = _parsed(spec.strip())
    benchmark = replace(_load(name + split, data, revision), spec=spec.strip())
    if families:
        bank.check_families(name, families, (each.family for each in benchmark.statements))
        kept = tuple(each for each in benchmark.statements if each.family in families)
        benchmark = replace(benchmark, statements=kept, unread=())
    if not benchmark.statements:
        first = f": {benchmark.unread[0].name}: {benchmark.unread[0].reason}" if benchmark.unread else ""
        raise BankError(
            f"{spec}: there is no statement in it ({benchmark.rows} rows{first}); check the file or the split"
        )
    return benchmark


def _parsed(spec: str) -> tuple[str, frozenset[str], str]:
    """A benchmark's name, its families (none: all), and its split with the colon. Raises BankError."""
    name, families = bank.families_of(spec)
    if families:
        return name, families, ""
    before, colon, split = spec.rpartition(":")
    name, families = bank.families_of(before)
    return (name, families, colon + split) if families else (spec, families, "")


def check_lean(benchmark: Benchmark, toolchain: LeanToolchain) -> None:
    """Refuse a bank whose statements were tried under another Lean. Raises BankError."""
    for name, record in benchmark.tried.items():
        if problem := difference(record, toolchain):
            raise BankError(f"{benchmark.spec}, {name}: {problem}; import it again with this Lean")


def _load(spec: str, data: Sequence[Path], revision: str) -> Benchmark:
    name, _, split = spec.partition(":")
    if name in bank.BUNDLED:
        benchmark = _of_bank(spec, bank.BUNDLED[name], split or TEST)
        return replace(benchmark, source="comes with proofmesh", licence="MIT", tried={})
    if spec.startswith(BANK):
        folder, split = _folder_and_split(spec.removeprefix(BANK))
        return _of_bank(spec, folder, split)
    files = [part.strip() for part in spec.split(",") if part.strip()]
    if files and all(map(bank.is_there, files)):
        only = Path(files[0])
        if len(files) == 1 and is_bank(only):
            return _of_bank(spec, only, "")
        if len(files) == 1 and (split := _split_in_bank(only)):
            return _of_bank(spec, only.parent, split)
        return _of_files(spec, files)
    data_set = KNOWN.get(name.lower())
    if data_set is None:
        raise BankError(_unknown(spec, files))
    split = split or (TEST if TEST in data_set.splits else data_set.splits[0])
    if split not in data_set.splits:
        raise BankError(f"{spec}: {data_set.name} has no split {split!r}, but {' and '.join(data_set.splits)}")
    source = find(data_set.name, data, revision=revision)
    if source.is_bank:
        return replace(_of_bank(spec, Path(source.origin), split), name=data_set.name)
    return _of_data_set(spec, source, data_set, split)


def _unknown(spec: str, files: Sequence[str]) -> str:
    """The error for an unknown benchmark, with a similar name."""
    missing = [file for file in files if not bank.is_there(file)]
    if any(file.endswith((*SUFFIXES, *TEXTS)) or "/" in file for file in missing):
        return f"{missing[0]}: no such file; check the path"
    near = difflib.get_close_matches(spec.partition(":")[0].lower(), [*bank.BUNDLED, *KNOWN], n=1)
    meant = f" (did you mean `{near[0]}`?)" if near else ""
    endings = ", ".join((*SUFFIXES, *TEXTS))
    names = ", ".join((*bank.BUNDLED, *KNOWN))
    return f"no benchmark `{spec}`{meant}: there are {names}, bank:FOLDER, and files ({endings})"


def _split_in_bank(file: Path) -> str:
    """The split of a bank that this file holds, whose other files have its rule and contexts; empty if it is none."""
    split = file.name.removesuffix(".jsonl.gz")
    return split if split in bank.SPLITS and is_bank(file.parent) else ""


def _folder_and_split(text: str) -> tuple[Path, str]:
    """A bank's folder and the split after it; empty if there is none."""
    folder, _, split = text.rpartition(":")
    if folder and split in bank.SPLITS and not bank.is_there(text):
        return Path(folder), split
    return Path(text), ""


def _of_bank(spec: str, folder: Path, split: str) -> Benchmark:
    """A split of a theorem bank; without a name `test`, or the only split that has statements.

    `proofmesh bank import FILE` puts statements into `train` if no row names a split. Raises BankError.
    """
    # 1. The asked split, or `test`.
    if not folder.is_dir():
        raise BankError(
            f"{folder}: no such folder; make a bank there with `proofmesh bank import SOURCE --out {folder}`"
        )
    manifest = bank.manifest_of(folder)
    notes = _notes_of_bank(folder, manifest)
    chosen = split or TEST
    there_are = bank.splits(folder)
    statements = (
        [] if there_are and chosen in set(bank.SPLITS) - set(there_are) else bank.load_statements(chosen, folder)
    )
    # 2. Without it: the only split that has statements, if none was asked for. A choice among several would measure
    # something that nobody asked for.
    if not statements:
        others = {each: found for each in there_are if (found := bank.load_statements(each, folder))}
        if len(others) == 1 and not split:
            ((chosen, statements),) = others.items()
            notes += (
                f"all statements of {folder} are in the split `{chosen}`: a network that trained on it knows them",
            )
        elif others:
            there = ", ".join(f"{len(found):,} in `{each}`" for each, found in others.items())
            raise BankError(
                f"{spec}: no statement in the split `{chosen}` of {folder} ({there}): name another split, such as "
                f"{BANK}{folder}:{next(iter(others))}, or import the statements with --split {chosen}"
            )
    # 3. Origin, revision and paper are those of the source only if there is one; of several, none is the bank's.
    sources = list(manifest.sources.values())
    only = sources[0] if len(sources) == 1 else None
    return Benchmark(
        spec=spec,
        name=folder.name,
        split=chosen,
        statements=tuple(BenchmarkStatement(each.theorem, each.family, each.level, each.flaw) for each in statements),
        source=only.origin if only is not None else str(folder),
        revision=only.revision if only is not None else "",
        licence=", ".join(dict.fromkeys(record.licence for record in sources if record.licence)),
        homepage=only.homepage if only is not None else "",
        paper=only.paper if only is not None else "",
        notes=notes,
        rule=manifest.rule,
        tried=manifest.sources,
    )


def _notes_of_bank(folder: Path, record_of_bank: Manifest) -> tuple[str, ...]:
    """Remarks for the results on a bank. Raises BankError."""
    notes = []
    if record_of_bank.digest and bank.digest(folder) != record_of_bank.digest:
        notes.append("its content is not what was written (`proofmesh bank check` says more)")
    if record_of_bank.sources:
        in_bank = sum(len(bank.load_statements(split, folder)) for split in bank.splits(folder))
        if (left_out := sum(record.statements for record in record_of_bank.sources.values()) - in_bank) > 0:
            notes.append(f"{left_out} statements of its sources are not in the bank, in any split (see import.json)")
    return tuple(notes)


def _of_data_set(spec: str, source: Source, data_set: DataSet, split: str) -> Benchmark:
    """A split of a known data set. Raises BankError."""
    single = data_set.splits[0] if len(data_set.splits) == 1 else ""
    reading = Reader(data_set.name, split=single, known=data_set, repeats=True, extra=True).collect(source.rows())
    if unsorted := [each.theorem.name for each in reading.statements if not each.split]:
        raise BankError(
            f"{source.origin}: {len(unsorted)} rows do not say which split of {data_set.name} they are of, first "
            f"{unsorted[0]}; name the file itself to evaluate on all its rows"
        )
    return Benchmark(
        spec=spec,
        name=data_set.name,
        split=split,
        statements=tuple(_statement(each) for each in reading.statements if each.split == split),
        unread=tuple(each for each in reading.refused if each.split in (split, "")),
        source=source.origin,
        revision=source.revision(),
        licence=data_set.licence,
        homepage=data_set.source,
        paper=data_set.paper,
        notes=tuple(note for note in (data_set.note, source.left_out()) if note),
    )


def _of_files(spec: str, files: Sequence[str]) -> Benchmark:
    """All statements of some files. Raises BankError."""
    statements: list[BenchmarkStatement] = []
    unread: list[Refusal] = []
    sources = [find(file) for file in files]
    names = Names()
    for source in sources:
        reading = Reader(source.name, known=source.data_set, repeats=True, extra=True).collect(source.rows())
        several = f"{source.name}, " if len(sources) > 1 else ""
        unread += [each._replace(name=several + each.name) for each in reading.refused]
        for each in reading.statements:
            unique = names.free(each.theorem.name, source.name)
            statements.append(_statement(replace(each, theorem=msgspec.structs.replace(each.theorem, name=unique))))
    known = [source.data_set for source in sources if source.data_set is not None]
    return Benchmark(
        spec=spec,
        name=", ".join(source.name for source in sources),
        split="",
        statements=tuple(statements),
        unread=tuple(unread),
        source=", ".join(files),
        licence=", ".join(dict.fromkeys(each.licence for each in known if each.licence)),
        homepage=known[0].source if len(known) == 1 else "",
        paper=known[0].paper if len(known) == 1 else "",
        notes=tuple(note for source in sources if (note := source.left_out())),
    )


def _statement(each: Imported) -> BenchmarkStatement:
    return BenchmarkStatement(each.theorem, each.family, LEVEL, each.flaw, each.extra)
