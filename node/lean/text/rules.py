"""Text rules: refuse tactics, proofs, statements and headers with forbidden content before Lean sees them. Pure.

They refuse text that could change the environment, switch off checks, search libraries, or end the tactic block. The
soundness of a proof does not rest on them but on `node.lean.check.verify` (fresh processes, the statement compiled
separately, the axioms listed).
"""

from __future__ import annotations

import re
import unicodedata

from common.lean import TacticRule
from node.lean.text.allowed import refusal
from node.lean.text.lexing import NO_NAME, WORD, Lexed, ambiguity, folded, glued_number, lex, tokens_of, words_in

MAX_TACTIC_BYTES = 8 * 1024
"""Size limit of a tactic. Most have one or a few lines; Mathlib's longest have about 4 KB."""

MAX_PROOF_BYTES = 128 * 1024
"""Size limit of a proof. It is sent with its statement in one message of at most 512 KiB."""

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
        native_decide native ofReduceBool reduceBool ofReduceNat reduceNat trustCompiler bv_decide bv_check
    """,
    "it runs code while Lean elaborates": """
        by_elab eval% evalExpr include_str include_bytes sleep sleep_heartbeats
        implemented_by extern csimp IO BaseIO EIO
    """,
    "it searches the library": "library_search suggest hint polyrith says observe propose",
    "it starts a proof search": "solve_by_elim apply_assumption apply_rules symm_saturate slim_check plausible",
}

_TACTICS_ONLY = {"it searches the library", "it starts a proof search"}
"""Reasons whose words are forbidden only as tactics. Lean reserves none of them: a hypothesis may be called `hint`."""

_FORBIDDEN = {word: reason for reason, words in _REASONS.items() for word in words.split()}

_BEGINNINGS = {
    "it runs code while Lean elaborates": re.compile(r"run_\w+|unsafe\w*|dbg\w+"),
    "it trusts the compiler": re.compile(r"native_\w+|(?:of)?[rR]educe(?:Bool|Nat)\w*"),
}
"""Patterns for families of names, by the reason to forbid them. Mathlib has `run_tacq` and Lean has `unsafeBaseIO`; new
versions may add more."""

_SEARCHING = """
exact apply rw rewrite simp simp_all simp_arith simpa dsimp aesop grind try decide omega rfl norm_num observe show_term
solve_by_elim rw_search canonical duper hammer auto assumption positivity linarith refine have conv calc congr gcongr
unfold intro intros fun_prop bound nlinarith tauto
"""
"""Tactics that search or suggest if a question mark follows them."""

_LAST_WORD = re.compile(r"(?<![\w'.])([^\W\d][\w']*)[?!]*$")
_BEFORE_TACTICS = """
by try repeat repeat' repeat1' all_goals all_goals' any_goals any_goals' focus first on_goal fail_if_success
success_if_fail solve iterate do then else swap_goals pick_goal work_on_goal case case' next
"""
_TAKES_TACTIC = frozenset(_BEFORE_TACTICS.split())
"""Words with a tactic behind them."""
_SUGGESTION = re.compile(rf"(?:\b|(?<={NO_NAME}))(?:" + "|".join(_SEARCHING.split()) + r")\s?\?+(?!\w)")
_COMMAND_SIGN = re.compile(r"#[^\W\d]")


def tactic_problem(tactic: str, rule: TacticRule | None = None) -> str:
    """Why a candidate tactic is refused; empty if it is not. Comments are refused too, because a policy needs none.

    `rule`: the tactics that the theorem's proof may have.
    """
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
    return "" if lexed.problem else _words(lexed) or ambiguity(lexed.bare) or _against(rule, lexed)


def proof_problem(script: str, rule: TacticRule | None = None) -> str:
    """Why the text of a proof (the tactic block behind `:= by`) is refused; empty if it is not.

    The rules check the text without its comments (`Lexed.bare`), so only that text may be sent to Lean. `rule`:
    the tactics that the proof may have.
    """
    if not script.strip():
        return "an empty proof"
    problem = _characters(script, MAX_PROOF_BYTES, "a proof")
    if problem:
        return problem
    lexed = lex(script)
    if lexed.problem:
        return f"the proof has an unmatched bracket, quote or comment: {lexed.problem}"
    if not lexed.bare.strip():
        return "an empty proof: nothing but comments"
    return _words(lexed) or ambiguity(lexed.bare) or _against(rule, lexed)


def names_problem(script: str) -> str:
    """Why the text of a proof would add names to the file in which it stands; empty if it adds none. `let rec` and
    `where` declare functions that statements below may read in place of others."""
    before = ""
    for token in tokens_of(lex(script).bare).tokens:
        if token.text == "where" or (token.text == "rec" and before == "let"):
            return f"`{token.text}` is not allowed here: it declares a name, which statements below could read"
        before = token.text
    return ""


def _against(rule: TacticRule | None, lexed: Lexed) -> str:
    """Why a rule of the bank, or of who asked, refuses a text; empty if it does not."""
    problem = refusal(lexed.bare, rule) if rule is not None else ""
    return f"the tactic rule: {problem}" if problem else ""


def statement_problem(binders: str, conclusion: str) -> str:
    """Why the text of a statement is refused; empty if it is not. It must be binders and one term."""
    for name, text in (("the binders", binders), ("the conclusion", conclusion)):
        problem = _characters(text, MAX_PROOF_BYTES, "a statement") if text else ""
        lexed = lex(text)
        if problem or lexed.problem:
            return f"{name}: {problem or lexed.problem}"
        if lexed.comments:
            return f"{name}: comments have no place in a statement"
        words = (match.group() for match in words_in(lexed.code.replace("«", " ").replace("»", " ")))
        refused = (word for word in words if word in _STATEMENT_WORDS or _reason(word) in _STATEMENT_REASONS)
        if word := next(refused, ""):
            return f"{name}: `{word}` has no place in a statement"
        if "@[" in lexed.code:  # of a `let rec`: a parser, say, that stays for the next statement of a batch
            return f"{name}: an attribute has no place in a statement"
        if problem := ambiguity(lexed.bare):
            return f"{name}: {problem}"
    outside = _outside_brackets(lex(binders).code)
    if not re.fullmatch(r"[\w\s'✝.«»_]*", outside):
        return f"the binders contain more than binders: {outside.strip()[:60]!r}"
    return ""


_CHECKS_OFF = re.compile(
    r"(?:debug|bootstrap|compiler|internal|interpreter)\..*|.*[sS]kipKernelTC.*|.*(?:Sorry|sorry).*"
)
"""Names of options that switch off checks, or let the elaborator skip proofs."""


def switches_checks_off(option: str) -> bool:
    """True if an option of this name must not be set before a proof."""
    return bool(_CHECKS_OFF.fullmatch(folded(option).replace("«", "").replace("»", "")))


def header_problem(header: str) -> str:
    """Why the header of a theorem is refused; empty if it is not.

    A header decides what the statement means. But it also stands before the proof, so it must not switch off checks of
    proofs or run code. It may declare an axiom: verification rejects a proof that uses it.
    """
    problem = _characters(header, MAX_PROOF_BYTES, "a header") if header else ""
    lexed = lex(header)
    if problem or lexed.problem:
        return f"the header: {problem or lexed.problem}"
    read = tokens_of(header)
    if (doubtful := min(read.doubtful, read.end)) < len(header):
        return f"the header: {header[doubtful : doubtful + 20]!r} cannot be read with certainty"
    code = read.code_of(header)
    for match in re.finditer(r"set_option\s+([^\s]+)", code):
        if switches_checks_off(match.group(1)):
            return f"the header: the option `{match.group(1)}` is not allowed: it would switch a check off"
    if problem := glued_number(header):
        return f"the header: {problem}"
    for text in (code, folded(code)):
        for match in words_in(text.replace("«", " ").replace("»", " ")):
            word = match.group().rstrip("?!")
            if word in _HEADER_WORDS or any(words.fullmatch(word) for words in _BEGINNINGS.values()):
                return f"the header: `{word}` is not allowed: it runs code or changes what Lean does"
    return ""


_RUNS_CODE = """
macro macro_rules elab elab_rules syntax initialize builtin_initialize run_cmd run_elab run_meta unsafe implemented_by
extern simproc by_elab eval% add_decl_doc register_option
"""

_HEADER_WORDS = set(_RUNS_CODE.split())
"""Words that are not allowed in a header."""

HEADER_STOPS = (set(_COMMANDS.split()) | {"in"}) - {"scoped"}
"""Words that would begin a second command in a line of a header, or end the first one early."""

_STATEMENT_WORDS = set(_COMMANDS.split()) | {"sorry", "admit", "sorryAx"}

_STATEMENT_REASONS = {"it runs code while Lean elaborates", "it trusts the compiler"}
"""Words that are forbidden for these reasons are forbidden in statements, too."""


def _outside_brackets(code: str) -> str:
    """The characters outside all brackets."""
    depth, outside = 0, []
    for char in code:
        if char in "([{⦃⟨":
            depth += 1
        elif char in ")]}⦄⟩":
            depth -= 1
        elif depth == 0:
            outside.append(char)
    return "".join(outside)


def _characters(text: str, max_bytes: int, kind: str) -> str:
    """Why a text's size or characters are refused; empty if they are not. `kind`: kind of text, with an article."""
    size = len(text.encode("utf-8", errors="surrogatepass"))
    if size > max_bytes:
        return f"{kind} of {size} bytes is too long: at most {max_bytes} are allowed"
    for position, char in enumerate(text):
        if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            return f"the character U+{ord(char):04X} at position {position} is not allowed: it cannot be seen"
    return ""


