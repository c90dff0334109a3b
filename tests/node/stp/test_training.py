"""What a recipe of self-play says, the data of its trainings, and the texts of a language model."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import tyro

from common.config import ConfigError, merged
from common.lean import Theorem
from node.command.stp.run import keep_recipe, mesh_config
from node.llm.address import HubAddress, parse_hub_address
from node.llm.outputs import parse_proof
from node.llm.sampling import Sample
from node.llm.templates import Template, TemplateError, load
from node.prover.policies.proofs import ProofRequest, SampledProofs
from node.stp import model
from node.stp.data.statements import statement_of
from node.stp.model import address_of, base_of, check_base, template_of
from node.stp.records import EMPTY_LEMMA, FILE, ConjecturerExample, ProverExample, Seed, StpError
from node.stp.settings import StpPlan, StpSettings, read_plan
from node.stp.training import CONJECTURES, PROOFS, steps_for, train, tuning_arguments, write_data
from node.training.settings import STAGES
from node.tuning.settings import SftSettings
from tests.node.prover.toys import Model
from tests.node.stp.examples import COMM, EASY, conjecture_row, proof_row
from tests.node.stp.tiny_run import TRAIN

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


# --- the data of a training, and how much of it is read ---------------------------------------------------------------
PROVED = [ProverExample(EASY, "omega", 0.5), ProverExample(TRAIN[0], "rfl", 1.0, conjectured=True)]
MADE = [ConjecturerExample(Seed(EASY, "omega", COMM), TRAIN[0].signature, 2.0, "conjecture_1_0")]


def test_rows_are_what_proofmesh_train_reads(tmp_path: Path) -> None:
    given = ConjecturerExample(Seed(EASY, "omega", EMPTY_LEMMA), TRAIN[1].signature, 1.0)
    folder = tmp_path / "deep/data"
    sources = (f"proofs:{folder / PROOFS}*2", f"conjectures:{folder / CONJECTURES}*2")
    assert write_data(folder, PROVED, [*MADE, given]) == sources
    proofs = [json.loads(line) for line in (folder / PROOFS).read_text().splitlines()]
    said = {"name": "easy", "statement": "theorem easy (a b : Nat) : a + b = b + a", "proof": "omega"}
    assert proofs[0] == said | {"weight": 0.5, "conjectured": False}
    made = [json.loads(line) for line in (folder / CONJECTURES).read_text().splitlines()]
    assert made[0]["lemma"] == COMM.statement and made[0]["conjecture"] == TRAIN[0].signature
    assert [row["name"] for row in made] == ["conjecture_1_0", "easy:true"]


def test_what_is_empty_is_no_source_and_is_written_over_and_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    write_data(tmp_path, PROVED, MADE)
    assert write_data(tmp_path, PROVED[:1], []) == (f"proofs:{tmp_path / PROOFS}*1",)
    assert (tmp_path / CONJECTURES).read_bytes() == b""
    (tmp_path / "file").write_text("")
    with pytest.raises(StpError, match=r"file.*cannot be written"):
        write_data(tmp_path / "file", PROVED, MADE)


def test_steps_pass_over_all_tokens_as_often_as_asked(tmp_path: Path) -> None:
    sources = write_data(tmp_path, PROVED, MADE)
    settings = replace(STAGES["sft"], length=8, batch_tokens=16)

    def characters(text: str) -> int:
        return len(text)

    assert steps_for(sources, settings, 1.0, characters) == 2  # no row has more than `length`: 3 rows of 8 tokens
    assert steps_for(sources, settings, 4.0, characters) == 6
    assert steps_for(sources, settings, 0.01, characters) == 1
    assert steps_for(sources, replace(settings, length=10_000), 1.0, characters) > 10


@pytest.mark.slow
@pytest.mark.process
async def test_a_training_that_fails_is_told_with_the_end_of_its_output(tmp_path: Path) -> None:
    (tmp_path / "proofs.jsonl").write_text("no json\n")
    source = f"proofs:{tmp_path / 'proofs.jsonl'}*1"
    with pytest.raises(StpError, match=r"training r ended with exit code \d+; .*r\.log ends with: .*proofs\.jsonl"):
        await train("r", tmp_path, STAGES["sft"], start=None, sources=[source], seed=1)


# --- the texts of a language model as prover and conjecturer ----------------------------------------------------------
STP = load("stp")
SCRIPT = "intro h\nconstructor\n· exact h.2\n· exact h.1"
HARD = Theorem("hard", "(a b c : Nat)", "a + (b + c) = c + (b + a)")
WITH_HEADER = msgspec.structs.replace(EASY, header="import Mathlib\nopen Nat")


@pytest.mark.parametrize("theorem", [EASY, WITH_HEADER])
async def test_a_prover_is_asked_as_it_is_trained_and_its_answer_is_read_back(theorem: Theorem) -> None:
    [pair] = model.pairs(STP, [ProverExample(theorem, SCRIPT, 0.25)], [])
    recorder = Model(Sample(pair.completion.removesuffix(STP.output.stops[0])))  # servers leave the stop text out
    [draft] = await SampledProofs(recorder, STP).propose(ProofRequest(theorem, theorem.name, count=1, first=0, seed=0))
    assert recorder.asked[0][0].text == pair.prompt and pair.weight == 0.25
    assert draft.text == SCRIPT and not draft.problem
    assert parse_proof(STP, Sample(pair.completion), theorem).text == SCRIPT, "also where the stop text is left in"


@pytest.mark.parametrize("theorem", [EASY, WITH_HEADER])
def test_a_conjecturer_is_asked_as_it_is_trained_and_its_answer_is_read_back(theorem: Theorem) -> None:
    seed = Seed(theorem, SCRIPT, COMM)
    [pair] = model.pairs(STP, [], [ConjecturerExample(seed, HARD.signature, 2.0)])
    assert pair.prompt == model.conjecturer_prompt(STP, seed).text and pair.weight == 2.0
    assert pair.completion == model.conjecturer_completion(HARD.signature)
    made = statement_of(model.written(pair.completion), name="conjecture_1_0", header=theorem.header)
    assert (made.binders, made.conclusion) == (HARD.binders, HARD.conclusion)


def test_the_texts_are_the_reference_s_rows() -> None:
    seed = Seed(WITH_HEADER, SCRIPT, COMM)
    made = ConjecturerExample(seed, HARD.signature, 1.0)
    [pair] = model.pairs(STP, [], [made])
    assert (pair.prompt, pair.completion) == (conjecture_row(made)["prompt"], conjecture_row(made)["target"])
    proved = ProverExample(WITH_HEADER, SCRIPT, 1.0)
    [pair] = model.pairs(STP, [proved], [])
    row = proof_row(proved)
    # The reference ends an answer with the end token alone; ours closes the block of code first.
    assert (pair.prompt, pair.completion) == (row["prompt"], row["target"] + "\n```")


@pytest.mark.parametrize(
    ("sample", "statement"),
    [
        ("\ntheorem t (a : Nat) : a = a\n", "theorem t (a : Nat) : a = a"),
        ("\ntheorem t : 1 = 1\n</hard theorem> more", "theorem t : 1 = 1"),
        ("\ntheorem t : 1 = 1 := by\n  rfl\n</hard theorem>", "theorem t : 1 = 1"),
    ],
)
def test_a_conjecture_is_cut_where_it_ends(sample: str, statement: str) -> None:
    assert model.written(sample) == statement


def test_conjectures_end_at_their_mark_or_at_a_proof_and_what_is_too_long_is_not_trained_on() -> None:
    decoding = model.conjecturer_decoding(STP, 0.7)
    assert (decoding.temperature, decoding.top_p, decoding.max_tokens) == (0.7, 1.0, 1024)
    assert decoding.stop == model.STOPS == ("</hard theorem>", ":=")
    long = msgspec.structs.replace(EASY, conclusion=" + ".join(["a"] * 2000) + " = b")
    proved = [ProverExample(each, "rfl", 1.0) for each in (long, EASY)]
    rows = model.pairs(STP, proved, [ConjecturerExample(Seed(long, "rfl", EMPTY_LEMMA), HARD.signature, 1.0)])
    assert [row.completion for row in rows] == ["\n  rfl\n```"]


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (load("bfs-prover-v1"), "is for tactics"),
        (load("kimina-prover"), "is a conversation"),
        (msgspec.structs.replace(STP, template="{header}{statement}\nsorry"), "does not end with"),
    ],
)
def test_a_template_that_has_no_place_for_conjectures_is_refused(template: Template, why: str) -> None:
    model.check_template(STP)
    with pytest.raises(TemplateError, match=why):
        model.check_template(template)
