"""Beam search, for families that are published with it."""

import asyncio
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from node.llm.address import HubAddress, ServerAddress
from node.llm.hub.sampler import open_hub
from node.llm.models import as_run
from node.llm.sampling import Decoding, Prompt, SamplerError
from node.llm.settings import HubSettings, ModelSettings
from node.llm.templates import load

pytestmark = pytest.mark.compute  # imports transformers

SETTINGS = ModelSettings(hf=HubSettings(device="cpu", beams=6))
PROMPT = Prompt("⊢ q ∧ p")
LIKELIEST = Decoding(temperature=0.0, max_tokens=8)


def test_temperature_0_stands_for_the_beams_of_a_family_where_the_model_runs_here() -> None:
    reprover, here = load("reprover"), HubAddress("x")
    assert as_run(here, reprover, None).decoding.temperature == 0
    assert as_run(here, reprover, SETTINGS).decoding.temperature == 0
    sampled = ModelSettings(hf=HubSettings(beams=0))
    for address, template, settings in [
        (here, reprover, sampled),
        (here, load("bfs-prover-v1"), SETTINGS),
        (ServerAddress(("http://x",), "m"), reprover, SETTINGS),
    ]:
        assert as_run(address, template, settings) == template


async def test_beams_come_with_their_log_probability_the_likeliest_first(t5_folder: Path) -> None:
    template = load("reprover")
    async with open_hub(HubAddress(str(t5_folder)), SETTINGS, template=template) as sampler:
        found = await sampler.sample(PROMPT, 4, 1, LIKELIEST)
        again, drawn = await asyncio.gather(
            sampler.sample(PROMPT, 4, 2, LIKELIEST), sampler.sample(PROMPT, 3, 1, Decoding(max_tokens=8))
        )
        most = await sampler.sample(PROMPT, 99, 1, LIKELIEST)
    assert again == found and len(drawn) == 3 and len(most) == 6 and most[:4] == found
    scores = [sample.logprob(sample.text) for sample in found]
    assert scores == sorted(scores, reverse=True) and len({sample.text for sample in most}) > 1  # type: ignore[type-var]
    model = AutoModelForSeq2SeqLM.from_pretrained(t5_folder)
    ids = AutoTokenizer.from_pretrained(t5_folder)(PROMPT.text, return_tensors="pt")
    with torch.no_grad():
        beams = model.generate(**ids, num_beams=6, max_new_tokens=8, length_penalty=0.0, do_sample=False,
                               output_scores=True, return_dict_in_generate=True)  # fmt: skip
    assert scores[0] == pytest.approx(float(beams.sequences_scores[0]), abs=1e-4)


async def test_closing_ends_a_beam_search(t5_folder: Path) -> None:
    async with open_hub(HubAddress(str(t5_folder)), SETTINGS, template=load("reprover")) as sampler:
        long = Decoding(temperature=0.0, max_tokens=100_000)
        running = [asyncio.create_task(sampler.sample(PROMPT, 4, seed, long)) for seed in range(2)]
        await asyncio.sleep(0)
    found = await asyncio.gather(*running, return_exceptions=True)
    assert isinstance(found[1], SamplerError) and "closed" in str(found[1])
    with pytest.raises(SamplerError, match="closed"):
        await sampler.sample(PROMPT, 4, 1, LIKELIEST)
