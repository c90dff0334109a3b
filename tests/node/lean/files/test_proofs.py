"""Verifying proofs of standalone statements, behind a header with declarations, and at a place in a file; and proofs as
Lean text: names, headers and files."""

import asyncio
import contextlib
import re
from contextlib import asynccontextmanager

import psutil
import pytest
from hypothesis import given, settings, strategies as st

from common.lean import NO_CONTEXT, Context, Place, Theorem
from common.protocol.messages import Busy, LeanVerifyReply, LeanVerifyRequest
from node.lean.check.files import proofs
from node.lean.check.files.proofs import ProofVerifier, declares, others_assumed
from node.lean.check.verify.checks import VerificationFailed
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.background import Elsewhere
from tests.node.lean.files.verified import Verifying, files_of, reasons


@asynccontextmanager
async def proof_verifier():
    verifier = ProofVerifier(LeanProcessSettings(verifications=1), LeanToolchain.pocket())
    try:
        yield verifier
    finally:
        await verifier.stop()


@pytest.fixture(scope="module")
def verifier(background):
    """One for all tests, so that its processes are started once."""
    with background.opened(proof_verifier()) as verifier:
        yield Elsewhere(background, verifier)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("import Mathlib\nset_option maxHeartbeats 400\nopen BigOperators Real\n  Nat Topology", False),
        ("import A\n/- def x := 1 -/\nuniverse u v", False),
        ("", False),
        ("module\npublic import Foo\nopen Nat", True),
        ("open Nat\ndef twice (n : Nat) := n + n", True),
        ("variable (p : Nat → Prop)", True),
        ("open Nat\nnamespace Foo", True),
        ("noncomputable section", True),
        ('notation "⟪" x "⟫" => x', True),
    ],
)
def test_headers_that_declare_something_are_told_from_plain_ones(header, expected):
    assert declares(header) is expected


@pytest.mark.lean
async def test_a_statement_behind_a_header_with_definitions_and_variables_is_verified(verifier):
    header = "def twice (n : Nat) : Nat := n + n\nvariable (p : Nat → Prop)"
    theorem = Theorem("t", "(h : p (twice 1))", "p 2 ∧ twice 1 = 2", header)
    assert (await verifier.verify(theorem, "  exact ⟨h, rfl⟩")).accepted
    refused = await verifier.verify(theorem, "  exact ⟨h, h⟩")
    assert not refused.accepted and "mismatch" in refused.reason
    assert not (await verifier.verify(theorem, "  sorry")).accepted
    named = Theorem("t (h : False)", "", "False", header)
    assert not (await verifier.verify(named, "  exact h")).accepted, "a name adds no hypothesis"
    with pytest.raises(VerificationFailed):
        await verifier.verify(Theorem("t", "", "True", 'macro "x" : tactic => `(tactic| simp)'), "  trivial")


MODULE = """\
module
public section
@[expose] def twice (n : Nat) : Nat := n + n
private theorem open_one : twice 1 = 2 := sorry
private axiom wrong : 1 = 2
theorem hides : 1 = 2 := wrong
"""


@pytest.mark.lean
async def test_proofs_in_a_module_and_behind_its_header_are_verified_with_all_that_they_use(verifier):
    # 1. In a file: what private theorems above leave open is told, and their axioms count.
    def placed(statement):
        return Theorem("t", "", "?", place=Place(Context.of(MODULE), f"theorem t : {statement} := by\n  ", "\n"))

    assert (await verifier.verify(placed("twice 2 = 4"), "rfl")).axioms == ()
    still_open = await verifier.verify(placed("twice 1 = 2"), "exact open_one")
    assert still_open.axioms == ("sorryAx",) and "not proved yet" in still_open.reason
    refused = await verifier.verify(placed("1 = 2"), "exact hides")
    assert not refused.accepted and "wrong" in refused.reason
    # 2. Behind a header.
    header = "module\nmeta import Init\nopen Nat"
    assert (await verifier.verify(Theorem("t", "(n : Nat)", "n + 0 = n", header), "  rfl")).accepted


