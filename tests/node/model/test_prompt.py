import pytest

from node.model.prompt import FRAME, prompt_tokens, proof_prompt_tokens, tactic_tokens, unnamed
from node.model.tokenizer import BOS, EOS, LEAN, STATE, TACTIC, Tokenizer
from tests.node.model.tiny import TEXTS, tiny_tokenizer

HYPOTHESES = [f"h{index} : p ∧ q" for index in range(30)]
GOAL = "⊢ q ∧ p"


def shown(state: str, limit: int) -> str:
    return tiny_tokenizer().decode(prompt_tokens(tiny_tokenizer(), state, limit))


def test_a_prompt_is_the_state_in_its_frame() -> None:
    tokenizer = tiny_tokenizer()
    prompt = prompt_tokens(tokenizer, GOAL, 100)
    assert prompt == [BOS, STATE, *tokenizer.encode(GOAL), TACTIC]
    assert len(prompt) == len(tokenizer.encode(GOAL)) + FRAME
    assert tactic_tokens(tokenizer, "simp") == [*tokenizer.encode("simp"), EOS]


@pytest.mark.parametrize("limit", [20, 50, 90, 150])
def test_a_long_state_loses_its_first_hypotheses_and_keeps_its_goal(limit: int) -> None:
    state = "\n".join([*HYPOTHESES, GOAL])
    text = shown(state, limit)
    assert state.endswith(text)
    assert text.endswith(GOAL)
    assert text.split("\n")[0] in [*HYPOTHESES, GOAL], "hypotheses go whole"
    assert len(prompt_tokens(tiny_tokenizer(), state, limit)) <= limit


def test_every_goal_of_a_state_is_kept() -> None:
    state = "\n\n".join("\n".join([*HYPOTHESES[:8], f"⊢ p{index}"]) for index in range(3))
    text = shown(state, 60)
    assert [line for line in text.split("\n") if line.startswith("⊢")] == ["⊢ p0", "⊢ p1", "⊢ p2"]
    assert len(text) < len(state)


def test_a_hypothesis_over_several_lines_goes_as_a_whole() -> None:
    long = "h : p ∧\n    q ∧\n    q"
    state = "\n".join([long, *HYPOTHESES[:5], GOAL])
    limit = len(tiny_tokenizer().encode(state)) + FRAME - 1
    assert shown(state, limit) == "\n".join([*HYPOTHESES[:5], GOAL])


def test_a_goal_that_is_too_long_alone_keeps_its_end() -> None:
    state = "h : p\n⊢ " + " ∧ ".join(f"p{index}" for index in range(100))
    text = shown(state, 40)
    assert state.endswith(text) and text.endswith("p99")
    assert len(prompt_tokens(tiny_tokenizer(), state, 40)) == 40


@pytest.mark.parametrize(
    ("statement", "without"),
    [
        ("theorem t (p q : Prop) : p ∧ q", "example (p q : Prop) : p ∧ q"),
        ("theorem Nat.foo'.{u, v} {α : Type u} : α", "example {α : Type u} : α"),
        ("lemma «a b».c (x : Nat) : x = x", "example (x : Nat) : x = x"),
        ("theorem t {α} (a : α) : a = a", "example {α} (a : α) : a = a"),
        ("example : 1 = 1", "example : 1 = 1"),
        ("theorem x: 1 = 1", "example : 1 = 1"),
        ("∀ n : Nat, n = n", "example : ∀ n : Nat, n = n"),
    ],
)
def test_a_statement_is_read_without_its_name(statement: str, without: str) -> None:
    assert unnamed(statement) == without


def test_a_statement_is_never_shortened() -> None:
    marks = Tokenizer.train(TEXTS * 20, 330, roles=True)
    statement = "example (p q : Prop) : p ∧ q"
    whole = proof_prompt_tokens(marks, statement, 100)
    assert whole is not None and (whole[0], whole[1], whole[-1]) == (BOS, LEAN, TACTIC)
    assert marks.decode(whole) == statement
    assert proof_prompt_tokens(marks, statement, len(whole)) == whole
    assert proof_prompt_tokens(marks, statement, len(whole) - 1) is None
