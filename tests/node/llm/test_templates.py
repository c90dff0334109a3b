"""Templates of prover families: published ones load, models find theirs, and wrong files are refused in a line."""

import pytest

from node.llm.templates import FAMILIES, TemplateError, families, for_model, load

TACTIC = """
title = "Mine"
models = ["me/mine-*"]
sources = ["https://example.org"]
provenance = "mine"
mode = "tactic"
kind = "raw"
template = "{state} => "

[sampling]
temperature = 0.7
top_p = 0.9
max_tokens = 64

[limits]
prompt = 512
output = 64
"""


OUTPUT = "[output]\ncode"


def written(folder, text):
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("template", families(), ids=lambda template: template.name)
def test_every_template_says_where_it_is_from(template):
    assert template.sources and all("https://" in source for source in template.sources)
    assert len(template.provenance) > 40


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("ByteDance-Seed/BFS-Prover-V1-7B", "bfs-prover-v1"),
        ("ByteDance-Seed/BFS-Prover-V2-7B", "bfs-prover-v2"),
        ("ByteDance-Seed/BFS-Prover-V2-32B", "bfs-prover-v2"),
        ("internlm/internlm2_5-step-prover", "internlm2.5-step-prover"),
        ("internlm/internlm2-step-prover", "internlm2-step-prover"),
        ("kaiyuy/leandojo-lean4-tacgen-byt5-small", "reprover"),
        ("kaiyuy/leandojo-lean4-retriever-tacgen-byt5-small", "reprover-retriever"),
        ("deepseek-ai/DeepSeek-Prover-V1.5-RL", "deepseek-prover-v1.5-cot"),
        ("Goedel-LM/Goedel-Prover-SFT", "goedel-prover-sft"),
        ("kfdong/STP_model_Lean_0320", "stp"),
        ("deepseek-ai/DeepSeek-Prover-V2-7B", "deepseek-prover-v2"),
        ("Goedel-LM/Goedel-Prover-V2-8B", "goedel-prover-v2"),
        ("AI-MO/Kimina-Prover-Preview-Distill-1.5B", "kimina-prover-preview"),
        ("AI-MO/Kimina-Prover-72B", "kimina-prover"),
        ("AI-MO/Kimina-Prover-Distill-8B", "kimina-prover"),
        ("AI-MO/Kimina-Prover-RL-1.7B", "kimina-prover"),
        ("/models/kimina-prover-rl-0.6b", "kimina-prover"),
        ("BFS-Prover-V2-7B", "bfs-prover-v2"),
    ],
)
def test_a_model_finds_its_template(model, name):
    assert for_model(model).name == name


def test_an_unknown_template_names_the_nearest_and_an_unknown_model_asks_for_one():
    with pytest.raises(TemplateError, match=r"no template is known for the model `gpt-2`; name one"):
        for_model("gpt-2")
    with pytest.raises(TemplateError, match=r"^no template `goedel-prover-v3`; did you mean `goedel-prover-v2`\?$"):
        load("goedel-prover-v3")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("template =", "templte =", "[top] unknown key `templte`; did you mean `template`?"),
        ("top_p =", "topp =", "[sampling] unknown key `topp`; did you mean `top_p`?"),
        ('mode = "tactic"\n', "", "[top] the key `mode` is missing"),
        ("prompt = 512\n", "", "[limits] the key `prompt` is missing"),
        ('mode = "tactic"', 'mode = "step"', "`mode`: invalid enum value 'step'; choose one of tactic, whole-proof"),
        ("[limits]", f"{OUTPUT} = 'x'\n[limits]", "`output.code`: invalid enum value 'x'; choose one of plain, open"),
        ("prompt = 512", 'prompt = "512"', "`limits.prompt`: expected `int`, got `str`"),
        ("temperature = 0.7", "temperature = 7.0", "`sampling.temperature`: expected `float` <= 2.0"),
        ("max_tokens = 64", "max_tokens = 65", "`sampling.max_tokens` must be at most `limits.output`, 64"),
        ("{state} => ", "{stat} => ", "`template` has an unknown field {stat}; did you mean `state`?"),
        ("{state} => ", "{name} => ", "`template` has no field {state}"),
        ("{state} => ", "{state ", "`template`: expected '}' before end of string; write {{ and }} for literal braces"),
        ("{state} => ", "{state!r} => ", "`template`: write a field as a name in braces, without `:` or `!`"),
        ('kind = "raw"', 'kind = "raw"\nsystem = "x"', '`system`, `correction` and `chat_text` need `kind = "chat"`'),
        ('"tactic"', '"whole-proof"', "`template` has an unknown field {state}; did you mean `statement`?"),
        ("[limits]", f"{OUTPUT} = 'last'\n[limits]", '`output.code` must be "plain" with `mode = "tactic"`'),
        ('title = "Mine"', 'title = "Mine"\nname = "x"', "remove the key `name`; a template has the name of its file"),
        ('title = "Mine"', 'title = "Mine"\nnames = "short"', "`names`: invalid enum value 'short'; choose one of own"),
        ('title = "Mine"', 'title = "Mine"\nspecial = "("', "`special` is not a regular expression: missing )"),
        ('title = "Mine"', 'title = "Mine"\nspecial = "x*"', "`special` matches the empty text"),
        ('title = "Mine"', 'title = "Mine', "not TOML: "),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path, old, new, message):
    assert old in TACTIC
    path = written(tmp_path, TACTIC.replace(old, new))
    with pytest.raises(TemplateError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {message}") and "\n" not in str(caught.value)


def test_a_file_of_statements_with_canonical_names_or_that_is_not_there_or_no_text_is_refused(tmp_path):
    path = written(tmp_path, f'names = "canonical"\n{(FAMILIES / "stp.toml").read_text(encoding="utf-8")}')
    says = '`names = "canonical"` needs `mode = "tactic"`; this family reads statements'
    with pytest.raises(TemplateError, match=says):
        load(path)
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(TemplateError, match=r"mine\.toml: not UTF-8"):
        load(path)
    with pytest.raises(TemplateError, match=r"nowhere\.toml: cannot be read \(No such file or directory\)"):
        load(str(tmp_path / "nowhere.toml"))
