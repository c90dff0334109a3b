"""A small Llama from scratch: transformers can read its folder, and it has learned its examples."""

import json
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from node.llm.outputs import parse_proof
from node.llm.sampling import Sample
from node.llm.templates import load
from node.model.hub.folders import FolderExists
from scripts import small_llama
from scripts.small_llama import PROOFS_FAMILY, SmallLlamaSettings, train
from tests.node.llm.small_llama import SCRIPT, SWAP, examples, trained_folder

pytestmark = pytest.mark.compute


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return trained_folder(tmp_path_factory)


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
