"""Whole proofs from the engine: what naive passes give, and nothing that tactics would notice."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from node.inference.engine.batch import Job
from node.inference.engine.engine import Engine
from node.model.checkpoint_folders import NO_PROOFS, NO_ROLES
from node.model.names import StatementNames
from tests.node.inference.naive import jobs, run, sample_naively
from tests.node.inference.writers import SETTINGS, proof_jobs, texts, writer
from tests.node.model.tiny import tiny_weights

pytestmark = pytest.mark.compute


@pytest.mark.parametrize("settings", [{}, {"graphs": "on"}])
def test_proofs_and_tactics_together_are_what_naive_passes_give(settings: dict[str, str]) -> None:
    weights = writer()
    engine = Engine(weights, replace(SETTINGS, **settings))  # type: ignore[arg-type]
    todo = [*jobs(6, seed=3), *proof_jobs(8, seed=4)]
    random.Random(5).shuffle(todo)
    answers = run(engine, todo, random.Random(6))
    ends = long = 0
    for job in todo:
        names = StatementNames(job.state)
        samples, value = sample_naively(weights, SETTINGS, job)
        answer = answers[job.key]
        assert answer.value == (0.0 if job.proof else pytest.approx(value, abs=1e-3))
        for naive, sample in zip(samples, answer.tactics, strict=True):
            if naive.close:
                continue
            text = weights.tokenizer.decode(naive.tokens)
            assert sample.tactic == (names.show(text) if job.proof else text)
            assert sample.log_probability == pytest.approx(naive.log_probability, abs=2e-3)
            assert sample.tokens == (len(naive.tokens) + naive.ended if job.proof else None)
            ends += naive.ended and job.proof
            long += len(naive.tokens) > SETTINGS.new_tokens
    assert ends and long, "some proofs should end, and some be longer than any tactic"
    assert engine.counters.states == len(todo)


def test_tactics_are_the_same_to_the_last_bit_whether_proofs_run_or_not() -> None:
    todo = jobs(12, seed=8)
    alone = Engine(writer(), SETTINGS)
    without = run(alone, todo)
    assert alone.proofs is None, "nobody has asked for a proof"
    beside = Engine(writer(), SETTINGS)
    for job in proof_jobs(5, seed=1):
        beside.submit(job)
    both = run(beside, todo)
    assert beside.proofs is not None
    assert {job.key: both[job.key] for job in todo} == without


def test_a_proof_depends_on_its_seed_and_sample_alone() -> None:
    todo = proof_jobs(9, seed=2)
    together = run(Engine(writer(), SETTINGS), [*jobs(5, seed=1), *todo], random.Random(3))
    for job in reversed(todo):
        few = replace(job, samples=max(1, job.samples // 2))
        assert texts(run(Engine(writer(), SETTINGS), [job])[job.key]) == texts(together[job.key])
        assert texts(run(Engine(writer(), SETTINGS), [few])[job.key]) == texts(together[job.key])[: few.samples]


def test_a_statement_that_was_read_is_not_read_again() -> None:
    engine = Engine(writer(), SETTINGS)
    todo = proof_jobs(4, seed=6)
    first = run(engine, todo)
    read = engine.counters.prompt_tokens
    again = run(engine, [replace(job, state=job.state.replace("theorem t", "lemma other_")) for job in todo])
    assert engine.counters.prompt_tokens == read and engine.counters.remembered >= 4
    assert {key: texts(answer) for key, answer in again.items()} == {key: texts(each) for key, each in first.items()}


def test_statements_wait_for_a_place_of_their_own() -> None:
    engine = Engine(writer(), SETTINGS)
    todo = proof_jobs(5, seed=1)
    assert engine.room(todo[0]) == 2 and engine.room(jobs(1, 1)[0]) == 4
    for job in todo:
        engine.submit(job)
    assert engine.room(todo[0]) == 0 and engine.room(jobs(1, 1)[0]) == 4
    engine.step()
    assert (engine.running, engine.waiting) == (2, 3)
    while engine.busy:
        engine.step()
    assert engine.room(todo[0]) == 2


def test_no_proof_is_longer_than_half_of_what_the_network_reads() -> None:
    weights = writer(ends=-50.0)
    engine = Engine(weights, replace(SETTINGS, proof_tokens=10_000))
    job = Job(0, "theorem t : p", 8, 1, proof=True)
    answer = run(engine, [job])[0]
    assert max(sample.tokens or 0 for sample in answer.tactics) == weights.model.config.context // 2
    assert not any(sample.complete for sample in answer.tactics)
    long = replace(job, key=1, state=f"theorem t : {'p ∧ ' * 100}p")
    short = replace(job, key=2)
    answers = run(engine, [long, short])
    assert answers[1].tactics == () and not answers[1].problem
    assert len(answers[2].tactics) == 8


def test_a_network_that_was_trained_on_no_proofs_says_so_and_the_rest_goes_on() -> None:
    untrained = replace(writer(), information={"version": "1"})
    for weights, says in ((tiny_weights(), NO_ROLES), (untrained, NO_PROOFS)):
        engine = Engine(weights, SETTINGS)
        answers = run(engine, [*proof_jobs(1, seed=1), *jobs(2, seed=1)])
        assert answers[1000].problem == says and answers[1000].tactics == ()
        assert len(answers) == 3 and engine.proofs is None
