"""What a recipe of self-play says, which language models may begin a run, and what is told of a wrong one."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import tyro

from common.config import ConfigError, merged
from node.command.stp.run import keep_recipe, mesh_config
from node.llm.address import HubAddress, parse_hub_address
from node.llm.templates import load
from node.stp.model import address_of, base_of, check_base, template_of
from node.stp.records import FILE, StpError
from node.stp.settings import StpPlan, StpSettings, read_plan
from node.stp.training import tuning_arguments
from node.training.settings import STAGES
from node.tuning.settings import SftSettings

POCKET = Path(__file__).parents[3] / "scripts/recipes/stp-pocket.toml"


def _written(folder: Path, text: str) -> Path:
    file = folder / "recipe.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_recipe_for_pocket_lean_is_whole() -> None:
    plan = read_plan(POCKET)
    assert (plan.name, plan.settings.data, plan.settings.statements) == ("stp-pocket", "bank", 800)
    assert plan.trainings["round"].rates.warmup == 5 and plan.trainings["round"].rates.clip == STAGES["sft"].rates.clip
    assert plan.mesh["up"]["learner"] == 0


def test_flags_change_the_recipe_and_data_may_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = _written(tmp_path, '[stp]\ndata = "mine"\nrounds = 3\n[stp.prover]\nsamples = 5\n')
    plan = read_plan(file, {"run": {"name": "other"}, "stp": {"rounds": 4, "prover": {"first_samples": 6}}})
    assert plan.name == "other" and plan.settings.data == str(tmp_path / "mine")
    assert (plan.settings.rounds, plan.settings.prover.samples, plan.settings.prover.first_samples) == (4, 5, 6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[learner]\nahead = 2.0\n", r"\[learner\]: self-play has no learner; use the sections initial, round, final"),
        ("[rounds]\n", r"\[rounds\]: unknown section"),
        ("stp = 3\n", r"stp: expected a section \[stp\], got a value"),
        ("[stp]\nround = 3\n", r"\[stp\].*round"),
        ("[stp.prover]\nsamples = 0\n", r"\[stp\].*samples"),
        ("[stp.conjecturer]\nshare = 2.0\n", r"\[stp\].*share"),
        ('[round]\nrun = "mine"\n', r"\[round\] run: the run chooses it; leave it out"),
        ("[final]\nlength = 512\nbatch_tokens = 256\n", r"\[final\]:? batch_tokens is 256, less than one row of 512"),
        ('[initial]\npreset = "huge"\n', r"\[initial\]:? there is no preset `huge`"),
        ("[stp\n", "recipe.toml"),
        ('[stp]\nbase = "x/y"\n', r"\[stp\] base: also name the model that is sampled"),
        ('[stp]\nmodel = "hf:x/y"\n[round]\nseed = 1\n', r"\[round\] seed: the run chooses it"),
        ('[stp]\nmodel = "hf:x/y"\n[round]\nrate = 1\n', r"\[round\].*rate"),
        ('[stp]\nmodel = "hf:x/y"\n[round]\nlora.on = true\n', r"lora\.on differs"),
        ('[stp]\nmodel = "hf:x/y"\n[final]\noptimizer.rate = -1.0\n', r"\[final\].*rate"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_section(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as told:
        read_plan(_written(tmp_path, text))
    assert "recipe.toml" in str(told.value)


def test_tables_are_merged_key_by_key_and_left_as_they_were() -> None:
    base = {"a": {"x": 1, "y": {"z": 2}}, "b": 3}
    assert merged(base, {"a": {"y": {"w": 4}}, "b": {"c": 5}}) == {"a": {"x": 1, "y": {"z": 2, "w": 4}}, "b": {"c": 5}}
    assert base == {"a": {"x": 1, "y": {"z": 2}}, "b": 3}


# --- recipes with a language model of other people --------------------------------------------------------------------
RECIPE = """
[run]
name = "models"
dir = "{folder}"
[stp]
model = "{model}"
{more}
[initial.lora]
on = true
[round]
optimizer.rate = 5e-5
batch = 64
lora.on = true
lora.targets = ["q_proj", "v_proj"]
place.recompute = true
[final]
lora.on = true
"""

SERVERS = "openai:http://a:8000|http://b:8000#deepseek-ai/DeepSeek-Prover-V1.5-SFT"


def plan_of(folder: Path, model: str = SERVERS, more: str = "") -> StpPlan:
    return read_plan(_written(folder, RECIPE.format(folder=folder, model=model, more=more)))


def test_a_recipe_with_a_model_has_trainings_of_hf_sft_and_their_commands_say_the_same(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    first, later = plan.trainings["initial"], plan.trainings["round"]
    assert (plan.trainer, first.optimizer.rate) == ("hf-sft", 1e-4)
    assert (later.optimizer.rate, later.lora.on, later.batch) == (5e-5, True, 64)
    for section, wanted in plan.trainings.items():
        words = tuning_arguments("round-003", wanted, HubAddress("/models/base", "/adapter", "stp"), seed=7)
        assert words[1:3] == ["train", "hf-sft"]
        read = tyro.cli(SftSettings, args=words[3:])
        assert (read.model, read.data) == ("hf:/models/base+/adapter@stp", ("pairs:round-003-data/pairs.jsonl",))
        assert (str(read.out), read.seed, read.held_out, read.keep_out) == ("round-003", 7, 0, ())
        own = {key: getattr(wanted, key) for key in ("model", "data", "out", "seed", "held_out", "keep_out")}
        assert replace(read, **own) == wanted, section


def test_its_mesh_serves_the_model_and_follows_the_run(tmp_path: Path) -> None:
    mesh = mesh_config(plan_of(tmp_path))
    assert mesh["broker"]["port"] == 0, "any port that is free"
    assert mesh["inference"] == {"model": SERVERS, "follow": str(tmp_path / "models")}
    assert mesh["prover"]["policy"] == "openai:deepseek-ai/DeepSeek-Prover-V1.5-SFT@stp"
    own = mesh_config(plan_of(tmp_path, "hf:/models/base", 'template = "/mine/t.toml"'))
    assert own["prover"] == {"policy": "hf:/models/base@/mine/t.toml", "templates": ["/mine/t.toml"]}


def test_servers_may_move_while_a_run_stands_still_and_the_model_may_not_change(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    plan.directory.mkdir()
    keep_recipe(plan_of(tmp_path, "hf:/models/base"), "again")
    keep_recipe(plan, "again")  # nothing was recorded yet: any change is free
    (plan.directory / FILE).touch()
    keep_recipe(plan_of(tmp_path, SERVERS.replace("//a:", "//c:")), "again")
    with pytest.raises(ConfigError, match=r"begun with other settings \(stp\.model"):
        keep_recipe(plan_of(tmp_path, "hf:/models/base"), "again")


def test_the_base_is_the_model_itself_unless_another_is_named() -> None:
    servers = StpSettings(model=SERVERS)
    assert str(base_of(servers, address_of(servers))) == "hf:deepseek-ai/DeepSeek-Prover-V1.5-SFT"
    other = StpSettings(model=SERVERS, base="owner/model+owner/adapter")
    assert str(base_of(other, address_of(other))) == "hf:owner/model+owner/adapter"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (StpSettings(model="model"), r"\[stp\] model: .*is not a language model"),
        (StpSettings(model="hf:/gone"), r"\[stp\] model: hf:/gone: there is no such folder"),
        (StpSettings(model="hf:owner/model", base="/gone"), r"\[stp\] base: hf:/gone: there is no such folder"),
        (StpSettings(model="openai:http://a#m@stp"), r"name the template as \[stp\] template"),
        (StpSettings(model="hf:owner/model", template="kimina-prover"), r"\[stp\] template: .*is a conversation"),
        (StpSettings(model="hf:owner/model", template="gone"), r"\[stp\] template: no template `gone`"),
    ],
)
def test_a_model_that_cannot_be_had_is_told_in_one_line(settings: StpSettings, says: str) -> None:
    with pytest.raises(StpError, match=says) as failed:
        template_of(settings)
        base_of(settings, address_of(settings))
    assert "\n" not in str(failed.value)


def changed(folder: Path, out: Path, **config: object) -> Path:
    """The model's folder with another config.json."""
    out.mkdir()
    for file in folder.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    given = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps(given | config))
    return out


@pytest.mark.compute
def test_a_base_has_a_tokenizer_that_keeps_lean_and_a_context_with_room(llama_folder: Path, tmp_path: Path) -> None:
    template = load("stp")
    short = msgspec.structs.replace(template, statement=msgspec.structs.replace(template.statement, header=""))
    long = changed(llama_folder, tmp_path / "long", max_position_embeddings=2048)
    check_base(parse_hub_address(str(long)), template)
    says = r"has a context of 256 tokens, 128 of them for a completion, but the conjecturer's prompt"
    with pytest.raises(StpError, match=says):
        check_base(parse_hub_address(str(llama_folder)), short)
    tokenizer = json.loads((long / "tokenizer.json").read_text())
    tokenizer["normalizer"] = {"type": "Replace", "pattern": {"String": "\n"}, "content": " "}
    (long / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(StpError, match="does not restore Lean's text exactly"):
        check_base(parse_hub_address(str(long)), template)
