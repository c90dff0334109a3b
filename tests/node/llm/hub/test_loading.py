"""Models, tokenizers and adapters from folders, and every way in which one can be wrong: one line, no traceback."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import processors
from transformers import BertConfig, BertForMaskedLM

from node.llm.address import BadModel, HubAddress
from node.llm.hub import folders
from node.llm.hub.folders import digest_of, weights_of
from node.llm.hub.loading import load
from node.llm.hub.reading import Reader
from node.llm.models import parse_model, template_of
from node.llm.sampling import Prompt
from node.llm.settings import HubSettings
from node.llm.templates import Template, TemplateError
from node.play.policies import identity
from node.prover.policies.names import PolicyName
from tests.files import truncate
from tests.node.llm.hub.tiny import llama, saved, tiny_tokenizer

pytestmark = pytest.mark.compute  # imports transformers

CPU = HubSettings(device="cpu")
WEIGHTS = "model.safetensors"
SMALL_BERT = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2)


@pytest.fixture
def folder(llama_folder: Path, tmp_path: Path) -> Path:
    """A model to break."""
    return Path(shutil.copytree(llama_folder, tmp_path / "tiny-llama"))


def edit(folder: Path, file: str = "config.json", **changes: object) -> None:
    (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | changes))


def adapter(base: str, where: Path, **changes: int) -> Path:
    """A LoRA adapter with random weights."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(3)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    model = get_peft_model(llama(**changes), config)
    model.save_pretrained(where)
    edit(where, "adapter_config.json", base_model_name_or_path=base)
    return where


def without_two_tensors(file: Path) -> None:
    tensors = load_file(file)
    del tensors["model.norm.weight"], tensors["model.layers.0.mlp.up_proj.weight"]
    save_file(tensors, file, metadata={"format": "pt"})


