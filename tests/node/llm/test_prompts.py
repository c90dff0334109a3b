"""Prompts of every family, to the byte: expected: written here from the sources that the templates name."""

import msgspec
import pytest

from node.lean.text.statement import parse_statement
from node.llm.prompts import (
    Premise,
    PromptTooLong,
    correction_prompt,
    proof_prompt,
    raw_text,
    tactic_prompt,
    with_own_names,
)
from node.llm.sampling import ChatMessage, Prompt
from node.llm.templates import TemplateError, load

STATE = "a b : ℕ\nh : a = b\n⊢ b = a"
TWO_GOALS = "case inl\np q : Prop\nh : p\n⊢ q ∨ p\n\np q : Prop\nh : q\n⊢ q ∨ p"

DEEPSEEK_HEADER = (
    "import Mathlib\nimport Aesop\n\nset_option maxHeartbeats 0\n\nopen BigOperators Real Nat Topology Rat\n\n"
)
COMPLETE = "Complete the following Lean 4 code:\n\n```lean4\n"
TEN = "theorem mathd_algebra_10 : abs ((120 : ℝ) / 100 * 30 - 130 / 100 * 20) = 10 := by"
TEN_IN_WORDS = r"What is the positive difference between $120\%$ of 30 and $130\%$ of 20? Show that it is 10."
PLAN = (
    "Before producing the Lean 4 code to formally prove the given theorem, provide a detailed proof plan outlining the "
    "main proof steps and strategies.\n"
    "The plan should highlight key ideas, intermediate lemmas, and proof structures that will guide the construction "
    "of the final formal proof."
)


def ten(header=""):
    return parse_statement(TEN, header)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bfs-prover-v1", f"{STATE}:::"),
        ("bfs-prover-v2", f"{STATE}:::"),
        (
            "internlm2.5-step-prover",
            "<|im_start|>user\n---\nNAME: Eq.back\n\n---\nPROOF_BEFORE: intro a b\nintro h\n\n---\nSTATE_BEFORE: "
            f"{STATE}\n\n---\nTACTIC: <|im_end|>\n<|im_start|>assistant\n",
        ),
        ("internlm2-step-prover", f"<|im_start|>user\nDECL Eq.back\nGOAL {STATE}\n<|im_end|>\n<|im_start|>assistant\n"),
        ("reprover", STATE),
        (
            "reprover-retriever",
            "theorem <a>Nat.add_comm</a> : ∀ (n m : ℕ), n + m = m + n\n\n"
            f"theorem <a>Eq.symm</a> {{α : Sort u}} {{a b : α}} (h : a = b) : b = a\n\n{STATE}",
        ),
        ("reprover-causal", f"[GOAL]\n{STATE}\n[PROOFSTEP]\n"),
    ],
)
def test_a_tactic_prompt_to_the_byte(name, text):
    premises = [
        Premise("Eq.symm", "theorem Eq.symm {α : Sort u} {a b : α} (h : a = b) : b = a"),
        Premise("Nat.add_comm", "theorem add_comm : ∀ (n m : ℕ), n + m = m + n"),
    ]
    prompt = tactic_prompt(load(name), STATE, name="Eq.back", steps=["intro a b", "intro h"], premises=premises)
    assert prompt == Prompt(text)
    first = tactic_prompt(load("internlm2.5-step-prover"), STATE, name="t").text
    assert "---\nPROOF_BEFORE: \n\n---\nSTATE_BEFORE: a b" in first, "the first step has no proof before it"


def test_a_family_may_read_only_the_first_goal_or_canonical_names_and_no_special_tokens_of_a_field():
    assert tactic_prompt(load("bfs-prover-v2"), TWO_GOALS).text == "case inl\np q : Prop\nh : p\n⊢ q ∨ p:::"
    assert tactic_prompt(load("bfs-prover-v1"), TWO_GOALS).text == f"{TWO_GOALS}:::"
    template = load("proofmesh")
    canonical = "case inl\nv0 v1 : Prop\nv2 : v0\n⊢ v1 ∨ v0\n\nv0 v1 : Prop\nv2 : v1\n⊢ v1 ∨ v0"
    assert tactic_prompt(template, TWO_GOALS).text == f"<|state|>{canonical}<|tactic|>"
    assert with_own_names(template, TWO_GOALS, "exact Or.inr v2") == "exact Or.inr h"
    assert with_own_names(load("bfs-prover-v1"), TWO_GOALS, "exact Or.inr v2") == "exact Or.inr v2"
    short = msgspec.structs.replace(template, limits=msgspec.structs.replace(template.limits, prompt=30))
    state = "\n".join([*(f"h{number} : {number} = {number}" for number in range(9)), "key : True", "⊢ True"])
    prompt = tactic_prompt(short, state)
    assert prompt.dropped > 5 and prompt.text.endswith("v9 : True\n⊢ True<|tactic|>")
    assert with_own_names(short, state, "exact v9") == "exact key"
    state = '⊢ f "<|eos|><|value-3|>" <| g |> "<|EOS|>"'
    assert tactic_prompt(template, state).text == ('<|state|>⊢ f "< |eos|>< |value-3|>" <| g |> "<|EOS|>"<|tactic|>')


