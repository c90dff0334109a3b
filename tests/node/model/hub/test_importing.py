"""Out to Hugging Face's format and back: bit by bit the same, also after more training; one line for what is wrong. Our
architecture in transformers gives our own numbers: at once, step by step, padded, in every form of attention."""

import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from common.files import file_digest
from node.model import checkpoint
from node.model.config import ModelConfig
from node.model.hub import conversion
from node.model.hub.conversion import BadFolder, Origin, export, read_folder, without_paths
from node.model.tokenizer import Tokenizer
from node.model.transformer import Transformer, expected_value
from tests.files import truncate
from tests.node.model.hub.exported import VARIANTS, loaded, ours, written
from tests.node.model.tiny import TEXTS, tiny_loss, tiny_model, tiny_tokenizer, tiny_tokens

pytestmark = pytest.mark.compute


@pytest.mark.parametrize("variant", VARIANTS)
def test_untouched_it_comes_back_bit_by_bit(tmp_path, variant):
    model, folder = written(tmp_path, **VARIANTS[variant])
    found = read_folder(folder)
    for name, out in ((model, "before"), (found.model, "after")):
        checkpoint.save(tmp_path / out, name, tiny_tokenizer(), step=7)
    assert file_digest(tmp_path / "before/model.safetensors") == file_digest(tmp_path / "after/model.safetensors")
    assert (found.model.config, found.tokenizer.digest, found.step) == (model.config, tiny_tokenizer().digest, 7)


def test_trained_on_with_transformers_it_comes_back(tmp_path):
    from transformers import Trainer, TrainingArguments  # with datasets and pandas, which takes a second

    model, folder = written(tmp_path, **VARIANTS["everything"])
    theirs = loaded(folder)
    rows = [{"input_ids": row, "labels": row} for row in tiny_tokens()]
    sizes = {"max_steps": 1, "per_device_train_batch_size": 4, "per_device_eval_batch_size": 4, "learning_rate": 1e-2}
    quiet = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
    arguments = TrainingArguments(output_dir=str(tmp_path / "run"), **sizes, **quiet)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    trainer = Trainer(theirs, arguments, train_dataset=rows, eval_dataset=rows, processing_class=tokenizer)
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    assert trainer.evaluate()["eval_loss"] < before
    trainer.save_model(str(tmp_path / "tuned"))
    assert (tmp_path / "tuned/modeling_proofmesh.py").is_file()
    found = read_folder(tmp_path / "tuned")
    assert found.tokenizer.to_json() == tiny_tokenizer().to_json()
    assert not torch.equal(found.model.embedding.weight, model.embedding.weight)
    with torch.no_grad():
        expected = loaded(tmp_path / "tuned")(tiny_tokens())
    torch.testing.assert_close(ours(found.model, tiny_tokens())[0], expected.logits, rtol=1e-4, atol=3e-5)


def test_saved_in_parts_and_in_bfloat16_it_comes_back(tmp_path):
    model, folder = written(tmp_path)
    theirs = loaded(folder, dtype=torch.bfloat16)
    theirs.save_pretrained(tmp_path / "parts", max_shard_size="40KB")
    shutil.copy(folder / "tokenizer.json", tmp_path / "parts")
    assert not (tmp_path / "parts/model.safetensors").exists()
    found = read_folder(tmp_path / "parts").model
    assert found.embedding.weight.dtype == torch.float32
    assert torch.equal(found.embedding.weight, model.embedding.weight.bfloat16().float())


def without(folder, name):
    tensors = load_file(folder / "model.safetensors")
    del tensors[name]
    save_file(tensors, folder / "model.safetensors")


def other_tokenizer(folder):
    Tokenizer.train(TEXTS * 20, 330, gpt2_split=True).save(folder / "tokenizer.json")


def as_llama(folder):
    config = LlamaConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=9)
    LlamaForCausalLM(config).save_pretrained(folder)


