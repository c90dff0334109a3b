"""LeanDojo's and LeanTree's schemas, read back with the types that their own code gives them; and printed info trees
that pocket Lean does not produce."""

import json

import msgspec

from node.bank.bank import BankTransition
from node.lean.trace.formats import dojo_corpus, dojo_order, dojo_theorem, leantree_file, progress_rows, transition_rows
from node.lean.trace.infotree import LeanSource, parse
from node.lean.trace.splitting import SPLIT, Splitter
from node.lean.trace.tree import root as root_of
from tests.node.lean.trace.conftest import EXAMPLES


def record(name, *fields):
    """A struct with these fields and no others."""
    return msgspec.defstruct(name, [*fields], forbid_unknown_fields=True)


Pair = tuple[int, int]
PLACE = ("start", Pair), ("end", Pair)
Provenance = record(*("Provenance", ("full_name", str), ("def_path", str), ("def_pos", Pair), ("def_end_pos", Pair)))
DojoTactic = record(
    *("DojoTactic", ("tactic", str), ("annotated_tactic", tuple[str, list[Provenance]])),
    *(("state_before", str), ("state_after", str)),
)
DojoTheorem = record(
    *("DojoTheorem", ("url", str), ("commit", str), ("file_path", str), ("full_name", str), ("theorem_statement", str)),
    *(*PLACE, ("traced_tactics", list[DojoTactic])),
)
DojoPremise = record("DojoPremise", ("full_name", str), ("code", str), *PLACE, ("kind", str))
DojoCorpus = record("DojoCorpus", ("path", str), ("imports", list[str]), ("premises", list[DojoPremise]))
Span = record("Span", ("start", int), ("finish", int))
Hypothesis = record("Hypothesis", ("type", str), ("user_name", str), ("value", str | None, None))
Goal = record("Goal", ("type", str), ("hypotheses", list[Hypothesis]), ("tag", str | None, None))
State = record("State", ("goals", list[Goal]))
Edge = record(
    *("Edge", ("tactic_string", str), ("span", Span | None), ("parent", str), ("children", list[str])),
    ("tactic_depends_on", list[str] | None),
)
TreeNode = record(
    *("TreeNode", ("id", str), ("state", State), ("tactic", Edge), ("proof_size", int), ("proof_depth", int))
)


def as_type(value, kind):
    return msgspec.convert(json.loads(json.dumps(value)), kind)


def test_every_theorem_fits_leandojos_schema(traced):
    known = {each.full_name: (traced.path, each) for each in traced.declared}
    good = [theorem for theorem in traced.theorems if not theorem.error and theorem.name]
    found = {theorem.name: as_type(dojo_theorem(traced, theorem, known), DojoTheorem) for theorem in good}
    pair = found["pair"]
    assert (pair.start, pair.end) == ((1, 1), (4, 15)) and pair.file_path == "examples.lean"
    assert pair.traced_tactics[0].state_after.split("\n\n")[1].startswith("case right\n")
    assert pair.traced_tactics[-1].state_after == "no goals"


def test_the_corpus_has_every_declaration(traced):
    corpus = as_type(dojo_corpus(traced), DojoCorpus)
    assert {"pair", "Inner.fact", "wrong"} <= {premise.full_name for premise in corpus.premises}
    assert next(each for each in corpus.premises if each.full_name == "Inner.fact").code.startswith("theorem fact :")


def test_the_corpus_names_what_is_imported_before_what_imports_it():
    def line(path, *imports):
        return {"path": path, "imports": list(imports), "premises": [{"full_name": path}]}

    lines = line("A.lean", "C.lean", "Mathlib/X.lean"), line("B.lean"), line("C.lean")
    found = dojo_order({each["path"]: each for each in lines})
    paths = [each["path"] for each in found]
    assert sorted(paths) == ["A.lean", "B.lean", "C.lean", "Mathlib/X.lean"]
    assert paths.index("A.lean") > max(paths.index("C.lean"), paths.index("Mathlib/X.lean"))
    assert [each["path"] for each in found if not each["premises"]] == ["Mathlib/X.lean"]
    loop = {"A.lean": line("A.lean", "B.lean"), "B.lean": line("B.lean", "A.lean")}
    assert dojo_order(loop) == list(loop.values())


