"""`leantree`, the package from the registry, over our REPL: its own adapter, proof branches, loader and data classes.

Needs Python 3.12 or later, and the package, which does not install by itself (README.md says how).
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.data.rows import steps_of
from node.data.tables import open_source, parse
from tests.node.lean.adapters.repl.stand_ins import install

if sys.version_info < (3, 12):
    pytest.skip("leantree needs Python 3.12 or later", allow_module_level=True)
pytest.importorskip("leantree", reason="leantree is not installed: README.md says how")

from leantree import LeanProject, StoredError
from leantree.repl_adapter.interaction import LeanProofBranch, LeanServer

pytestmark = pytest.mark.process

FILE = """def k := 2

-- swaps
theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by
  cases h with
  | intro a b =>
    constructor
    · exact b
    · exact a

theorem zero (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [← Nat.add_assoc,
      ih]

theorem pair (p q : Prop) (hp : p) (hq : q) : p ∧ q :=
  ⟨by exact hp, by have h : q := by exact hq
                   exact h⟩

theorem left (p : Prop) : p := by
  sorry
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stand-in")
    install(folder, "--leantree")
    return folder


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LeanServer]:
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")  # it runs `lake env`
    with LeanServer(folder / ".lake" / "build" / "bin" / "repl", folder) as server:
        yield server


def conclusions(branches: list[LeanProofBranch]) -> list[list[str]]:
    return [[goal.type for goal in branch.state.goals] for branch in branches]


def test_independent_goals_are_branches_of_their_own(server):
    root = server.proof_from_sorry("theorem t (p q : Prop) (h : p ∧ q) : q ∧ p ∧ q := by sorry")
    assert str(root.state) == "p : Prop\nq : Prop\nh : p ∧ q\n⊢ q ∧ p ∧ q"
    branches = root.apply_tactic("refine ⟨?_, ?_, ?_⟩")
    assert conclusions(branches) == [["q"], ["p"], ["q"]]
    assert [branch.apply_tactic(f"exact h.{side}") for branch, side in zip(branches, "212", strict=True)] == [[]] * 3


def test_its_loader_builds_trees_that_training_reads(server, folder, tmp_path):
    file = tmp_path / "Some.lean"
    file.write_text(FILE, encoding="utf-8")
    loaded = LeanProject(folder, repl_path=server.repl_exe).load_file(file, use_cache=False)
    trees = [block.tree for theorem in loaded.theorems for block in theorem.by_blocks]
    assert len(trees) == 4 and not any(isinstance(tree, StoredError) for tree in trees)
    assert all(tree.is_solved() for tree in trees)
    written = tmp_path / "leantree.json"
    written.write_text(json.dumps(loaded.serialize(), indent=None), encoding="utf-8")
    source = open_source(parse(f"transitions:{written}"), streaming=False, cache=str(tmp_path / "cache"))
    steps = [step for row in source.once(100) for step in steps_of(row)]
    tactics = {step.transition.tactic: (step.transition.state, step.transition.remaining_steps) for step in steps}
    assert tactics["constructor"] == ("p q : Prop\na : p\nb : q\n⊢ q ∧ p", 2)
    assert tactics["rw [ih]"] == ("n : Nat\nih : 0 + n = n\n⊢ 0 + n + 1 = n + 1", 1)
    assert tactics["exact hp"] == ("p q : Prop\nhp : p\nhq : q\n⊢ p", 1)
