"""Conjectures over the broker, from a network that has learned some by heart."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.bus import Bus, BusSettings, Unanswered
from common.lean import Theorem
from node.bank import statements
from node.model.prompt import written_conjecture
from node.stp.network import Question, StpError, conjecture
from node.stp.records import Lemma, Seed
from tests.node.prover.nodes import inference_node
from tests.node.training.conjecturer import CONJECTURES, trained_conjecturer

SEEDS = [
    Seed(statements.theorem(row["statement"]), row["proof"], Lemma(row["lemma"].split()[1], row["lemma"]))
    for row in CONJECTURES
]
LEARNED = [written_conjecture(row["conjecture"]) for row in CONJECTURES]


@pytest.fixture(scope="module")
def conjecturer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_conjecturer(tmp_path_factory.mktemp("conjecturer"))


def question(seed: Seed = SEEDS[0], samples: int = 2, weights: int = 160, patience: float = 30.0) -> Question:
    return Question(seed, samples, rng_seed=1, weights=weights, temperature=0.0, patience=patience)


async def test_conjectures_come_from_an_inference_node(broker: BusSettings, bus: Bus, conjecturer: Path) -> None:
    async with inference_node(bus, broker, str(conjecturer)):
        found = [await conjecture(bus, question(seed)) for seed in SEEDS]
        long = Seed(Theorem("long", "", " ∧ ".join(["True"] * 200)), "trivial", SEEDS[0].lemma)
        assert await conjecture(bus, question(long)) == []
        endless = Seed(Theorem("endless", "", "True"), "-- " + "x" * 600_000, SEEDS[0].lemma)
        assert await conjecture(bus, question(endless)) == []
        with pytest.raises(StpError, match="99 samples asked for; this network gives 1 to 8 at once"):
            await conjecture(bus, question(samples=99))
    for outputs, learned in zip(found, LEARNED, strict=True):
        assert [(each.text, each.complete) for each in outputs] == [(learned, True)] * 2
        assert all(5 < each.tokens < 100 for each in outputs)


async def test_nobody_to_ask_is_an_error_of_the_bus(bus: Bus) -> None:
    with pytest.raises(Unanswered):
        await conjecture(bus, question(samples=1, weights=1, patience=0.2))
