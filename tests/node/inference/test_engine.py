"""The engine against a naive forward pass, one sample at a time, with the same noise."""

import math
import random

import pytest

from node.inference.engine import Engine, Finished, Job
from node.inference.engine_settings import EngineSettings
from node.model.weights import Weights
from tests.node.inference.naive import sample_naively
from tests.node.model.tiny import tiny_weights

SETTINGS = EngineSettings(slots=4, cells=8, new_tokens=12, prompt_tokens=80)


def jobs(count: int, seed: int) -> list[Job]:
    """States of 0 to 20 hypotheses (the longest are shortened), 1 to 8 samples, several temperatures."""
    rng = random.Random(seed)
    return [
        Job(
            key=index,
            state="\n".join([*(f"h{rng.randint(0, 9)} : p ∧ q" for _ in range(rng.randint(0, 20))), "⊢ q"]),
            samples=rng.randint(1, 8),
            seed=rng.getrandbits(63),
            temperature=rng.choice([1.0, 1.0, 0.3, 2.0, 0.0]),
        )
        for index in range(count)
    ]


def run(engine: Engine, todo: list[Job], arrivals: random.Random | None = None) -> dict[int, Finished]:
    """Answers by key; with `arrivals`, jobs come at random steps, else all at once."""
    waiting, answers = list(todo), {}
    while waiting or engine.busy:
        while waiting and (arrivals is None or arrivals.random() < 0.4):
            engine.submit(waiting.pop(0))
        answers.update({finished.key: finished for finished in engine.step()})
    return answers


def check_against_naive(weights: Weights, todo: list[Job], answers: dict[int, Finished]) -> int:
    """Compare every token and log-probability; returns how many samples came to their end."""
    ends = close = 0
    assert answers.keys() == {job.key for job in todo}
    for job in todo:
        samples, value = sample_naively(weights, SETTINGS, job)
        answer = answers[job.key]
        assert answer.value == pytest.approx(value, abs=1e-3)
        assert len(answer.tactics) == len(samples)
        for naive, tactic in zip(samples, answer.tactics, strict=True):
            if naive.close:
                close += 1
                continue
            text = tactic.tactic
            assert text == weights.tokenizer.decode(naive.tokens)
            assert tactic.log_probability == pytest.approx(naive.log_probability, abs=1e-3)
            assert tactic.complete == (naive.ended and bool(text.strip()) and "\ufffd" not in text)
            ends += naive.ended
    assert close <= 0.05 * sum(job.samples for job in todo)
    return ends


@pytest.mark.parametrize(
    "changes",
    [
        {"ends": 12.0},
        {"ends": 12.0, "kv_heads": 2, "seed": 1},
        {"ends": 30.0, "sharpness": 4.0, "seed": 2},
        {"ends": 6.0, "tied": True, "seed": 3},
    ],
)
def test_random_arrivals_give_what_one_by_one_forward_passes_give(changes: dict[str, float]) -> None:
    weights = tiny_weights(**changes)
    engine = Engine(weights, SETTINGS)
    todo = jobs(25, seed=5)
    answers = run(engine, todo, random.Random(6))
    ends = check_against_naive(weights, todo, answers)
    counters = engine.counters
    samples = sum(job.samples for job in todo)
    assert 0 < ends < samples, "the case should hold completions that end and completions that are cut off"
    assert counters.states == 25
    assert counters.rows < counters.samples, "samples that agree share a row"
    assert counters.rows > 2 * counters.passes, "rows of several states share a pass"


def test_answers_do_not_depend_on_what_else_runs() -> None:
    weights = tiny_weights(ends=12.0)
    todo = jobs(12, seed=8)
    together = run(Engine(weights, SETTINGS), todo)
    alone: dict[int, Finished] = {}
    for job in reversed(todo):
        alone |= run(Engine(weights, SETTINGS), [job])
    for job in todo:
        assert [sample.tactic for sample in together[job.key].tactics] == [s.tactic for s in alone[job.key].tactics]
        assert together[job.key].value == pytest.approx(alone[job.key].value, abs=1e-4)


def test_more_samples_begin_with_the_same_samples() -> None:
    weights = tiny_weights(ends=12.0)
    few = run(Engine(weights, SETTINGS), [Job(0, "⊢ q", 3, seed=11)])[0]
    many = run(Engine(weights, SETTINGS), [Job(0, "⊢ q", 8, seed=11)])[0]
    other = run(Engine(weights, SETTINGS), [Job(0, "⊢ q", 8, seed=12)])[0]
    assert [sample.tactic for sample in many.tactics[:3]] == [sample.tactic for sample in few.tactics]
    assert [sample.tactic for sample in many.tactics] != [sample.tactic for sample in other.tactics]


def test_samples_follow_the_distribution_of_the_policy() -> None:
    weights = tiny_weights(ends=12.0)
    engine = Engine(weights, EngineSettings(slots=8, cells=32, new_tokens=1))
    answers = run(engine, [Job(seed, "⊢ q", 32, seed) for seed in range(200)])
    draws = [sample for answer in answers.values() for sample in answer.tactics]
    ends = [sample for sample in draws if sample.tactic == "" and sample.log_probability > -3]
    share, probability = len(ends) / len(draws), math.exp(ends[0].log_probability)
    assert 0.05 < probability < 0.95
    # Five standard deviations of a binomial share.
    assert abs(share - probability) < 5 * (probability * (1 - probability) / len(draws)) ** 0.5


def test_temperature_zero_gives_the_likeliest_tactic_each_time() -> None:
    answer = run(Engine(tiny_weights(), SETTINGS), [Job(0, "⊢ q", 8, seed=3, temperature=0.0)])[0]
    assert len({sample.tactic for sample in answer.tactics}) == 1


def test_a_long_completion_is_cut_off_and_marked() -> None:
    answer = run(Engine(tiny_weights(ends=-50.0), SETTINGS), [Job(0, "⊢ q", 8, seed=3)])[0]
    assert not any(sample.complete for sample in answer.tactics)


def test_more_states_than_slots_wait_their_turn() -> None:
    engine = Engine(tiny_weights(ends=12.0), SETTINGS)
    for job in jobs(10, seed=1):
        engine.submit(job)
    assert (engine.waiting, engine.running, engine.room) == (10, 0, 0)
    engine.step()
    assert 0 < engine.running <= 4 and engine.waiting == 10 - engine.running
    while engine.busy:
        engine.step()
    assert engine.counters.states == 10 and engine.room == 4


def test_an_idle_engine_does_nothing() -> None:
    engine = Engine(tiny_weights(), SETTINGS)
    assert engine.step() == [] and engine.counters.passes == 0


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (Job(0, "", 0, 1), "0 samples"),
        (Job(0, "", 9, 1), "9 samples"),
        (Job(0, "", 1, 1, temperature=-1.0), "temperature"),
        (Job(0, "", 1, 1, temperature=float("nan")), "temperature"),
    ],
)
def test_impossible_jobs_are_refused(job: Job, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Engine(tiny_weights(), SETTINGS).submit(job)


def test_strange_states_are_answered() -> None:
    states = ["", "\x00", "⊢ " + "x" * 50_000, "\n" * 3000, "h : p\n" * 5000 + "⊢ q", "<|tactic|><|eos|>"]
    answers = run(Engine(tiny_weights(ends=12.0), SETTINGS), [Job(n, state, 2, n) for n, state in enumerate(states)])
    assert len(answers) == len(states)