def test_deepseek_provers_to_the_byte():
    # From quick_start.py of the repository.
    statement = (
        "theorem amc12b_2003_p6 (a r : ℝ) (u : ℕ → ℝ) (h₀ : ∀ k, u k = a * r ^ k) (h₁ : u 1 = 2)\n"
        "  (h₂ : u 3 = 6) : u 0 = 2 / Real.sqrt 3 ∨ u 0 = -(2 / Real.sqrt 3) := by"
    )
    words = (
        "The second and fourth terms of a geometric sequence are $2$ and $6$. Which of the following is a possible "
        "first term?\nShow that it is $\\frac{2\\sqrt{3}}{3}$."
    )
    text = f"{COMPLETE}{DEEPSEEK_HEADER}/-- {words}-/\n{statement}\n"
    assert proof_prompt(load("deepseek-prover-v1.5"), parse_statement(statement), problem=words).text == text
    # From the quick start of the repository's README.
    user = f"{COMPLETE}{DEEPSEEK_HEADER}/-- {TEN_IN_WORDS}-/\n{TEN}\n  sorry\n```\n\n{PLAN}"
    prompt = proof_prompt(load("deepseek-prover-v2"), ten(), problem=TEN_IN_WORDS)
    assert prompt == Prompt(messages=(ChatMessage("user", user),))


COMMENTED = (
    "Complete the following Lean 4 code with explanatory comments preceding each line of code:\n\n```lean4\n"
    f"{DEEPSEEK_HEADER}{TEN}\n"
)
STP_HEADER = "import Mathlib\nimport Aesop\nset_option maxHeartbeats 0\nopen BigOperators Real Nat Topology Rat\n\n"


@pytest.mark.parametrize(
    ("name", "header", "problem", "text"),
    [
        ("deepseek-prover-v1.5-cot", "", "", COMMENTED),
        ("goedel-prover-sft", "", "", COMMENTED),
        ("stp", "", "ignored", f"{COMPLETE}{STP_HEADER}{TEN}"),
        ("stp", "import Mathlib.Data\nopen Real", "", f"{COMPLETE}import Mathlib.Data\nopen Real\n\n{TEN}"),
    ],
)
def test_prompts_for_code_to_the_byte_and_a_statement_keeps_its_own_header(name, header, problem, text):
    assert proof_prompt(load(name), ten(header), problem=problem).text == text


SQUARE = "theorem square_equation_solution {x y : ℝ} (h : x^2 + y^2 = 2*x - 4*y - 5) : x + y = -1 := by"
GOEDEL_USER = f"{COMPLETE}{DEEPSEEK_HEADER}\n{SQUARE}\n  sorry```\n\n{PLAN}"


def goedel_prompt():
    # From the quick start of the repository's README, whose example has a header with one more empty line.
    return proof_prompt(load("goedel-prover-v2"), parse_statement(f"{SQUARE} sorry", f"{DEEPSEEK_HEADER}\n"))


def test_goedel_prover_v2_to_the_byte_and_corrections_go_on_with_the_conversation():
    template = load("goedel-prover-v2")
    assert goedel_prompt() == Prompt(messages=(ChatMessage("user", GOEDEL_USER),))
    asked = f"<|im_start|>user\n{GOEDEL_USER}<|im_end|>\n<|im_start|>assistant\n"
    assert raw_text(template, goedel_prompt()) == asked
    first = correction_prompt(template, goedel_prompt(), "My {first} proof", "\nError 1:\n")
    second = correction_prompt(template, first, "My second proof", "\nError 1: again\n")
    errors = [
        f"The proof (Round {number}) is not correct. Following is the compilation error message, where we use "
        f"<error></error> to signal the position of the error.\n\n\n{error}\n\n\nBefore producing the Lean 4 code "
        "to formally prove the given theorem, provide a detailed analysis of the error message."
        for number, error in enumerate(("Error 1:", "Error 1: again"))
    ]
    texts = (GOEDEL_USER, "My {first} proof", errors[0], "My second proof", errors[1])
    roles = ("user", "assistant", "user", "assistant", "user")
    assert second.messages == tuple(map(ChatMessage, roles, texts))


