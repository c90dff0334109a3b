"""Reads sources of training data as typed rows: banks, traces, LeanDojo's data, runs, evaluations, files of lines.

`read` finds out what a source is and gives its steps and whole proofs, `READERS` a source's rows of one kind. What is
left out is counted by reason. A theorem of LeanDojo is {full_name, traced_tactics: [{tactic, state_before}, ...], ...},
both in version 1 (Benchmark 4, arXiv 2306.15626) and in version 2, which adds `theorem_statement`.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from common.files import NOT_JSON, unpacked, write_whole
from common.lean import Theorem
from common.records import readers as run_proofs
from node.bank import bank
from node.bank.bank import BankError, load_proofs
from node.bank.benchmarks import load_benchmark
from node.bank.sources import is_bank
from node.data import grammar
from node.data.errors import InputError
from node.data.grammar import ALL, HUB, PAIRS, PROOFS, TRANSITIONS, WARM, Source
from node.data.rows import (
    NOTHING_LEFT,
    BadRow,
    Pair,
    Proof,
    Row,
    Step,
    UnreadText,
    leaves_something_out,
    proof_of,
    stated_as,
    steps_of,
    weight_of,
)
from node.lean.text.goals import split_goals, state_text
from node.lean.text.lexing import blanked
from node.lean.text.statement import StatementError, parse_statement

STATEMENTS, ATTEMPTS = "statements.jsonl", "attempts.jsonl"
"""In the folder of an evaluation."""

FORMS = (
    "a folder of `proofmesh trace`, of LeanDojo (train.json), a run, an evaluation, a .json or .jsonl file, or `bank`"
)

SORRY = "of theorems whose proof uses sorry"
BENCHMARK = "statements of a benchmark"
IN_FILES = "of theorems in Lean files, which cannot be stated without the file"


@dataclass
class Data:
    """The data of one or more sources."""

    steps: list[Step] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    held_out_steps: list[Step] = field(default_factory=list)
    """Steps of a split that the source itself holds out (LeanDojo's `val`)."""
    pairs: list[Pair] = field(default_factory=list)
    """Prepared texts: prompts with completions."""
    steps_left_out: Counter[str] = field(default_factory=Counter)
    """Number of steps that were left out, by reason."""
    proofs_left_out: Counter[str] = field(default_factory=Counter)

    def add(self, other: Data) -> None:
        self.steps += other.steps
        self.proofs += other.proofs
        self.held_out_steps += other.held_out_steps
        self.pairs += other.pairs
        self.steps_left_out += other.steps_left_out
        self.proofs_left_out += other.proofs_left_out

    def add_proofs(self, found: Iterable[Proof | str]) -> Data:
        """Adds proofs, and counts the reasons that stand for others."""
        for each in found:
            if isinstance(each, Proof):
                self.proofs.append(each)
            else:
                self.proofs_left_out[each] += 1
        return self

    @property
    def is_empty(self) -> bool:
        return not (self.steps or self.proofs or self.pairs)


# --- all sources of a training ----------------------------------------------------------------------------------------


def read_all(specs: Sequence[str], keep_out: Sequence[str]) -> Data:
    """The data of all sources, without the statements of the benchmarks `keep_out` (named as for `proofmesh eval`).
    Raises InputError if a source cannot be read, or all of them are empty."""
    if not specs:
        raise InputError(f"--data: no sources; name {FORMS}")
    kept_out = benchmarks(keep_out)
    data = Data()
    for spec in specs:
        data.add(read(parse(spec)))
    data = without(data, kept_out)
    if data.is_empty:
        reasons = "; ".join(
            f"{count:,} {reason}" for reason, count in (data.steps_left_out + data.proofs_left_out).items()
        )
        raise InputError(
            f"--data {' '.join(specs)}: there is nothing to train on{f' (left out: {reasons})' if reasons else ''}"
        )
    return data


def parse(text: str) -> Source:
    """A source of a language model's training: `[KIND:]WHERE[@SPLIT]`; without KIND its steps and its whole proofs.
    Raises InputError."""
    source = grammar.parse(text, tuple(READERS), "")
    if source.weight != 1:
        raise InputError(f"--data {text}: sources have no weights here; rows may have a `weight`")
    return source


@dataclass(frozen=True)
class Benchmarks:
    """The statements of benchmarks, which must not be trained on."""

    statements: frozenset[str]
    """The statements as `stated_as` writes them."""
    names: frozenset[str]

    def free(self, statement: str, theorem: str) -> bool:
        """Whether a row may be trained on. It is compared by statement if it is known, and by name."""
        return statement not in self.statements and theorem not in self.names


def benchmarks(specs: Sequence[str]) -> Benchmarks:
    """The statements of these benchmarks. Raises InputError if one cannot be read."""
    try:
        theorems = [each.theorem for spec in specs for each in load_benchmark(spec).statements]
    except BankError as error:
        raise InputError(f"--keep-out: {error}") from error
    return Benchmarks(frozenset(map(stated_as, theorems)), frozenset(theorem.name for theorem in theorems))


def without(data: Data, kept_out: Benchmarks) -> Data:
    """The data without the benchmarks' statements, which are counted as left out."""
    steps = [each for each in data.steps if kept_out.free(each.statement, each.theorem.rpartition(":")[2])]
    proofs = [each for each in data.proofs if kept_out.free(stated_as(each.theorem), each.theorem.name)]
    return replace(
        data,
        steps=steps,
        proofs=proofs,
        steps_left_out=data.steps_left_out + Counter({BENCHMARK: len(data.steps) - len(steps)}),
        proofs_left_out=data.proofs_left_out + Counter({BENCHMARK: len(data.proofs) - len(proofs)}),
    )


# --- one source -------------------------------------------------------------------------------------------------------


def read(source: Source) -> Data:
    """The data of a source, and of its kind alone if it names one. Raises InputError."""
    if source.kind == PAIRS:
        return Data(pairs=read_pairs(source.path))
    data = _read(source)
    if source.kind == TRANSITIONS:
        return replace(data, proofs=[], proofs_left_out=Counter())
    if source.kind == PROOFS:
        return replace(data, steps=[], held_out_steps=[], steps_left_out=Counter())
    return data


READERS: Mapping[str, Callable[[Source], Iterable[Step] | Iterable[Proof] | Iterable[Pair]]] = {
    TRANSITIONS: lambda source: read(source).steps,
    PROOFS: lambda source: read(source).proofs,
    PAIRS: lambda source: read(source).pairs,
}
"""By KIND, the reader of a source's typed rows. They raise InputError. The kinds that only one trainer reads have their
readers beside that trainer: texts and conjectures, statements, progress, premises."""


def _read(source: Source) -> Data:
    """Raises InputError."""
    path = source.path
    if source.is_bank or (path.is_dir() and is_bank(path)):
        return _bank(source)
    if path.is_dir():
        return _folder(source)
    if source.split:
        raise InputError(f"--data {source.name}: only banks and LeanDojo's folders have splits")
    if path.name.endswith((".jsonl", ".jsonl.gz")) and path.is_file():
        return _rows_file(path)
    if path.suffix == ".json" and path.is_file():
        return _without_sorry(_dojo_steps(path))
    if path.suffix in (".sqlite", ".db") and path.is_file():
        return _run(path)
    problem = "unknown format" if path.is_file() else "no such file or folder"
    if source.where.startswith(HUB):
        problem = "datasets of the hub are read by `proofmesh train pretrain|midtrain|sft` alone"
    raise InputError(f"--data {source.where}: {problem}; name {FORMS}")


def _folder(source: Source) -> Data:
    """Raises InputError."""
    path = source.path
    # 1. Only banks and LeanDojo's folders have splits; a split that would be ignored is an error.
    files = leandojo_files(path)
    if source.split and files:
        return _leandojo(source, files)
    if source.split:
        raise InputError(f"--data {source.name}: only banks and LeanDojo's folders have splits")
    # 2. Folders with a database or attempts: their files are unmistakable.
    if (path / run_proofs.DATABASE).is_file():
        return _run(path / run_proofs.DATABASE)
    if (path / ATTEMPTS).is_file():
        return Data().add_proofs(proof for _, proof in _of_evaluation(path))
    # 3. A trace has steps and theorems, either or both. One whose rows were all left out is a trace, too: the reader is
    # told how many, not that there is nothing.
    data = Data()
    if (path / "steps.jsonl").is_file():
        data.add(_without_sorry(_file_steps(path / "steps.jsonl")))
    if (path / "theorems.jsonl").is_file():
        data.add_proofs(_traced_proofs(path / "theorems.jsonl"))
    if not data.is_empty or data.steps_left_out or data.proofs_left_out:
        return data
    # 4. LeanDojo's files come after a trace, which may have them below it (`--format leandojo`).
    if files:
        return _leandojo(source, files)
    # 5. Rows of transitions.
    for name in ("transitions.jsonl.gz", "transitions.jsonl"):
        if (path / name).is_file():
            return _rows_file(path / name)
    raise InputError(
        f"--data {path}: nothing to train on in this folder (neither {run_proofs.DATABASE} of a run nor {ATTEMPTS} of "
        f"an evaluation); name {FORMS}"
    )


def folder_rows(source: Source) -> Iterator[Row]:
    """The transitions or the whole proofs of a folder as rows for a stage of training. Raises InputError."""
    path = source.path
    if source.kind == TRANSITIONS:
        steps = counted_steps(source)
        for step in read(source).steps if steps is None else steps:
            if step.remaining is None:
                raise InputError(f"data {source.name}: its steps do not say how many remain, which the value learns")
            transition = {"state": step.state, "tactic": step.tactic, "remaining_steps": step.remaining}
            yield {"theorem": step.theorem, **transition}
        return
    named: Iterable[tuple[str, Proof | str]]
    if (path / run_proofs.DATABASE).is_file():
        named = ((row.theorem_id, _recorded(row)) for row in _recorded_rows(path / run_proofs.DATABASE))
    elif (path / ATTEMPTS).is_file():
        named = _of_evaluation(path)
    else:
        named = ((each.key, each) for each in read(source).proofs)
    for name, proof in named:
        if isinstance(proof, Proof):
            yield {"name": name, "statement": proof.theorem.signature, "proof": proof.script}


def counted_steps(source: Source) -> list[Step] | None:
    """The steps of a bank or of a run with their remaining steps; None for other sources. Raises InputError."""
    path = source.path
    if source.is_bank or (path.is_dir() and is_bank(path)):
        return bank_steps(source)
    database = path / run_proofs.DATABASE if path.is_dir() else path
    return _steps_of_run(database) if database.suffix in (".sqlite", ".db") and database.is_file() else None


# --- banks ------------------------------------------------------------------------------------------------------------


def is_warm(source: Source) -> bool:
    """Whether only the warm start of a bank is read: the default of `bank`, not of another bank. Raises InputError."""
    if source.split not in ("", WARM, ALL):
        raise InputError(f"data {source.name}: a bank has the splits {WARM} and {ALL}")
    return source.split == WARM or (source.is_bank and source.split != ALL)


def bank_folder(source: Source) -> Path:
    """The folder of a bank. Raises InputError if there is none."""
    folder = bank.DIRECTORY if source.is_bank else source.path
    if not bank.splits(folder):
        raise InputError(f"--data {source.name}: no theorem bank; `proofmesh bank list` lists those at hand")
    return folder


def _bank(source: Source) -> Data:
    """Raises InputError."""
    steps = [replace(each, remaining=None) for each in bank_steps(source)]
    try:
        found = load_proofs(bank_folder(source), warm_start=is_warm(source))
    except bank.BankError as error:
        raise InputError(str(error)) from error
    return Data(steps=steps, proofs=[Proof(each.theorem, each.script) for each in found])


def bank_steps(source: Source) -> list[Step]:
    """The transitions of a bank's train split, with their remaining steps. Raises InputError."""
    folder = bank_folder(source)
    try:
        stated = {each.theorem.name: stated_as(each.theorem) for each in bank.load_statements("train", folder)}
        return [
            Step(row.theorem, row.state, row.tactic, 1.0, stated.get(row.theorem, ""), row.remaining_steps)
            for row in bank.load_transitions(folder, warm_start=is_warm(source))
        ]
    except bank.BankError as error:
        raise InputError(str(error)) from error


# --- runs and evaluations ---------------------------------------------------------------------------------------------


def _run(database: Path) -> Data:
    """All distinct verified proofs of a run, and the steps of its replay buffer, without those of evaluations. Raises
    InputError."""
    steps = dict.fromkeys(replace(each, remaining=None) for each in _steps_of_run(database))
    return Data(steps=list(steps)).add_proofs(map(_recorded, dict.fromkeys(_recorded_rows(database))))


def _recorded_rows(database: Path) -> list[run_proofs.ProofToLearn]:
    """Raises InputError."""
    with _records_of_a_run():
        return run_proofs.proofs_to_learn(database)


def _recorded(row: run_proofs.ProofToLearn) -> Proof | str:
    """The proof of a row, or the reason why it cannot be used."""
    return IN_FILES if row.in_file else Proof(row.theorem, _block(row.script))


def _steps_of_run(database: Path) -> list[Step]:
    """The distinct steps of a run's replay buffer with their fewest remaining steps, without those of evaluations.
    Raises InputError."""
    rows: dict[tuple[Theorem, str, str], run_proofs.StepToLearn] = {}
    with _records_of_a_run():
        for each in run_proofs.steps_to_learn(database):
            known = rows.setdefault((each.theorem, each.state, each.tactic), each)
            if each.remaining_steps < known.remaining_steps:
                rows[each.theorem, each.state, each.tactic] = each
    return [
        Step(
            each.theorem.name,
            each.state,
            each.tactic,
            statement=stated_as(each.theorem),
            remaining=each.remaining_steps,
        )
        for each in rows.values()
    ]


@contextmanager
def _records_of_a_run() -> Iterator[None]:
    """Raises InputError."""
    try:
        yield
    except run_proofs.UnreadableRecords as error:
        raise InputError(f"{error}: not the database of a run") from error


class _Stated(msgspec.Struct):
    name: str
    theorem: Theorem


class _Solved(msgspec.Struct):
    """What an evaluation's lines say of an attempt."""

    name: str
    script: str = ""


def _of_evaluation(folder: Path) -> Iterator[tuple[str, Proof | str]]:
    """The name of each proved theorem, with the proof or the reason why there is none. Raises InputError."""
    try:
        lines_ = (folder / STATEMENTS).read_bytes().splitlines()
        theorems = {row.name: row.theorem for row in (msgspec.json.decode(line, type=_Stated) for line in lines_)}
        for line in (folder / ATTEMPTS).read_bytes().splitlines():
            solved = msgspec.json.decode(line, type=_Solved)
            if not solved.script or solved.name not in theorems:
                continue
            wrong = leaves_something_out(solved.script)
            yield solved.name, SORRY if wrong else Proof(theorems[solved.name], _block(solved.script))
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"{folder}: not a whole evaluation ({error})") from error


