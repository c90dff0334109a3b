"""Log-probabilities of tactics and the prior made of them, against all completions of a small network, enumerated."""

import math
from collections import Counter

import pytest
import torch

from node.inference.engine.batch import Job
from node.inference.engine.engine import Engine
from node.inference.settings import EngineSettings
from node.model.names import Names
from node.model.prompt import prompt_tokens
from node.model.tokenizer import EOS, SPECIAL, Tokenizer
from node.model.weights import Weights
from tests.node.model.tiny import tiny_model

STATE = "⊢ q"
LENGTH = 2
"""Tokens of a tactic at most, its end included."""


def weights() -> Weights:
    """The smallest vocabulary there is: 256 bytes and the special tokens; a few letters are likely."""
    tokenizer = Tokenizer.train([], 0)
    model = tiny_model(ends=18.0, vocab_size=tokenizer.vocab_size)
    with torch.no_grad():
        bias = model.policy.weight[EOS, 0].clone()  # the first number of the stream is the same everywhere
        model.policy.weight *= 0.3
        model.policy.weight[[EOS, *(tokenizer.encode(letter)[0] for letter in "abcd")], 0] = bias
    return Weights(model, tokenizer)


@torch.inference_mode()
def enumerate_tactics(source: Weights) -> dict[str, float]:
    """Probability of every tactic that ends within LENGTH tokens, from whole forward passes; "" stands for the rest."""
    prompt = prompt_tokens(source.tokenizer, Names(STATE).state, source.model.config.context - LENGTH)
    size = source.model.config.vocab_size
    start = torch.tensor([prompt])
    first = source.model.policy_logits(source.model.hidden(start)[:, -1]).softmax(-1)[0]
    longer = torch.cat([start.expand(size, -1), torch.arange(size)[:, None]], dim=1)
    second = source.model.policy_logits(source.model.hidden(longer)[:, -1]).softmax(-1)
    ending = first * second[:, EOS]
    shares = {source.tokenizer.decode([token]): float(ending[token]) for token in range(len(SPECIAL), size)}
    shares.pop("\ufffd", None)  # bytes that are no text
    return {tactic: share for tactic, share in shares.items() if tactic.strip()}


def test_log_probabilities_are_those_of_enumeration() -> None:
    source = weights()
    exact = enumerate_tactics(source)
    engine = Engine(source, EngineSettings(slots=8, cells=32, new_tokens=LENGTH))
    seen: Counter[str] = Counter()
    drawn = 0
    for seed in range(60):
        engine.submit(Job(seed, STATE, 32, seed))
    while engine.busy:
        for finished in engine.step():
            drawn += len(finished.tactics)
            for sample in finished.tactics:
                if sample.complete:
                    assert math.exp(sample.log_probability) == pytest.approx(exact[sample.tactic], rel=1e-3)
                    seen[sample.tactic] += 1
    assert len(seen) >= 4, "several tactics are likely"
    for tactic, share in exact.items():
        # Five standard deviations of a binomial share, and a draw for what is rare.
        assert abs(seen[tactic] - share * drawn) < 5 * (share * (1 - share) * drawn) ** 0.5 + 1
