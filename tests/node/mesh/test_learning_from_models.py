"""A whole mesh that learns from the proofs of a language model: its network and the model search together."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

import pytest

from common.life.process import kill_group, spawn_child
from common.records.store import Store
from tests.node.llm.answers import BFS, RIGHT
from tests.node.llm.server import Payload, Server, running
from tests.node.mesh.whole import check_records, database, private_cache, recorded, whole_mesh
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PATIENCE = 300.0


def proving(payload: Payload, chance: random.Random) -> str:
    """A tactic that works for every statement of the bank, and that the network hardly ever samples."""
    return RIGHT.get(payload["prompt"].removesuffix(":::").rpartition("⊢")[2].strip(), "skip <;> rfl")


async def test_proofs_of_a_model_become_transitions_to_train_on(tmp_path: Path) -> None:
    env = {**os.environ, "PROOFMESH_CACHE": str(private_cache(tmp_path))}
    file = whole_mesh(tmp_path)
    async with running(Server(model=BFS, texts=proving)) as server:
        text = file.read_text(encoding="utf-8")
        text = text.replace('policy = "inference"', f'policy = "inference+openai:{BFS}"')
        text = text.replace("[up]\n", f'[up]\nmodels = ["openai:{server.url}#{BFS}"]\n')
        file.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "node.command.cli", "up", str(file)]
        up = await spawn_child(command, env=env, stderr=asyncio.subprocess.DEVNULL)
        try:
            await eventually(lambda: tactics_of_models(tmp_path) >= {"exact h.2", "skip <;> rfl"}, PATIENCE)
            up.terminate()
            assert await asyncio.wait_for(up.wait(), 120) == 0
        finally:
            await kill_group(up, grace=0)
        assert server.did["answered"] > 0
    check_records(tmp_path)
    assert {outcome for _, outcome, _ in recorded(tmp_path)} <= {"proved", "failed"}
    # A hold on the compute is the network's node's to acknowledge, and not the model's.
    assert "pause not acknowledged" not in (tmp_path / "runs/whole/logs/learner.log").read_text(encoding="utf-8")


def tactics_of_models(folder: Path) -> set[str]:
    """Tactics of the recorded transitions."""
    if not recorded(folder):  # nor made, perhaps
        return set()
    store = Store(database(folder))
    try:
        return {each.transition.tactic for each in store.examples()}
    finally:
        store.close()