def _block(script: str) -> str:
    return textwrap.dedent(script).strip("\n")


# --- traces and LeanDojo's data ---------------------------------------------------------------------------------------


def leandojo_files(folder: Path) -> dict[str, Path]:
    """LeanDojo's files in a folder, or in its folder leandojo/: by split (train, val, test), or a list of all theorems
    under the empty name."""
    for inner in (folder / "random", folder, folder / "leandojo" / "random", folder / "leandojo"):
        if (inner / "train.json").is_file():
            files = {split: inner / f"{split}.json" for split in ("train", "val", "test")}
            return {split: file for split, file in files.items() if file.is_file()}
        if (inner / "theorems.json").is_file():
            return {"": inner / "theorems.json"}
    return {}


def _leandojo(source: Source, files: Mapping[str, Path]) -> Data:
    """The train split, with val held out; or the split that the source names. `test` is left alone. Raises
    InputError."""
    if source.split:
        if source.split not in files:
            raise InputError(
                f"--data {source.name}: no such split; there are {', '.join(filter(None, files)) or 'none'}"
            )
        return _without_sorry(_dojo_steps(files[source.split]))
    if "" in files:
        return _without_sorry(_dojo_steps(files[""]))
    data = _without_sorry(_dojo_steps(files["train"]))
    if "val" in files:
        data.held_out_steps += _without_sorry(_dojo_steps(files["val"])).steps
    return data


