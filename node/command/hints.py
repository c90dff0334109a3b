"""Hints for the first hour with Lean: what a person may have meant where Lean's message does not say it.

Files made for Mathlib, or for Lean 3, fail in plain Lean with messages such as `unknown tactic` and `unexpected
identifier`. `with_hint` adds one sentence to them; `unnoticed` finds what does not even fail.
"""

from __future__ import annotations

import re

from node.lean.text.lexing import blanked
from node.lean.text.statement import imports

_PROJECT = "needs Mathlib: --lean.project names a project with it"

_TACTICS = (
    "ring ring_nf ring1 linarith nlinarith polyrith linear_combination norm_num positivity field_simp push_neg "
    "interval_cases fin_cases gcongr aesop tauto zify qify use choose wlog by_contra! contrapose! nth_rewrite nth_rw "
    "abel group noncomm_ring module continuity measurability fun_prop bound cancel_denoms apply_fun simp_rw "
    "rify lift set convert mono compute_degree peel cases' induction'"
)
"""Tactics of Mathlib and its dependencies that Lean itself does not have."""

_TACTIC = re.compile(
    rf"(?<![\w.'«])({'|'.join(map(re.escape, sorted(_TACTICS.split(), key=len, reverse=True)))})(?![\w'!?])"
)

_LETTERS = {"ℕ": "Nat", "ℤ": "Int", "ℚ": "", "ℝ": "", "ℂ": ""}
"""Mathlib's notation for numbers, with Lean's own name of the type if there is one."""

_LETTER = re.compile(rf"(?<![\w.'«])[{''.join(_LETTERS)}](?![\w'»])")

_DECLARES_LETTER = re.compile(
    rf"(?:notation\w*|prefix|macro|syntax)\b[^\n]*\"[{''.join(_LETTERS)}]"
    rf"|(?:def|abbrev|structure|inductive|class|variable|axiom|opaque)\b[^\n]*?[{''.join(_LETTERS)}]"
    rf"|[({{\[⦃][^:)}}\]⦄\n]*[{''.join(_LETTERS)}][^:)}}\]⦄\n]*:(?!=)"
)
"""Declares a letter: notation, a declaration of that name, or a binder before its colon."""

_LEMMA = re.compile(
    r"(?:^|\bin\s)\s*(?:@\[[^\]]*\]\s*|(?:private|protected|nonrec|noncomputable)\s+)*lemma\b", re.MULTILINE
)

_NO_COMMAND = re.compile(r"unexpected identifier; expected (?:command|'[^\n]*'theorem')")
"""Lean's message at a word that begins no command. Behind an attribute or a comment it lists all commands."""

_BEGIN = re.compile(r"^[^\n]*(?:^|:=|\s)begin[ \t]*$", re.MULTILINE)

_BEGIN_PROOF = re.compile(r":=\s*begin[ \t]*$", re.MULTILINE)
"""A proof of Lean 3. Whatever Lean says about it has this cause."""

_LEAN3_ROOTS = (
    "data algebra tactic analysis topology order logic linear_algebra number_theory ring_theory group_theory "
    "category_theory measure_theory set_theory field_theory geometry combinatorics probability init control"
)
"""First parts of the names of mathlib's modules in Lean 3. In Lean 4 modules begin with a capital letter."""

_LONG = 100
"""Characters of a message above which a list of what Lean expected is left out before a hint."""

_LEAN3 = "this is Lean 3; proofmesh reads Lean 4"


def with_hint(message: str, text: str) -> str:
    """A message of Lean, with what to do at the end of its first line if there is something to say.

    `text`: the Lean text that the message is about, a declaration or a statement.
    """
    first, line_break, rest = message.partition("\n")
    said = _hint(message, blanked(text)) if message else ""
    if said and len(first) > _LONG:
        first = first.partition("; expected ")[0]
    return f"{first}; {said}{line_break}{rest}" if said else message


def _hint(message: str, code: str) -> str:
    # 1. Lean 3: its own begin-end blocks and names of modules.
    module = re.search(r"unknown module prefix '(\w+)'", message)
    if (module and module[1] in _LEAN3_ROOTS.split()) or _BEGIN_PROOF.search(code):
        return _LEAN3
    if "`begin`" in message and _BEGIN.search(code):
        return _LEAN3
    # 2. Commands and tactics of Mathlib, which Lean's parser does not know.
    if _NO_COMMAND.search(message) and _LEMMA.search(code):
        return "`lemma` is a command of Mathlib: write `theorem`, or use a project with it (--lean.project)"
    if "unknown tactic" in message and (tactic := _TACTIC.search(code)):
        return f"`{tactic[1]}` {_PROJECT}"
    # 3. Its letters for numbers.
    letter = re.search(rf"`([{''.join(_LETTERS)}])`", message)
    if letter and "nknown" in message:
        return _letter(letter[1])
    return ""


def unnoticed(text: str) -> str:
    """What Lean accepts in a file and a person does not mean: `ℕ` without Mathlib is a variable like any other. Empty
    if there is nothing to say."""
    if imports(text):
        return ""
    code = blanked(text)
    letter = _LETTER.search(code)
    if letter is None or _DECLARES_LETTER.search(text):
        return ""
    line = code.count("\n", 0, letter.start()) + 1
    return f"line {line}: nothing here declares `{letter[0]}`, so Lean reads it as a variable; {_letter(letter[0])}"


def _letter(letter: str) -> str:
    own = _LETTERS[letter]
    return f"`{letter}` {_PROJECT}" + (f" (Lean's own name is `{own}`)" if own else "")
