"""Attempts that provers play on a mesh: a real broker, real Lean, networks of random weights, servers on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from common import config
from common.bus import Bus, BusSettings
from common.lean import ProofTree, Theorem
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Ended, Method, Purpose
from common.protocol.messages import MAX_MESSAGE_BYTES, LeanRunRequest, LeanVerifyReply, TacticRequest
from common.settings import Sampling
from node.lean.opened import OpenedLean
from node.lean.text.script import proof_script
from node.llm import templates
from node.llm.settings import ModelSettings
from node.model import weights
from node.prover.agent import Agent, Playing
from node.prover.environment import LeanEnvironment, Verification
from node.prover.policies.policy import InferencePolicy
from node.prover.settings import ProverSettings
from node.proving.statements import read_target
from tests.forging import forging
from tests.node.llm.answers import BFS, GOEDEL, step, whole
from tests.node.llm.server import Server, in_a_thread, in_turn
from tests.node.model.tiny import tiny_weights
from tests.node.prover.nodes import inference_node, model_node, played, run_folder
from tests.node.prover.toys import attempt as toy_attempt
from tests.waiting import eventually

# --- language models of inference nodes -------------------------------------------------------------------------------
SWAP = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")
FALSE = Theorem("false", "(p q : Prop)", "p → q")


def attempt(attempt_id: str, policy: str = "", theorem: Theorem = SWAP, **changes: object) -> Attempt:
    fields = {"theorem_id": theorem.name, "simulations": 40, "seed": 1, "samples": 4, "purpose": Purpose.EVAL} | changes
    return Attempt(attempt_id=attempt_id, policy=policy, theorem=theorem, **fields)  # type: ignore[arg-type]


def proved_of(found: dict[str, AttemptResult]) -> set[str]:
    """The attempts that have proved their theorem."""
    return {name for name, result in found.items() if result.outcome is AttemptOutcome.PROVED}


@contextmanager
def servers(*given: Server) -> Iterator[list[str]]:
    """Addresses of the servers' models."""
    if not given:
        yield []
        return
    with in_a_thread(given[0]) as server, servers(*given[1:]) as others:
        yield [f"openai:{server.url}#{server.model}", *others]


async def test_two_models_of_one_run_are_asked_by_name(bus: Bus, broker: BusSettings, lean_proxy: object) -> None:
    steps, proofs = Server(model=BFS, texts=step), Server(model=GOEDEL, texts=whole)
    whole_proofs = {"method": Method.WHOLE_PROOF, "policy": f"openai:{GOEDEL}", "simulations": 4, "samples": 2}
    attempts = [
        attempt("configured"),
        attempt("named", f"openai:{BFS}"),
        attempt("with a template", f"openai:{BFS}@bfs-prover-v1"),
        attempt("training", purpose=Purpose.TRAIN),
        attempt("false", theorem=FALSE),
        attempt("whole", **whole_proofs),
        attempt("corrected", **whole_proofs, correct=1),
        attempt("mixed up", f"openai:{GOEDEL}"),
        attempt("idle", f"openai:{BFS}", method=Method.WHOLE_PROOF),
    ]
    with servers(steps, proofs) as (first, second):
        async with model_node(bus, broker, first), model_node(bus, broker, second):
            found = await played(bus, attempts, policy=f"openai:{BFS}")
    outcomes = {name: result.outcome for name, result in found.items()}
    proved = AttemptOutcome.PROVED
    expected = dict.fromkeys(("configured", "named", "with a template", "training", "corrected"), proved)
    expected |= dict.fromkeys(("false", "whole"), AttemptOutcome.FAILED)
    assert outcomes == expected | dict.fromkeys(("mixed up", "idle"), AttemptOutcome.ERROR), found
    assert "gives whole proofs" in found["mixed up"].message
    assert "proposes tactics only" in found["idle"].message
    # What each server was asked is its own.
    assert all("prompt" in sent for sent in steps.sent) and all("messages" in sent for sent in proofs.sent)
    statistics = found["configured"].statistics
    assert statistics.samples == 4 * statistics.expansions and statistics.tokens > 0
    assert found["corrected"].statistics.corrections > 0
    assert found["training"].proof == found["configured"].proof