class _Tactic(msgspec.Struct):
    tactic: str
    state_before: str


class _DojoTheorem(msgspec.Struct):
    """A theorem of LeanDojo; other fields are ignored."""

    full_name: str
    traced_tactics: list[_Tactic] = []
    theorem_statement: str | None = None
    file_path: str = ""


def _dojo_steps(path: Path) -> list[Step]:
    """The steps of a LeanDojo file. Theorems without tactics are skipped. Raises InputError."""
    try:
        theorems = msgspec.json.decode(path.read_bytes(), type=list[_DojoTheorem])
    except NOT_JSON as error:
        raise InputError(
            f"{path}: not a list of LeanDojo's theorems ({error}); expected [{{full_name, traced_tactics: [{{tactic, "
            "state_before}, ...]}, ...]"
        ) from error
    return [step for theorem in theorems for step in _theorem_steps(theorem)]


def _theorem_steps(theorem: _DojoTheorem) -> Iterator[Step]:
    statement = stated(theorem.theorem_statement or "")
    name = f"{theorem.file_path}:{theorem.full_name}"
    for each in theorem.traced_tactics:
        if each.state_before != NOTHING_LEFT:
            state = state_text(split_goals(each.state_before))
            yield Step(name, state, each.tactic, statement=statement)


class _Place(msgspec.Struct):
    tactic: str
    start: tuple[int, int]
    end: tuple[int, int]


