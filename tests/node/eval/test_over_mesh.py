"""An evaluation over a mesh: a real broker, a lean-proxy, a prover, and the same results as in one process."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.bus import Bus, BusSettings
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, unplayed
from common.protocol.messages import LeanProxyFacts, ProverFacts
from common.settings import Sampling
from node.eval import over_mesh
from node.eval.folder import Standing
from node.eval.over_mesh import mesh_venue
from node.play import mesh as play
from node.play.mesh import MeshAttempts
from node.prover.policies.names import BadPolicy
from node.prover.prover import Prover
from tests.node.eval.places import STATEMENTS, evaluated, info
from tests.node.prover.nodes import running

PROVER = ProverFacts(policy="inference", leaves=4, sampling=Sampling())

LEAN = LeanProxyFacts(version="4.35.0", name="pocket Lean")

HEADER = 'open Nat; open List\n\nnotation "; " => Nat.succ\nnotation "«\\"»" => "none"\n-- ∀ \u202e\t; \r\n'
"""Lean text with everything that a text for people would join, escape or trim."""


@pytest.fixture
async def prover(bus: Bus, lean_proxy: object) -> AsyncIterator[Prover]:
    """A prover with the fixed list of tactics, registered on the run beside a lean-proxy."""
    facts = ProverFacts(policy="tactics", leaves=3, sampling=Sampling(temperature=0.5))
    await bus.register(info("prover", searches=2, facts=facts))
    async with running(bus, policy="tactics") as work:
        yield work


async def test_a_mesh_evaluates_as_one_process_does_and_asks_again_for_a_result_that_the_broker_lost(
    broker: BusSettings, bus: Bus, prover: Prover, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mesh_venue(broker.url, bus.run, "", 0, print) as venue:
        assert venue.lean.version.startswith("4.") and venue.sampling == Sampling(temperature=0.5)
        assert (venue.mesh, venue.policy, venue.leaves) == (bus.run, "tactics", 3)
        found = await evaluated(venue, tmp_path)
    standings = {"swap": Standing.SOLVED, "false": Standing.UNSOLVED, "missing": Standing.NOT_ELABORATED}
    assert {name: each.standing for name, each in found.items()} == standings
    assert found["swap"].script and found["swap"].statistics.solved_at_simulations >= 1
    monkeypatch.setattr(play, "LOST_AFTER", 1.0)
    monkeypatch.setattr(play, "LOOK_EVERY", 0.1)
    heard: list[str] = []
    received = MeshAttempts._watched

    def deaf_at_first(self: MeshAttempts, message: AttemptResult) -> None:
        heard.append(message.attempt_id)
        if len(heard) > 1:
            received(self, message)

    monkeypatch.setattr(MeshAttempts, "_watched", deaf_at_first)
    async with mesh_venue(broker.url, bus.run, "tactics", 0, print) as venue:
        found = await evaluated(venue, tmp_path / "again", statements=STATEMENTS[:1])
    assert found["swap"].standing is Standing.SOLVED and heard[0] == heard[1]

    async def refused(_: MeshAttempts, attempt: Attempt) -> AttemptResult:
        return unplayed(attempt, "a liar", AttemptOutcome.BAD_STATEMENT, "Lean does not like it")

    monkeypatch.setattr(MeshAttempts, "play", refused)
    async with mesh_venue(broker.url, bus.run, "tactics", 0, print) as venue:
        found = await evaluated(venue, tmp_path / "lied", statements=STATEMENTS[::2])
    assert found["missing"].standing is Standing.NOT_ELABORATED
    assert found["swap"].standing is Standing.UNDECIDED and "no verifier does" in found["swap"].reason


async def test_a_network_that_a_learner_goes_on_changing_is_not_evaluated(broker: BusSettings, bus: Bus) -> None:
    for node in (info("prover", 4, PROVER), info("lean-proxy", facts=LEAN), info("learner")):
        await bus.register(node)
    with pytest.raises(BadPolicy, match="has a learner, which keeps changing the network"):
        async with mesh_venue(broker.url, bus.run, "inference+tactics", 0, print):
            pass
    async with mesh_venue(broker.url, bus.run, "tactics", 0, print) as venue:
        assert (venue.lean.version, venue.weights) == ("4.35.0", {})


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"header": HEADER.replace("\n\n", "\n \n")}, "line 2 of the header is '' and ' '"),
        ({"library": {"mathlib": "abc"}}, "library is {} and {'mathlib': 'abc'}"),
        ({"project": "/srv/demo"}, "project is '' and '/srv/demo'"),
    ],
)
def test_lean_proxies_that_serve_different_leans_are_told_with_the_difference(
    changed: dict[str, Any], says: str
) -> None:
    one = msgspec.structs.replace(LEAN, header=HEADER)
    other = msgspec.structs.replace(one, **changed)
    with pytest.raises(BadPolicy, match=f"lean-proxy-1.* and lean-proxy-2.* serve different Leans: {says}; give both"):
        over_mesh._lean([info("lean-proxy", facts=one), info("lean-proxy", facts=other, number=2)])
