"""A network that writes whole proofs, and jobs for it."""

import random

from common.settings import Sampling
from node.inference.engine.batch import FinishedJob, Job
from node.inference.settings import EngineSettings
from node.model.weights import Weights
from tests.node.model.tiny import role_tokenizer, tiny_model

SETTINGS = EngineSettings(
    slots=4, cells=8, new_tokens=8, proof_tokens=24, proof_slots=2, prompt_tokens=80, dtype="float32"
)


def writer(seed: int = 0, **changes: float) -> Weights:
    """A network that says of itself that it was trained on proofs; about every eighth token of its is an end."""
    model = tiny_model(seed, vocab_size=role_tokenizer().vocab_size, **{"ends": 10.0, **changes})  # type: ignore[arg-type]
    return Weights(model, role_tokenizer(), {"version": "1", "proofs": "yes"})


def proof_jobs(count: int, seed: int) -> list[Job]:
    """Statements of 1 to 4 hypotheses, every third one again; 1 to 8 samples."""
    rng = random.Random(seed)
    found = []
    for index in range(count):
        state = f"theorem t{index} (p q : Prop) {'(h : p) ' * (1 + index % 3)}: {'p ∧ ' * rng.randint(0, 2)}q"
        found.append(drawn(rng, 1000 + index, state, proof=True))
    return found


def drawn(rng: random.Random, key: int, state: str, **kind: bool) -> Job:
    """A job with 1 to 8 samples, and one of several rules."""
    samples, seed = rng.randint(1, 8), rng.getrandbits(63)
    sampling = Sampling(temperature=rng.choice([1.0, 0.5]), top_p=rng.choice([1.0, 0.9]))
    return Job(key, state, samples, seed, sampling, **kind)


def texts(answer: FinishedJob) -> list[str]:
    return [sample.tactic for sample in answer.tactics]
