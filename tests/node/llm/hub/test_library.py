"""What results call a model: it changes with the weights, and with nothing else."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from node.llm.address import HubAddress
from node.llm.hub import folders
from node.llm.hub.folders import digest_of, weights_of
from node.play.policies import identity
from node.prover.policies.names import PolicyName

pytestmark = pytest.mark.compute  # imports transformers


@pytest.fixture
def folder(llama_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(llama_folder, tmp_path / "BFS-Prover-V1-tiny"))


@pytest.mark.parametrize("whole", [2**26, 1000])
def test_a_digest_changes_with_the_weights(folder: Path, whole: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "WHOLE", whole)
    monkeypatch.setattr(folders, "BLOCK", 100)
    before = digest_of(folder)
    (folder / "README.md").write_text("words")
    assert digest_of(folder) == before
    tensors = load_file(folder / "model.safetensors")
    save_file({name: tensor + 1e-3 for name, tensor in tensors.items()}, folder / "model.safetensors")
    changed = digest_of(folder)
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    assert len({before, changed, digest_of(folder)}) == 3


def test_results_name_the_weights_of_the_model_and_of_its_adapter(folder: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    save_file({"a": torch.zeros(3)}, adapter / "adapter_model.safetensors")
    name, plain = identity(PolicyName("hf", str(folder)))
    assert name == f"hf:{folder}" and plain.startswith("bfs-prover-v1 ") and plain.endswith(digest_of(folder))
    both = identity(PolicyName("hf", f"{folder}+{adapter}"))[1]
    save_file({"a": torch.ones(3)}, adapter / "adapter_model.safetensors")
    assert len({plain, both, identity(PolicyName("hf", f"{folder}+{adapter}"))[1]}) == 3


def test_a_snapshot_of_the_hub_is_named_by_its_commit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    cache = tmp_path / "cache"
    repository = cache / "models--somebody--prover"
    shutil.copytree(folder, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert weights_of(HubAddress("somebody/prover")) == commit[:12]
