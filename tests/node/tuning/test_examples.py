"""Training text is inference text: prompts and answers of every family, read again by what reads answers."""

import pytest

from common.lean import Theorem
from node.data.rows import Proof, Step
from node.llm import templates
from node.llm.outputs import parse_proof, parse_tactic
from node.llm.prompts import proof_prompt, tactic_prompt, with_own_names
from node.llm.sampling import Sample
from node.tuning import examples
from node.tuning.examples import TOO_LONG, UNREADABLE, Example, proof_example, step_example

STATE = "n : Nat\nih : n + 0 = n\n⊢ n + 1 + 0 = n + 1"
CASES = "cases n with\n| zero => rfl\n| succ m =>\n  simp\n  omega"
TACTICS = ("simp", "rw [ih]", CASES, "have h : n = n := by\n  rfl")
THEOREM = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")
SCRIPT = "intro h\nconstructor\n· exact h.2\n· exact h.1"
MODES = {name: templates.load(name).mode for name in templates.names()}


@pytest.mark.parametrize("name", [name for name, mode in MODES.items() if mode == "tactic"])
def test_a_step_is_asked_and_read_as_at_inference(name: str) -> None:
    template = templates.load(name)
    for tactic in TACTICS:
        example = step_example(template, Step("t", STATE, tactic, weight=0.5))
        assert isinstance(example, Example) and example.prompt == tactic_prompt(template, STATE)
        # A name that a tactic introduces is another one behind canonical names; what it says is the same.
        canonical = tactic.replace("succ m", "succ v2").replace("have h", "have v2")
        same = canonical if template.names == "canonical" else tactic
        assert with_own_names(template, STATE, parse_tactic(template, Sample(example.completion)).text) == same
        assert (example.weight, example.theorem) == (0.5, "t")


@pytest.mark.parametrize("name", [name for name, mode in MODES.items() if mode == "whole-proof"])
def test_a_proof_is_asked_and_read_as_at_inference(name: str) -> None:
    template = templates.load(name)
    example = proof_example(template, Proof(THEOREM, SCRIPT))
    assert isinstance(example, Example) and example.prompt == proof_prompt(template, THEOREM)
    read = parse_proof(template, Sample(example.completion), THEOREM)
    assert (read.text, read.problem) == (SCRIPT, None) and example.completion.endswith("\n```")


def test_what_is_too_long_or_would_be_read_as_another_answer_is_left_out_and_never_cut() -> None:
    template = templates.load("bfs-prover-v1")
    many = "".join(f"h{number} : {number} = {number}\n" for number in range(2000))
    found = examples.step_examples(template, [Step("t", f"{many}⊢ True", "trivial"), Step("t", STATE, "simp")])
    assert [each.completion for each in found.examples] == ["simp"] and found.left_out == {TOO_LONG: 1}
    steps = examples.step_examples(
        templates.load("bfs-prover-v1"), [Step("t", STATE, "simp\nomega"), Step("t", STATE, "")]
    )
    assert steps.left_out == {UNREADABLE: 2} and not steps.examples
    proofs = examples.proof_examples(templates.load("stp"), [Proof(THEOREM, "sorry"), Proof(THEOREM, SCRIPT)])
    assert proofs.left_out == {UNREADABLE: 1} and len(proofs.examples) == 1