class _Block(msgspec.Struct):
    tactics: list[_Place] = []


class _TracedTheorem(msgspec.Struct):
    """A theorem of theorems.jsonl; other fields are ignored."""

    name: str
    kind: str
    statement: str
    context: list[str] = []
    blocks: list[_Block] = []
    error: str = ""
    file: str = ""


def _traced_proofs(path: Path) -> Iterator[Proof | str]:
    """Whole proofs of a trace's theorems.jsonl, as written: of theorems and lemmas whose proof is one tactic block.
    Raises InputError."""
    for where, row in lines(path):
        try:
            yield _traced_proof(msgspec.convert(row, _TracedTheorem))
        except msgspec.ValidationError as error:
            raise InputError(f"{where}: not a theorem of a trace: {error}") from error


def _traced_proof(theorem: _TracedTheorem) -> Proof | str:
    """The whole proof of a traced theorem, or the reason why there is none."""
    if theorem.error:
        return SORRY if "sorry" in theorem.error else "of theorems that Lean does not accept"
    if theorem.kind not in ("theorem", "lemma"):
        return "of definitions and examples"
    if len(theorem.blocks) != 1 or ":=" in blanked(theorem.statement):
        return "proofs that are no single block of tactics"
    try:
        stated = parse_statement(theorem.statement)
    except StatementError:
        return "statements that cannot be read"
    header = "\n".join(theorem.context)  # the header opens the namespace, so the short name is used
    script = "\n".join(each.tactic for each in _outermost(theorem.blocks[0].tactics))
    if leaves_something_out(script) or not script:
        return SORRY
    return Proof(
        Theorem(stated.name, stated.binders, stated.conclusion, header), script, place=f"{theorem.file}:{theorem.name}"
    )