def test_every_block_fits_leantrees_schema_with_sizes_and_depths(traced):
    text = EXAMPLES.read_text(encoding="utf-8")
    file = leantree_file(traced, text)
    assert set(file) == {"path", "imports", "theorems"}
    blocks = [block for theorem in file["theorems"] for block in theorem.get("by_blocks", ())]
    assert len(blocks) >= 17
    for block in blocks:
        nodes = {node.id: node for node in as_type(block["tree"]["nodes"], list[TreeNode])}
        root = nodes[block["tree"]["root_id"]]
        assert root.proof_size == len(nodes)
        for node in nodes.values():
            children = [nodes[child] for child in node.tactic.children]
            assert node.proof_size == 1 + sum(child.proof_size for child in children)
            assert node.proof_depth == 1 + max([child.proof_depth for child in children], default=0)
    errors = [theorem["error"] for theorem in file["theorems"] if "error" in theorem]
    assert len(errors) == 2 and "it uses `sorry`" in errors


def test_transitions_are_the_banks(traced):
    rows = [as_type(row, BankTransition) for row in transition_rows(traced)]
    assert BankTransition("pair", 2, "examples.lean", "p q : Prop\nhp : p\nhq : q\n⊢ p", "exact hp", 1) in rows


def test_progress_counts_the_steps_after_a_tactic_and_tells_those_before_it(traced):
    rows = [row for row in progress_rows(traced) if row["theorem"] == "examples.lean:pair"]
    assert {"goal", "prefix", "tactic", "steps_remaining"} <= set(rows[0])  # what LeanDojo-v2's ProgressTrainer reads
    assert rows[0]["prefix"] == "" and rows[0]["steps_remaining"] >= 1
    last = next(row for row in rows if row["tactic"] == "exact hp")
    assert last["steps_remaining"] == 0 and last["prefix"].split("\n")[0] == rows[0]["tactic"]


SCALED = """
  • [Tactic] @ ⟨1, 0⟩-⟨1, 4⟩ @ Lean.Elab.Tactic.evalSimp
    (Tactic.simp "simp")
    before 
    a : M
    ⊢ c
      • [1, 2] = a
    after no goals
    • [Term] a : M @ ⟨1, 2⟩-⟨1, 3⟩
"""  # noqa: W291 - as Lean prints it


def test_a_scalar_product_at_the_begin_of_a_line_is_no_node():
    [root] = parse(SCALED)
    assert root.tactic is not None
    assert root.tactic.before == ("a : M\n⊢ c • [1, 2] = a",) and root.tactic.after == ()
    assert [child.name.name for child in root.children if child.name] == ["a"]


# `simp_rw` is Mathlib's, and pocket Lean has no Mathlib: this tree is written by hand after the one of `rw`, from which
# Mathlib takes the function that records the rules.
SIMP_RW = """
  • [Tactic] @ ⟨1, 0⟩-⟨1, 26⟩ @ Mathlib.Tactic.evalSimpRw
    (Mathlib.Tactic.tacticSimp_rw___ "simp_rw" [])
    before 
    ⊢ P a
    after 
    ⊢ P c
    • [Tactic] @ ⟨1, 9⟩-⟨1, 11⟩ @ Mathlib.Tactic.evalSimpRw
      [(Tactic.rwRule [] `h1) ","]
      before 
      ⊢ P a
      after 
      ⊢ P b
    • [Tactic] @ ⟨1, 13⟩-⟨1, 20⟩ @ Mathlib.Tactic.evalSimpRw
      [(Tactic.rwRule ["←"] `foo) <missing>]
      before 
      ⊢ P b
      after 
      ⊢ P c
"""  # noqa: W291


def test_simp_rw_lists_become_single_simp_only_steps():
    source = LeanSource("simp_rw [h1, ← foo a] at h")
    [root] = parse(SIMP_RW)
    assert root.tactic is not None
    splitter = Splitter(source, {}, SPLIT[0])
    slot, opened = root_of(root.tactic.before)
    left = splitter.one(root.tactic, opened)
    assert [goal.text for goal in left] == ["⊢ P c"]
    first = slot.node
    assert first is not None and first.item.tactic == "simp only [h1] at h"
    second = first.children[0].node
    assert second is not None and second.item.tactic == "simp only [← foo a] at h" and second.after == ("⊢ P c",)
