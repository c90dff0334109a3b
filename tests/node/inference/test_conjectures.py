"""Conjectures from the engine: what naive passes give, and nothing that tactics or proofs would notice."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from common.settings import Sampling
from node.inference.engine.batch import Job
from node.inference.engine.engine import Engine
from node.model.checkpoint_folders import NO_CONJECTURE_ROLES, NO_CONJECTURES
from node.model.prompt import conjecture_prompt
from node.model.weights import Weights
from tests.node.inference.naive import jobs, run, sample_naively
from tests.node.inference.writers import SETTINGS, proof_jobs, texts, writer as proof_writer
from tests.node.model.tiny import tiny_weights

pytestmark = pytest.mark.compute

SIZES = replace(SETTINGS, conjecture_tokens=16, proof_slots=3)


def writer(seed: int = 0, **changes: float) -> Weights:
    """As for proofs, with room for a prompt, and with a note of conjectures."""
    weights = proof_writer(seed, **{"context": 320, **changes})
    return replace(weights, information={**weights.information, "conjectures": "yes"})


def conjecture_jobs(count: int, seed: int) -> list[Job]:
    """Prompts of three lengths; 1 to 8 samples."""
    rng = random.Random(seed)
    return [
        Job(
            key=2000 + index,
            state=conjecture_prompt(
                "theorem l (a : Prop) : a", f"theorem t (p q : Prop) : {'p ∧ ' * (index % 3)}q", f"intro h{index % 2}"
            ),
            samples=rng.randint(1, 8),
            seed=rng.getrandbits(63),
            sampling=Sampling(temperature=rng.choice([1.0, 0.5]), top_p=rng.choice([1.0, 0.9])),
            conjecture=True,
        )
        for index in range(count)
    ]


def test_conjectures_beside_proofs_and_tactics_are_what_naive_passes_give() -> None:
    weights = writer()
    engine = Engine(weights, SIZES)
    todo = [*jobs(3, seed=3), *proof_jobs(3, seed=4), *conjecture_jobs(6, seed=5)]
    random.Random(5).shuffle(todo)
    answers = run(engine, todo, random.Random(6))
    ends = long = 0
    for job in todo:
        if not job.conjecture:
            continue
        samples, _ = sample_naively(weights, SIZES, job)
        answer = answers[job.key]
        assert answer.value == 0.0 and not answer.problem
        for naive, sample in zip(samples, answer.tactics, strict=True):
            if naive.close:
                continue
            assert sample.tactic == weights.tokenizer.decode(naive.tokens)
            assert sample.log_probability == pytest.approx(naive.log_probability, abs=2e-3)
            assert sample.tokens == len(naive.tokens) + naive.ended <= SIZES.conjecture_tokens
            ends += naive.ended
            long += len(naive.tokens) > SIZES.new_tokens
    assert ends and long, "some should end, and some be longer than any tactic"


def test_tactics_and_proofs_are_the_same_to_the_last_bit_whether_conjectures_run_or_not() -> None:
    todo = [*jobs(6, seed=8), *proof_jobs(4, seed=2)]
    alone = Engine(writer(), SIZES)
    without = run(alone, todo)
    assert alone.conjectures is None, "nobody has asked for a conjecture"
    beside = Engine(writer(), SIZES)
    for job in conjecture_jobs(5, seed=1):
        beside.submit(job)
    both = run(beside, todo)
    assert beside.conjectures is not None
    assert {job.key: both[job.key] for job in todo} == without


def test_a_conjecture_depends_on_its_seed_and_sample_alone() -> None:
    todo = conjecture_jobs(7, seed=2)
    together = run(Engine(writer(), SIZES), [*jobs(4, seed=1), *proof_jobs(2, seed=1), *todo], random.Random(3))
    for job in reversed(todo):
        few = replace(job, samples=max(1, job.samples // 2))
        assert texts(run(Engine(writer(), SIZES), [job])[job.key]) == texts(together[job.key])
        assert texts(run(Engine(writer(), SIZES), [few])[job.key]) == texts(together[job.key])[: few.samples]


def test_prompts_wait_for_a_place_of_their_own_and_a_prompt_that_is_too_long_gives_nothing() -> None:
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


def test_a_network_that_was_trained_on_no_conjectures_says_so_and_the_rest_goes_on() -> None:
    for weights, says in ((tiny_weights(), NO_CONJECTURE_ROLES), (proof_writer(context=320), NO_CONJECTURES)):
        engine = Engine(weights, SIZES)
        answers = run(engine, [*conjecture_jobs(1, seed=1), *jobs(2, seed=1)])
        assert answers[2000].problem == says and answers[2000].tactics == ()
        assert len(answers) == 3 and engine.conjectures is None


def test_proofs_and_conjectures_at_once_are_refused() -> None:
    job = replace(conjecture_jobs(1, seed=1)[0], proof=True)
    with pytest.raises(ValueError, match="whole proofs and for conjectures at once"):
        Engine(writer(), SIZES).submit(job)
