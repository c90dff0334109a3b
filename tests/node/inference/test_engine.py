"""The engine against a naive forward pass, one sample at a time, with the same noise; and tactics far longer than
usual: learnt, sampled whole, ended where the context is full."""

import random
import statistics
from dataclasses import replace

import pytest
import torch

from common.protocol.attempts import Transition
from common.settings import Sampling
from node.inference.engine.batch import FinishedJob, Job
from node.inference.engine.engine import RESERVE, Engine
from node.inference.engine.sampling import WIDE
from node.inference.settings import EngineSettings
from node.model.optimizer import OptimizerSettings
from node.model.prompt import FRAME, prompt_tokens
from node.model.tokenizer import EOS
from node.model.weights import Weights
from node.training.documents import Room, transition_document
from node.training.loader import collate
from node.training.settings import LossSettings
from node.training.trainer import RankDevice, StepSettings, Trainer
from tests.node.inference.naive import jobs, run, sample_naively
from tests.node.model.tiny import tiny_model, tiny_tokenizer, tiny_weights

pytestmark = pytest.mark.compute

SETTINGS = EngineSettings(slots=4, cells=8, new_tokens=12, prompt_tokens=80, dtype="float32")


def mixed_jobs(count: int, seed: int) -> list[Job]:
    """Jobs that differ in their rules; every third is for the state of an earlier one."""
    rng = random.Random(seed)
    todo: list[Job] = []
    for job in jobs(count, seed):
        again = rng.choice(todo).state if todo and job.key % 3 == 0 else job.state
        top_p = rng.choice([1.0, 0.9, 0.5])
        sampling = replace(job.sampling, top_p=top_p, stop=rng.choice([(), (), (" p",), ("q", "⊢")]))
        todo.append(replace(job, state=again, sampling=sampling))
    return todo


def check_against_naive(weights: Weights, todo: list[Job], answers: dict[int, FinishedJob]) -> int:
    """Compare every token and log-probability; returns how many samples came to their end."""
    ends = close = 0
    assert answers.keys() == {job.key for job in todo}
    for job in todo:
        samples, value = sample_naively(weights, SETTINGS, job)
        answer = answers[job.key]
        assert answer.value == pytest.approx(value, abs=1e-3) and len(answer.tactics) == len(samples)
        if not any(naive.close for naive in samples):
            assert answer.tokens == sum(len(naive.tokens) + naive.ended for naive in samples)
        for naive, tactic in zip(samples, answer.tactics, strict=True):
            if naive.close:
                close += 1
                continue
            text = tactic.tactic
            assert text == weights.tokenizer.decode(naive.tokens)
            assert tactic.log_probability == pytest.approx(naive.log_probability, abs=1e-3)
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


@pytest.mark.parametrize("vocab_size", [None, WIDE + 8])
def test_in_bfloat16_the_same_noise_draws_almost_the_same_tactics(vocab_size: int | None) -> None:
    weights = tiny_weights(ends=12.0, **({} if vocab_size is None else {"vocab_size": vocab_size}))
    with torch.no_grad():  # as sharp as a trained network; the rounding grows with the logits
        weights.model.policy.weight.mul_(0.1)
    todo = [replace(job, sampling=Sampling()) for job in jobs(10, seed=8)]
    exact, narrow = (
        run(Engine(weights, replace(SETTINGS, dtype=dtype)), todo)  # type: ignore[arg-type]
        for dtype in ("float32", "bfloat16")
    )
    pairs = [pair for key in exact for pair in zip(exact[key].tactics, narrow[key].tactics, strict=True)]
    same = [(first, second) for first, second in pairs if first.tactic == second.tactic]
    assert len(same) >= 0.8 * len(pairs)
    assert statistics.median(abs(first.log_probability - second.log_probability) for first, second in same) < 0.05
    for key, answer in exact.items():
        assert narrow[key].value == pytest.approx(answer.value, abs=0.5)


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"window": 12, "full_every": 9, "depth": 3, "seed": 2}, {}),
        ({"window": 12, "full_every": 2, "kv_heads": 1, "softcap": 8.0, "seed": 3}, {}),
        ({"window": 5, "kv_heads": 2, "seed": 4}, {"graphs": "on", "prompt_tokens": 400}),
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


def test_remembered_states_give_the_same_answers_and_stay_within_their_memory() -> None:
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
    engine = Engine(tiny_weights(), SETTINGS)
    engine.prefixes.limit = 100_000
    run(engine, jobs(20, seed=2))
    assert 0 < engine.prefixes.size <= 100_000 and engine.counters.dropped > 0
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