def _outermost(tactics: Iterable[_Place]) -> Iterator[_Place]:
    """The tactics that are not inside another tactic."""
    end = (0, 0)
    for each in sorted(tactics, key=lambda each: (each.start, (-each.end[0], -each.end[1]))):
        if each.start >= end:
            yield each
            end = each.end


# --- files of lines ---------------------------------------------------------------------------------------------------


def _rows_file(path: Path) -> Data:
    """The data of a file of transitions or of whole proofs; the first line decides which. Raises InputError."""
    first = next(lines(path), None)
    if first is None:
        raise InputError(f"{path}: is empty")
    _, row = first
    if "blocks" in row and "statement" in row:
        return Data().add_proofs(_traced_proofs(path))
    if "proof" in row or "formal_proof" in row:
        return Data().add_proofs(_file_proofs(path))
    return _without_sorry(_file_steps(path))


def _file_proofs(path: Path) -> Iterator[Proof | str]:
    """Whole proofs from lines with `statement` (or `formal_statement`), `proof` (or `formal_proof`), and optionally
    `name`, `header`, `weight`. Raises InputError."""
    for where, row in lines(path):
        try:
            yield proof_of(row, header=True) or SORRY
        except UnreadText as error:
            yield error.reason
        except BadRow as error:
            raise InputError(f"{where}: {error}") from error


