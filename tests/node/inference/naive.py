"""A reference for the engine: one sample at a time, the whole sequence through the model for every token, no cache."""

from __future__ import annotations

import math

import torch

from node.inference.engine import EngineSettings, Job
from node.inference.noise import uniforms
from node.inference.sampling import COLDEST
from node.model.prompt import prompt_tokens
from node.model.tokenizer import EOS, SPECIAL
from node.model.transformer import expected_value
from node.model.weights import Weights


@torch.inference_mode()
def sample_naively(
    weights: Weights, settings: EngineSettings, job: Job
) -> tuple[list[tuple[list[int], float, bool]], float]:
    """(tokens without end, log-probability, ended by eos) of every sample, and V."""
    model = weights.model
    prompt = prompt_tokens(weights.tokenizer, job.state, model.config.context - settings.new_tokens)
    noise = uniforms(job.seed, job.samples, settings.new_tokens)
    samples = []
    value = 0.0
    for index in range(job.samples):
        tokens: list[int] = []
        total, ended = 0.0, False
        for place in range(settings.new_tokens):
            sequence = torch.tensor([prompt + tokens])
            policy, values = model(sequence, torch.tensor([sequence.shape[1] - 1]), torch.tensor([len(prompt) - 1]))
            value = float(expected_value(values)[0])
            log_p = policy[0].log_softmax(-1)
            cumulative = (policy[0] / max(job.temperature, COLDEST)).softmax(-1).cumsum(-1)
            token = int(torch.searchsorted(cumulative, float(noise[index, place]) * cumulative[-1], right=True))
            total += float(log_p[token])
            if token == EOS:
                ended = True
                break
            if token < len(SPECIAL) or token >= weights.tokenizer.vocab_size:
                break
            tokens.append(token)
        samples.append((tokens, total, ended))
    assert math.isfinite(value)
    return samples, value
