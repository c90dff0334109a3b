"""`/metrics` of every kind of node, as a whole mesh shows them while it learns. All metrics as they are declared:
tests/common/test_metrics.py."""

from __future__ import annotations

import contextlib
from pathlib import Path

import aiohttp
import pytest

from common.bus import Bus, BusError
from common.files import CACHE_VARIABLE
from node.mesh.mesh import Mesh
from tests import prometheus
from tests.node.mesh.whole import private_cache, whole_mesh
from tests.waiting import until

ROLES = {"broker", "inference", "lean-proxy", "learner", "prover", "ui"}


@pytest.mark.slow
async def test_every_kind_of_node_keeps_prometheus_conventions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(private_cache(tmp_path)))
    pages: dict[str, str] = {}
    async with Mesh.from_file(whole_mesh(tmp_path)) as mesh, aiohttp.ClientSession() as session:
        bus = await Bus.connect(mesh.bus, run=mesh.run, name="test", wait=60)

        async def at_work() -> bool:
            """A proof attempt has gone from the learner through the others, and back."""
            with contextlib.suppress(BusError, aiohttp.ClientError):
                for node in await bus.nodes():
                    async with session.get(node.metrics_url) as answer:
                        pages[node.role] = await answer.text()
            return pages.keys() == ROLES and "proofmesh_learner_results_total{" in pages["learner"]

        await until(at_work, 180, "an attempt that every role has worked on")
        await bus.close()
    assert all("\nprocess_cpu_seconds_total " in page for page in pages.values())
    assert [(role, each) for role, page in pages.items() for each in prometheus.problems(page)] == []
    assert {role: prometheus.promtool(page) for role, page in pages.items()} == dict.fromkeys(pages, "")
