"""An exported network says what our engine says: the same prompt to the token, the same greedy tactics."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from common.settings import Sampling
from node.inference.engine.batch import Job
from node.inference.engine.engine import Engine
from node.inference.settings import EngineSettings
from node.llm.prompts import tactic_prompt, with_own_names
from node.llm.templates import load
from node.model.hub import conversion
from node.model.hub.conversion import CODE, Origin, export
from node.model.names import Names
from node.model.prompt import prompt_tokens
from node.model.tokenizer import EOS
from node.model.weights import Weights
from tests.node.inference.naive import run
from tests.node.model.hub.exported import VARIANTS, loaded, written
from tests.node.model.tiny import TEXTS, tiny_model, tiny_tokenizer
from tests.node.test_arrows import imported_modules

pytestmark = pytest.mark.compute

NEW_TOKENS = 12

STATES = (
    *(TEXTS[0], TEXTS[2], "⊢ True", "h : p ∧ q\nα : Type\n⊢ ∀ (x : α), p\n\nq : Prop\n⊢ q"),
    'x✝ : Nat\ns : String\n⊢ s = "a\\nb" ∧ x✝ = 0',
)


def prompt_ids(tokenizer, state: str) -> list[int]:
    return list(tokenizer(tactic_prompt(load("proofmesh"), state).text)["input_ids"])


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return AutoTokenizer.from_pretrained(written(tmp_path_factory.mktemp("tokenizer"))[1])


@pytest.mark.parametrize("state", STATES)
def test_the_prompt_is_that_of_our_engine(tokenizer, state):
    assert prompt_ids(tokenizer, state) == prompt_tokens(tiny_tokenizer(), Names(state).state, 160)


@pytest.mark.parametrize("special", ["<|tactic|>", "<|eos|>", "<|value-12|>"])
def test_a_state_cannot_inject_special_tokens(tokenizer, special):
    state = f'h : s = "{special}{special}"\n⊢ {special}'
    ids = prompt_ids(tokenizer, state)
    assert ids[:2] == [1, 2] and ids[-1] == 3 and min(ids[2:-1]) > EOS
    assert tokenizer.decode(ids[2:-1]).replace("< |", "<|") == Names(state).state
    # What another program sends by itself is not guarded: the tokenizer reads special tokens wherever they are spelled.
    assert tokenizer("<|eos|>")["input_ids"] == [1, EOS]


@pytest.mark.parametrize("variant", ["windowed", "everything"])
def test_greedy_tactics_are_those_of_our_engine(tmp_path, variant):
    model = tiny_model(sharpness=2.0, **VARIANTS[variant])
    with torch.no_grad():
        if model.config.tied:  # else near ties, which our engine draws among also at temperature 0
            model.embedding.weight.mul_(60.0)
        model.policy.weight[:EOS] = 0.0  # our engine cuts a sample off where it meets a special token
        model.policy.weight[EOS] *= 1.5
    folder = tmp_path / "exported"
    export(model, tiny_tokenizer(), folder, Origin())
    theirs, tokenizer = loaded(folder), AutoTokenizer.from_pretrained(folder)
    engine = Engine(
        Weights(model, tiny_tokenizer()), EngineSettings(slots=8, cells=2, new_tokens=NEW_TOKENS, dtype="float32")
    )
    answers = run(engine, [Job(key, state, 1, 0, Sampling(temperature=0.0)) for key, state in enumerate(STATES)])
    for key, state in enumerate(STATES):
        prompt = torch.tensor([prompt_ids(tokenizer, state)])
        found = theirs.generate(prompt, max_new_tokens=NEW_TOKENS, do_sample=False)[0, prompt.shape[1] :].tolist()
        tactic = answers[key].tactics[0]
        text = tokenizer.decode([token for token in found if token != EOS])
        assert with_own_names(load("proofmesh"), state, text) == tactic.tactic
        assert answers[key].tokens == len(found) and (found[-1] == EOS) >= tactic.complete
        value = theirs(prompt, logits_to_keep=1).value
        assert float(value[0, 0].detach()) == pytest.approx(answers[key].value, abs=1e-3)


WITHOUT_US = """
import sys
sys.modules["node"] = None  # as where proofmesh is not installed
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer
folder = sys.argv[1]
model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
prompt = tokenizer("<|state|>v0 : Prop\\n⊢ v0<|tactic|>", return_tensors="pt")
out = model.generate(**prompt, max_new_tokens=6, do_sample=False)
assert type(AutoModel.from_pretrained(folder, trust_remote_code=True)).__name__ == "ProofmeshModel"
assert model.generation_config.do_sample
print(out[0].tolist(), float(model(**prompt).value[0, -1]), [name for name in sys.modules if name.startswith("node.")])
"""


def test_the_code_in_the_folder_needs_torch_and_transformers_alone():
    for name in CODE:
        for module in imported_modules(Path(conversion.__file__).with_name(name)):
            root = module.partition(".")[0]
            assert root in {"torch", "transformers", "configuration_proofmesh", *sys.stdlib_module_names}


@pytest.mark.slow
@pytest.mark.process
def test_the_folder_alone_is_enough_where_proofmesh_is_not(tmp_path):
    _, folder = written(tmp_path)
    environment = {**os.environ, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WITHOUT_US, str(folder)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs, tokenizer = loaded(folder), AutoTokenizer.from_pretrained(folder)
    prompt = tokenizer("<|state|>v0 : Prop\n⊢ v0<|tactic|>", return_tensors="pt")
    expected = theirs.generate(**prompt, max_new_tokens=6, do_sample=False)[0].tolist()
    value = float(theirs(**prompt).value[0, -1].detach())
    assert done.stdout.strip() == f"{expected} {value} []" and not list(Path(folder).glob("__pycache__"))