def _file_steps(path: Path) -> Iterator[Step]:
    """The atomic steps of a trace's steps.jsonl, or transitions in any form that `proofmesh train` reads. Raises
    InputError."""
    for where, row in lines(path):
        statement = stated(str(row.get("statement") or ""))
        prefix = f"{row.get('file', '')}:" if "file" in row else ""
        try:
            # In traces and in lines of transitions, states have the text that the policy reads.
            for each in steps_of(row):
                theorem, weight = prefix + each.theorem, weight_of(row, where)
                yield Step(theorem, each.state, each.tactic, weight, statement, each.remaining)
        except BadRow as error:
            raise InputError(f"{where}: {error}") from error


def _without_sorry(steps: Iterable[Step]) -> Data:
    """The steps of theorems whose tactics use no `sorry` or `admit`. The other steps are counted as left out."""
    all_steps = list(steps)
    unproved = {step.theorem for step in all_steps if leaves_something_out(step.tactic)}
    proved_steps = [step for step in all_steps if step.theorem not in unproved]
    lost_count = len(all_steps) - len(proved_steps)
    return Data(steps=proved_steps, steps_left_out=Counter({SORRY: lost_count} if lost_count else {}))


def stated(text: str) -> str:
    """`stated_as` of a statement's text; empty if the text cannot be parsed."""
    if not text:
        return ""
    try:
        return stated_as(parse_statement(text))
    except StatementError:
        return ""


def lines(path: Path) -> Iterator[tuple[str, Row]]:
    """The rows of a .jsonl or .jsonl.gz file, each with its file and line for messages. Raises InputError."""
    try:
        with unpacked(path) as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}, line {number}"
                if not line.strip():
                    continue
                try:
                    row = msgspec.json.decode(line, type=dict[str, Any])
                except NOT_JSON as error:
                    raise InputError(f"{where}: not a JSON object ({error}): {line[:60]!r}") from error
                yield where, row
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def write_pairs(file: Path, pairs: Iterable[Pair]) -> None:
    """Writes the file atomically. Raises OSError."""
    write_whole(file, b"".join(msgspec.json.encode(pair) + b"\n" for pair in pairs))


def read_pairs(file: Path) -> list[Pair]:
    """The rows of a file. Raises InputError."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"--data {PAIRS}:{file}: cannot be read ({error.strerror})") from error
    pairs = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                pairs.append(msgspec.json.decode(line, type=Pair))
            except msgspec.MsgspecError as error:
                raise InputError(
                    f"{file}:{number}: {error}; a row is {{prompt, completion, weight}}, two texts and a number"
                ) from error
    return pairs
