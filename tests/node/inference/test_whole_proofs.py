"""Whole proofs and conjectures from the engine: what naive passes give, and nothing that tactics would notice."""

import random
from dataclasses import replace

import pytest

from node.inference.engine.batch import Job
from node.inference.engine.engine import Engine
from node.model.checkpoint_folders import NO_CONJECTURE_ROLES, NO_CONJECTURES, NO_PROOFS, NO_ROLES
from node.model.names import StatementNames
from node.model.prompt import conjecture_prompt
from node.model.weights import Weights
from tests.node.inference.naive import jobs, run, sample_naively
from tests.node.inference.writers import SETTINGS, drawn, proof_jobs, texts, writer as proof_writer
from tests.node.model.tiny import tiny_weights

pytestmark = pytest.mark.compute

SIZES = replace(SETTINGS, conjecture_tokens=16, proof_slots=3)


def writer(seed: int = 0, **changes: float) -> Weights:
    """As for proofs, with room for a prompt, and with a note of conjectures."""
    weights = proof_writer(seed, **{"context": 320, **changes})
    return replace(weights, information={**weights.information, "conjectures": "yes"})


def conjecture_jobs(count: int, seed: int) -> list[Job]:
    """Prompts of three lengths; 1 to 8 samples."""
    rng, found = random.Random(seed), []
    for index in range(count):
        easy = f"theorem t (p q : Prop) : {'p ∧ ' * (index % 3)}q", f"intro h{index % 2}"
        state = conjecture_prompt("theorem l (a : Prop) : a", *easy)
        found.append(drawn(rng, 2000 + index, state, conjecture=True))
    return found


@pytest.mark.parametrize("graphs", ["off", "on"])
def test_proofs_conjectures_and_tactics_together_are_what_naive_passes_give(graphs: str) -> None:
    weights, settings = writer(), replace(SIZES, graphs=graphs)
    engine = Engine(weights, settings)
    todo = [*jobs(2, seed=3), *proof_jobs(3, seed=4), *conjecture_jobs(3, seed=5)]
    random.Random(5).shuffle(todo)
    answers = run(engine, todo, random.Random(6))
    ended, long = set(), set()
    for job in todo:
        kind, names = (job.proof, job.conjecture), StatementNames(job.state)
        samples, value = sample_naively(weights, settings, job)
        answer = answers[job.key]
        assert answer.value == (0.0 if any(kind) else pytest.approx(value, abs=1e-3)) and not answer.problem
        for naive, sample in zip(samples, answer.tactics, strict=True):
            if naive.close:
                continue
            text = weights.tokenizer.decode(naive.tokens)
            assert sample.tactic == (names.show(text) if job.proof else text)
            assert sample.log_probability == pytest.approx(naive.log_probability, abs=2e-3)
            assert sample.tokens == (len(naive.tokens) + naive.ended if any(kind) else None)
            ended |= {kind} if naive.ended else set()
            long |= {kind} if len(naive.tokens) > settings.new_tokens else set()
    both = {(True, False), (False, True)}
    assert both <= ended and long == both, "some of each should end, and some be longer than any tactic"
    assert engine.counters.states == len(todo)


def test_tactics_are_the_same_to_the_last_bit_whether_proofs_and_conjectures_run_or_not() -> None:
    todo = jobs(12, seed=8)
    alone, beside = Engine(writer(), SIZES), Engine(writer(), SIZES)
    without = run(alone, todo)
    assert alone.proofs is None and alone.conjectures is None, "nobody has asked for one"
    for job in [*proof_jobs(5, seed=1), *conjecture_jobs(5, seed=1)]:
        beside.submit(job)
    both = run(beside, todo)
    assert beside.proofs is not None and beside.conjectures is not None
    assert {job.key: both[job.key] for job in todo} == without


def test_an_answer_depends_on_its_seed_and_sample_alone() -> None:
    todo = [*jobs(2, seed=1), *proof_jobs(2, seed=2), *conjecture_jobs(2, seed=2)]
    together = run(Engine(writer(), SIZES), todo, random.Random(3))
    for job in reversed(todo):
        few = replace(job, samples=max(1, job.samples // 2))
        assert texts(run(Engine(writer(), SIZES), [few])[job.key]) == texts(together[job.key])[: few.samples]


def test_a_statement_is_read_once_prompts_wait_for_a_place_and_one_that_is_too_long_gives_nothing() -> None:
    engine = Engine(writer(), SIZES)
    todo = proof_jobs(4, seed=6)
    first = run(engine, todo)
    read = engine.counters.prompt_tokens
    again = run(engine, [replace(job, state=job.state.replace("theorem t", "lemma other_")) for job in todo])
    assert engine.counters.prompt_tokens == read and engine.counters.remembered >= 4
    assert {key: texts(answer) for key, answer in again.items()} == {key: texts(each) for key, each in first.items()}
    engine = Engine(writer(), SIZES)
    todo = conjecture_jobs(5, seed=1)
    assert engine.room(todo[0]) == 3
    for job in todo:
        engine.submit(job)
    assert engine.room(todo[0]) == 0 and engine.room(proof_jobs(1, 1)[0]) == 3
    long = replace(todo[0], key=1, state=todo[0].state * 10)
    answers = run(engine, [long])
    assert answers[1].tactics == () and not answers[1].problem
    assert len(answers) == 6 and all(answers[job.key].tactics for job in todo)
    assert engine.room(todo[0]) == 3


def test_no_proof_is_longer_than_half_of_what_the_network_reads() -> None:
    weights = writer(ends=-50.0, context=160)
    engine = Engine(weights, replace(SIZES, proof_tokens=10_000))
    job = Job(0, "theorem t : p", 8, 1, proof=True)
    answer = run(engine, [job])[0]
    assert max(sample.tokens or 0 for sample in answer.tactics) == weights.model.config.context // 2
    assert not any(sample.complete for sample in answer.tactics)
    long = replace(job, key=1, state=f"theorem t : {'p ∧ ' * 300}p")
    short = replace(job, key=2)
    answers = run(engine, [long, short])
    assert answers[1].tactics == () and not answers[1].problem
    assert len(answers[2].tactics) == 8


def test_a_network_that_was_not_trained_on_what_is_asked_for_says_so_and_both_at_once_are_refused() -> None:
    untrained = replace(writer(), information={"version": "1"})
    for make, weights, says in (
        (proof_jobs, tiny_weights(), NO_ROLES),
        (proof_jobs, untrained, NO_PROOFS),
        (conjecture_jobs, tiny_weights(), NO_CONJECTURE_ROLES),
        (conjecture_jobs, untrained, NO_CONJECTURES),
    ):
        (job,) = make(1, seed=1)
        engine = Engine(weights, SIZES)
        answers = run(engine, [job, *jobs(2, seed=1)])
        assert answers[job.key].problem == says and answers[job.key].tactics == ()
        assert len(answers) == 3 and engine.proofs is None and engine.conjectures is None
    job = replace(conjecture_jobs(1, seed=1)[0], proof=True)
    with pytest.raises(ValueError, match="whole proofs and for conjectures at once"):
        Engine(writer(), SIZES).submit(job)
