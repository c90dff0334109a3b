"""A reference for the engine: one sample at a time, the whole sequence through the model for every token, no cache."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from node.inference.engine import Job
from node.inference.engine_settings import EngineSettings
from node.inference.noise import uniforms
from node.inference.sampling import COLDEST
from node.model.names import Names
from node.model.prompt import prompt_tokens
from node.model.tokenizer import EOS, SPECIAL
from node.model.transformer import expected_value
from node.model.weights import Weights

ROUNDING = 3e-6
"""A number this close to a step of the cumulative distribution falls on one side or the other by float32 rounding,
which differs with the shape of a matrix product: such a draw has two right answers."""


@dataclass
class NaiveSample:
    tokens: list[int]
    """Without the end."""
    log_probability: float = 0.0
    ended: bool = False
    close: bool = False
    """Some draw was within ROUNDING of a step."""


@torch.inference_mode()
def sample_naively(weights: Weights, settings: EngineSettings, job: Job) -> tuple[list[NaiveSample], float]:
    """Every sample, and V."""
    model = weights.model
    prompt = prompt_tokens(weights.tokenizer, Names(job.state).state, model.config.context - settings.new_tokens)
    noise = uniforms(job.seed, job.samples, settings.new_tokens).tolist()
    samples = [_sample(weights, prompt, numbers, max(job.temperature, COLDEST)) for numbers in noise]
    _, values = model(torch.tensor([prompt]), torch.tensor([0]), torch.tensor([len(prompt) - 1]))
    return samples, float(expected_value(values)[0])


def _sample(weights: Weights, prompt: list[int], numbers: list[float], temperature: float) -> NaiveSample:
    sample = NaiveSample([])
    for number in numbers:
        sequence = torch.tensor([prompt + sample.tokens])
        last = torch.tensor([sequence.shape[1] - 1])
        logits = weights.model(sequence, last, last)[0][0]
        cumulative = (logits / temperature).softmax(-1).cumsum(-1)
        drawn = number * cumulative[-1]
        token = int(torch.searchsorted(cumulative, drawn, right=True))
        sample.close |= float((cumulative[:-1] - drawn).abs().min()) < ROUNDING
        sample.log_probability += float(logits.log_softmax(-1)[token])
        sample.ended = token == EOS
        if token < len(SPECIAL) or token >= weights.tokenizer.vocab_size:
            break
        sample.tokens.append(token)
    return sample
