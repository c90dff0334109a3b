"""The engine against a naive forward pass, one sample at a time, with the same noise."""

import random
from dataclasses import replace

import pytest
import torch

from common.settings import Sampling
from node.inference.engine.batch import FinishedJob, Job
from node.inference.engine.engine import Engine
from node.inference.engine.sampling import WIDE
from node.inference.settings import EngineSettings
from node.model.tokenizer import EOS
from node.model.weights import Weights
from tests.node.inference.naive import jobs, run, sample_naively
from tests.node.model.tiny import tiny_weights

pytestmark = pytest.mark.compute

SETTINGS = EngineSettings(slots=4, cells=8, new_tokens=12, prompt_tokens=80)


def mixed_jobs(count: int, seed: int) -> list[Job]:
    """Jobs that differ in their rules; every third is for the state of an earlier one."""
    rng = random.Random(seed)
    todo: list[Job] = []
    for job in jobs(count, seed):
        again = rng.choice(todo).state if todo and job.key % 3 == 0 else job.state
        todo.append(
            replace(
                job,
                state=again,
                sampling=replace(
                    job.sampling,
                    top_p=rng.choice([1.0, 0.9, 0.5]),
                    distinct=rng.random() < 0.4,
                    stop=rng.choice([(), (), (" p",), ("q", "⊢")]),
                ),
            )
        )
    return todo


def check_against_naive(weights: Weights, todo: list[Job], answers: dict[int, FinishedJob]) -> int:
    """Compare every token and log-probability; returns how many samples came to their end."""
    ends = close = 0
    assert answers.keys() == {job.key for job in todo}
    for job in todo:
        samples, value = sample_naively(weights, SETTINGS, job)
        answer = answers[job.key]
        assert answer.value == pytest.approx(value, abs=1e-3)
        assert len(answer.tactics) == len(samples)
        if not any(naive.close for naive in samples):
            assert answer.tokens == sum(len(naive.tokens) + naive.ended for naive in samples)
        for naive, tactic in zip(samples, answer.tactics, strict=True):
            if naive.close:
                close += 1
                continue
            text = tactic.tactic
            assert text == weights.tokenizer.decode(naive.tokens)
            assert tactic.log_probability == pytest.approx(naive.log_probability, abs=1e-3)
            sampled = tactic.log_probability if tactic.sampled is None else tactic.sampled
            assert (tactic.sampled is None) == job.sampling.plain
            # At temperature 0 the logits are divided by 1e-4, and so is their rounding.
            assert sampled == pytest.approx(naive.sampled, abs=0.1 if job.sampling.temperature == 0.0 else 2e-3)
            assert tactic.complete == (naive.ended and bool(text.strip()) and "\ufffd" not in text)
            ends += naive.ended
    assert close <= 0.1 * sum(job.samples for job in todo)
    return ends


def test_random_arrivals_give_what_one_by_one_forward_passes_give() -> None:
    weights = tiny_weights(ends=12.0)
    engine = Engine(weights, SETTINGS)
    todo = mixed_jobs(12, seed=5)
    answers = run(engine, todo, random.Random(6))
    ends = check_against_naive(weights, todo, answers)
    counters = engine.counters
    samples = sum(job.samples for job in todo)
    assert 0 < ends < samples, "the case should hold completions that end and completions that are cut off"
    assert counters.states == 12
    assert counters.rows < counters.samples, "samples that agree share a row"
    assert counters.rows > 2 * counters.passes, "rows of several states share a pass"


def test_a_wide_vocabulary_of_no_whole_blocks_gives_what_naive_passes_give() -> None:
    weights = tiny_weights(ends=12.0, vocab_size=WIDE + 8)
    with torch.no_grad():  # tokens that the tokenizer does not know are drawn now and then, and cut a sample off
        weights.model.policy.weight[weights.tokenizer.vocab_size :, 0] = -3.0
    engine = Engine(weights, SETTINGS)
    todo = jobs(10, seed=8)
    assert check_against_naive(weights, todo, run(engine, todo, random.Random(9))) > 0


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"window": 12, "full_every": 9, "depth": 3, "seed": 2}, {}),
        ({"window": 12, "full_every": 2, "kv_heads": 1, "prefix_lm": True, "softcap": 8.0, "seed": 3}, {}),
        ({"window": 5, "prefix_lm": True, "kv_heads": 2, "seed": 4}, {"graphs": "on", "prompt_tokens": 400}),
    ],
)
def test_every_option_of_network_and_request_gives_what_naive_passes_give(
    changes: dict[str, float], settings: dict[str, str | int]
) -> None:
    weights = tiny_weights(ends=10.0, **changes)
    engine = Engine(weights, replace(SETTINGS, **settings))  # type: ignore[arg-type]
    engine.network.batches_prompts = bool(settings)  # with graphs, as on a GPU
    todo = mixed_jobs(7, seed=9)
    ends = check_against_naive(weights, todo, run(engine, todo, random.Random(7)))
    assert 0 < ends < sum(job.samples for job in todo)
    assert engine.counters.remembered > 0, "some state should come a second time"
    assert (engine.tactics.graphs is not None and len(engine.tactics.graphs.programs) > 3) == bool(settings)


