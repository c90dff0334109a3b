"""Premises and states as texts."""

import pytest

from node.retrieval.corpus import MOST_CHARACTERS, premise_text, query_text, words


@pytest.mark.parametrize(
    ("name", "code", "text", "is_proof"),
    [
        (
            "Nat.add_comm",
            "@[simp] protected theorem add_comm (a b : Nat) :\n  a + b = b + a := by\n  omega",
            "theorem Nat.add_comm (a b : Nat) : a + b = b + a",
            True,
        ),
        ("Foo.bar", "def bar (n : Nat) : Nat :=\n  n + n", "def Foo.bar (n : Nat) : Nat := n + n", False),
        ("T", "inductive T where\n  | leaf\n  | node (l : T)", "inductive T where | leaf | node (l : T)", False),
        ("inst", "deriving instance Repr for T", "declaration inst deriving instance Repr for T", False),
    ],
)
def test_a_premise_is_its_statement_on_one_line(name, code, text, is_proof):
    assert premise_text(name, code) == (text, is_proof)


def test_a_states_conclusion_comes_first():
    assert query_text("n m : Nat\nh : n = m\n⊢ n + 0 = m") == "⊢ n + 0 = m , n m : Nat h : n = m"
    assert query_text("⊢ p\n\ncase b\nh : q\n⊢ q") == "⊢ p | ⊢ q , case b h : q"
    assert len(query_text("x : " + "y " * 9000 + "⊢ p")) == MOST_CHARACTERS
    assert query_text("no goals") == "⊢ no goals"


def test_words_are_names_their_parts_and_signs():
    assert words("List.map_append (l : α)") == [
        "List.map_append",
        "list",
        ".",
        "map",
        "append",
        "(",
        "l",
        ":",
        "α",
        ")",
    ]
    assert words("getElem?") == ["get", "elem", "?"]
