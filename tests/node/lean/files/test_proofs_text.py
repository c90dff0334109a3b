"""Proofs as Lean text: names, headers and files, and what Lean says of them."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from common.lean import NO_CONTEXT, Place, Theorem
from node.lean.check.files.proofs_text import ProofsFiles, ProvedStatement, proofs_files
from tests.node.lean.files.verified import Verifying, reasons


def files_of(proofs: Sequence[tuple[Theorem, str]], header: str = "") -> ProofsFiles:
    """The files of theorems with proofs; `header`: the configured one."""
    return proofs_files(
        [ProvedStatement(each.name, each, script) for each, script in proofs], "a test", "4.28.0", header
    )


def names(text: str) -> list[str]:
    return re.findall(r"^theorem (\S+)", text, re.MULTILINE)


def test_a_proof_at_a_place_in_a_file_is_left_out_and_named():
    place = Place(NO_CONTEXT, "theorem x : True := by\n  ", "\n")
    proofs = files_of(
        [(Theorem("gap", "", "True", place=place), "  trivial"), (Theorem("t0", "", "True"), "  trivial")]
    )
    assert proofs.left_out == ("gap",) and proofs.proofs == 1
    assert names(proofs.texts[0]) == ["t0"]
    assert "-- Not here" in proofs.texts[0] and "gap" in proofs.texts[0]


@settings(max_examples=12, deadline=None, database=None)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=8, unique=True), st.text(max_size=30))
def test_names_are_plain_differ_and_stand_in_no_proof(given_names, script):
    proofs = files_of([(Theorem(name, "", "True"), f"  exact {script}") for name in given_names])
    bare = [match.group(1) for match in re.finditer(r"^theorem «?([^»\s]+)»? : \(True", proofs.texts[0], re.MULTILINE)]
    assert len(set(bare)) == len(given_names)
    assert all(re.fullmatch(r"[^\W\d_][\w']*", name) for name in bare)
    assert all(name.isascii() or f"theorem «{name}» :" in proofs.texts[0] for name in bare)
    assert set(bare).isdisjoint(re.findall(r"[\w'!?]+", script))


DIFFICULT = [
    # Named like theorems of the library, and their proofs use these.
    (Theorem("Nat.add_comm", "(a b : Nat)", "a + b = b + a"), "  exact Nat.add_comm a b"),
    (Theorem("trans", "(a b c : Nat) (h : a = b) (g : b = c)", "a = c"), "  exact h.trans g"),
    (Theorem("rfl", "(a : Nat)", "a = a"), "  exact rfl"),
    (Theorem("Eq.symm", "(a b : Nat) (h : a = b)", "b = a"), "  exact Eq.symm h"),
    # A short name of the library: the proof above must go on to mean the library's.
    (Theorem("succ_le_of_lt", "(a b : Nat) (h : a < b)", "succ a ≤ b", "open Nat"), "  exact succ_le_of_lt h"),
    (Theorem("id", "", "True"), "  trivial"),
    (Theorem("propext", "(p : Prop) (h : p)", "p = True"), "  exact propext ⟨fun _ => trivial, fun _ => h⟩"),
    # Keywords, and names with signs.
    (Theorem("theorem", "", "True"), "  trivial"),
    (Theorem("end", "", "True"), "  trivial"),
    (Theorem("1959 p.1 (b) — «x»", "", "True"), "  trivial"),
    (Theorem("ünï_λ₁", "", "True"), "  trivial"),
    (Theorem("λ", "", "(fun _ : Nat => True) 1"), "  trivial"),
    (Theorem("定理²", "", "True"), "  trivial"),
    # Headers that declare, with names that clash: with each other's, and with the library's.
    (Theorem("twice_one", "", "twice 1 = 2", "def twice (n : Nat) : Nat := n + n"), "  rfl"),
    (Theorem("twice_two", "", "twice 2 = 8", "def twice (n : Nat) : Nat := n * 4"), "  rfl"),
    (Theorem("auto", "(n : Nat)", "same n = n", "def same (x : α) : α := x"), "  rfl"),
    (Theorem("with_variable", "(h : p 1)", "p 1", "variable (p : Nat → Prop)"), "  exact h"),
    (Theorem("sections", "", "n0 = 3", "noncomputable section\nsection Inner\ndef n0 : Nat := 3"), "  rfl"),
    # Effects beyond a namespace.
    (Theorem("plus1", "", "(2 ⊞ 3) = 5", 'infixl:65 " ⊞ " => Nat.add'), "  rfl"),
    (Theorem("plus2", "", "(2 ⊞ 3) = 6", 'notation:65 a " ⊞ " b => Nat.mul a b'), "  rfl"),
    (Theorem("absurd", "", "(2 ⊠ 3) = 5", 'infixl:65 " ⊠ " => Nat.add'), "  rfl"),
    (Theorem("spaces", "", "x = 1", "namespace Mine\ndef x : Nat := 1"), "  rfl"),
    (Theorem("dotted", "(n : Nat)", "n.twofold = n + n", "def Nat.twofold (n : Nat) : Nat := n + n"), "  rfl"),
    # Options and universes are one header's alone.
    (Theorem("universes", "(α : Type u) (a : α)", "a = a", "universe u"), "  rfl"),
    (Theorem("implicit", "(a : α)", "a = a", "set_option autoImplicit true"), "  rfl"),
    (Theorem("lines", "(p q : Prop)\n  (hp : p)", "p ∨\n  q", "open Nat\nuniverse u"), "    left\n    exact hp"),
]


@pytest.mark.lean
async def test_lean_accepts_the_proofs_of_difficult_statements(verifying: Verifying):
    proofs = files_of(DIFFICULT)
    reports = await verifying.together(*proofs.texts, own=True)
    found = reasons(reports)
    assert set(found.values()) == {""} and len(found) == len(DIFFICULT) == proofs.proofs
    assert len(reports) == 6  # the notations, the namespace and the dotted name have their own
    shown = {name.rpartition(".")[2] for name in found}
    assert {"trans_1", "id", "Nat_add_comm", "plus1", "twice_two", "ünï_λ₁", "λ", "定理²"} <= shown
