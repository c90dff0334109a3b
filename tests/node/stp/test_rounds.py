"""Whole runs of self-play on a mesh of their own: a real broker, pocket Lean, a network that learns by heart."""

import asyncio
import contextlib
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
import tomli_w

from common.lean import Theorem
from common.life.process import kill_group, spawn_child
from node.command.stp import run
from node.model.checkpoint import read_weights
from node.stp import network, training
from node.stp.data.initial import stated
from node.stp.embedding import vectors_of
from node.stp.readers import open_run, summarise
from node.stp.records import FILE, Fate, RoundKind, Stage
from node.stp.store import StpStore
from node.training import __main__ as train
from tests.commands import Called
from tests.node.stp import tiny_run
from tests.waiting import eventually


@pytest.fixture
def trained_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings and vectors are made in this process, which has torch, and not in children that import it first."""

    async def trained(name: str, folder: Path, arguments: Sequence[str], result: Callable[[], Path]) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.chdir(folder):
            assert train.main(arguments[1:]) == 0  # in the main thread, for its signals
        return result()

    monkeypatch.setattr(training, "trained", trained)
    monkeypatch.setattr(network, "embeddings", lambda source, texts, *_: vectors_of(read_weights(Path(source)), texts))


@pytest.mark.process
@pytest.mark.compute
def test_a_run_in_one_process_learns(called: Called, lent_lean: None, trained_here: None, tmp_path: Path) -> None:
    code, printed, errors = called(run.main_run, tiny_run.tiny_recipe(tmp_path, rounds=1), "--here")
    assert code == 0, errors
    check(tmp_path / "runs/tiny", rounds=1)
    done = summarise(open_run(tmp_path / "runs/tiny")).rounds[1]
    said = f"conjectures, {done.barely} barely; {done.solved} of"
    assert done.barely and said in printed + errors


@pytest.mark.process
@pytest.mark.slow
async def test_a_run_on_a_mesh_proves_conjectures_and_learns_from_what_is_verified_alone(tmp_path: Path) -> None:
    check(await tiny_run.finished(tmp_path), rounds=2)


def check_rounds(store: StpStore, rounds: int) -> set[str]:
    """Statements and conjectures are proved, and the next training reads these; their names."""
    kinds = [RoundKind.INITIAL, *[RoundKind.SELF_PLAY] * rounds, RoundKind.FINAL]
    assert [(each.kind, each.stage, each.weights) for each in store.rounds()] == [
        (kind, Stage.DONE, version) for version, kind in enumerate(kinds, 1)
    ]
    assert store.solved(), "statements are proved"
    fates = Counter(each.fate for each in store.conjectures())
    assert fates[Fate.PROVED], f"conjectures are proved: {fates}"
    proved = {each.name for each in store.conjectures(None, Fate.PROVED)}
    assert {each.theorem.name for each in store.prover_examples(2)} & proved, "the next training reads them"
    return proved


def check(directory: Path, rounds: int) -> None:
    """What is learned from is verified and never held out, too."""
    store = StpStore(directory / FILE, read_only=True)
    proved = check_rounds(store, rounds)
    assert {each.theorem.name for each in store.unproved()} >= {"never_1", "never_2", "never_3"}, "these are false"
    verified = {(each.name, each.script) for each in store.proofs()}
    held_out = {stated(each) for each in tiny_run.TEST}
    for row in store.rounds():
        for each in store.prover_examples(row.number):
            assert each.theorem.name.startswith("given_") or (each.theorem.name, each.proof) in verified
            assert stated(each.theorem) not in held_out
        for made in store.conjecturer_examples(row.number):
            assert not made.name or made.name in proved
    assert store.evaluations().keys() == set(range(rounds + 2))
    store.close()
    assert list(directory.glob("*.png")) and (directory / "stp.html").is_file()


@pytest.mark.process
@pytest.mark.parametrize("fault", ["stp-1:elaboration#2", "stp-1:proving#3"])
@pytest.mark.slow
async def test_a_run_that_is_killed_goes_on_with_the_counts_of_one_that_is_not(tmp_path: Path, fault: str) -> None:
    wanted = tiny_run.counts_of(await tiny_run.finished(tmp_path / "calm"))
    assert await killed(tmp_path / "killed", fault) == wanted


async def killed(folder: Path, fault: str) -> dict[str, Any]:
    """The counts of a run whose process dies at a point, and that is gone on with until it ends."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    recipe = tiny_run.tiny_recipe(folder)
    code, _, errors = await tiny_run.stp("run", recipe, fault=fault)
    assert code == -9, f"{fault} was not reached: {errors}"
    code, _, errors = await tiny_run.stp("run", recipe)
    assert code == 0, errors
    return tiny_run.counts_of(folder / "runs/tiny")


# --- nodes that are killed in each stage of the rounds, and started again by the run ----------------------------------
STAGES = {
    "making": (Stage.SEEDED, Stage.CONJECTURED),
    "proving": (Stage.ELABORATED, Stage.ATTEMPTED),
    "training": (Stage.VERIFIED, Stage.SELECTED, Stage.TRAINED),
}
"""By what a round does then, the stages that it has reached when a node is killed. Not all in one run: a node that dies
six times in two minutes is not started again."""

