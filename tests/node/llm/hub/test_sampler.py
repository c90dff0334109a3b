"""Models in this process: samples that depend on their seeds alone, whatever is drawn beside them; and beam search, for
families that are published with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig

from node.llm.address import HubAddress, ServerAddress
from node.llm.hub import sampler as engine
from node.llm.hub.group import Group
from node.llm.hub.sampler import HubSampler, open_hub
from node.llm.models import as_run
from node.llm.sampling import ChatMessage, ContextExceeded, Decoding, Outcome, Prompt, Sample, SamplerError
from node.llm.settings import HubSettings, ModelSettings
from node.llm.templates import for_model, load
from tests.node.llm.hub.tiny import llama, saved, tiny_tokenizer

pytestmark = pytest.mark.compute  # imports transformers

PROMPT = Prompt("p q : Prop\n⊢ q ∧ p:::")
SHORT = Decoding(max_tokens=12)
MODELS = pytest.mark.parametrize("folder", ["llama_folder", "t5_folder"])


def opened(folder: Path, more: dict[str, object] | None = None, **settings: object):  # type: ignore[no-untyped-def]
    hub = HubSettings(device="cpu", **settings)  # type: ignore[arg-type]
    return open_hub(HubAddress(str(folder)), ModelSettings(hf=hub), **(more or {}))  # type: ignore[arg-type]


def texts(samples: Sequence[Sample]) -> list[str]:
    return [sample.text for sample in samples]


async def drawn_beside_others(sampler: HubSampler) -> Sequence[Sample]:
    """Samples of PROMPT while much else is drawn, of other lengths and with other decodings."""
    drawn = [sampler.sample(PROMPT, 4, 7, SHORT)]
    for number in range(6):
        ends = ("a",) * (number % 2)
        decoding = Decoding((1.0, 0.5, 0.0)[number % 3], (1.0, 0.9)[number % 2], 3 + 2 * number, ends)
        drawn.append(sampler.sample(Prompt("⊢ " + "q ∧ " * (number % 7) + "p:::"), 2, number, decoding))
    return (await asyncio.gather(*drawn))[0]


@MODELS
async def test_samples_are_the_same_alone_and_beside_others(folder: str, request: pytest.FixtureRequest) -> None:
    where = request.getfixturevalue(folder)
    async with opened(where) as sampler:
        alone = await sampler.sample(PROMPT, 4, 7, SHORT)
        beside = await drawn_beside_others(sampler)
        fewer = await sampler.sample(PROMPT, 2, 7, SHORT)
        other = await sampler.sample(PROMPT, 4, 8, SHORT)
    async with opened(where, batch=3, share_prompts=False) as sampler:
        unshared = await drawn_beside_others(sampler)
    assert texts(alone) == texts(beside) == texts(unshared) != texts(other)
    assert texts(fewer) == texts(alone)[:2] and len(set(texts(alone))) == 4
    for sample, again in zip(alone, beside, strict=True):
        told = [[each.logprob for each in drawn.tokens] for drawn in (sample, again)]
        assert told[0] == pytest.approx(told[1], abs=1e-4)
        assert "".join(each.text for each in sample.tokens) == sample.text


SHAPE = {"vocab_size": len(tiny_tokenizer()), "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
WIDE = {"hidden_size": 32, "num_hidden_layers": 2}
SLIDING = {"intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 8}
CODER = {"layers": 2, "attention_heads": 4, "ffn_dim": 64}
CODERS = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in CODER.items()}
BART = {"d_model": 32, "decoder_start_token_id": 2, "forced_bos_token_id": 1}

OTHER_CACHES: dict[str, tuple[type, type, dict[str, int]]] = {
    "a sliding window": (transformers.MistralForCausalLM, transformers.MistralConfig, WIDE | SLIDING),
    "a cache of its own": (transformers.MambaForCausalLM, transformers.MambaConfig, WIDE),
    "positions": (transformers.BartForConditionalGeneration, transformers.BartConfig, CODERS | BART),
}


@pytest.mark.parametrize("kind", OTHER_CACHES)
async def test_models_whose_caches_cannot_be_joined_draw_the_same_beside_others(kind: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    network, configuration, shape = OTHER_CACHES[kind]
    model = network(configuration(**SHAPE, **shape)).eval()
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(10)
    saved(model, tmp_path)
    async with opened(tmp_path) as sampler:
        alone = texts(await sampler.sample(PROMPT, 4, 7, SHORT))
        assert texts(await drawn_beside_others(sampler)) == alone
    async with opened(tmp_path, share_prompts=False) as sampler:
        assert texts(await sampler.sample(PROMPT, 4, 7, SHORT)) == alone


async def test_temperature_0_is_what_transformers_finds_greedily_and_log_probabilities_are_the_models_own(
    llama_folder: Path,
) -> None:
    model, tokenizer = AutoModelForCausalLM.from_pretrained(llama_folder), AutoTokenizer.from_pretrained(llama_folder)
    ids = tokenizer(PROMPT.text, return_tensors="pt")
    greedy = model.generate(**ids, max_new_tokens=20, do_sample=False)[0, ids["input_ids"].shape[1] :]
    async with opened(llama_folder) as sampler:
        (sample,) = await sampler.sample(PROMPT, 6, 3, Decoding(temperature=0.0, max_tokens=20))
    assert sample.text == tokenizer.decode(greedy, skip_special_tokens=True) and sample.cut
    decoding = Decoding(temperature=0.6, top_p=0.95, max_tokens=9)
    prompt = tokenizer(PROMPT.text)["input_ids"]
    assert prompt[0] == tokenizer.bos_token_id != prompt[1]
    async with opened(llama_folder) as sampler:
        for sample in await sampler.sample(PROMPT, 3, 1, decoding):
            # A byte-level text has one way back to bytes; the tokens are looked for among those with that text.
            ids = list(prompt)
            for token in sample.tokens:
                with torch.no_grad():
                    logprobs = model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)
                ids.append(int((logprobs - token.logprob).abs().argmin()))
                assert logprobs[ids[-1]] == pytest.approx(token.logprob, abs=1e-4)
            assert tokenizer.decode(ids[len(prompt) :], skip_special_tokens=True) == sample.text
            assert sample.token_count == len(sample.tokens)


async def test_nothing_of_the_models_own_generation_config_is_taken(llama_folder: Path, tmp_path: Path) -> None:
    model, cold = llama(), {"temperature": 0.01, "top_k": 1, "top_p": 0.1, "repetition_penalty": 3.0}
    model.generation_config = GenerationConfig(do_sample=True, max_length=9, min_length=7, **cold)
    saved(model, tmp_path)
    found = []
    for folder in (llama_folder, tmp_path):
        async with opened(folder) as sampler:
            found.append(texts(await sampler.sample(PROMPT, 4, 7, SHORT)))
    assert found[0] == found[1]


@MODELS
async def test_each_request_ends_as_it_says(folder: str, request: pytest.FixtureRequest) -> None:
    async with opened(request.getfixturevalue(folder)) as sampler:
        for seed in range(20):
            (whole,) = await sampler.sample(PROMPT, 1, seed, Decoding(max_tokens=24))
            if whole.cut:
                break
        stop = whole.text[10:12]
        decodings = [Decoding(max_tokens=1), Decoding(max_tokens=24, stop=(stop, "never")), Decoding(max_tokens=13)]
        one, stopped, longer = await asyncio.gather(*(sampler.sample(PROMPT, 1, seed, each) for each in decodings))
    assert whole.cut and whole.token_count == 24
    assert one[0].token_count == 1 and longer[0].token_count == 13 and longer[0].cut
    assert stopped[0].text == whole.text.partition(stop)[0] and not stopped[0].cut
    assert "".join(each.text for each in stopped[0].tokens) == stopped[0].text
    assert whole.text.startswith(longer[0].text.rstrip("\ufffd"))


async def test_a_stop_text_that_is_a_special_token_ends_a_sample(tmp_path: Path) -> None:
    model = llama()
    with torch.no_grad():  # about every fourth token is <|im_end|>
        model.lm_head.weight[3] = model.lm_head.weight.mean(0)
        model.lm_head.weight.mul_(0.01)
        model.model.embed_tokens.weight[:, 0] = 1.0
        model.lm_head.weight[3, 0] = 2.0
    saved(model, tmp_path)
    async with opened(tmp_path) as sampler:
        open_ended = await sampler.sample(PROMPT, 8, 1, Decoding(max_tokens=60))
        ended = await sampler.sample(PROMPT, 8, 1, Decoding(max_tokens=60, stop=("<|im_end|>",)))
    assert any(not sample.cut for sample in ended)
    for long, short in zip(open_ended, ended, strict=True):
        assert long.text.startswith(short.text.rstrip("\ufffd")) and "im_end" not in long.text
        assert short.cut == (short.token_count == 60)


async def test_a_prompt_that_leaves_no_room_is_told_apart(llama_folder: Path) -> None:
    async with opened(llama_folder) as sampler:
        with pytest.raises(ContextExceeded, match=r"prompt has \d+ tokens, but at most 244 of the model's context of"):
            await sampler.sample(Prompt("x7" * 200), 1, 1, SHORT)
        # A wish for more than the context leaves half of it to the prompt.
        found = await sampler.sample(PROMPT, 3, 1, Decoding(max_tokens=1000))
        assert max(sample.token_count for sample in found) == 128
        with pytest.raises(SamplerError, match="the prompt is not valid text"):
            await sampler.sample(Prompt("\ud800"), 1, 1, SHORT)
        assert sampler.usage.requests == {Outcome.TOO_LONG: 1, Outcome.ANSWERED: 1, Outcome.REFUSED: 1}
        assert sampler.usage.samples == 3 and sampler.usage.tokens_out > 128 and not sampler.trouble


async def test_what_is_left_is_dropped_and_closing_is_prompt(llama_folder: Path) -> None:
    long = Decoding(max_tokens=128)
    async with opened(llama_folder, batch=2) as sampler:
        left = asyncio.create_task(sampler.sample(PROMPT, 40, 1, long))
        kept = asyncio.create_task(sampler.sample(PROMPT, 1, 7, SHORT))
        await asyncio.sleep(0)
        left.cancel()
        assert len(await kept) == 1
        with pytest.raises(asyncio.CancelledError):
            await left
        assert sampler.usage.requests[Outcome.LEFT] == 1
        running = asyncio.create_task(sampler.sample(PROMPT, 40, 1, long))
        await asyncio.sleep(0)
    for closed in (running, sampler.sample(PROMPT, 1, 1, SHORT)):
        with pytest.raises(SamplerError, match="closed"):
            await closed


async def test_a_batch_that_is_too_large_for_the_memory_is_halved_and_a_broken_model_is_told_to_all_who_wait(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    run = Group.run

    def rows_fit(most: int) -> Callable[..., None]:
        """A GPU with memory for so many rows."""

        def small(self: Group, *arguments: object) -> None:
            if len(self.rows) > most:
                raise torch.OutOfMemoryError
            run(self, *arguments)  # type: ignore[arg-type]

        return small

    def broken(self: Group, *arguments: object) -> None:
        raise RuntimeError("CUDA error: device-side assert\ntriggered")

    async with opened(llama_folder) as sampler:
        expected = texts(await sampler.sample(PROMPT, 7, 7, SHORT))
    monkeypatch.setattr(engine.Group, "run", rows_fit(2))
    async with opened(llama_folder, {"note": notes.append}) as sampler:
        assert texts(await sampler.sample(PROMPT, 7, 7, SHORT)) == expected
    assert notes and "out of memory: the batch size is 1 samples" in notes[-1]
    for run_now, says in (
        (rows_fit(0), "out of memory with one sample of"),
        (broken, "the model failed: CUDA error: device-side assert triggered"),
    ):
        monkeypatch.setattr(engine.Group, "run", run_now)
        async with opened(llama_folder) as sampler:
            with pytest.raises(SamplerError, match=says):
                await sampler.sample(PROMPT, 3, 7, SHORT)
    assert "CUDA error" in sampler.trouble


async def test_a_conversation_is_written_by_the_tokenizers_own_template_or_the_familys(
    llama_folder: Path, tmp_path: Path
) -> None:
    chat = Prompt(messages=(ChatMessage("user", "⊢ True"),))
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = (
        "{{ bos_token }}{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}"
        "{% if add_generation_prompt %}[answer]{% endif %}"
    )
    saved(llama(), tmp_path, tokenizer)
    async with opened(tmp_path) as sampler, opened(llama_folder) as plain:
        ours = await sampler.sample(chat, 2, 1, SHORT)
        same = await plain.sample(Prompt("[user]⊢ True[answer]"), 2, 1, SHORT)
        assert texts(ours) == texts(same)
        with pytest.raises(SamplerError, match="the model's tokenizer has no chat template; name a"):
            await plain.sample(chat, 1, 1, SHORT)
    family = for_model("Goedel-LM/Goedel-Prover-V2-8B")
    assert family.chat_text is not None
    async with opened(llama_folder, {"template": family}) as sampler:
        assert len(await sampler.sample(chat, 2, 1, SHORT)) == 2


# --- beams ------------------------------------------------------------------------------------------------------------
GOAL = Prompt("⊢ q ∧ p")
LIKELIEST = Decoding(temperature=0.0, max_tokens=8)


def test_temperature_0_stands_for_the_beams_of_a_family_where_the_model_runs_here() -> None:
    reprover, here = load("reprover"), HubAddress("x")
    beams, sampled = (ModelSettings(hf=HubSettings(beams=number)) for number in (6, 0))
    for settings in (None, beams):
        assert as_run(here, reprover, settings).decoding.temperature == 0
    for address, template, settings in [
        (here, reprover, sampled),
        (here, load("bfs-prover-v1"), beams),
        (ServerAddress(("http://x",), "m"), reprover, beams),
    ]:
        assert as_run(address, template, settings) == template


async def test_beams_come_with_their_log_probability_the_likeliest_first(t5_folder: Path) -> None:
    async with opened(t5_folder, {"template": load("reprover")}, beams=6) as sampler:
        found, most = [await sampler.sample(GOAL, count, 1, LIKELIEST) for count in (4, 99)]
        again, drawn = await asyncio.gather(
            sampler.sample(GOAL, 4, 2, LIKELIEST), sampler.sample(GOAL, 3, 1, Decoding(max_tokens=8))
        )
    assert again == found and len(drawn) == 3 and len(most) == 6 and most[:4] == found
    scores = [sample.logprob(sample.text) for sample in found]
    assert scores == sorted(scores, reverse=True) and len({sample.text for sample in most}) > 1  # type: ignore[type-var]
    model = AutoModelForSeq2SeqLM.from_pretrained(t5_folder)
    ids = AutoTokenizer.from_pretrained(t5_folder)(GOAL.text, return_tensors="pt")
    with torch.no_grad():
        beams = model.generate(**ids, num_beams=6, max_new_tokens=8, length_penalty=0.0, do_sample=False,
                               output_scores=True, return_dict_in_generate=True)  # fmt: skip
    assert scores[0] == pytest.approx(float(beams.sequences_scores[0]), abs=1e-4)


async def test_closing_ends_a_beam_search(t5_folder: Path) -> None:
    async with opened(t5_folder, {"template": load("reprover")}, beams=6) as sampler:
        long = Decoding(temperature=0.0, max_tokens=100_000)
        running = [asyncio.create_task(sampler.sample(GOAL, 4, seed, long)) for seed in range(2)]
        await asyncio.sleep(0)
    found = await asyncio.gather(*running, return_exceptions=True)
    assert isinstance(found[1], SamplerError) and "closed" in str(found[1])
    with pytest.raises(SamplerError, match="closed"):
        await sampler.sample(GOAL, 4, 1, LIKELIEST)