def test_kimina_provers_to_the_byte():
    user = (
        "Think about and solve the following problem step by step in Lean 4.\n"
        f"# Problem:{TEN_IN_WORDS}\n# Formal statement:\n```lean4\n{DEEPSEEK_HEADER}/-- {TEN_IN_WORDS}-/\n{TEN}\n```\n"
    )
    template = load("kimina-prover-preview")
    prompt = proof_prompt(template, ten(), problem=TEN_IN_WORDS)
    system = "You are an expert in mathematics and Lean 4."
    assert prompt.messages == (ChatMessage("system", system), ChatMessage("user", user))
    begin = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n"
    assert raw_text(template, prompt) == f"{begin}{user}<|im_end|>\n<|im_start|>assistant\n"
    # The example of the blog post on Kimina-Prover-RL.
    statement = "theorem number_theory_4487 : {p : ℕ | p.Prime ∧ ∃ a b, p = a ^ 4 - b ^ 4} = ∅ := by"
    words = "Find all primes that are the difference of the fourth powers of two integers."
    user = (
        "Think about and solve the following problems step by step in Lean 4.\n\n"
        f"# Problem:\n{words}\n\n# Formal Statement:\n```lean4\nimport Mathlib\n\n{statement}\n```\n"
    )
    system = "You are an expert in mathematics and proving theorems in Lean 4."
    prompt = proof_prompt(load("kimina-prover"), parse_statement(statement), problem=words)
    assert prompt.messages == (ChatMessage("system", system), ChatMessage("user", user))


def test_a_problem_cannot_end_its_comment_and_a_long_one_is_left_out():
    template = load("deepseek-prover-v1.5")
    assert "/-- a - / b / - c-/\ntheorem" in proof_prompt(template, ten(), problem="a -/ b /- c").text
    assert proof_prompt(template, ten(), problem="words " * 1000) == proof_prompt(template, ten())


def long_state(count):
    hypotheses = [f"h{number} : x = {number} ∧\n    x < {number + 1}" for number in range(count)]
    return "\n".join(["x : ℕ", *hypotheses, "⊢ x = x"])


def test_a_long_state_loses_its_oldest_hypotheses_the_first_goals_last_and_premises_leave_their_room():
    template = load("reprover")  # 2,048 tokens, which are bytes
    prompt = tactic_prompt(template, long_state(100))
    kept = 101 - prompt.dropped
    expected = "\n".join([*[f"h{n} : x = {n} ∧\n    x < {n + 1}" for n in range(100 - kept, 100)], "⊢ x = x"])
    assert prompt.text == expected and len(prompt.text.encode()) <= 2048
    one_more = f"h{99 - kept} : x = {99 - kept} ∧\n    x < {100 - kept}\n"
    assert len((one_more + prompt.text).encode()) > 2048
    prompt = tactic_prompt(template, f"k : 1 = 1\n⊢ 2 = 2\n\n{long_state(100)}")
    assert prompt.text.startswith("k : 1 = 1\n⊢ 2 = 2\n\nh") and prompt.text.endswith("⊢ x = x")
    statements = {"A": "1 = 1", "B": "x" * 2048, "C": "2 = 2"}
    premises = [Premise(name, f"theorem {name} : {statement}") for name, statement in statements.items()]
    text = tactic_prompt(load("reprover-retriever"), STATE, premises=premises).text
    assert text == f"theorem <a>C</a> : 2 = 2\n\ntheorem <a>A</a> : 1 = 1\n\n{STATE}"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: tactic_prompt(load("reprover"), "h : p\n⊢ " + "x" * 3000),
            "the goals alone make a prompt of 3,004 tokens; reprover reads at most 2,048",
        ),
        (
            lambda: proof_prompt(load("stp"), parse_statement(f"theorem t : {'1 + ' * 2000}1 = 2001")),
            r"the statement makes a prompt of \d,\d+ tokens; stp reads at most 1,024",
        ),
        (
            lambda: correction_prompt(load("goedel-prover-v2"), goedel_prompt(), "x" * 100_000, ""),
            "draw a new sample instead",
        ),
    ],
)
def test_goals_statements_and_conversations_are_never_shortened(ask, message):
    with pytest.raises(PromptTooLong, match=message):
        ask()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: tactic_prompt(load("stp"), STATE), "the template `stp` is for whole-proof, not for tactic"),
        (lambda: proof_prompt(load("reprover"), ten()), "the template `reprover` is for tactic, not for whole-proof"),
        (lambda: correction_prompt(load("stp"), Prompt("x"), "", ""), "`stp` has no correction turn"),
        (
            lambda: raw_text(load("deepseek-prover-v2"), proof_prompt(load("deepseek-prover-v2"), ten())),
            "the chat template of `deepseek-prover-v2` is unknown here",
        ),
    ],
)
def test_a_template_is_asked_only_for_what_it_is_for(ask, message):
    with pytest.raises(TemplateError, match=message):
        ask()
