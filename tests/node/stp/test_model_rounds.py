"""Whole runs of self-play with a language model of other people: a real broker, pocket Lean, transformers and TRL."""

from collections import Counter
from pathlib import Path

import pytest

from common.lean import Theorem
from node.stp.records import FILE, Fate, RoundKind, Stage
from node.stp.store import StpStore
from tests.node.stp.tiny_run import CONJECTURES, GIVEN, RECIPE, SCRIPT, TRAIN, counts_of, plus, stp, tiny_data

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


# --- the tiny run with a Llama of some ten thousand parameters in place of our own network ---------------------------
TEMPLATE = """
title = "A short header"
models = ["none"]
sources = []
provenance = "For tests."
mode = "whole-proof"
kind = "raw"
template = "{header}{statement}"
[output]
code = "open"
stops = ["\\n```"]
[sampling]
temperature = 1.0
top_p = 1.0
max_tokens = 48
[limits]
prompt = 400
output = 48
"""

TRAININGS = """
[initial]
batch = 8
length.steps = 120
optimizer.rate = 4e-3
keeping.save_every = 40
place.device = "cpu"

[round]
batch = 8
optimizer.rate = 3e-4
place.device = "cpu"

[final]
batch = 8
optimizer.rate = 3e-4
place.device = "cpu"
"""


MORE = (
    *(plus(f"train_{number}", number) for number in (10, 11, 12, 13)),
    *(
        Theorem(f"conjecture_9_{number}", "(a b : Nat)", f"a + b + {number} = {number} + (a + b)")
        for number in range(4, 16)
    ),
)
"""More to learn by heart: a language model has our own network's marks of roles and names of nothing."""


def base_model(folder: Path) -> Path:
    """A model with a tokenizer for our texts that has learned nothing."""
    from node.llm.templates import load
    from node.tuning.base_model import write_fresh
    from node.tuning.settings import LlamaShape

    texts = [each.signature for each in (*GIVEN, *TRAIN, *CONJECTURES, *MORE)]
    words = f"<lemma>\n<easy theorem>\n<hard theorem>\n</hard theorem> := by\n  {SCRIPT}\n```"
    shape = LlamaShape(vocab_size=400, depth=2, width=64, heads=2, kv_heads=2, hidden=128, context=384)
    write_fresh(folder, [each for text in texts for each in (text, words)], shape, load("bfs-prover-v1"), seed=0)
    return folder


def model_recipe(folder: Path, model: str = "", more: str = "") -> Path:
    """The recipe, beside its data, its base and its template; the run's folder is `runs/tiny`. `model`: what is
    sampled; empty: the base, in the inference node itself."""
    tiny_data(folder / "data", MORE)
    base = base_model(folder / "base")
    (folder / "short.toml").write_text(TEMPLATE, encoding="utf-8")
    text = RECIPE.format(folder=folder, rounds=2)
    first, last = text.index("[initial]"), text.index("[up]")
    where = f'model = "{model or f"hf:{base}"}"\nbase = "{base}"\ntemplate = "{folder}/short.toml"\n{more}'
    text = text[:first] + TRAININGS + text[last:]
    text = text.replace('[prover]\npolicy = "inference"\n', "[prover]\n").replace("[stp]\n", f"[stp]\n{where}")
    text = text.replace("[inference]\n", '[inference]\nmodels.hf.device = "cpu"\n')
    file = folder / "tiny.toml"
    file.write_text(text, encoding="utf-8")
    return file


async def finished(recipe: Path, fault: str = "") -> Path:
    """The directory of a run that went to its end. `fault`: where it was killed before."""
    if fault:
        code, _, errors = await stp("run", recipe, fault=fault)
        assert code == -9, f"{fault} was not reached: {errors}"
    code, _, errors = await stp("run", recipe)
    assert code == 0, errors
    return recipe.parent / "runs/tiny"


@pytest.fixture(scope="module")
async def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return await finished(model_recipe(tmp_path_factory.mktemp("calm")))


async def test_a_model_proves_conjectures_and_learns_from_what_is_verified(calm: Path) -> None:
    store = StpStore(calm / FILE, read_only=True)
    rows = store.rounds()
    assert [(each.kind, each.stage, each.weights) for each in rows] == [
        (RoundKind.INITIAL, Stage.DONE, 1),
        (RoundKind.SELF_PLAY, Stage.DONE, 2),
        (RoundKind.SELF_PLAY, Stage.DONE, 3),
        (RoundKind.FINAL, Stage.DONE, 4),
    ]
    assert store.solved(), "statements are proved"
    fates = Counter(each.fate for each in store.conjectures())
    assert fates[Fate.PROVED], f"conjectures are proved: {fates}"
    proved = {each.name for each in store.conjectures(None, Fate.PROVED)}
    assert {each.theorem.name for each in store.prover_examples(2)} & proved, "the second round trains on them"
    assert all(Path(str(row.checkpoint), "config.json").is_file() for row in rows)
    store.close()
    before = counts_of(calm)
    code, _, errors = await stp("resume", calm)
    assert (code, counts_of(calm)) == (0, before), errors
