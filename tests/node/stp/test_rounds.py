"""Whole runs of self-play on a mesh of their own: a real broker, pocket Lean, a network that learns by heart."""

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

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
from tests.node.stp.tiny_run import TEST, counts_of, finished, stp, tiny_recipe

pytestmark = pytest.mark.process


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


@pytest.mark.compute
def test_a_run_in_one_process_proves_conjectures_and_learns_from_what_is_verified_alone(
    called: Called, lent_lean: None, trained_here: None, tmp_path: Path
) -> None:
    code, printed, errors = called(run.main_run, tiny_recipe(tmp_path, rounds=1), "--here")
    assert code == 0, errors
    check(tmp_path / "runs/tiny", rounds=1)
    done = summarise(open_run(tmp_path / "runs/tiny")).rounds[1]
    said = f"conjectures, {done.barely} barely; {done.solved} of"
    assert done.barely and said in printed + errors


@pytest.mark.slow
async def test_a_run_on_a_mesh_proves_conjectures_and_learns_from_what_is_verified_alone(tmp_path: Path) -> None:
    check(await finished(tmp_path), rounds=2)


def check(directory: Path, rounds: int) -> None:
    """Statements and conjectures are proved, and what is learned from is verified and never held out."""
    store = StpStore(directory / FILE, read_only=True)
    rows = store.rounds()
    kinds = [RoundKind.INITIAL, *[RoundKind.SELF_PLAY] * rounds, RoundKind.FINAL]
    assert [(each.kind, each.stage, each.weights) for each in rows] == [
        (kind, Stage.DONE, version) for version, kind in enumerate(kinds, 1)
    ]
    assert store.solved(), "statements are proved"
    assert {each.theorem.name for each in store.unproved()} >= {"never_1", "never_2", "never_3"}, "these are false"
    fates = Counter(each.fate for each in store.conjectures())
    assert fates[Fate.PROVED], f"conjectures are proved: {fates}"
    proved = {each.name for each in store.conjectures(None, Fate.PROVED)}
    assert {each.theorem.name for each in store.prover_examples(2)} & proved, "the next training reads them"
    verified = {(each.name, each.script) for each in store.proofs()}
    held_out = {stated(each) for each in TEST}
    for row in rows:
        for each in store.prover_examples(row.number):
            assert each.theorem.name.startswith("given_") or (each.theorem.name, each.proof) in verified
            assert stated(each.theorem) not in held_out
        for made in store.conjecturer_examples(row.number):
            assert not made.name or made.name in proved
    assert store.evaluations().keys() == set(range(rounds + 2))
    store.close()
    assert list(directory.glob("*.png")) and (directory / "stp.html").is_file()


@pytest.mark.parametrize("fault", ["stp-1:elaboration#2", "stp-1:proving#3"])
@pytest.mark.slow
async def test_a_run_that_is_killed_goes_on_with_the_counts_of_one_that_is_not(tmp_path: Path, fault: str) -> None:
    wanted = counts_of(await finished(tmp_path / "calm"))
    assert await killed(tmp_path / "killed", fault) == wanted


async def killed(folder: Path, fault: str) -> dict[str, Any]:
    """The counts of a run whose process dies at a point, and that is gone on with until it ends."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    recipe = tiny_recipe(folder)
    code, _, errors = await stp("run", recipe, fault=fault)
    assert code == -9, f"{fault} was not reached: {errors}"
    code, _, errors = await stp("run", recipe)
    assert code == 0, errors
    return counts_of(folder / "runs/tiny")
