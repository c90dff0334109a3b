"""Reads the sources of training data that the command line names, and removes statements of benchmarks.

- `bank`, `bank-all`: the warm start of the built-in bank, or all its transitions and proofs;
  `bank:FOLDER`, `bank-all:FOLDER`: the same of another bank.
- A folder: of `proofmesh trace` (steps.jsonl, theorems.jsonl), of LeanDojo (train.json, val.json: the latter is held
  out, test.json is left alone), of a run (proofs.sqlite), of an evaluation, a theorem bank.
- `pairs:FILE.jsonl`: prepared texts, rows of {prompt, completion, weight}, for raw templates of whole proofs.
- A file: .json of LeanDojo, .jsonl or .jsonl.gz of transitions or whole proofs, proofs.sqlite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from common.records import readers as run_proofs
from node.bank import bank
from node.bank.bank import load_proofs
from node.bank.benchmarks import BenchmarkError, load_benchmark
from node.bank.sources import is_bank
from node.training.errors import InputError
from node.training.proof_rows import ATTEMPTS
from node.tuning import runs, traces
from node.tuning.data import Data, Proof, Step, stated_as, without_sorry
from node.tuning.pairs import PAIRS, read_pairs

BANK, ALL = "bank", "bank-all"

FORMS = (
    "a folder of `proofmesh trace`, of LeanDojo (train.json), a run, an evaluation, a .json or .jsonl file, or `bank`"
)

BENCHMARK = "statements of a benchmark"


def read_all(specs: Sequence[str], keep_out: Sequence[str]) -> Data:
    """The data of all sources, without the statements of the benchmarks `keep_out` (named as for `proofmesh eval`).
    Raises InputError if a source cannot be read, or all of them are empty."""
    if not specs:
        raise InputError(f"--data: no sources; name {FORMS}")
    kept_out = benchmarks(keep_out)
    data = Data()
    for spec in specs:
        data.add(read(spec))
    data = without(data, kept_out)
    if not data.steps and not data.proofs and not data.pairs:
        reasons = "; ".join(
            f"{count:,} {reason}" for reason, count in (data.steps_left_out + data.proofs_left_out).items()
        )
        raise InputError(
            f"--data {' '.join(specs)}: there is nothing to train on{f' (left out: {reasons})' if reasons else ''}"
        )
    return data


def read(spec: str) -> Data:
    """The data of a source. Raises InputError."""
    kind, _, where = spec.partition(":")
    if kind in (BANK, ALL):
        return _bank(Path(where) if where else bank.DIRECTORY, warm_start=kind == BANK)
    if kind == PAIRS:
        return Data(pairs=read_pairs(Path(where).expanduser()))
    path = Path(spec).expanduser()
    if path.is_dir():
        return _folder(path)
    if path.is_file():
        return _file(path)
    raise InputError(f"--data {spec}: no such file or folder; name {FORMS}")


def _folder(path: Path) -> Data:
    """Raises InputError."""
    if (path / run_proofs.DATABASE).is_file():
        return runs.run(path / run_proofs.DATABASE)
    if (path / ATTEMPTS).is_file():
        return runs.evaluation(path)
    if is_bank(path):
        return _bank(path, warm_start=False)
    data = Data()
    if (path / "steps.jsonl").is_file():
        data.add(without_sorry(traces.steps_file(path / "steps.jsonl")))
    if (path / "theorems.jsonl").is_file():
        data.add(traces.theorems_file(path / "theorems.jsonl"))
    if data.steps or data.proofs or data.steps_left_out or data.proofs_left_out:
        return data
    for inner in (path / "random", path, path / "leandojo" / "random", path / "leandojo"):
        if (inner / "train.json").is_file():
            return _splits(inner)
        if (inner / "theorems.json").is_file():
            return without_sorry(traces.leandojo(inner / "theorems.json"))
    for name in ("transitions.jsonl.gz", "transitions.jsonl"):
        if (path / name).is_file():
            return traces.rows_file(path / name)
    raise InputError(f"--data {path}: nothing to train on in this folder; name {FORMS}")


def _splits(folder: Path) -> Data:
    """The splits of a LeanDojo folder. Raises InputError."""
    data = without_sorry(traces.leandojo(folder / "train.json"))
    if (folder / "val.json").is_file():
        held_out = without_sorry(traces.leandojo(folder / "val.json"))
        data.held_out_steps += held_out.steps
    return data


def _file(path: Path) -> Data:
    """Raises InputError."""
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return traces.rows_file(path)
    if path.suffix == ".json":
        return without_sorry(traces.leandojo(path))
    if path.suffix in (".sqlite", ".db"):
        return runs.run(path)
    raise InputError(f"--data {path}: unknown format; name {FORMS}")


def _bank(folder: Path, *, warm_start: bool) -> Data:
    """Raises InputError."""
    steps = [replace(each, remaining=None) for each in bank_steps(folder, warm_start=warm_start)]
    try:
        proofs = [Proof(each.theorem, each.script) for each in load_proofs(folder, warm_start=warm_start)]
    except bank.BankError as error:
        raise InputError(str(error)) from error
    return Data(steps=steps, proofs=proofs)


def bank_steps(folder: Path, *, warm_start: bool) -> list[Step]:
    """The transitions of a bank's train split, with their remaining steps. Raises InputError."""
    try:
        if not bank.splits(folder):
            raise bank.BankError(f"--data bank:{folder}: no theorem bank; `proofmesh bank list` lists those at hand")
        stated = {each.theorem.name: stated_as(each.theorem) for each in bank.load_statements("train", folder)}
        return [
            Step(row.theorem, row.state, row.tactic, 1.0, stated.get(row.theorem, ""), row.remaining_steps)
            for row in bank.load_transitions(folder, warm_start=warm_start)
        ]
    except bank.BankError as error:
        raise InputError(str(error)) from error


@dataclass(frozen=True)
class Benchmarks:
    """The statements of benchmarks, which must not be trained on."""

    statements: frozenset[str]
    """The statements as `stated_as` writes them."""
    names: frozenset[str]


def benchmarks(specs: Sequence[str]) -> Benchmarks:
    """The statements of these benchmarks. Raises InputError if one cannot be read."""
    try:
        theorems = [each.theorem for spec in specs for each in load_benchmark(spec).statements]
    except BenchmarkError as error:
        raise InputError(f"--keep-out: {error}") from error
    return Benchmarks(frozenset(map(stated_as, theorems)), frozenset(theorem.name for theorem in theorems))


def without(data: Data, kept_out: Benchmarks) -> Data:
    """The data without the benchmarks' statements. They are compared by statement if it is known, and by name."""

    def is_step_free(step: Step) -> bool:
        return step.statement not in kept_out.statements and step.theorem.rpartition(":")[2] not in kept_out.names

    def is_proof_free(proof: Proof) -> bool:
        return stated_as(proof.theorem) not in kept_out.statements and proof.theorem.name not in kept_out.names

    remaining_data = Data(
        steps=[step for step in data.steps if is_step_free(step)],
        proofs=[proof for proof in data.proofs if is_proof_free(proof)],
        held_out_steps=data.held_out_steps,
        pairs=data.pairs,
        steps_left_out=Counter(data.steps_left_out),
        proofs_left_out=Counter(data.proofs_left_out),
    )
    if lost := len(data.steps) - len(remaining_data.steps):
        remaining_data.steps_left_out[BENCHMARK] += lost
    if lost := len(data.proofs) - len(remaining_data.proofs):
        remaining_data.proofs_left_out[BENCHMARK] += lost
    return remaining_data
