"""A prover whose policy is a network: real inference, real Lean. The weights are random: it proves next to nothing."""

from pathlib import Path

from common import config
from common.bus import Bus, BusSettings
from common.lean import Theorem
from common.protocol import subjects
from common.protocol.attempts import AttemptResult, Purpose
from common.protocol.messages import TacticRequest
from common.settings import Sampling
from node.model import weights
from node.prover.agent import Agent, Playing
from node.prover.environment import LeanEnvironment
from node.prover.policies.policy import InferencePolicy
from node.prover.settings import ProverSettings
from tests.node.model.tiny import tiny_weights
from tests.node.prover.nodes import inference_node, played
from tests.node.prover.toys import attempt
from tests.waiting import eventually

THEOREM = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")


async def play(bus: Bus, attempt_id: str, seed: int) -> tuple[AttemptResult, list[str]]:
    """One evaluation attempt; its result and every tactic that it tried, in order."""
    wanted = attempt(12, attempt_id=attempt_id, theorem=THEOREM, purpose=Purpose.EVAL, seed=seed)
    policy = InferencePolicy(bus, weights=None, timeout=10, patience=30)
    lean = LeanEnvironment(bus, THEOREM, tactic_timeout=5, patience=30)
    agent = Agent(wanted, policy, lean, Playing("p", leaves=4))
    result = await agent.play()
    assert agent.search is not None
    return result, [tactic for node in agent.search.tree.nodes for tactic in node.tried]


async def test_a_search_with_a_network_is_repeated_exactly_by_its_seed_and_asked_as_its_configuration_says(
    bus: Bus, broker: BusSettings, lean_proxy: object, tmp_path: Path
) -> None:
    tiny, asked = tiny_weights(1, ends=12.0, sharpness=0.5), list[TacticRequest]()
    weights.write(tmp_path / "weights.safetensors", tiny.model, tiny.tokenizer)
    sampling = 'temperature = 0.7\ntop_p = 0.8\ndistinct = true\nstop = ["q"]\n'
    (tmp_path / "mesh.toml").write_text(f"[prover]\nsearches = 1\n[prover.sampling]\n{sampling}")
    settings = config.load(ProverSettings, tmp_path / "mesh.toml", "prover")
    async with inference_node(bus, broker, str(tmp_path / "weights.safetensors")):
        first, tactics = await play(bus, "before", seed=1)
        again, same = await play(bus, "after", seed=1)
        _, other = await play(bus, "other", seed=2)
        await bus.subscribe(subjects.TACTIC_REQUEST, TacticRequest, lambda _, request: asked.append(request))
        wanted = attempt(2, theorem=THEOREM)
        configured = await played(bus, [wanted], policy=settings.policy, sampling=settings.sampling)
        await eventually(lambda: bool(asked), what="a request on the bus")
    assert asked[0].sampling == Sampling(0.7, 0.8, True, ("q",))
    for result in (first, configured[wanted.attempt_id]):
        assert result.outcome in ("failed", "proved"), result.message
    assert len(tactics) >= 3 and tactics == same
    assert tactics != other
    assert first.statistics.simulations == again.statistics.simulations
    assert first.statistics.tactics_tried == len(tactics)
    assert first.statistics.seconds_policy > 0 and first.statistics.seconds_lean > 0