def _words(lexed: Lexed) -> str:
    """The first forbidden word in code, or word that looks like one, with the reason; empty if there is none."""
    plain = lexed.code.replace("«", " ").replace("»", " ")
    for text, look in ((plain, ""), (folded(plain), " (in look-alike letters)")):
        for match in words_in(text):
            part = match.group()
            reason = _reason(part) or _reason(part.rstrip("?!"))
            if reason and not (reason in _TACTICS_ONLY and _is_a_name(text, match.start(), match.end())):
                return f"`{part}`{look} is not allowed: {reason}"
        if suggestion := _SUGGESTION.search(text):
            return f"`{suggestion.group()}`{look} is not allowed: it searches the library"
    if sign := _COMMAND_SIGN.search(plain):
        return f"`{sign.group()}...` is not allowed: a command has no place in a tactic"
    if "@[" in plain:
        return "`@[` is not allowed: an attribute has no place in a tactic"
    if "∎" in plain:
        return "`∎` is not allowed: it searches for a proof"
    return "`proofmesh copy` is not allowed: the prover uses it for its own names" if "proofmesh copy" in plain else ""


def _is_a_name(code: str, start: int, end: int) -> bool:
    """True if a word between two offsets stands where a term or a binder does, and not a tactic."""
    word, before, behind = code[start:end], code[:start].rstrip(" "), code[end:].lstrip(" ")
    if word.endswith(("?", "!")):
        return False
    # 1. `TACTIC says TACTIC`
    following = WORD.match(behind)
    if word == "says" and (before.endswith(("?", "]")) or (following and following.group() in _SEARCHING.split())):
        return False
    # 2. A part of a longer name, or the name of a binder or an argument.
    if code[end : end + 1] == "." or (behind.startswith(":") and not behind.startswith("::")):
        return True
    if word == "hint" and following:  # the tactic has no arguments
        return True
    if before.endswith("."):
        return before == code[:start] and re.search(r"[\w'»)\]⟩]\.$", before) is not None
    # 3. The token before it.
    if not before or before.endswith("\n"):
        return before.rstrip().endswith((",", "⟨"))
    if before.endswith("(") and before.rstrip("( "):
        before = before.rstrip("( ")
        if before.endswith("\n"):
            return False
    line = re.split(r"[\n;]", before)[-1]
    if before.endswith("=>"):
        return re.search(r"(?:\bfun\b|λ)[^|]*$", line) is not None
    if before.endswith("|"):
        return re.search(r"\b(?:with|rintro|obtain|rcases)\b", line) is not None
    if before.endswith((";", "·", "(", "{", "<;>")):
        return False
    last = _LAST_WORD.search(before)
    return last is None or last.group(1) not in _TAKES_TACTIC


def _reason(word: str) -> str:
    """Why a word is forbidden; empty if it is not."""
    if word in _FORBIDDEN:
        return _FORBIDDEN[word]
    return next((reason for reason, words in _BEGINNINGS.items() if words.fullmatch(word)), "")
