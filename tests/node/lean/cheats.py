"""Ways to have something accepted that is not proved, by what they try; and what each is refused with.

Each proof stands for `AND` or for `FALSE` (which no proof has); the second text is part of the reason.
"""

from common.lean import Theorem

AND = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")
FALSE = Theorem("t", "", "1 = 2")

OFF = "set_option debug.skipKernelTC true in decide +kernel"
"""Proves everything that is decidable, true or not, where it is let in: the kernel looks away."""

HIDDEN = "belongs to a string that is not plain"
COMMAND = "an option has no place in a tactic"

BY_TEXT = {
    "to leave it out, to declare or to switch something, to run code, to search": [
        ("intro h\nexact «sorryAx» _ true", "`sorryAx`"),
        ("let rec f : q ∧ p := sorry\nexact fun _ => f", "`sorry`"),
        ("exact @lcUnreachable _", "`lcUnreachable`"),
        ("", "empty"),
        ("-- exact fun h => ⟨h.2, h.1⟩", "nothing but comments"),
        ("/- trust me -/", "nothing but comments"),
        ("intro h\nexact ⟨h.2, h.1⟩\naxiom bad : False", "`axiom`"),
        ('skip\nscoped infixl:65 " + " => fun _ _ => 0', "`scoped`"),
        ("let rec @[implemented_by f] f : Nat := 0\nrfl", "not allowed"),
        (OFF, COMMAND),
        ("exact (set_option debug.byAsSorry true in by skip)", COMMAND),
        ("exact (open Classical in Nat.noConfusion)", "`open`"),
        ("skip\n#print axioms t", "a command has no place"),
        ("simp (config := unsafeIO (pure {}))", "`unsafeIO`"),
        ("exact dbgSleep 1000 fun _ => rfl", "`dbgSleep`"),
        ("bv_decide", "`bv_decide`"),
        ("apply ?", "searches the library"),
        ("rw??", "`rw??`"),
        ("polyrith", "`polyrith`"),
        ("solve_by_elim", "starts a proof search"),
        ("symm_saturate", "starts a proof search"),
    ],
    "to hide it from the rules": [
        ("intro h\nexact ⟨h.2, h.1⟩)\ninductive X : Prop where (x : X", "closes what was not opened"),
        ("rfl)\nwhere x := (1", "closes what was not opened"),
        ("intro h /- never closed", "never closed"),
        ("intro h\nexact ⟨h.2, h.1⟩ -/ sorry /-", "comment"),
        ("skip /- a /- b -/ -/ sorry", "`sorry`"),
        ("intro h\nexact ⟨h.2, h.1⟩\x00", "cannot be seen"),
        ("intro h\nexact ⟨h.2, h.1⟩\u202e", "cannot be seen"),
        ("ѕоrry", "(in look-alike letters)"),
        ("intro h\nехаct?", "(in look-alike letters)"),
        ("skip " * 40_000, "at most"),
        # Strings and characters of which Lean sees another end than a careless reader.
        (f'try exact r"\\"\n{OFF}\ntry exact r"\\"\ntry exact \'"\'', HIDDEN),
        (f"try exact !'\"'\n{OFF}\ntry exact !'\"'", HIDDEN),
        (f"try exact λ'\"' => 1\n{OFF}\ntry exact λ'\"' => 1", HIDDEN),
        (f'exact absurd s!"{{by {OFF}}}" id', HIDDEN),
        (f'try exact "\\\n"\n{OFF}\ntry exact ""', "`set_option`"),
        (f"try exact !'«' \" » -- \"; {OFF}", "is a name with characters"),
        (f"try exact !'(' \n{OFF} )", "`set_option`"),
        ("try exact !'('\nrfl)\nwhere x := ')'", "may be a bracket or a character"),
    ],
}
"""What the text rules refuse, without Lean: so a cheat here may be one in another toolchain only. More forbidden words
are in `text/test_rules.py`."""