DAMAGES = {
    "another architecture": (as_llama, "{folder} holds a model of type `llama`; only networks exported by proofmesh"),
    "no configuration": (lambda folder: (folder / "config.json").unlink(), "{folder} holds no complete model in"),
    "torn configuration": (lambda folder: (folder / "config.json").write_text("{"), "{folder}/config.json: "),
    "no value head": (lambda folder: without(folder, "value_head.weight"), "{folder}: the value head is missing"),
    "missing tensor": (lambda folder: without(folder, "lm_head.weight"), "{folder}: 1 tensors do not match"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "{folder}: no model.safetensors"),
    "torn weights": (
        lambda folder: truncate(folder / "model.safetensors", 0.99),
        "{folder}/model.safetensors: not a complete safetensors file",
    ),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "{folder}/tokenizer.json: No such file"),
    "another tokenizer": (other_tokenizer, "{folder}/tokenizer.json is not the tokenizer that was exported"),
    "an adapter": (lambda folder: (folder / "adapter_config.json").touch(), "{folder} holds an adapter; merge it"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_folder_that_cannot_be_read_is_one_line(tmp_path, damage):
    _, folder = written(tmp_path)
    change, message = DAMAGES[damage]
    change(folder)
    with pytest.raises(BadFolder) as refused:
        read_folder(folder)
    assert str(refused.value).startswith(message.format(folder=folder)) and "\n" not in str(refused.value)


def test_the_card_says_what_it_is_without_paths_of_the_machine(tmp_path):
    training = {"bank": "/home/me/bank", "trainer": {"batch": 32, "files": ["/a", "b"]}}
    model = tiny_model(window=5)
    origin = Origin(3, training, "It proved 5 of 8 held-out theorems with 16 simulations each.")
    export(model, tiny_tokenizer(), tmp_path / "out", origin)
    card = (tmp_path / "out/README.md").read_text()
    assert f"{model.parameter_count():,} parameters" in card and "sliding window 5" in card
    assert "5 of 8 held-out theorems" in card and '"batch": 32' in card
    assert "/home/me" not in card
    assert without_paths(training) == {"bank": "...", "trainer": {"batch": 32, "files": ["...", "b"]}}


def test_all_options_of_a_network_have_their_place():
    """A new field of ModelConfig must be exported, or refused: this fails until somebody has decided."""
    config = ModelConfig(
        vocab_size=7, depth=3, width=24, heads=6, kv_heads=3, hidden=5, context=11, value_bins=9, rope_base=77.0,
        tied=True, window=4, full_every=2, softcap=3.5, tactic_tokens=3,
    )  # fmt: skip
    assert conversion.own_shape(conversion.HubShape(**conversion.hub_shape(config))) == config
    assert set(vars(config)) == set(vars(replace(config))) and len(vars(config)) == 14
    assert isinstance(Transformer(config), Transformer)


# --- our numbers ------------------------------------------------------------------------------------------------------
NOISE = {"rtol": 1e-4, "atol": 3e-5}
"""Of float32, where sums are taken in another order."""


def tokens(*shape: int) -> torch.Tensor:
    return torch.randint(5, 300, shape, generator=torch.Generator().manual_seed(1))


@pytest.fixture(params=["plain", "everything"])
def both(request, tmp_path):
    model, folder = written(tmp_path, **VARIANTS[request.param])
    return model, loaded(folder)


@torch.no_grad()
def test_logits_and_values_are_ours_at_once_and_with_a_cache_step_by_step(both):
    model, theirs = both
    policy, value = ours(model, tokens(2, 40))
    found = theirs(tokens(2, 40))
    assert policy.std() > 0.05
    assert_close(found.logits, policy, **NOISE)
    assert_close(found.value_logits, value, **NOISE)
    assert_close(found.value, expected_value(value), **NOISE)
    model, theirs = both
    sequence = tokens(2, 30)
    policy, value = ours(model, sequence)
    found = theirs(sequence[:, :11], use_cache=True, logits_to_keep=1)
    for at in range(11, 30):
        assert found.logits.shape[1] == 1
        assert_close(found.logits[:, 0], policy[:, at - 1], **NOISE)
        assert_close(found.value_logits[:, 0], value[:, at - 1], **NOISE)
        found = theirs(sequence[:, at : at + 1], past_key_values=found.past_key_values, use_cache=True)


@torch.no_grad()
def test_padding_on_the_left_changes_nothing(both):
    model, theirs = both
    long, short = tokens(1, 30), tokens(1, 17)
    batch = torch.cat([long, torch.cat([torch.zeros(1, 13, dtype=torch.int64), short], dim=1)])
    mask = torch.ones_like(batch)
    mask[1, :13] = 0
    found = theirs(batch, attention_mask=mask)
    assert_close(found.logits[0], ours(model, long)[0][0], **NOISE)
    assert_close(found.logits[1, 13:], ours(model, short)[0][0], **NOISE)
    together = theirs.generate(batch, attention_mask=mask, max_new_tokens=8, do_sample=False)
    alone = theirs.generate(short, max_new_tokens=8, do_sample=False)
    assert together[1, 30 : 30 + alone.shape[1] - 17].tolist() == alone[0, 17:].tolist()


@pytest.mark.parametrize("recomputed", [False, True])
def test_gradients_are_ours(tmp_path, recomputed):
    model, folder = written(tmp_path, **VARIANTS["everything"])
    theirs = loaded(folder).train()
    if recomputed:
        theirs.activation_checkpointing_enable()
    tiny_loss(model).backward()
    found = theirs(tiny_tokens(), labels=tiny_tokens(), use_cache=False)
    (found.loss + torch.nn.functional.cross_entropy(found.value_logits[:, -1], torch.arange(4))).backward()
    assert_close(theirs.model.embed_tokens.weight.grad, model.embedding.weight.grad, **NOISE)
    assert_close(theirs.value_head.weight.grad, model.value.weight.grad, **NOISE)
    for layer, block in zip(theirs.model.layers, model.blocks, strict=True):
        assert_close(layer.self_attn.q_gain.grad, block.attention.gain.grad, **NOISE)
        assert_close(layer.mlp.up_proj.weight.grad, block.feed_forward.up.weight.grad, **NOISE)
