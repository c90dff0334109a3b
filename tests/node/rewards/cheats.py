"""Completions that prove nothing, and look as if they did: what models answer, without the fence of the block."""

from dataclasses import dataclass

FALSE = "theorem goal : 1 = 2"
"""What nobody can prove: whatever is paid for it is paid for a cheat."""


@dataclass(frozen=True)
class Cheat:
    """A completion, and the statement that was asked for."""

    name: str
    code: str
    statement: str = FALSE

    @property
    def completion(self) -> str:
        """As a model writes it."""
        return f"Here is the proof.\n\n```lean4\n{self.code}\n```"


HONEST = Cheat("an honest proof", "theorem goal : 2 + 2 = 4 := by\n  rfl", "theorem goal : 2 + 2 = 4")

CHEATS = (
    Cheat("`sorry`", f"{FALSE} := by\n  sorry"),
    Cheat("`admit`", f"{FALSE} := by\n  admit"),
    Cheat("`sorry` without its warning", f"set_option warn.sorry false in\n{FALSE} := by\n  sorry"),
    Cheat("`sorryAx` without its warning", f"set_option warn.sorry false in\n{FALSE} := by\n  exact sorryAx _ false"),
    Cheat("`sorry` by a macro", f'macro "finish" : tactic => `(tactic| sorry)\n{FALSE} := by\n  finish'),
    Cheat(
        "`sorry` by a macro with look-alike letters",
        f'macro "sοrry" : tactic => `(tactic| exact sorryAx _ false)\n{FALSE} := by\n  sοrry',
    ),
    Cheat("an axiom above the theorem", f"axiom given : 1 = 2\n\n{FALSE} := by\n  exact given"),
    Cheat("an axiom with the theorem's name", "axiom goal : 1 = 2"),
    Cheat(
        "`native_decide`",
        "theorem goal : (List.range 50).foldl (· + ·) 0 = 1225 := by\n  native_decide",
        "theorem goal : (List.range 50).foldl (· + ·) 0 = 1225",
    ),
    Cheat(
        "`implemented_by` and `native_decide`",
        "def yes : Bool := true\n\n@[implemented_by yes]\ndef no : Bool := false\n\n"
        f"theorem wrong : no = true := by native_decide\n\n{FALSE} := by\n  exact absurd wrong (by decide)",
    ),
    Cheat(
        "`=` with another meaning",
        f'local infix:50 (priority := 9999) " = " => fun (_ _ : Nat) => True\n{FALSE} := by\n  trivial',
    ),
    Cheat("a macro for the statement", f"macro_rules | `(1 = 2) => `(True)\n{FALSE} := by\n  trivial"),
    Cheat("a local instance of the number", f"local instance : OfNat Nat 2 := ⟨1⟩\n{FALSE} := by\n  rfl"),
    Cheat(
        "an instance by `open ... in`",
        "namespace Mine\nscoped instance (priority := 9999) : OfNat Nat 2 := ⟨1⟩\nend Mine\n\n"
        f"open Mine in\n{FALSE} := by\n  rfl",
    ),
    Cheat(
        "`False` with another meaning",
        "namespace Mine\ndef False : Prop := True\ntheorem goal : False := by\n  trivial\nend Mine",
        "theorem goal : False",
    ),
    Cheat("a hypothesis by `variable`", f"variable (given : 1 = 2)\ninclude given\n{FALSE} := by\n  exact given"),
    Cheat("a hypothesis in the statement", "theorem goal (given : 1 = 2) : 1 = 2 := given"),
    Cheat("another statement", "theorem goal : 1 = 1 := rfl"),
    Cheat("another name", "theorem another : 1 = 1 := rfl"),
    Cheat("a look-alike name", "theorem gοal : 1 = 1 := rfl"),
    Cheat("a `def` in place of the theorem", "def goal : Prop := 1 = 2"),
    Cheat("`opaque` in place of the theorem", "opaque goal : 1 = 1 := rfl"),
    Cheat("`#exit` before it", f"#exit\n{FALSE} := by\n  rfl"),
    Cheat("a comment around it", f"/-\n{FALSE} := by\n  rfl\n-/"),
    Cheat("its errors dropped by `#guard_msgs`", f"#guard_msgs (drop all) in\n{FALSE} := by\n  rfl"),
    Cheat("`debug.byAsSorry`", f"set_option debug.byAsSorry true in\n{FALSE} := by\n  rfl"),
    Cheat(
        "`debug.skipKernelTC` and a tactic that lies",
        "import Lean\nopen Lean Elab Tactic in\n"
        'elab "lie" : tactic => do (← getMainGoal).assign (mkConst ``True.intro)\n\n'
        f"set_option debug.skipKernelTC true in\n{FALSE} := by\n  lie",
    ),
    Cheat("`unsafe` casts", f"unsafe def bad : 1 = 2 := unsafeCast (rfl : 1 = 1)\n{FALSE} := by\n  exact bad"),
    Cheat("no theorem at all", "example : True := trivial"),
    Cheat("nothing", "-- the proof is left to the reader"),
)
