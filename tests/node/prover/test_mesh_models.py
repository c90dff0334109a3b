"""Provers that ask language models of inference nodes: a real broker, real Lean, and servers on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.lean import Theorem
from common.protocol.attempts import Attempt, AttemptOutcome, Method, Purpose
from node.llm import templates
from node.llm.settings import ModelSettings
from tests.node.llm.answers import BFS, GOEDEL, step, whole
from tests.node.llm.server import Server, in_a_thread, in_turn
from tests.node.prover.nodes import model_node, played

SWAP = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")
FALSE = Theorem("false", "(p q : Prop)", "p → q")


def attempt(attempt_id: str, policy: str = "", theorem: Theorem = SWAP, **changes: object) -> Attempt:
    fields = {"theorem_id": theorem.name, "simulations": 12, "seed": 1, "samples": 2, "purpose": Purpose.EVAL} | changes
    return Attempt(attempt_id=attempt_id, policy=policy, theorem=theorem, **fields)  # type: ignore[arg-type]


@contextmanager
def servers(*given: Server) -> Iterator[list[str]]:
    """Addresses of the servers' models."""
    if not given:
        yield []
        return
    with in_a_thread(given[0]) as server, servers(*given[1:]) as others:
        yield [f"openai:{server.url}#{server.model}", *others]


async def test_two_models_of_one_run_are_asked_by_name_for_tactics_and_for_whole_proofs(
    bus: Bus, broker: BusSettings, lean_proxy: object
) -> None:
    steps, proofs = Server(model=BFS, texts=step), Server(model=GOEDEL, texts=whole)
    whole_proofs = {"method": Method.WHOLE_PROOF, "policy": f"openai:{GOEDEL}", "simulations": 4}
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
    assert outcomes == {
        **dict.fromkeys(("configured", "named", "with a template", "training", "corrected"), proved),
        **dict.fromkeys(("false", "whole"), AttemptOutcome.FAILED),
        **dict.fromkeys(("mixed up", "idle"), AttemptOutcome.ERROR),
    }, found
    assert "gives whole proofs" in found["mixed up"].message
    assert "proposes tactics only" in found["idle"].message
    # What each server was asked is its own.
    assert all("prompt" in sent for sent in steps.sent) and all("messages" in sent for sent in proofs.sent)
    statistics = found["configured"].statistics
    assert statistics.samples == 2 * statistics.expansions and statistics.tokens > 0
    assert found["corrected"].statistics.corrections > 0
    assert found["training"].proof == found["configured"].proof


async def test_a_model_that_nobody_serves_ends_the_attempt_soon_and_says_what_is_served(
    bus: Bus, broker: BusSettings, lean_proxy: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.prover.policies.sources.ABSENT_SECONDS", 0.5)
    with servers(Server(model=BFS, texts=step)) as (here,):
        async with model_node(bus, broker, here):
            found = await played(
                bus, [attempt("a", "openai:elsewhere@stp", method=Method.WHOLE_PROOF)], policy="tactics"
            )
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


async def test_a_message_does_not_choose_which_templates_are_read(
    bus: Bus, broker: BusSettings, lean_proxy: object, tmp_path: Path
) -> None:
    own, listed, other = (tmp_path / name for name in ("own.toml", "listed.toml", "other.toml"))
    for file in (own, listed, other):
        file.write_text(templates.text_of("bfs-prover-v1", templates.load("bfs-prover-v1")), encoding="utf-8")
    attempts = [attempt(file.stem, f"openai:prover@{file}") for file in (own, listed, other)]
    attempts += [attempt("missing", f"openai:prover@{tmp_path}/none.toml"), attempt("configured")]
    with servers(Server(texts=step)) as (here,):
        async with model_node(bus, broker, here):
            found = await played(bus, attempts, policy=f"openai:prover@{own}", templates=(str(listed),))
    assert {name for name, result in found.items() if result.outcome is AttemptOutcome.PROVED} == {
        *("own", "listed", "configured")
    }, found
    for name in ("other", "missing"):
        assert "reads only the template files of its own configuration" in found[name].message
