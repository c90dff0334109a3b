"""Tactics far longer than usual: learnt, sampled whole, ended where the context is full; prompts keep their room."""

from dataclasses import replace

import pytest
import torch

from common.protocol.attempts import Transition
from common.settings import Sampling
from node.inference.engine.batch import Job
from node.inference.engine.engine import RESERVE, Engine
from node.inference.settings import EngineSettings
from node.model.optimizer import OptimizerSettings
from node.model.prompt import FRAME, prompt_tokens
from node.model.tokenizer import EOS
from node.model.weights import Weights
from node.training.documents import Room, transition_document
from node.training.loader import collate
from node.training.settings import LossSettings
from node.training.trainer import RankDevice, StepSettings, Trainer
from tests.node.inference.naive import run
from tests.node.model.tiny import tiny_model, tiny_tokenizer, tiny_weights

pytestmark = pytest.mark.compute

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
