"""Out to Hugging Face's format and back: bit by bit the same, also after more training; one line for what is wrong."""

import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from node.model import checkpoint
from node.model.config import ModelConfig
from node.model.hub import conversion
from node.model.hub.conversion import BadFolder, NotExportable, Origin, export, read_folder, without_paths
from node.model.tokenizer import Tokenizer
from node.model.transformer import Transformer
from node.model.weights import digest
from tests.files import truncate
from tests.node.model.hub.exported import VARIANTS, loaded, ours, written
from tests.node.model.tiny import TEXTS, tiny_model, tiny_tokenizer, tiny_tokens

pytestmark = pytest.mark.compute


@pytest.mark.parametrize("variant", VARIANTS)
def test_untouched_it_comes_back_bit_by_bit(tmp_path, variant):
    model, folder = written(tmp_path, **VARIANTS[variant])
    found = read_folder(folder)
    for name, out in ((model, "before"), (found.model, "after")):
        checkpoint.save(tmp_path / out, name, tiny_tokenizer(), step=7)
    assert digest(tmp_path / "before/model.safetensors") == digest(tmp_path / "after/model.safetensors")
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


def test_a_prefix_lm_cannot_be_exported(tmp_path):
    with pytest.raises(NotExportable, match="the network reads its prompt in both directions"):
        export(tiny_model(prefix_lm=True), tiny_tokenizer(), tmp_path / "out", Origin())
    assert list(tmp_path.iterdir()) == []


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
    assert set(vars(config)) == set(vars(replace(config))) and len(vars(config)) == 15, "prefix_lm is the one refused"
    assert isinstance(Transformer(config), Transformer)