def test_remembered_states_give_the_same_answers_as_states_that_are_read() -> None:
    weights = tiny_weights(ends=12.0)
    todo = jobs(10, seed=4)
    engine, forgetful = Engine(weights, SETTINGS), Engine(weights, replace(SETTINGS, remember=0))
    first = run(engine, todo)
    read = engine.counters.prompt_tokens
    again = run(engine, todo)
    assert engine.counters.remembered == 10 and engine.counters.prompt_tokens == read
    fresh = run(forgetful, todo) | run(forgetful, todo)
    assert forgetful.counters.remembered == 0 and len(forgetful.prefixes) == 0
    for job in todo:
        one, two, three = (answers[job.key] for answers in (first, again, fresh))
        assert [s.tactic for s in one.tactics] == [s.tactic for s in two.tactics] == [s.tactic for s in three.tactics]
        assert one.value == two.value == pytest.approx(three.value, abs=1e-4)


def test_what_is_remembered_stays_within_its_memory() -> None:
    engine = Engine(tiny_weights(), SETTINGS)
    engine.prefixes.limit = 100_000
    run(engine, jobs(20, seed=2))
    assert 0 < engine.prefixes.size <= 100_000
    assert engine.counters.dropped > 0
    assert engine.prefixes.size == sum(entry.size for entry in engine.prefixes._entries.values())


def test_stop_texts_end_a_tactic_and_are_no_part_of_it() -> None:
    weights = tiny_weights(ends=-50.0)
    stop = weights.tokenizer.encode("q")
    assert len(stop) == 1
    with torch.no_grad():
        weights.model.policy.weight[stop[0]] = -0.15 * weights.model.policy.weight[EOS]  # often drawn, not always
    engine = Engine(weights, replace(SETTINGS, cells=32))
    answer = run(engine, [Job(0, "⊢ q", 32, seed=3, sampling=Sampling(stop=("q",)))])[0]
    ended = [sample for sample in answer.tactics if sample.complete]
    assert ended and len(ended) < 32
    whole = run(engine, [Job(0, "⊢ q", 32, seed=3)])[0]
    for stopped, sample in zip(answer.tactics, whole.tactics, strict=True):
        assert sample.tactic.startswith(stopped.tactic + "q" if stopped.complete else stopped.tactic)
    assert engine.counters.cut_off == 32 - len(ended) + 32


def test_a_stop_text_of_several_tokens_is_refused_and_the_rest_goes_on() -> None:
    engine = Engine(tiny_weights(ends=12.0), SETTINGS)
    answers = run(
        engine, [Job(0, "⊢ q", 2, seed=3, sampling=Sampling(stop=("no single token",))), Job(1, "⊢ q", 2, seed=3)]
    )
    assert "it must be one" in answers[0].problem and answers[0].tactics == ()
    assert not answers[1].problem and len(answers[1].tactics) == 2


def test_more_states_than_slots_wait_their_turn() -> None:
    engine = Engine(tiny_weights(ends=12.0), SETTINGS)
    for job in jobs(10, seed=1):
        engine.submit(job)
    assert (engine.waiting, engine.running, engine.tactics.room) == (10, 0, 0)
    engine.step()
    assert 0 < engine.running <= 4 and engine.waiting == 10 - engine.running
    while engine.busy:
        engine.step()
    assert engine.counters.states == 10 and engine.tactics.room == 4


def test_strange_states_are_answered() -> None:
    states = ["", "\x00", "⊢ " + "x" * 50_000, "\n" * 3000, "h : p\n" * 5000 + "⊢ q", "<|tactic|><|eos|>"]
    answers = run(Engine(tiny_weights(ends=12.0), SETTINGS), [Job(n, state, 2, n) for n, state in enumerate(states)])
    assert len(answers) == len(states)
