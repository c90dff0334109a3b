"""A whole run of self-play that takes seconds: a network of some thousand parameters learns one proof and a few
conjectures by heart, so that statements are proved, and conjectures made and proved."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import tomli_w

from common.lean import Theorem
from common.life import faults
from common.life.process import kill_group, spawn_child
from node.play.attempts import TrainedAttempts
from node.stp.data.initial import data_of, prepare
from node.stp.data.lemmas import Library
from node.stp.data.sources import Found
from node.stp.network import network_of
from node.stp.records import FILE, ConjecturerExample, Given, Proof, Seed, Statement
from node.stp.settings import StpPlan, read_plan
from node.stp.store import StpStore
from node.stp.work import Proving, Work

SCRIPT = "exact Nat.add_comm _ _"

LEARNING = {"length": 192, "batch_tokens": 768, "micro_tokens": 768, "threads": 1, "bf16": "off"}
TRAININGS: dict[str, dict[str, Any]] = {
    "initial": {
        **{
            **LEARNING,
            "steps": 90,
            "vocab_size": 420,
            "save_every": 40,
            "evaluate_every": 1000,
            "rates": {"warmup": 5},
        },
        "model": {"depth": 2, "width": 48, "heads": 2, "kv_heads": 2, "hidden": 96, "context": 224},
    },
    "round": {**LEARNING, "rates": {"matrix_rate": 0.005, "rate": 0.001, "warmup": 1}},
    "final": {**LEARNING, "rates": {"warmup": 1}},
}


PROVER = {"policy": "inference", "searches": 2, "poll_seconds": 0.05, "drain_seconds": 0.0, "tactic_seconds": 2.0}


def recipe(folder: Path, rounds: int = 2) -> dict[str, dict[str, Any]]:
    """With data in this folder, and runs."""
    return {
        "run": {"name": "tiny", "dir": str(folder / "runs")},
        "stp": {
            **{"data": str(folder / "data"), "rounds": rounds},
            "conjecturer": {"barely": 1.0, "needs_lemma": False, "elegance_cut": 0.0, "lemma_share": 1.0, "most": 6},
            # A proof's weight, and all that follows, does not depend on how fast Lean was.
            "prover": {"first_samples": 8, "samples": 8, "rate_limit": 1.0, "per_second": 0.0},
            "training": {"epochs": 2.0, "initial": 0.5},
            "evaluation": {"samples": 4, "every": 1},
        },
        **TRAININGS,
        "up": {"inference": 1, "prover": 1, "ui": 0, "grace": 10.0},
        **{"ui": {"port": 0}, "broker": {"port": 0}, "lean_proxy": {"workers": 1}, "inference": {"threads": 1}},
        "prover": PROVER,
    }


def plus(name: str, number: int) -> Theorem:
    return Theorem(name, "(a : Nat)", f"a + {number} = {number} + a")


GIVEN = tuple(plus(f"given_{number}", number) for number in (1, 2, 3, 4))
TRAIN = (
    *(plus(f"train_{number}", number) for number in (5, 6, 7)),
    *(Theorem(f"never_{number}", "(a b : Nat)", f"a + {number} = {number} + b") for number in (1, 2, 3)),
)
"""Three that the network proves, and three that are false."""
TEST = (plus("test_8", 8), Theorem("test_9", "(a b c : Nat)", "a + b + c = c + (a + b)"))
CONJECTURES = tuple(
    Theorem(f"hard_{number}", "(a b : Nat)", f"a + b + {number} = {number} + (a + b)") for number in (1, 2, 3)
)


def tiny_data(folder: Path, more: Sequence[Theorem] = ()) -> Path:
    """The folder of the data. `more`: statements whose proofs are given, too."""
    library = Library.of("pocket")
    lemma = library.lemma("Nat.add_comm")
    statements = [*(Statement(each) for each in TRAIN), *(Statement(each, "test") for each in TEST)]
    proofs = [Given(each, Proof(each.name, SCRIPT)) for each in (*GIVEN, *more)]
    seeds = [Seed(easy, SCRIPT, lemma) for easy in GIVEN]
    conjectures = [ConjecturerExample(seed, hard.signature, 1.0) for seed in seeds for hard in CONJECTURES]
    found = Found("tiny", statements=statements, proofs=proofs, conjectures=conjectures)
    prepare([found], folder, library=library, pairs_each=0, empty=0.0)
    return folder


def tiny_recipe(folder: Path, rounds: int = 2) -> Path:
    """The recipe, beside its data; the run's folder is `runs/tiny`."""
    tiny_data(folder / "data")
    file = folder / "tiny.toml"
    file.write_text(tomli_w.dumps(recipe(folder, rounds)), encoding="utf-8")
    return file


async def stp(*argv: str | Path, fault: str = "") -> tuple[int, str, str]:
    """`proofmesh stp ...` in a process of its own: exit code, output, errors. `fault`: where it dies."""
    import asyncio

    pipe = asyncio.subprocess.PIPE
    environment = {**os.environ, faults.VARIABLE: fault} if fault else None
    command = [sys.executable, "-m", "node.command.cli", "stp", *argv]
    child = await spawn_child(command, env=environment, stdout=pipe, stderr=pipe)
    try:
        out, errors = await child.communicate()
    finally:
        await kill_group(child, 20)
    assert child.returncode is not None
    return child.returncode, out.decode(), errors.decode()


def counts(store: StpStore) -> dict[str, Any]:
    """What a run has counted, without times."""
    return {
        "rounds": [(each.number, each.cycle, each.kind, each.stage, each.weights) for each in store.rounds()],
        "seeds": [store.seeds_of(each.number) for each in store.rounds()],
        "conjectures": [(each.name, each.output, each.fate) for each in store.conjectures()],
        "attempts": sorted(
            (each.attempt_id, each.samples, each.correct, each.outcome)
            for row in store.rounds()
            for each in store.attempts_of(row.number).values()
        ),
        "proofs": sorted((each.name, each.script) for each in store.proofs()),
        "prover": [store.prover_examples(each.number) for each in store.rounds()],
        "conjecturer": [store.conjecturer_examples(each.number) for each in store.rounds()],
        "evaluations": store.evaluations(),
    }


async def finished(folder: Path, *flags: str, rounds: int = 2) -> Path:
    """The directory of an undisturbed run."""
    folder.mkdir(parents=True, exist_ok=True)
    code, _, errors = await stp("run", tiny_recipe(folder, rounds), *flags)
    assert code == 0, errors
    return folder / "runs/tiny"


def counts_of(directory: Path) -> dict[str, Any]:
    store = StpStore(directory / FILE, read_only=True)
    try:
        return counts(store)
    finally:
        store.close()


class Watching:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def part(self, name: str, total: int) -> None:
        pass

    def advance(self, done: int) -> None:
        pass


def tiny_plan(folder: Path, **stp: Any) -> StpPlan:
    """Of the tiny run, with other settings in [stp]."""
    file = folder / "tiny.toml"
    return read_plan(file if file.exists() else tiny_recipe(folder), {"stp": stp})


def work_of(plan: StpPlan) -> Work:
    """The run, its first row begun."""
    plan.directory.mkdir(parents=True, exist_ok=True)
    store, data = StpStore(plan.directory / FILE), data_of(plan)
    store.add_statements(data.statements)
    proving = Proving(cast(TrainedAttempts, SimpleNamespace(asking=None)), weights=None)
    return Work(plan, store, data, network_of(plan), proving, Watching())
