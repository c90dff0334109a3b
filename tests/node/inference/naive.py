"""A reference for the engine: one sample at a time, the whole sequence through the model for every token, no cache."""

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from common.settings import Sampling
from node.inference.engine.batch import FinishedJob, Job, uniforms
from node.inference.engine.engine import Engine
from node.inference.engine.sampling import COLDEST
from node.inference.settings import EngineSettings
from node.model.names import Names, StatementNames
from node.model.prompt import conjecture_prompt_tokens, prompt_tokens, proof_prompt_tokens, unnamed
from node.model.tokenizer import EOS
from node.model.transformer import expected_value
from node.model.weights import Weights

ROUNDING = 3e-6
"""A number this close to a step of the cumulative distribution falls on one side or the other by float32 rounding,
which differs with the shape of a matrix product: such a draw has two right answers."""


@dataclass
class NaiveSample:
    tokens: list[int] = field(default_factory=list)
    """Without the end."""
    log_probability: float = 0.0
    ended: bool = False
    close: bool = False
    """Some draw was within ROUNDING of a step, or the edge of a nucleus was."""


@torch.inference_mode()
def sample_naively(weights: Weights, settings: EngineSettings, job: Job) -> tuple[list[NaiveSample], float]:
    """Every sample, and V."""
    model, tokenizer, context = weights.model, weights.tokenizer, weights.model.config.context
    prompt: list[int] | None
    if job.proof:
        length = min(settings.proof_tokens, context // 2)
        statement = StatementNames(unnamed(job.state)).state
        prompt = proof_prompt_tokens(tokenizer, statement, context - length)
        assert prompt is not None
    elif job.conjecture:
        length = min(settings.conjecture_tokens, context // 2)
        prompt = conjecture_prompt_tokens(tokenizer, job.state, context - length)
        assert prompt is not None
    else:
        length = settings.new_tokens
        prompt = prompt_tokens(tokenizer, Names(job.state).state, context - length)
    noise = uniforms(job.seed, job.samples, length).tolist()

    @functools.cache  # samples of one state often begin alike
    def logits(*drawn: int) -> Tensor:
        states = model.hidden(torch.tensor([[*prompt, *drawn]]))
        return model.policy_logits(states[0, -1])

    samples = [_sample(weights, logits, numbers, job) for numbers in noise]
    _, values = model(torch.tensor([prompt]), torch.tensor([0]), torch.tensor([len(prompt) - 1]))
    return samples, float(expected_value(values)[0])


def _shares(logits: Tensor, job: Job, sample: NaiveSample) -> Tensor:
    """What the next token is drawn from: temperature, then the nucleus."""
    scaled = logits.double() / max(job.sampling.temperature, COLDEST)
    if job.sampling.top_p < 1.0:
        ordered = scaled.softmax(-1).sort(descending=True)
        before = ordered.values.cumsum(-1) - ordered.values
        sample.close |= float((before - job.sampling.top_p).abs().min()) < ROUNDING
        scaled[ordered.indices[before >= job.sampling.top_p]] = -torch.inf
    shares = scaled.softmax(-1)
    if job.sampling.temperature < 0.1:  # the logits' own rounding, divided by so little, is no longer small
        sample.close |= float(shares.topk(2).values[1]) > 1e-6
    return shares


def _sample(weights: Weights, after: Callable[..., Tensor], numbers: list[float], job: Job) -> NaiveSample:
    """`after`: the logits behind the prompt and these tokens."""
    sample = NaiveSample()
    ends = {EOS, *(weights.tokenizer.encode(text)[0] for text in job.sampling.stop)}
    for number in numbers:
        logits = after(*sample.tokens)
        shares = _shares(logits, job, sample)
        cumulative = shares.cumsum(-1)
        drawn = number * cumulative[-1]
        token = int(torch.searchsorted(cumulative, drawn, right=True))
        sample.close |= float((cumulative[:-1] - drawn).abs().min()) < ROUNDING
        sample.log_probability += float(logits.log_softmax(-1)[token])
        sample.ended = token in ends
        if sample.ended or token < weights.tokenizer.specials or token >= weights.tokenizer.vocab_size:
            break
        sample.tokens.append(token)
    return sample


def jobs(count: int, seed: int) -> list[Job]:
    """States of 0 to 20 hypotheses (the longest are shortened), 1 to 8 samples, several temperatures."""
    rng = random.Random(seed)
    found = []
    for key in range(count):
        state = "\n".join([*(f"h{rng.randint(0, 9)} : p ∧ q" for _ in range(rng.randint(0, 20))), "⊢ q"])
        samples, seed = rng.randint(1, 8), rng.getrandbits(63)
        found.append(Job(key, state, samples, seed, Sampling(temperature=rng.choice([1.0, 1.0, 0.3, 2.0, 0.0]))))
    return found


def run(engine: Engine, todo: list[Job], arrivals: random.Random | None = None) -> dict[int, FinishedJob]:
    """Answers by key; with `arrivals`, jobs come at random steps, else all at once."""
    waiting, answers = list(todo), {}
    while waiting or engine.busy:
        while waiting and (arrivals is None or arrivals.random() < 0.4):
            engine.submit(waiting.pop(0))
        answers.update({finished.key: finished for finished in engine.step()})
    return answers
