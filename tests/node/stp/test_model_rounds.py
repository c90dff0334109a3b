"""Whole runs of self-play with a language model of other people: a real broker, pocket Lean, transformers and TRL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

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