ROLES = ("inference", "lean-proxy", "prover", "broker")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The counts of a run that nothing disturbs."""
    return tiny_run.counts_of(asyncio.run(tiny_run.finished(tmp_path_factory.mktemp("calm"))))


def nodes(run: int, role: str) -> list[psutil.Process]:
    return list(_nodes(run, role))


def _nodes(run: int, role: str) -> Iterator[psutil.Process]:
    for each in psutil.Process(run).children(recursive=True):
        try:
            if each.cmdline()[1:4] == ["-m", "node.command.cli", role]:
                yield each
        except psutil.Error:
            continue


def reached(directory: Path, round: int, stage: Stage) -> bool:
    """Whether a round is at a stage or beyond it, as far as it is recorded."""
    if not (directory / FILE).exists():
        return False
    with closing(sqlite3.connect(f"file:{directory / FILE}?mode=ro", uri=True)) as database:
        try:
            row = database.execute("SELECT stage FROM rounds WHERE number = ?", (round,)).fetchone()
        except sqlite3.OperationalError:  # the run is just making its tables
            return False
    return row is not None and list(Stage).index(Stage(row[0])) >= list(Stage).index(stage)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("role", ROLES)
async def test_kills_of_nodes_keep_counts(tmp_path: Path, undisturbed: dict[str, Any], role: str, stages: str) -> None:
    recipe = tiny_run.tiny_recipe(tmp_path)
    with (tmp_path / "output.txt").open("wb") as output:
        command = [sys.executable, "-m", "node.command.cli", "stp", "run", recipe]
        run = await spawn_child(command, stdout=output, stderr=output)
        try:
            kills = await _kill_after(run, role, tmp_path / "runs/tiny", STAGES[stages])
            assert await run.wait() == 0, (tmp_path / "output.txt").read_text()
        finally:
            await kill_group(run, 20)
    assert kills, f"no {role} node was there to be killed"
    assert tiny_run.counts_of(tmp_path / "runs/tiny") == undisturbed


async def _kill_after(run: asyncio.subprocess.Process, role: str, directory: Path, stages: Sequence[Stage]) -> int:
    """Kill a node of the role as soon as each of the two rounds reaches each stage; returns how many were killed."""
    kills = 0
    for round in (1, 2):
        for stage in stages:

            def is_there(round: int = round, stage: Stage = stage) -> bool:
                return reached(directory, round, stage) or run.returncode is not None

            await eventually(is_there, timeout=240.0, what=f"{stage} of round {round}")
            if run.returncode is not None:
                return kills
            for node in nodes(run.pid, role)[:1]:
                node.kill()
                kills += 1
    return kills


# --- a Llama of some ten thousand parameters in place of our own network ----------------------------------------------
TEMPLATE = """
title = "A short header"
models = ["none"]
sources = []
provenance = "For tests."
mode = "whole-proof"
kind = "raw"
template = "{header}{statement}"
[output]
code = "open"
stops = ["\\n```"]
[sampling]
temperature = 1.0
top_p = 1.0
max_tokens = 48
[limits]
prompt = 400
output = 48
"""

LEARNING = {"batch": 8, "optimizer": {"rate": 3e-4}, "place": {"device": "cpu"}}
FIRST = {"length": {"steps": 120}, "optimizer": {"rate": 4e-3}, "keeping": {"save_every": 40}}


MORE = (
    *(tiny_run.plus(f"train_{number}", number) for number in (10, 11, 12, 13)),
    *(
        Theorem(f"conjecture_9_{number}", "(a b : Nat)", f"a + b + {number} = {number} + (a + b)")
        for number in range(4, 16)
    ),
)
"""More to learn by heart: a language model has our own network's marks of roles and names of nothing."""


def base_model(folder: Path) -> Path:
    """A model with a tokenizer for our texts that has learned nothing."""
    from node.llm.templates import load
    from node.tuning.base_model import write_fresh
    from node.tuning.settings import LlamaShape

    texts = [each.signature for each in (*tiny_run.GIVEN, *tiny_run.TRAIN, *tiny_run.CONJECTURES, *MORE)]
    words = f"<lemma>\n<easy theorem>\n<hard theorem>\n</hard theorem> := by\n  {tiny_run.SCRIPT}\n```"
    shape = LlamaShape(vocab_size=400, depth=2, width=64, heads=2, kv_heads=2, hidden=128, context=384)
    write_fresh(folder, [each for text in texts for each in (text, words)], shape, load("bfs-prover-v1"), seed=0)
    return folder


def model_recipe(folder: Path) -> Path:
    """The recipe, beside its data, its base and its template; the run's folder is `runs/tiny`."""
    tiny_run.tiny_data(folder / "data", MORE)
    base = base_model(folder / "base")
    (folder / "short.toml").write_text(TEMPLATE, encoding="utf-8")
    recipe = tiny_run.recipe(folder)
    recipe["stp"] |= {"model": f"hf:{base}", "base": str(base), "template": f"{folder}/short.toml"}
    recipe["inference"]["models"] = {"hf": {"device": "cpu"}}
    recipe |= {"initial": LEARNING | FIRST, "round": LEARNING, "final": LEARNING}
    recipe["prover"] = {name: value for name, value in tiny_run.PROVER.items() if name != "policy"}
    (folder / "tiny.toml").write_text(tomli_w.dumps(recipe), encoding="utf-8")
    return folder / "tiny.toml"


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_a_model_proves_conjectures_and_learns_from_what_is_verified(tmp_path: Path) -> None:
    code, _, errors = await tiny_run.stp("run", model_recipe(tmp_path))
    assert code == 0, errors
    run = tmp_path / "runs/tiny"
    store = StpStore(run / FILE, read_only=True)
    check_rounds(store, rounds=2)
    assert all(Path(str(row.checkpoint), "config.json").is_file() for row in store.rounds())
    store.close()
    before = tiny_run.counts_of(run)
    code, _, errors = await tiny_run.stp("resume", run)
    assert (code, tiny_run.counts_of(run)) == (0, before), errors
