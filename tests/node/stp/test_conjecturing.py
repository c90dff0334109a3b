"""Conjectures over the broker, from a network that has learned some by heart."""

from pathlib import Path

import pytest

from common.bus import Bus, BusSettings, Unanswered
from common.lean import Theorem
from node.bank import statements
from node.model import weights
from node.model.prompt import written_conjecture
from node.stp.network import Question, StpError, conjecture
from node.stp.records import Lemma, Seed
from tests.node.model.tiny import role_tokenizer, tiny_model
from tests.node.prover.nodes import inference_node
from tests.node.training.conjecturer import CONJECTURES, trained_conjecturer

SEEDS = [
    Seed(statements.theorem(row["statement"]), row["proof"], Lemma(row["lemma"].split()[1], row["lemma"]))
    for row in CONJECTURES
]
LEARNED = [written_conjecture(row["conjecture"]) for row in CONJECTURES]


def question(seed: Seed = SEEDS[0], samples: int = 2, weights: int = 160, patience: float = 30.0) -> Question:
    return Question(seed, samples, rng_seed=1, weights=weights, temperature=0.0, patience=patience)


@pytest.mark.slow
async def test_a_network_that_has_learned_conjectures_by_heart_is_asked_for_them(
    broker: BusSettings, bus: Bus, tmp_path: Path
) -> None:
    async with inference_node(bus, broker, str(trained_conjecturer(tmp_path))):
        found = [await conjecture(bus, question(seed)) for seed in SEEDS]
    for outputs, learned in zip(found, LEARNED, strict=True):
        assert [(each.text, each.complete) for each in outputs] == [(learned, True)] * 2
        assert all(5 < each.tokens < 100 for each in outputs)


async def test_conjectures_come_from_an_inference_node(broker: BusSettings, bus: Bus, tmp_path: Path) -> None:
    """The weights are random: what they write is no statement."""
    file = tmp_path / "weights.safetensors"
    model = tiny_model(0, ends=10.0, vocab_size=role_tokenizer().vocab_size, context=320)
    weights.write(file, model, role_tokenizer(), {"proofs": "yes", "conjectures": "yes"})
    with pytest.raises(Unanswered):
        await conjecture(bus, question(samples=1, weights=1, patience=0.2))
    async with inference_node(bus, broker, str(file)) as first:
        found = [await conjecture(bus, question(seed, weights=first.weights)) for seed in SEEDS for _ in range(2)]
        assert found[0] == found[1] != found[2] == found[3]
        assert all(len(outputs) == 2 and outputs[0] == outputs[1] and outputs[0].tokens for outputs in found)
        long = Seed(Theorem("long", "", " ∧ ".join(["True"] * 200)), "trivial", SEEDS[0].lemma)
        assert await conjecture(bus, question(long, weights=first.weights)) == []
        endless = Seed(Theorem("endless", "", "True"), "-- " + "x" * 600_000, SEEDS[0].lemma)
        assert await conjecture(bus, question(endless, weights=first.weights)) == []
        with pytest.raises(StpError, match="99 samples asked for; this network gives 1 to 8 at once"):
            await conjecture(bus, question(samples=99, weights=first.weights))