def judges() -> set[int]:
    """The children that read compiled files."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if "node.lean.check.files.judge" in child.cmdline():
                found.add(child.pid)
    return found


@pytest.mark.lean
async def test_many_proofs_behind_such_a_header_wait_without_processes_and_further_ones_get_busy(monkeypatch):
    monkeypatch.setattr(proofs, "WAITING", 1)
    of_other_tests, seen = judges(), []

    async def look():
        while True:
            seen.append(len(judges() - of_other_tests))
            await asyncio.sleep(0.05)

    theorem = Theorem("t", "", "twice 1 = 2", "def twice (n : Nat) : Nat := n + n")
    request = LeanVerifyRequest(theorem=theorem, script="  rfl")
    async with proof_verifier() as verifier:
        looking = asyncio.create_task(look())
        replies = await asyncio.gather(*(verifier.answer(request) for _ in range(30)))
        looking.cancel()
        accepted = [reply for reply in replies if isinstance(reply, LeanVerifyReply) and reply.accepted]
        assert len(accepted) == 2 and sum(isinstance(reply, Busy) for reply in replies) == 28
        assert max(seen) == 1
        assert isinstance(await verifier.answer(request), LeanVerifyReply)  # there is room again


@pytest.mark.lean
async def test_a_statement_in_a_namespace_is_verified_there(verifier):
    header = "open Nat\nnamespace Foo\ndef twice (n : Nat) := n + n"
    theorem = Theorem("t", "(n : Nat)", "succ n ≠ 0 ∧ twice n = n + n", header)
    assert (await verifier.verify(theorem, "  exact ⟨nofun, rfl⟩")).accepted


@pytest.mark.lean
async def test_a_proof_at_its_place_is_verified_with_all_that_stands_around_it(verifier):
    context = Context.of("namespace A\ntheorem one : 1 = 1 := rfl\ntheorem open_one : 1 = 2 := sorry\n")
    place = Place(context, "theorem two : 1 = 1 ∧ True := by\n  constructor\n  · ", "\n  · trivial\n")
    theorem = Theorem("t", "", "?", place=place)
    verdict = await verifier.verify(theorem, "  exact one")
    assert verdict.accepted and verdict.axioms == () and verdict.rechecked
    assert not (await verifier.verify(theorem, "  exact open_one")).accepted  # it states something else


# --- one gap, while others of its command stay open -------------------------------------------------------------------

GAPS = """namespace Foo
variable (p q : Prop)
include q
theorem unproved (h : p) : q := sorry
"""


def at(command: str, *, tactic: bool = True) -> Theorem:
    """The gap at the first `?` of a command."""
    before, after = command.split("?", 1)
    return Theorem("t", "", "?", place=Place(Context.of(GAPS), before, after, tactic))


def test_only_code_is_taken_for_another_gap():
    command = 'theorem t : a ∧ b := by -- sorry\n  exact ⟨sorry, ?⟩ /- sorry -/; have sorry\' := "sorry"\n  sorry\n'
    place = at(command).place
    assert place is not None
    assumed, count = others_assumed(place)
    assert count == 2 and assumed.before.count("sorry") == 1 and assumed.after.count("sorry") == 3
    alone = at("theorem t : a := ?\n").place
    assert alone is not None and others_assumed(alone) == (alone, 0)


@pytest.mark.lean
async def test_a_gap_is_judged_by_itself_while_others_of_its_command_stay_open(verifier):
    proof = "constructor\n  · sorry\n  constructor\n  · ?\n  all_goals sorry\n"
    tactics = at(f"theorem t (h : p) : p ∧ p ∧ p := by\n  {proof}")
    right = await verifier.verify(tactics, "  exact h")
    assert right.accepted and right.axioms == ("sorryAx",) and "2 other `sorry`" in right.reason, right
    wrong = await verifier.verify(tactics, "  exact trivial")
    assert not wrong.accepted and "mismatch" in wrong.reason.lower(), wrong
    terms = at("theorem t (h : p) : p ∧ 1 = 2 ∧ p := ⟨?, sorry, h⟩\n", tactic=False)
    right = await verifier.verify(terms, "  exact h")
    assert right.accepted and "1 other `sorry` of its command is left" in right.reason, right


@pytest.mark.lean
async def test_a_proof_that_is_itself_unfinished_is_not_accepted_beside_other_gaps(verifier):
    theorem = at("theorem t (h : p) : q ∧ p := ⟨?, sorry⟩\n", tactic=False)
    for script, told in [
        ("exact @«proofmesh other gap» _", "proofmesh other gap"),
        ("exact proofmesh_other_gap", "proofmesh other gap"),
        ("sorry", "sorry"),
    ]:
        verdict = await verifier.verify(theorem, f"  {script}")
        assert not verdict.accepted and told in verdict.reason, (script, verdict)


@pytest.mark.lean
async def test_a_gap_alone_in_its_command_makes_it_a_theorem(verifier):
    verdict = await verifier.verify(at("theorem t (h : p) : p ∧ p := by\n  ?\n"), "  constructor\n  all_goals exact h")
    assert verdict.accepted and not verdict.reason and not verdict.axioms and verdict.rechecked, verdict


@pytest.mark.lean
async def test_a_theorem_above_that_is_not_proved_may_be_used_and_that_is_said(verifier):
    command = at("theorem t (h : p) : q ∧ p := ⟨?, h⟩\n", tactic=False)
    verdict = await verifier.verify(command, "  exact unproved p q h")
    assert verdict.accepted and "sorryAx" in verdict.axioms, verdict
    assert "a theorem above that is not proved yet" in verdict.reason


def test_a_proof_at_a_place_in_a_file_is_left_out_and_named():
    place = Place(NO_CONTEXT, "theorem x : True := by\n  ", "\n")
    theorems = Theorem("gap", "", "True", place=place), Theorem("t0", "", "True")
    proofs = files_of([(each, "  trivial") for each in theorems])
    assert proofs.left_out == ("gap",) and proofs.proofs == 1
    assert re.findall(r"^theorem (\S+)", proofs.texts[0], re.MULTILINE) == ["t0"]
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