BY_LEAN = {
    "goals that are hidden or left": [
        (AND, "intro h\nconstructor\n· exact h.2\n· skip", "unsolved goals"),
        (AND, "intro h\nconstructor\ncase left => exact h.2", "unsolved goals"),
        (AND, "intro h\ncases h with\n| intro a b => skip", "unsolved goals"),
        (AND, "intro h\nrefine ⟨?_, ?_⟩\nrotate_left\nexact h.1", "unsolved goals"),
        (FALSE, "all_goals try simp", "unsolved goals"),
        (FALSE, "first | decide | skip", "unsolved goals"),
        (FALSE, "repeat rfl", "unsolved goals"),
        (FALSE, "refine absurd ?x ?y", "don't know how to synthesize"),
        (FALSE, "exact ?x", "don't know how to synthesize"),
        (FALSE, "have h : 1 = 2 := ?h\nexact h", "unsolved goals"),
        (FALSE, "suffices h : False from h.elim\nskip", "unsolved goals"),
        (FALSE, "have : False := by\n  all_goals skip\ncontradiction", "unsolved goals"),
        (FALSE, "rw [show (1 : Nat) = 2 by skip]", "unsolved goals"),
        (FALSE, "calc 1 = 1 := rfl\n  _ = 2 := ?_", "unsolved goals"),
        (FALSE, "exact (1 : Nat).rec (motive := fun _ => 1 = 2) (by skip) (fun _ h => h)", "unsolved goals"),
    ],
    "itself as its own proof": [
        (AND, "intro h\nexact t p q h", "termination"),
        (FALSE, "exact ProofmeshProof.t", "termination"),
        (FALSE, "let rec f : 1 = 2 := f\nexact f", "termination"),
        (FALSE, "let rec f (n : Nat) : 1 = 2 := f (n + 1)\ntermination_by 0\nexact f 0", "Lean rejects the proof"),
        (AND, "let rec f : Nat → False := fun n => f n\nexact (f 0).elim", "termination"),
        (AND, "intro h\nexact ⟨h.2, h.1⟩\ntermination_by 1", "unexpected token"),
        (FALSE, "decreasing_by skip", "unexpected token"),
        (AND, "exact fun h => ⟨h.2, h.1⟩\n  where x := 1", "unexpected token"),
    ],
    "the proofs beside it": [
        (FALSE, script, "Lean rejects the proof")
        for script in ("exact t", "exact _root_.ProofmeshProof.t", "assumption", "simp", "decide")
    ],
    "another meaning, inside of the proof": [
        (FALSE, "letI : OfNat Nat 1 := ⟨2⟩\nexact (rfl : (1 : Nat) = 2)", "ype mismatch"),
        (FALSE, "letI : OfNat Nat 2 := ⟨1⟩\nrfl", "not definitionally equal"),
        (FALSE, "haveI : Decidable (1 = 2) := .isTrue rfl\ndecide", "ype mismatch"),
        (FALSE, "let x := 2\nshow 1 = x\nrfl", "not definitionally equal"),
        (FALSE, "exact (fun (Nat : Type) => rfl) Nat", "ype mismatch"),
        (FALSE, "show 1 = 1\nrfl", "not definitionally equal"),
        (FALSE, "conv => change 2 = 2", "not definitionally equal"),
        (FALSE, "let rec _root_.Nat.add : Nat := 0\nrfl", "Lean rejects the proof"),
        (FALSE, "let rec «_root_.ProofmeshStatement» : Nat := 0\nrfl", "Lean rejects the proof"),
        (AND, "exact (fun h => ⟨h.2, h.1⟩ : q ∧ p → p ∧ q)", "ype mismatch"),
        (AND, "intro h\nexact ⟨h.1, h.2⟩", "Lean rejects the proof at line 2"),
        (AND, "intro h\nexact @proofmesh_nothing p q h", "Unknown identifier"),
        (FALSE, "decide +kernel", "is false"),
        (Theorem("t", "", '"a" = "b"'), "rfl", "not definitionally equal"),
    ],
}
"""What Lean itself refuses."""