def test_a_stop_text_of_several_tokens_is_refused_and_strange_states_are_answered() -> None:
    engine = Engine(tiny_weights(ends=12.0), SETTINGS)
    answers = run(
        engine, [Job(0, "⊢ q", 2, seed=3, sampling=Sampling(stop=("no single token",))), Job(1, "⊢ q", 2, seed=3)]
    )
    assert "it must be one" in answers[0].problem and answers[0].tactics == ()
    assert not answers[1].problem and len(answers[1].tactics) == 2
    states = ["", "\x00", "⊢ " + "x" * 50_000, "\n" * 3000, "h : p\n" * 5000 + "⊢ q", "<|tactic|><|eos|>"]
    answers = run(Engine(tiny_weights(ends=12.0), SETTINGS), [Job(n, state, 2, n) for n, state in enumerate(states)])
    assert len(answers) == len(states)


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


# --- long tactics -----------------------------------------------------------------------------------------------------
STATE = "h : p\n⊢ q"
LONG = "rw [" + ", ".join(f"h.{number % 9}{number % 7}" for number in range(15)) + "]"


def endless() -> Weights:
    """Its completions do not end: no token that could end one is ever drawn."""
    weights = tiny_weights(ends=-50.0, context=256)
    with torch.no_grad():
        weights.model.policy.weight[: weights.tokenizer.specials] = weights.model.policy.weight[EOS].clone()
    return weights


def test_a_network_that_learnt_a_long_tactic_samples_it_whole() -> None:
    tokenizer = tiny_tokenizer()
    model = tiny_model(context=256)
    document = transition_document(tokenizer, Transition(STATE, LONG, 1), Room(256, model.config.longest_tactic))
    assert document is not None and 100 < document.predicted < 128
    optimizer = OptimizerSettings(matrix_rate=0.02, rate=0.01, warmup=1)
    trainer = Trainer(model, StepSettings(optimizer, LossSettings()), RankDevice(torch.device("cpu"), False))
    batch = collate([(document,)], len(document.tokens))
    for _ in range(200):
        metrics = trainer.step([batch], 1.0)
        if metrics["policy_loss"] < 0.05:
            break
    weights = Weights(model.eval(), tokenizer, {"version": "1"})
    job = Job(0, STATE, 8, seed=3, sampling=Sampling(temperature=0.0))
    for graphs in ("off", "on"):
        answer = run(Engine(weights, EngineSettings(slots=2, cells=8, graphs=graphs)), [job])[0]
        assert {(each.tactic, each.complete) for each in answer.tactics} == {(LONG, True)}
    # The engine's own limit cuts it.
    cut = run(Engine(weights, EngineSettings(slots=2, cells=8, new_tokens=document.predicted - 1)), [job])[0]
    assert not any(each.complete for each in cut.tactics)


def test_a_completion_ends_where_the_context_is_full_and_prompts_keep_their_room() -> None:
    """A limit of half of the context takes no more than RESERVE tokens from prompts."""
    weights = endless()
    engine = Engine(weights, EngineSettings(slots=2, cells=4))
    states = {0: "⊢ q", 1: "⊢ " + "∧ " * 170 + "q", 2: "⊢ " + "∧ " * 900 + "q"}
    answers = run(engine, [Job(key, state, 3, seed=1) for key, state in states.items()])
    for key, state in states.items():
        prompt = len(prompt_tokens(weights.tokenizer, state, 256 - RESERVE))
        assert answers[key].tokens == 3 * min(128, 256 - prompt)
    assert prompt == 256 - RESERVE < len(weights.tokenizer.encode(states[2])) + FRAME


def test_the_cache_grows_for_long_tactics_alone() -> None:
    for graphs in ("off", "on"):
        settings = EngineSettings(slots=2, cells=4, graphs=graphs)  # type: ignore[arg-type]
        engine = Engine(tiny_weights(ends=30.0, context=256), settings)
        before = engine.tactics._cache.capacity
        usual = replace(settings, new_tokens=32)
        jobs = [Job(key, "⊢ q", 4, seed=key) for key in range(2)]
        run(engine, jobs)
        run(same := Engine(engine.weights, usual), jobs)
        assert engine.tactics._cache.capacity == same.tactics._cache.capacity
        assert graphs == "off" or engine.tactics._cache.capacity == before
        # Four samples of 128 tokens each, all different: nearly every token has a key of its own.
        engine = Engine(endless(), settings)
        answers = run(engine, jobs)
        assert engine.tactics._cache.capacity > max(4 * 100, same.tactics._cache.capacity)
        wide = Engine(engine.weights, settings)
        wide.tactics._make_room(4 * 128 + 64)
        assert run(wide, jobs) == answers, "growing changes no answer"
