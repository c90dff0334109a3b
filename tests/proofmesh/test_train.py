import json

import pytest

import proofmesh
from proofmesh import train


def test_keyword_arguments_are_the_flags_of_the_command():
    given = {"data": ["bank", "traced"], "rate": 1e-4, "lora": True, "lora__rank": 8}
    given |= {"dry_run": False, "lean__fresh": False, "minutes": None, "from_": "x"}
    said = "--data bank traced --rate 0.0001 --lora --lora.rank 8 --no-dry-run --lean.no-fresh --from x"
    assert train.flags(given) == said.split()


@pytest.mark.process
def test_what_the_command_refuses_is_an_error_with_its_line(tmp_path):
    with pytest.raises(proofmesh.BadInput, match=r"train hf-sft: .*--datta") as caught:
        train.sft("models/small-llama", datta=["bank"], out=tmp_path / "out", show=False)
    assert "\n" not in str(caught.value)


SWAP = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
STEPS = [("p q : Prop\n⊢ p ∧ q → q ∧ p", "intro h"), ("p q : Prop\nh : p ∧ q\n⊢ q ∧ p", "exact ⟨h.2, h.1⟩")]
COMMON = {"device": "cpu", "keep_out": [], "log_every": 1, "seed": 1, "show": False, "held_out": 0}


def teach(folder, monkeypatch, **settings):
    """Train a random model on the two steps of a proof; what the call returns."""
    from tests.node.tuning.models import raw_model

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    rows = [{"theorem": "swap", "state": state, "tactic": tactic, "remaining_steps": 1} for state, tactic in STEPS]
    (folder / "proof.jsonl").write_text("\n".join(map(json.dumps, rows)))
    random = raw_model(folder / "random")
    return train.sft(random, **COMMON, data=[folder / "proof.jsonl"], out=folder / "sft", rate=1e-2, **settings)


@pytest.mark.slow
def test_a_model_learns_a_proof_and_lean_on_a_mesh_then_pays_for_it(mesh_run, lean_proxy, tmp_path, monkeypatch):
    taught = teach(tmp_path, monkeypatch, steps=80)
    lines = (taught.out / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["values"]["loss"] for line in lines]
    assert len(losses) == 80 and losses[-1] < losses[0] / 5
    (tmp_path / "task.jsonl").write_text(json.dumps({"theorem": SWAP, "state": STEPS[1][0], "steps": ["intro h"]}))
    settings = {name: value for name, value in COMMON.items() if name != "held_out"}
    settings |= {"steps": 2, "rate": 1e-4, "prompts": 1, "generations": 4, "max_tokens": 12}
    settings |= {"data": [tmp_path / "task.jsonl"], "url": mesh_run.bus.url, "run": mesh_run.name}
    paid = train.grpo(taught.model, out=tmp_path / "grpo", **settings)
    rewards = [reward for _, reward in paid.summary["reward_curve"]]
    assert len(rewards) == 2 and max(rewards) > 0.5, "Lean accepts most of what the trained model writes"
    assert (paid.model / "model.safetensors").is_file() and "mean reward" in paid.said