def without_tokenizer(folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()


BREAKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda at: (at / "config.json").unlink(), "has no config.json, so it is not a model"),
    "no JSON": (lambda at: (at / "config.json").write_text("{"), "config.json is not JSON"),
    "no object": (lambda at: (at / "config.json").write_text("[]"), "config.json is not a JSON object"),
    "no weights": (lambda at: (at / WEIGHTS).unlink(), "the folder has no weights"),
    "cut weights": (lambda at: truncate(at / WEIGHTS), "the weights cannot be read: "),
    "other weights": (lambda at: (at / WEIGHTS).write_bytes(b"hello" * 99), "the weights cannot be read: "),
    "tensors less": (
        lambda at: without_two_tensors(at / WEIGHTS),
        r"2 tensors are missing .* such as model\.layers\.0\.",
    ),
    "other shapes": (lambda at: edit(at, intermediate_size=48), "weights|size mismatch"),
    "no tokenizer": (without_tokenizer, "no tokenizer: the folder has no tokenizer.json and no tokenizer_config.json"),
    "broken tokenizer": (lambda at: (at / "tokenizer.json").write_text("{}"), "no tokenizer: "),
    "unknown type": (lambda at: edit(at, model_type="lama"), "does not know: `lama`"),
    "a type that is no text": (lambda at: edit(at, model_type=["llama"]), "model_type .* must be text"),
    "classes that are no list": (lambda at: edit(at, architectures=5), "architectures .* must be a list"),
    "own code": (
        lambda at: edit(at, model_type="lama", auto_map={"AutoModelForCausalLM": "code.Lama"}),
        "needs its own Python code.*--models.hf.trust-remote-code",
    ),
    "masked": (lambda at: BertForMaskedLM(SMALL_BERT).save_pretrained(at), "BertForMaskedLM does not generate text"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_what_is_wrong_with_a_folder_is_told_in_one_line(
    what: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    breaks, says = BREAKS[what]
    breaks(folder)
    capfd.readouterr()
    with pytest.raises(BadModel, match=says) as found:
        load(HubAddress(str(folder)), CPU)
    line = str(found.value)
    assert line.startswith(f"hf:{folder}: ") and "\n" not in line and len(line) < 600
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("./nowhere", "hf:./nowhere: there is no such folder"),
        ("a/b/c", "hf:a/b/c: there is no such folder"),
        ("no blanks", "there is no such folder, and an id of the hub is written OWNER/NAME"),
        ("pyproject.toml", "this is a file; name its folder"),
        ("nobody-at-all/no-model", "there is no such folder, and the model cannot be downloaded"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(name: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BadModel, match=says) as found:
        load(HubAddress(name), CPU)
    assert "\n" not in str(found.value)


def test_weights_are_float32_on_cpus_that_only_emulate_bfloat16_and_too_little_memory_is_told(
    tmp_path: Path, llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(llama(), tmp_path / "wide")
    saved(llama().bfloat16(), tmp_path)
    for fast in (False, True):
        monkeypatch.setattr("node.llm.hub.loading.has_bf16", lambda _, fast=fast: fast)
        assert load(HubAddress(str(tmp_path / "wide")), CPU).model.dtype == torch.float32
        assert load(HubAddress(str(tmp_path)), CPU).model.dtype == (torch.bfloat16 if fast else torch.float32)
    other = HubSettings(device="cpu", dtype="bfloat16")
    assert load(HubAddress(str(tmp_path)), other).model.dtype == torch.bfloat16

    def full(*arguments: object, **named: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate")

    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", full)
    with pytest.raises(BadModel, match=r"out of memory: 0\.0 GiB of weights do not fit on cpu"):
        load(HubAddress(str(llama_folder)), CPU)


def test_an_adapter_changes_what_the_model_says_and_one_that_does_not_fit_is_told_with_both_models(
    llama_folder: Path, tmp_path: Path
) -> None:
    lora = adapter(str(llama_folder), tmp_path)
    ids = torch.tensor([[1, 7, 8]])
    plain = load(HubAddress(str(llama_folder)), CPU).model(ids).logits
    adapted = load(HubAddress(str(llama_folder), str(lora)), CPU).model(ids).logits
    assert not torch.allclose(plain, adapted, atol=1e-2)

    def says(where: Path | str) -> str:
        with pytest.raises(BadModel) as found:
            load(HubAddress(str(llama_folder), str(where)), CPU)
        assert "\n" not in str(found.value)
        return str(found.value)

    other = adapter("meta-llama/Llama-9B", tmp_path / "other")
    assert f"the adapter is for `meta-llama/Llama-9B`, and the model is `{llama_folder}`" in says(other)
    wide = adapter("elsewhere/tiny-llama", tmp_path / "wide", hidden_size=64)
    told = says(wide)
    assert f"hf:{wide}: the adapter does not fit hf:{llama_folder} (it was made for `elsewhere/tiny-llama`)" in told
    assert "size mismatch" in told
    assert "has no adapter_config.json, so it is not a LoRA adapter" in says(llama_folder)
    assert "it is a model: write hf:MODEL" in says(llama_folder)
    assert "there is no such folder" in says("./nowhere")
    with pytest.raises(BadModel, match="it is an adapter: write hf:MODEL\\+ADAPTER"):
        load(HubAddress(str(other)), CPU)
    (wide / "adapter_model.safetensors").unlink()
    assert "the folder has no weights" in says(wide)


def test_an_adapter_with_other_tensors_is_told_and_not_left_out(llama_folder: Path, tmp_path: Path) -> None:
    lora = adapter(str(llama_folder), tmp_path)
    file = lora / "adapter_model.safetensors"
    tensors = load_file(file)
    save_file({name: tensor for name, tensor in tensors.items() if "q_proj" not in name}, file)
    with pytest.raises(BadModel, match=r"does not fit.* of its tensors are missing, such as .*q_proj"):
        load(HubAddress(str(llama_folder), str(lora)), CPU)
    save_file(tensors | {"base_model.model.extra.lora_A.weight": torch.zeros(4, 32)}, file)
    with pytest.raises(BadModel, match=r"1 of its tensors have no place in the model, such as .*extra"):
        load(HubAddress(str(llama_folder), str(lora)), CPU)


@pytest.mark.parametrize("name", ["a+b", "a@b"])
def test_a_folder_whose_name_reads_as_something_else_is_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    for text in (f"hf:{name}", f"hf:{tmp_path / name}"):
        with pytest.raises(BadModel, match="rename the folder, or make a link to it"):
            parse_model(text)


def test_the_template_is_the_one_named_or_the_folders_or_that_of_a_name(folder: Path) -> None:
    def found(where: object, **named: str) -> Template:
        return template_of(HubAddress(str(where), **named))

    assert found("ByteDance-Seed/BFS-Prover-V2-7B").name == "bfs-prover-v2"
    assert found(folder, template="stp").name == "stp"
    with pytest.raises(TemplateError, match="no template is known for the model"):
        found(folder)
    edit(folder, _name_or_path="internlm/internlm2_5-step-prover")
    assert found(folder).name == "internlm2.5-step-prover"
    named = folder.rename(folder.with_name("BFS-Prover-V1-7B"))
    assert found(named).name == "bfs-prover-v1"
    edit(named, proofmesh_template="reprover-causal")
    assert found(named).name == "reprover-causal"
    own = Path("node/llm/families/bfs-prover-v1.toml").read_text()
    (named / "mine.toml").write_text(own.replace("{state}:::", "{state}###"))
    edit(named, proofmesh_template="mine.toml")
    assert found(named).template == "{state}###"
    edit(named, proofmesh_template="nope")
    with pytest.raises(TemplateError, match="no template `nope`"):
        found(named)


def test_a_tokenizer_that_ends_every_text_does_not_end_a_prompt(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A $B", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    saved(llama(), tmp_path, tokenizer)
    reader = Reader("hf:x", load(HubAddress(str(tmp_path)), CPU), None)
    ids = reader.ids(Prompt("intro h"))
    assert ids[0] == 1 and 2 not in ids and ids == reader.ids(Prompt("<s>intro h"))


# --- what results call a model: it changes with the weights, and with nothing else ------------------------------------
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
    folder = folder.rename(folder.with_name("BFS-Prover-V1-tiny"))
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