async def test_a_model_that_nobody_serves_ends_the_attempt_soon_and_says_what_is_served(
    bus: Bus, broker: BusSettings, lean_proxy: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.prover.policies.sources.ABSENT_SECONDS", 0.5)
    with servers(Server(model=BFS, texts=step)) as (here,):
        async with model_node(bus, broker, here):
            wanted = attempt("a", "openai:elsewhere@stp", method=Method.WHOLE_PROOF)
            found = await played(bus, [wanted], policy="tactics")
    assert found["a"].outcome is AttemptOutcome.ERROR
    assert "no inference node serves `openai:elsewhere`" in found["a"].message
    assert f"they serve openai:{BFS}" in found["a"].message


async def test_a_server_that_fails_leaves_attempts_undecided_and_a_prompt_that_is_too_long_is_shortened(
    bus: Bus, broker: BusSettings, lean_proxy: object
) -> None:
    for fault in ("unavailable", "reset", "html"):
        with servers(Server(model=BFS, fault=lambda number, fault=fault: fault)) as (dead,):
            async with model_node(bus, broker, dead):
                found = await played(bus, [attempt(fault, f"openai:{BFS}")], policy="tactics")
        assert found[fault].outcome is AttemptOutcome.ERROR, found  # says nothing about the theorem
        assert f"{BFS}: no answer within 0.3 s: http://127.0.0.1" in found[fault].message
    names = " ".join(f"h{number}" for number in range(40))
    crowded = Theorem("crowded", f"(p q : Prop) ({names} : p → p → p)", "p ∧ q → q ∧ p")
    shaky = Server(model=BFS, texts=step, context=150, fault=in_turn(["unavailable", "reset", "cut"]))
    with servers(shaky) as (small,):
        patient = ModelSettings(patience=60.0, wait=0.02, failures=1000)  # on however busy a machine
        async with model_node(bus, broker, small, models=patient):
            found = await played(bus, [attempt("crowded", f"openai:{BFS}", crowded)], policy="tactics")
    assert found["crowded"].outcome is AttemptOutcome.PROVED, found
    assert max(len(sent["prompt"]) for sent in shaky.sent) > 150 >= len(shaky.sent[-1]["prompt"])


async def test_messages_choose_no_templates(bus: Bus, broker: BusSettings, lean_proxy: object, tmp_path: Path) -> None:
    own, listed, other = (tmp_path / name for name in ("own.toml", "listed.toml", "other.toml"))
    for file in (own, listed, other):
        file.write_text(templates.text_of("bfs-prover-v1", templates.load("bfs-prover-v1")), encoding="utf-8")
    attempts = [attempt(file.stem, f"openai:prover@{file}") for file in (own, listed, other)]
    attempts += [attempt("missing", f"openai:prover@{tmp_path}/none.toml"), attempt("configured")]
    with servers(Server(texts=step)) as (here,):
        async with model_node(bus, broker, here):
            found = await played(bus, attempts, policy=f"openai:prover@{own}", templates=(str(listed),))
    assert proved_of(found) == {"own", "listed", "configured"}, found
    for name in ("other", "missing"):
        assert "reads only the template files of its own configuration" in found[name].message


# --- attempts that name their policy ----------------------------------------------------------------------------------
async def test_network_and_list_prove(bus: Bus, broker: BusSettings, lean_proxy: object, tmp_path: Path) -> None:
    tactics = tmp_path / "mine.txt"
    tactics.write_text("intro h\nexact ⟨h.2, h.1⟩\n", encoding="utf-8")
    attempts = [
        attempt(name, policy)
        for name, policy in (
            ("configured", ""),
            ("named", "inference+tactics"),
            ("alone", "inference"),
            ("list", "tactics"),
        )
    ]
    attempts += [attempt("turns", "inference,tactics", simulations=0, lean_attempts=200), attempt("pinned", weights=7)]
    async with inference_node(bus, broker, f"own:{run_folder(tmp_path)}"):
        found = await played(bus, attempts, policy=f"inference+tactics:{tactics}")
    assert proved_of(found) >= {"configured", "named", "turns", "list", "pinned"}, found
    statistics = {name: result.statistics for name, result in found.items()}
    assert found["alone"].outcome.decided, found["alone"].message
    for name in ("configured", "named", "turns", "alone", "pinned"):
        assert (statistics[name].weights_first, statistics[name].weights_last) == (7, 7)
        assert statistics[name].tokens > 0
    assert statistics["alone"].samples == 4 * statistics["alone"].expansions
    assert statistics["configured"].samples == (4 + 2) * statistics["configured"].expansions
    assert (statistics["list"].weights_last, statistics["list"].tokens) == (0, 0)


async def test_what_cannot_be_had_is_an_error_that_says_so(bus: Bus, lean_proxy: object, tmp_path: Path) -> None:
    """There is no inference node: an evaluation must not go on with the list alone, a person who waits may."""
    tactics, other = tmp_path / "mine.txt", tmp_path / "other.txt"
    for file in (tactics, other):
        file.write_text("intro h\nexact ⟨h.2, h.1⟩\n", encoding="utf-8")
    attempts = [
        attempt("evaluation", "inference+tactics"),
        attempt("training", purpose=Purpose.TRAIN),
        attempt("person", purpose=Purpose.INTERACTIVE),
        attempt("list", "tactics"),
        attempt("its file", f"inference+tactics:{tactics}", purpose=Purpose.INTERACTIVE),
        attempt("other file", f"tactics:{other}"),
        attempt("unknown", "gpt"),
        attempt("own", "own:runs/demo"),
    ]
    found = await played(bus, attempts, policy=f"inference+tactics:{tactics}", policy_patience=0.3)
    errors = {name: result.message for name, result in found.items() if result.outcome is AttemptOutcome.ERROR}
    assert {name for name, result in found.items() if result.proof} == {"person", "list", "its file"}, found
    assert errors.keys() == {"evaluation", "training", "other file", "unknown", "own"}
    assert "tactic.request" in errors["evaluation"] and "tactic.request" in errors["training"]
    assert "only files of its own configuration" in errors["other file"]
    assert "there is no policy `gpt`; there are `inference`" in errors["unknown"]
    assert "proofmesh up --policy own:PATH" in errors["own"]


# --- a policy that is a network ---------------------------------------------------------------------------------------
async def play(bus: Bus, attempt_id: str, seed: int) -> tuple[AttemptResult, list[str]]:
    """One evaluation attempt; its result and every tactic that it tried, in order."""
    wanted = toy_attempt(12, attempt_id=attempt_id, theorem=SWAP, purpose=Purpose.EVAL, seed=seed)
    policy = InferencePolicy(bus, weights=None, timeout=10, patience=30)
    lean = LeanEnvironment(bus, SWAP, tactic_timeout=5, patience=30)
    agent = Agent(wanted, policy, lean, Playing("p", leaves=4))
    result = await agent.play()
    assert agent.search is not None
    return result, [tactic for node in agent.search.tree.nodes for tactic in node.tried]


async def test_a_search_with_a_network_is_repeated_exactly_by_its_seed_and_asked_as_its_configuration_says(
    bus: Bus, broker: BusSettings, lean_proxy: object, tmp_path: Path
) -> None:
    tiny, asked = tiny_weights(1, ends=12.0, sharpness=0.5), list[TacticRequest]()
    weights.write(tmp_path / "weights.safetensors", tiny.model, tiny.tokenizer)
    sampling = 'temperature = 0.7\ntop_p = 0.8\nstop = ["q"]\n'
    (tmp_path / "mesh.toml").write_text(f"[prover]\nsearches = 1\n[prover.sampling]\n{sampling}")
    settings = config.load(ProverSettings, tmp_path / "mesh.toml", "prover")
    async with inference_node(bus, broker, str(tmp_path / "weights.safetensors")):
        first, tactics = await play(bus, "before", seed=1)
        again, same = await play(bus, "after", seed=1)
        _, other = await play(bus, "other", seed=2)
        await bus.subscribe(subjects.TACTIC_REQUEST, TacticRequest, lambda _, request: asked.append(request))
        wanted = toy_attempt(2, theorem=SWAP)
        configured = await played(bus, [wanted], policy=settings.policy, sampling=settings.sampling)
        await eventually(lambda: bool(asked), what="a request on the bus")
    assert asked[0].sampling == Sampling(0.7, 0.8, ("q",))
    for result in (first, configured[wanted.attempt_id]):
        assert result.outcome in ("failed", "proved"), result.message
    assert len(tactics) >= 3 and tactics == same and tactics != other
    assert first.statistics.simulations == again.statistics.simulations
    assert first.statistics.tactics_tried == len(tactics)
    assert first.statistics.seconds_policy > 0 and first.statistics.seconds_lean > 0


# --- attempts that ask for final verification -------------------------------------------------------------------------
FILE = """axiom cheat (p : Prop) : p
theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := by
  sorry
"""
"""A tactic may use the axiom, and a search takes it for a proof; verification permits Lean's own axioms alone."""


@pytest.fixture
def theorem(tmp_path: Path) -> Theorem:
    (tmp_path / "file.lean").write_text(FILE, encoding="utf-8")
    return read_target([str(tmp_path / "file.lean"), "t"]).readings[0]


async def test_the_search_goes_on_after_a_proof_that_lean_refuses_whoever_accepts_it(
    bus: Bus, broker: BusSettings, lean_proxy: object, theorem: Theorem, tmp_path: Path
) -> None:
    accepted = LeanVerifyReply(accepted=True, axioms=(), lean_version="4.35.0", rechecked=True)
    tactics = tmp_path / "cheating.txt"
    tactics.write_text("exact cheat _\nconstructor\nexact h.1\nexact h.2\n", encoding="utf-8")
    attempts = [attempt("believed", theorem=theorem), attempt("verified", theorem=theorem, verify=True)]
    async with forging(broker, bus.run, (accepted, {})):
        found = await played(bus, attempts, policy=f"tactics:{tactics}")
        tactics.write_text("exact cheat _\n", encoding="utf-8")  # nothing else is there to be found
        alone = await played(bus, [attempt("refused", theorem=theorem, verify=True)], policy=f"tactics:{tactics}")
    believed, verified, refused = found["believed"], found["verified"], alone["refused"]
    assert believed.proof is not None and "cheat" in proof_script(believed.proof)
    assert verified.outcome is AttemptOutcome.PROVED, verified.message
    assert verified.proof is not None and "cheat" not in proof_script(verified.proof)
    statistics = verified.statistics
    assert statistics.proofs_rejected >= 1 and statistics.seconds_verify > 0
    assert statistics.solved_at_simulations > believed.statistics.solved_at_simulations
    assert (refused.outcome, refused.proof) == (AttemptOutcome.FAILED, None)
    assert refused.statistics.ended is Ended.EXHAUSTED and refused.statistics.proofs_rejected == 1
    assert "uses other axioms than Lean's own: cheat" in refused.message


async def test_where_nobody_verifies_any_more_a_proof_is_the_attempts_error(
    bus: Bus, opened_lean: OpenedLean, theorem: Theorem, tmp_path: Path
) -> None:
    tactics = tmp_path / "honest.txt"
    tactics.write_text("exact ⟨h.2, h.1⟩\n", encoding="utf-8")
    await bus.serve(subjects.LEAN_RUN, LeanRunRequest, opened_lean.requests.run, queue="lean-proxy", limit=8)
    settings = {"policy": f"tactics:{tactics}", "verify_patience": 0.5}
    result = (await played(bus, [attempt("a", theorem=theorem, verify=True)], **settings))["a"]
    assert (result.outcome, result.proof) == (AttemptOutcome.ERROR, None) and "lean.verify" in result.message
    assert (result.statistics.simulations, result.statistics.proofs_rejected) == (1, 0)


async def test_a_proof_that_no_message_holds_is_refused(bus: Bus, theorem: Theorem) -> None:
    verify = Verification(bus, theorem, timeout=0.2, patience=0.4)
    rfl = ProofTree("rfl")
    tree = ProofTree("constructor", layout=((0,), (1,)), children=(rfl,))
    assert "does not fit its 1 branches" in await verify(tree)
    assert "too large to be verified" in await verify(ProofTree(f"exact {'x' * MAX_MESSAGE_BYTES}"))
