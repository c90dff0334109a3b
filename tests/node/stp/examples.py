"""Small statements, proofs and conjectures for tests of self-play."""

from common.lean import Theorem
from node.stp.records import Attempted, Conjecture, Fate, Lemma, Output, Proof, Seed

COMM = Lemma("Nat.add_comm", "theorem Nat.add_comm (n m : Nat) : n + m = m + n")
EASY = Theorem("easy", "(a b : Nat)", "a + b = b + a")


def output(text: str, *, complete: bool = True) -> Output:
    return Output(text, complete, tokens=0)


def seed_of(lemma: Lemma = COMM, theorem: Theorem = EASY) -> Seed:
    return Seed(theorem, "rw [Nat.add_comm]", lemma)


def conjecture_of(number: int, lemma: Lemma = COMM) -> Conjecture:
    theorem = Theorem(f"conjecture_1_{number}", "(n : Nat)", f"n + {number:03d} = {number:03d} + n")
    return Conjecture(theorem.name, 1, seed_of(lemma), theorem.signature, Fate.PROVED, theorem)


def proof_of(name: str, length: int, lemmas: tuple[str, ...] = (COMM.name,), seconds: float = 0.0) -> Proof:
    """A proof of so many characters."""
    return Proof(name, "x" * length, seconds, lemmas)


def attempted_of(
    name: str, correct: int, samples: int = 32, lengths: tuple[int, ...] = (20,), lemmas: tuple[str, ...] = (COMM.name,)
) -> Attempted:
    return Attempted(name, samples, correct, tuple(proof_of(name, length, lemmas) for length in lengths))


HEADER = "import Mathlib\nimport Aesop\nset_option maxHeartbeats 400000\nopen BigOperators Real Nat Topology Rat"

ASK = f"Complete the following Lean 4 code:\n\n```lean4\n{HEADER}\n\n"

CONTEXT = "Complete the following Lean 4 code:\n\n```lean4\nimport Mathlib.Init\n\nnamespace Foo\nvariable (n : ℕ)\n\n"

GENERATED = {
    "prompt": f"{ASK}theorem lean_workbook_1 (a b : ℝ) (h : a < b) : a ≤ b := by",
    "target": "\n  have := h\n  exact le_of_lt this\n",
    "iteration": 3,
    "tag": "['statement']",
}

MATHLIB = {"prompt": CONTEXT, "target": "@[simp] theorem one (h : n = 1) : 1 = n := by\n  exact h.symm\n"}

CONJECTURER = {
    "prompt": f"{ASK}<lemma>\nlemma sq_nonneg (a : α) : 0 ≤ a ^ 2\n<easy theorem>\n"
    "theorem x (a : ℝ) : 0 ≤ a ^ 2 := by\n  exact sq_nonneg a\n<hard theorem>",
    "target": "\ntheorem y (a b : ℝ) : 0 ≤ a ^ 2 + b ^ 2 := by\n</hard theorem>",
}
