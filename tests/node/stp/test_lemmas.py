"""Which lemmas a proof invokes: names as they are written, those of hypotheses left out."""

from pathlib import Path

import msgspec
import pytest

from common.lean import Theorem
from node.lean.text.statement import parse_statement
from node.stp.data.lemmas import LemmaGone, Library
from node.stp.records import EMPTY_LEMMA, Lemma, StpError

LIBRARY = Library(
    [Lemma(name, f"theorem {name} : True") for name in ("Nat.add_comm", "Nat.succ_le", "foo", "trivial", "A.B.bar")],
    protected={"Nat.add_comm"},
)


def invoked_by(script: str, statement: str, header: str = "", library: Library = LIBRARY) -> tuple[str, ...]:
    return library.invoked_in(parse_statement(statement, header), script)


@pytest.mark.parametrize(
    ("script", "invoked"),
    [
        ("rw [Nat.add_comm, ← foo]", ("Nat.add_comm", "foo")),
        ("simp only [Nat.add_comm] at *\nexact foo", ("Nat.add_comm", "foo")),
        ("exact (Nat.add_comm a b).symm", ("Nat.add_comm",)),
        ("exact Nat.succ_le.mp h", ("Nat.succ_le",)),
        ("exact @foo _ _", ("foo",)),
        ("exact _root_.foo", ("foo",)),
        ("rw [Nat.add_comm] at foo'", ("Nat.add_comm",)),
        ("exact h.foo", ()),
        ("exact ?foo", ()),
        ("exact Nat.add_comm_left", ()),
        ("exact X.Nat.add_comm", ()),
        ("trivial", ()),
        ("exact bar", ()),
        ("-- foo\nsimp", ()),
        ("exact f (foo := 1)", ()),
    ],
)
def test_names_are_lemmas_only_as_lean_would_read_them(script: str, invoked: tuple[str, ...]) -> None:
    assert invoked_by(script, "theorem t : True") == invoked


@pytest.mark.parametrize(
    "script",
    [
        "intro foo\nexact foo",
        "rintro ⟨foo, h⟩\nexact foo",
        "rcases h with ⟨x, foo⟩ | h\n· exact foo x",
        "obtain ⟨foo, h⟩ := h\nexact foo",
        "cases h with | inl foo => exact foo | inr k => exact k.foo",
        "have foo : 1 = 1 := rfl\nexact foo",
        "exact fun foo => foo",
        "by_cases foo : p\n· exact foo",
        "generalize h = foo\nexact foo",
    ],
)
def test_a_hypothesis_with_a_lemmas_name_is_no_lemma(script: str) -> None:
    assert invoked_by(script, "theorem t (h : p) : q") == ()


def test_what_the_statement_binds_is_no_lemma_and_neither_are_its_projections() -> None:
    assert invoked_by("exact foo.symm", "theorem t (foo : a = b) : b = a") == ()
    assert invoked_by("exact Nat.add_comm", "theorem t (Nat : Foo) : b = a") == ()
    assert invoked_by("rw [Nat.add_comm]", "theorem t (n : Nat) (h : ∀ m : Nat, m = n) : n = n") == ("Nat.add_comm",)


@pytest.mark.parametrize(
    ("header", "script", "invoked"),
    [
        ("open Nat", "exact succ_le", ("Nat.succ_le",)),
        ("open Nat", "exact add_comm", ()),  # it is protected
        ("open A.B Nat", "exact bar succ_le", ("A.B.bar", "Nat.succ_le")),
        ("open Nat hiding succ_le", "exact succ_le", ()),
        ("open Nat (succ_le)", "exact succ_le", ("Nat.succ_le",)),
        ("open Nat renaming succ_le → less", "exact less", ("Nat.succ_le",)),
        ("open scoped Nat", "exact succ_le", ()),
        ("section\nopen Nat\nend", "exact succ_le", ()),
        ("namespace A\nnamespace B", "exact bar", ("A.B.bar",)),
        ("namespace A.B\nend A.B", "exact bar", ()),
        ("namespace A", "exact B.bar", ("A.B.bar",)),
        ("theorem mine (n : Nat) : n = n := rfl", "exact mine n", ("mine",)),
        ("namespace C\ntheorem mine : 1 = 1 := rfl\nend C", "exact mine C.mine", ("C.mine",)),
    ],
)
def test_open_namespaces_and_the_header_s_own_lemmas(header: str, script: str, invoked: tuple[str, ...]) -> None:
    assert invoked_by(script, "theorem t : True", header) == invoked
    assert LIBRARY.invoked_in(Theorem("t", "", "True", header), script) == invoked


def test_a_lemma_that_is_gone_is_told_in_words_and_the_empty_one_is_always_there() -> None:
    assert LIBRARY.lemma("true") == EMPTY_LEMMA
    with pytest.raises(LemmaGone, match=r"no lemma 'Nat\.gone'.*stp prepare"):
        LIBRARY.lemma("Nat.gone")


def test_lemmas_of_files(tmp_path: Path) -> None:
    rows = tmp_path / "lemmas.jsonl"
    rows.write_bytes(msgspec.json.encode({"name": "A.b", "statement": "theorem b (n : Nat) : n = n := by"}) + b"\n")
    assert Library.of(rows).lemmas == [Lemma("A.b", "theorem A.b (n : Nat) : n = n")]
    lean = tmp_path / "x.lean"
    lean.write_text(
        "namespace A\nprivate theorem c : True := trivial\nprotected theorem d : True := trivial\ndef e := 1\n"
    )
    assert Library.of(lean).lemmas == [Lemma("A.d", "theorem A.d : True")]
    assert invoked_by("exact d A.d", "theorem t : True", "open A", Library.of(lean)) == ("A.d",)
    rows.write_text('{"name": "x", "statement": "theorem x : True"}\n{"name": 3}\n')
    with pytest.raises(StpError, match=r"lemmas\.jsonl, line 2"):
        Library.of(rows)
    with pytest.raises(StpError, match=r"nowhere\.jsonl"):
        Library.of(tmp_path / "nowhere.jsonl")


def test_pocket_lean_s_library_has_its_theorems() -> None:
    library = Library.of("pocket")
    assert library.lemma("Nat.add_comm").statement == "theorem Nat.add_comm (n m : Nat) : n + m = m + n"
    assert "Or.inl" not in library and "Nat.add" not in library
    assert all(each.statement.startswith(f"theorem {each.name} ") for each in library.lemmas)
