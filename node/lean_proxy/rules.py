"""Text rules: what a model's tactic or a proof may not say, whatever Lean would make of it. Pure.

They are no proof of soundness (that is `verification`'s: fresh processes, the statement apart, the axioms). They keep
away what could change the environment, switch checks off, search libraries, or end the tactic block.
"""

from __future__ import annotations

import re
import unicodedata

from node.lean_proxy.lexing import Lexed, lex

MAX_TACTIC_BYTES = 8 * 1024
"""A tactic is a line or a few; the longest of Mathlib's are about 4 KB."""

MAX_PROOF_BYTES = 128 * 1024
"""A proof travels in one message of at most 512 KiB, with its statement."""

_COMMANDS = """
axiom macro macro_rules elab elab_rules syntax notation notation3 infix infixl infixr prefix postfix declare_syntax_cat
attribute import theorem lemma def example abbrev opaque inductive coinductive structure instance namespace section
variable universe export deriving initialize builtin_initialize register_option run_cmd run_elab run_meta noncomputable
unsafe partial mutual end local scoped private protected public meta compile_inductive add_decl_doc open set_option
binder_predicate simproc dsimproc unif_hint erase_aux_discrs include omit module prelude
"""

_REASONS = {
    "a command, an attribute or an option has no place in a tactic": _COMMANDS,
    "it leaves the goal without a proof": "sorry admit stop sorryAx lcProof lcUnreachable lcAny",
    "it trusts the compiler": """
        native_decide native ofReduceBool reduceBool ofReduceNat reduceNat trustCompiler
    """,
    "it runs code while Lean elaborates": """
        run_tac by_elab eval% include_str dbg_trace dbg_sleep dbg_stack_trace sleep unsafeCast unsafeIO
        implemented_by extern csimp IO
    """,
    "it searches the library": "library_search suggest hint polyrith says",
}

_FORBIDDEN = {word: reason for reason, words in _REASONS.items() for word in words.split()}

_SEARCHING = """
exact apply rw simp simp_all simp_arith simpa dsimp aesop grind try decide omega rfl norm_num observe show_term
solve_by_elim rw_search canonical duper hammer auto assumption positivity linarith
"""
"""Tactics that search or suggest when a question mark stands behind them."""

_WORDS = re.compile(r"[^\W\d][\w']*[?%!]*")
_SUGGESTION = re.compile(r"\b(?:" + "|".join(_SEARCHING.split()) + r")\s?\?(?![\w?])")
_COMMAND_SIGN = re.compile(r"#[^\W\d]")

_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁһոցԛԝмткᴀᴄᴅᴇᴏɑıοαεινκρτυχѵ",
    "aeopcyxijsdhngqwmtkacdeoaioaeivkptuxv",
)
"""Cyrillic, Greek and phonetic letters that look like Latin ones: `ѕоrry` is not `sorry` to Lean, but to a reader."""


def tactic_problem(tactic: str) -> str:
    """Why a candidate tactic is refused; empty when it is not. Comments are refused too: a policy needs none."""
    if not tactic.strip():
        return "an empty tactic"
    problem = _characters(tactic, MAX_TACTIC_BYTES, "a tactic")
    if problem:
        return problem
    if tactic[0].isspace():
        return "a tactic begins in its first column: no white space or empty line before it"
    lexed = lex(tactic)
    if lexed.comments:
        return "comments have no place in a tactic"
    return "" if lexed.problem else _words(lexed)


def proof_problem(script: str) -> str:
    """Why the text of a proof (the tactic block behind `:= by`) is refused; empty when it is not."""
    if not script.strip():
        return "an empty proof"
    problem = _characters(script, MAX_PROOF_BYTES, "a proof")
    if problem:
        return problem
    lexed = lex(script)
    return f"the proof is not closed in itself: {lexed.problem}" if lexed.problem else _words(lexed)


def statement_problem(binders: str, conclusion: str) -> str:
    """Why the text of a statement is refused; empty when it is not. It must be binders and one term."""
    for name, text in (("the binders", binders), ("the conclusion", conclusion)):
        problem = _characters(text, MAX_PROOF_BYTES, "a statement") if text else ""
        lexed = lex(text)
        if problem or lexed.problem:
            return f"{name}: {problem or lexed.problem}"
        if lexed.comments:
            return f"{name}: comments have no place in a statement"
        words = [word for word in _WORDS.findall(lexed.code) if word in _STATEMENT_WORDS]
        if words:
            return f"{name}: `{words[0]}` has no place in a statement"
    outside = _outside_brackets(lex(binders).code)
    if not re.fullmatch(r"[\w\s'✝.«»_]*", outside):
        return f"the binders hold more than binders: {outside.strip()[:60]!r}"
    return ""


_STATEMENT_WORDS = set(_COMMANDS.split()) | {"sorry", "admit", "sorryAx", "by_elab", "run_tac", "native_decide"}


def _outside_brackets(code: str) -> str:
    """What stands outside all brackets."""
    depth, kept = 0, []
    for char in code:
        if char in "([{⦃⟨":
            depth += 1
        elif char in ")]}⦄⟩":
            depth -= 1
        elif depth == 0:
            kept.append(char)
    return "".join(kept)


def _characters(text: str, most: int, what: str) -> str:
    size = len(text.encode("utf-8", errors="surrogatepass"))
    if size > most:
        return f"{what} of {size} bytes; at most {most} are allowed"
    for position, char in enumerate(text):
        if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            return f"the character U+{ord(char):04X} at position {position} cannot be seen, and is not allowed"
    return ""


def _words(lexed: Lexed) -> str:
    """Forbidden words in code, also where they only look like them."""
    plain = lexed.code.replace("«", " ").replace("»", " ")
    for text, look in ((plain, ""), (_folded(plain), " (by its look)")):
        for word in _WORDS.findall(text):
            for part in word.split("."):
                reason = _FORBIDDEN.get(part) or _FORBIDDEN.get(part.rstrip("?!"))
                if reason:
                    return f"`{part}`{look} is not allowed: {reason}"
        found = _SUGGESTION.search(text)
        if found:
            return f"`{found.group()}`{look} is not allowed: it searches the library"
    if found := _COMMAND_SIGN.search(plain):
        return f"`{found.group()}...` is not allowed: a command has no place in a tactic"
    if "@[" in plain:
        return "`@[` is not allowed: an attribute has no place in a tactic"
    return "`proofmesh` names are the prover's own" if "proofmesh copy" in plain else ""


def _folded(text: str) -> str:
    """The text as it looks: compatibility forms and look-alike letters as plain letters."""
    return unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKES)
