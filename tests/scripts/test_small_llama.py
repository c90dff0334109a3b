"""A small Llama from scratch: transformers can read its folder, and it has learned its examples."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from node.data.reading import read_all
from node.llm.address import HubAddress
from node.llm.hub.loading import load as load_model
from node.llm.outputs import parse_proof
from node.llm.sampling import Sample
from node.llm.settings import HubSettings
from node.llm.templates import load
from node.model.hub.folders import FolderExists
from node.tuning.settings import SftSettings
from node.tuning.sft import IGNORED, Encoder, examples_of
from scripts import small_llama
from scripts.small_llama import PROOFS_FAMILY, STEPS_FAMILY, SmallLlamaSettings, train
from tests.node.llm.small_llama import SCRIPT, SWAP, examples, trained_adapter, trained_folder

pytestmark = pytest.mark.compute


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return trained_folder(tmp_path_factory)


@pytest.fixture(scope="session")
def adapter(tmp_path_factory) -> Path:
    return trained_adapter(tmp_path_factory)


def answers(model, tokenizer) -> list[str]:
    found = []
    for example in examples():
        prompt = tokenizer(example.prompt.text, return_tensors="pt")
        ids = model.generate(**prompt, max_new_tokens=40, do_sample=False)[0, prompt["input_ids"].shape[1] :]
        assert ids[-1] == tokenizer.eos_token_id
        found.append(tokenizer.decode(ids, skip_special_tokens=True))
    return found


def test_it_answers_what_it_was_shown_in_both_forms(folder):
    found = answers(AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    assert found == [example.completion for example in examples()]
    proof = parse_proof(load(PROOFS_FAMILY), Sample(found[-1]), SWAP)
    assert [line.strip() for line in proof.text.split("\n")] == [line.strip() for line in SCRIPT.split("\n")]


def test_the_folder_says_how_it_is_asked_and_that_it_is_sampled(folder):
    config = json.loads((folder / "config.json").read_text())
    assert config["proofmesh_template"] == "bfs-prover-v1"
    assert config["use_cache"]
    assert json.loads((folder / "generation_config.json").read_text())["do_sample"] is True
    assert (folder / "model.safetensors").is_file()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.chat_template is None
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 4, 0)
    assert tokenizer("p")["input_ids"][0] == tokenizer.bos_token_id
    assert "made from scratch by supervised fine-tuning" in (folder / "README.md").read_text()


def test_a_text_that_spells_a_special_token_is_text(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("<|eos|><|tactic|>")["input_ids"]
    assert min(ids[1:]) > 4
    assert tokenizer.decode(ids, skip_special_tokens=True) == "<|eos|><|tactic|>"


def test_only_the_answer_counts_in_the_loss(folder):
    loaded = load_model(HubAddress(str(folder)), HubSettings(device="cpu"))
    row = Encoder("model", loaded, load(STEPS_FAMILY)).one(examples()[0])
    counted = [label for label in row.labels if label != IGNORED]
    assert loaded.tokenizer.decode(counted) == "intro h<|eos|>"
    assert list(row.ids[-len(counted) :]) == counted


def test_an_adapter_is_saved_without_its_base(folder, adapter):
    from peft import PeftModel

    assert (adapter / "adapter_model.safetensors").stat().st_size < (folder / "model.safetensors").stat().st_size
    assert not (adapter / "model.safetensors").exists()
    with_it = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(folder), adapter)
    without = AutoModelForCausalLM.from_pretrained(folder)
    ids = torch.tensor([[1, 20, 30]])
    assert not torch.equal(with_it(ids).logits, without(ids).logits)


def test_a_folder_is_not_written_over(folder, tmp_path, capsys):
    with pytest.raises(FolderExists, match="exists already; name another folder, or replace it with --force"):
        train(SmallLlamaSettings(folder, steps=1))
    assert small_llama.main([str(folder)]) == small_llama.UNUSABLE
    assert capsys.readouterr().err.startswith(f"small-llama: {folder} exists already")
    (tmp_path / "file").touch()
    assert small_llama.main([str(tmp_path / "file"), "--force"]) == small_llama.UNUSABLE


def test_a_base_that_is_none_is_one_line(tmp_path, capsys):
    assert small_llama.main([str(tmp_path / "out"), "--lora", str(tmp_path)]) == small_llama.UNUSABLE
    problem = "not a model folder (no config.json); name the folder of a model"
    assert capsys.readouterr().err == f"small-llama: --lora {tmp_path}: {problem}\n"


def test_the_bank_gives_steps_and_proofs_and_holds_theorems_out():
    data, settings = read_all(SmallLlamaSettings().data, ()), SftSettings(from_scratch=True)
    steps, held_out_steps, _ = examples_of(load(STEPS_FAMILY), data, settings)
    proofs, held_out_proofs, _ = examples_of(load(PROOFS_FAMILY), data, settings)
    assert len(steps) > 10_000 and all(each.prompt.text.endswith(":::") for each in steps)
    assert len(proofs) > 3_000 and all(each.prompt.text.endswith(":= by") for each in proofs)
    assert len(held_out_steps) + len(held_out_proofs) > 1_000
    prompts = {each.prompt.text for each in proofs}
    assert not any(each.prompt.text in prompts for each in held_out_proofs)
