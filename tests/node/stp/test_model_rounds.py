"""Whole runs of self-play with a language model of other people: a real broker, pocket Lean, transformers and TRL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from node.stp.records import FILE, Fate, RoundKind, Stage
from node.stp.store import StpStore
from tests.node.stp.tiny_model import model_recipe
from tests.node.stp.tiny_run import counts_of, stp

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


async def finished(recipe: Path, fault: str = "") -> Path:
    """The directory of a run that went to its end. `fault`: where it was killed before."""
    if fault:
        code, _, errors = await stp("run", recipe, fault=fault)
        assert code == -9, f"{fault} was not reached: {errors}"
    code, _, errors = await stp("run", recipe)
    assert code == 0, errors
    return recipe.parent / "runs/tiny"


@pytest.fixture(scope="module")
async def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return await finished(model_recipe(tmp_path_factory.mktemp("calm")))


async def test_a_model_proves_conjectures_and_learns_from_what_is_verified(calm: Path) -> None:
    store = StpStore(calm / FILE, read_only=True)
    rows = store.rounds()
    assert [(each.kind, each.stage, each.weights) for each in rows] == [
        (RoundKind.INITIAL, Stage.DONE, 1),
        (RoundKind.SELF_PLAY, Stage.DONE, 2),
        (RoundKind.SELF_PLAY, Stage.DONE, 3),
        (RoundKind.FINAL, Stage.DONE, 4),
    ]
    assert store.solved(), "statements are proved"
    fates = Counter(each.fate for each in store.conjectures())
    assert fates[Fate.PROVED], f"conjectures are proved: {fates}"
    proved = {each.name for each in store.conjectures(None, Fate.PROVED)}
    assert {each.theorem.name for each in store.prover_examples(2)} & proved, "the second round trains on them"
    assert all(Path(str(row.checkpoint), "config.json").is_file() for row in rows)
    store.close()
    before = counts_of(calm)
    code, _, errors = await stp("resume", calm)
    assert (code, counts_of(calm)) == (0, before), errors


async def test_without_a_mesh_a_model_proves_and_learns(tmp_path: Path) -> None:
    recipe = model_recipe(tmp_path)
    code, _, errors = await stp("run", recipe, "--here")
    assert code == 0, errors
    store = StpStore(recipe.parent / "runs/tiny" / FILE, read_only=True)
    assert store.solved() and [each.stage for each in store.rounds()] == [Stage.DONE] * 4
    assert all(Path(str(row.checkpoint), "config.json").is_file() for row in store.rounds())
    store.close()


@pytest.mark.parametrize("fault", ["stp-1:generation", "stp-1:proving#3", "stp-1:before-trained", "stp-2:trained"])
async def test_a_run_that_is_killed_goes_on_with_the_counts_of_one_that_is_not(
    calm: Path, tmp_path: Path, fault: str
) -> None:
    assert told(await finished(model_recipe(tmp_path), fault)) == told(calm)


def told(directory: Path) -> dict[str, Any]:
    return counts_of(directory)
