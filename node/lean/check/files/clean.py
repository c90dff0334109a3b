"""Finds code in a Lean file's text that could run while Lean elaborates it, and writes the file without it. Pure.

Code of a file (macros, `#eval`, attributes that register handlers) can make Lean compile something else than the text
says. These rules are conservative: what they do not know counts as code.

The text is read token by token, as Lean does. Two things limit this. A library or the file itself can add tokens, and
some places mean different things with different tokens. So from the first such place on, the text is also searched
without regard to tokens: there, words in comments and strings count as well.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from node.lean.check.files.report import LocalItem
from node.lean.text.lexing import LETTERS, NAME, Token, tokens_of
from node.lean.text.statement import is_module

RAW = "text"
"""Kind of an item that was found by a search without regard to tokens."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- words ------------------------------------------------------------------------------------------------------------

_REST = r"[\w'!?]*"
_CODE = (
    rf"(?:macro(?!_inline)|elab(?!_as_elim|_without_expected_type|_simple))(?:_{_REST})?(?![\w'!?])"
    rf"|(?:builtin_initialize|initialize(?!_simps_projections)|(?:builtin_)?d?simproc){_REST}"
    r"|(?:syntax|by_elab|extern|implemented_by|csimp|unsafe|native_decide|bv_decide|bv_check|include_str|include_bytes"
    r"|run_cmd|run_elab|run_meta|run_tacq?|run_conv|declare_syntax_cat|binder_predicate|unif_hint|unification_hint"
    r"|declare_(?:(?:command_|term_)?config_elab|simp_like_tactic|aesop_rule_sets)"
    r"|register_option|register_builtin_option|register_parser_alias|register_simp_attr|register_label_attr"
    r"|add_aesop_rules|erase_aesop_rules|trustCompiler|(?:ofR|r)educe(?:Bool|Nat)"
    r")(?![\w'!?])"
)
_FAMILY = rf"(?:declare_|run_|builtin_|register_|compile_){_REST}"
"""Names of commands that run code in some library. The name of an ordinary theorem may look the same."""

_CODE_WORD = re.compile(_CODE)
_FAMILY_WORD = re.compile(_FAMILY)
_RAW_CODE = re.compile(
    rf"#eval!?|#guard(?!_msgs(?![\w'!?]))|#exit|eval%|\+\s*native(?![\w'!?])|native\s*:=|{_CODE}|{_FAMILY}"
)
"""Code without regard to tokens. No boundary is needed on the left: in `2macro`, Lean reads a number and a command."""

_COMPILED = re.compile(r"(?:of)?[rR]educe(?:Bool|Nat)|trustCompiler")
"""Constants that make the kernel run compiled code, under any namespace."""

_NOTATION = frozenset({"notation", "notation3", "infix", "infixl", "infixr", "prefix", "postfix"})
_RAW_NOTATION = re.compile(r"(?:notation3?|infix[lr]?|prefix|postfix)\s*[:(\"/\[]")
_CODE_OPTIONS = ("doc.", "interpreter.", "bootstrap.", "trace.Elab.command", "trace.profiler", "maxErrors")
"""Beginnings of options that make Lean run text of comments, or other code than the text says. The last three hide
commands or errors from us."""

_ANNOTATIONS = "checkBinderAnnotations"
"""Without this option, Lean fills in any hypothesis by itself, not only instances of classes."""

_QUERIES = frozenset({"check", "check_failure", "print", "reduce", "synth", "guard_msgs", "where", "version", "align"})
"""Commands with `#` that run no code of the file."""

_MODIFIERS = frozenset(
    {"private", "protected", "public", "meta", "noncomputable", "partial", "nonrec", "local", "scoped"}
)
"""`meta` runs nothing by itself: it allows that code runs, and what runs code is found by its own word."""

_PREFIXES = frozenset({"open", "set_option", "variable", "omit", "include", "universe", "attribute", "unseal"})
"""Commands that may stand before another one, with `in`."""

SCOPED = frozenset({"variable", "include", "omit"})
"""Commands that add hypotheses to statements below, or remove them."""

_RAW_SCOPED = re.compile(r"(?:variable|include|omit)(?![\w'!?])")

_PROOFS = frozenset({"theorem", "lemma", "example"})
_NAMES_NEXT = _words("theorem lemma def abbrev structure class inductive opaque axiom")
"""Commands with the declared name right behind the keyword."""

_HARD = (
    _words(
        "def abbrev instance structure class inductive coinductive opaque axiom namespace section mutual end export"
        " initialize run_cmd macro macro_rules elab elab_rules syntax declare_syntax_cat irreducible_def import"
    )
    | _PROOFS
    | _NOTATION
    | (_PREFIXES - {"open", "set_option", "unseal"})
)
"""Reserved words that begin a command wherever they stand outside brackets."""

_KNOWN = (
    _HARD
    | _PREFIXES
    | _words(
        "deriving alias suppress_compilation unsuppress_compilation assert_not_exists assert_exists"
        " assert_not_imported library_note seal proof_wanted recall initialize_simps_projections add_decl_doc"
        " recommended_spelling universes prelude module gen_injective_theorems"
    )
)
"""Commands that run no code of the file, and those that other rules find."""

_CONTINUES = _words(
    "by where termination_by decreasing_by then else from fun show exact with at calc do in extends finally using"
    " generalizing match let have if return begin intro intros apply rw simp rfl constructor"
)
"""Words that continue a command even at the start of a line, or that need something behind them."""

_OPEN_ENDED = _words(": := => , → ↔ = ( [ { ⟨ ∧ ∨ + * - / < > ≤ ≥ ≠ ∘ | ; $ ← ∣ ∈ ⊢ ¬ @ ^ &")
"""Symbols that need something behind them."""

# Attributes that run no code of the file. Everything else counts as code: an attribute can register a handler that Lean
# runs later (`macro`, `term_elab`, `app_unexpander`, `simproc`, `norm_num`, `aesop`), or replace compiled code
# (`extern`, `implemented_by`, `csimp`, `export`, `init`).
_LISTS_A_LEMMA = _words(
    "simp ext refl symm trans congr grind norm_cast push_cast simps ext_iff mono gcongr fun_prop bool_to_prop"
    " mfld_simps field_simps functor_norm monad_norm nontriviality measurability continuity wf_preprocess mk_iff"
    " to_additive to_dual reassoc elementwise higher_order eqns defeq push pull zify_simps qify_simps rify_simps"
    " parity_simps simp_arith"
)
"""They add a lemma to a list, or derive further lemmas, with the library's code."""

_GUIDES_THE_COMPILER = _words(
    "inline noinline always_inline macro_inline specialize nospecialize never_extract inline_if_reduce expose no_expose"
)
"""They only guide the compiler, which compiles the same definition."""

_GUIDES_THE_ELABORATOR = _words(
    "reducible irreducible semireducible instance_reducible implicit_reducible elab_as_elim"
    " elab_without_expected_type elab_simple induction_eliminator cases_eliminator pp_nodot pp_with_univ"
    " pp_using_anonymous_constructor"
)
"""They change how much is unfolded, or how arguments are elaborated. The compiled statement shows the result."""

_DESCRIBES = _words("deprecated inherit_doc nolint stacks kerodon wikidata tactic_alt suggest_for")
"""They document."""

_DECIDES_WHAT_IS_MEANT = _words("instance default_instance coe coe_decl class match_pattern")
"""They run no code, but decide what Lean fills into a statement, or what a pattern in it means."""

_QUIET = _LISTS_A_LEMMA | _GUIDES_THE_COMPILER | _GUIDES_THE_ELABORATOR | _DESCRIBES
"""Attributes that neither run code nor decide what a statement means."""

_HARMLESS = _QUIET | _DECIDES_WHAT_IS_MEANT
_RAW_ATTRIBUTE = re.compile(r"(?:@|attribute)\s*\[([^\]]*)\]?|attribute(?![\w'!?])(?!\s*\[)")
_RAW_ENTRY = re.compile(r"\s*(?:(?:local|scoped)\s+|-\s*)?(\w+)(?:\s+[\w.%!?←↓↑]+)*\s*")

_PLAIN_ATOM = re.compile(rf"\s*(?:(?:{NAME})?[^\s{LETTERS}0-9\"'\\«»/()\[\]{{}}@#`.,⟨⟩-]*|[()\[\]{{}}⟨⟩,.])\s*")
"""An atom of notation that leaves all other tokens as they are: a name, symbols, or a name followed by symbols.

Behind symbols, letters would be dangerous: with a token `$x`, `$xmacro` is the token and the command `macro`. So would
be quotes, and signs of comments. Signs of brackets are only allowed alone."""

# --- commands ---------------------------------------------------------------------------------------------------------


@dataclass
class _Command:
    """A command as a range of tokens."""

    first: int
    last: int = 0
    """Index behind its last token."""
    keyword: int = -1
    """Index of its keyword; -1 if it has none."""
    word: str = ""
    """Its keyword."""
    unknown: list[int] = field(default_factory=list)
    """Indices of words where a command should begin, but that are no known ones."""


@dataclass(frozen=True)
class _Entry:
    """An entry of a list of attributes."""

    first: int
    last: int
    """Index behind its last token."""
    name: str
    words: tuple[str, ...]
    """Names of all attributes in it: its own, and those that it passes on (`to_additive (attr := simp)`)."""


class _File:
    """A file's tokens, divided into commands, and the attributes in them."""

    def __init__(self, text: str) -> None:
        self.text = text
        read = tokens_of(text)
        self.tokens, self.comments, self.end = read.tokens, read.comments, read.end
        self.lists: dict[int, tuple[int, list[_Entry]]] = {}
        """Index behind the list, and its entries, by the index of the `@` or `attribute` before it."""
        self._find_lists()
        self.commands = self._divided()
        self.raw_from = min(read.doubtful, read.end, self._first_unusual_atom())
        """Offset from which the text is also searched without regard to tokens."""
        self._declared = {self._text(each.keyword + 1) for each in self.commands if each.word in _NAMES_NEXT}
        self._lines = [match.end() for match in re.finditer("\n", text)]

    def line(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return bisect_right(self._lines, offset) + 1

    def command_at(self, offset: int) -> int:
        """Index of the command at an offset, or before it; -1 if there is none."""
        return bisect_right(self.commands, offset, key=lambda each: self.tokens[each.first].start) - 1

    def start(self, command: _Command) -> int:
        return self.tokens[command.first].start

    def stop(self, command: _Command) -> int:
        return self.tokens[command.last - 1].end

    def _symbol(self, index: int, text: str) -> bool:
        return index < len(self.tokens) and self.tokens[index].kind == "symbol" and self.tokens[index].text == text

    def family_word(self, index: int) -> str:
        """A name that may be a command of a library that runs code; empty if it is none, or a theorem of this file."""
        token, before = self.tokens[index], self.tokens[index - 1] if index else None
        if not _FAMILY_WORD.fullmatch(token.text) or token.text in self._declared:
            return ""
        inside = before is not None and (before.text in _OPEN_ENDED or before.text in _CONTINUES)
        return "" if inside and token.column else token.text

    # --- attributes ---

    def _find_lists(self) -> None:
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            marked = token.text == "@" and self._symbol(index + 1, "[") and self.tokens[index + 1].start == token.end
            if marked or (token.text == "attribute" and self._symbol(index + 1, "[")):
                end, entries = self._list(index + 2)
                self.lists[index] = (end, entries)
                index = end
            else:
                index += 1

    def _list(self, first: int) -> tuple[int, list[_Entry]]:
        """Index behind a list of attributes that begins behind its bracket, and its entries."""
        entries, depth, start = [], 0, first
        for index in range(first, len(self.tokens)):
            text = self.tokens[index].text if self.tokens[index].kind == "symbol" else ""
            if text in (",", "]") and not depth:
                entries.append(self._entry(start, index))
                start = index + 1
                if text == "]":
                    return index + 1, entries
            depth += _BRACKETS.get(text, 0)
        return len(self.tokens), [*entries, _Entry(start, len(self.tokens), "@[", ("@[",))]  # it is never closed

    def _entry(self, first: int, last: int) -> _Entry:
        tokens = self.tokens[first:last]
        while tokens and (tokens[0].text in ("local", "scoped", "-")):
            del tokens[0]
        name = _plain(tokens[0].text) if tokens and tokens[0].kind == "name" else "@["
        words = [name]
        passes, depth = False, 0  # whether the names in these brackets are attributes
        for each in tokens[1:]:
            depth += _BRACKETS.get(each.text, 0) if each.kind == "symbol" else 0
            passes = (passes and depth > 0) or each.text in _PASSES_ON
            # After an error in a list, Lean goes on at the next word that begins a command.
            word = each.kind == "name" and (
                (passes and each.text not in _PASSES_ON)
                or each.text in _HARD | _PREFIXES
                or _CODE_WORD.fullmatch(each.text) is not None
            )
            if word or each.text in ("@", "#", "%"):
                words.append(_plain(each.text))
        return _Entry(first, last, name, tuple(words))

    # --- dividing ---

    def _divided(self) -> list[_Command]:
        """Divide the tokens into commands.

        A command begins with a known word at the start of a line, or with a reserved word outside brackets. Attributes,
        modifiers, and prefixes with `in`, belong to the command behind them.
        """
        commands: list[_Command] = []
        current = _Command(0)
        depth, index, expecting = 0, 0, True
        while index < len(self.tokens):
            token = self.tokens[index]
            word = self._word(index)
            # 1. A new command begins, unless only attributes, modifiers or prefixes stand before this word.
            if word and (expecting or self._begins(index, word, depth)):
                if not expecting:
                    current.last = index
                    commands.append(current)
                    current = _Command(index)
                depth, expecting = 0, word == "@" or word in _MODIFIERS
                if not expecting:
                    current.keyword, current.word = index, word
            # 2. Another word stands where a command begins.
            elif token.kind == "name" and (expecting or self._begins_unknown(index, current)):
                if not expecting:
                    current.last = index
                    commands.append(current)
                    current = _Command(index)
                current.unknown.append(index)
                current.keyword, current.word = index, token.text
                depth, expecting = 0, False
            elif token.kind == "name" and token.text == "in" and not depth and current.word in _EXPECTS:
                expecting = True
            # 3. Go on behind a list of attributes, or the namespace in `scoped[Namespace]`.
            if index in self.lists:
                index = self.lists[index][0]
                continue
            if token.kind == "symbol":
                in_namespace = expecting and token.text == "[" and self._symbol(index + 2, "]")
                index += 2 if in_namespace else 0
                depth = max(0, depth + (0 if in_namespace else _BRACKETS.get(token.text, 0)))
            index += 1
        current.last = len(self.tokens)
        return [each for each in [*commands, current] if each.first < each.last]

    def _word(self, index: int) -> str:
        """The word that may begin a command at a token: `@` for attributes, `#...`, a known word; empty if none."""
        token = self.tokens[index]
        if token.kind == "name":
            if token.text == "deriving":
                return "deriving" if self._text(index + 1) in ("instance", "noncomputable") else ""
            return token.text if token.text in _KNOWN or token.text in _MODIFIERS else ""
        if token.text == "@" and index in self.lists:
            return "@"
        follows = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
        if token.text != "#" or follows is None or follows.kind != "name" or follows.start != token.end:
            return ""
        # Mathlib writes the number of elements of `s` as `#s`. Its commands have longer names.
        return f"#{follows.text}" if len(follows.text) > 2 or token.column == 0 else ""

    def _begins(self, index: int, word: str, depth: int) -> bool:
        """True if a word that can begin a command begins one here."""
        token, before = self.tokens[index], self._text(index - 1) if index else ""
        if before in ("deriving", "class", "open") and word not in _PREFIXES:  # `class inductive`, `open scoped`
            return token.column == 0 and before != "deriving"
        if token.column == 0:
            return True
        if depth:
            return False
        if word == "@":
            behind = self._text(self.lists[index][0])
            return token.column == 1 and (behind in _HARD or behind in _MODIFIERS or behind == "@")
        if word in _MODIFIERS:  # also a modifier of a field: `private mk ::`
            words = (self._text(each) for each in range(index + 1, index + 9))
            return next((each for each in words if each not in _MODIFIERS), "def") in _HARD
        return word in _HARD or word.startswith("#")

    def _text(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def _begins_unknown(self, index: int, current: _Command) -> bool:
        """True if an unknown word stands at the start of a line and the line above may be complete."""
        token = self.tokens[index]
        if token.column or token.text in _CONTINUES or token.text == "deriving":
            return False
        before = self.tokens[index - 1]
        if before.kind == "symbol":
            return before.text not in _OPEN_ENDED
        return before.text not in _CONTINUES and index - 1 != current.keyword

    def _first_unusual_atom(self) -> int:
        """Offset of the first notation that can change how the text behind it divides into tokens."""
        for command in self.commands:
            notation = False
            for index in range(command.first, command.last):
                token = self.tokens[index]
                if token.kind == "name":
                    notation |= token.text in _NOTATION
                elif token.kind == "string" and notation and not _PLAIN_ATOM.fullmatch(token.text[1:-1]):
                    return token.start
        return len(self.text)


_BRACKETS = {"(": 1, "[": 1, "{": 1, "⟨": 1, ")": -1, "]": -1, "}": -1, "⟩": -1}
_PASSES_ON = frozenset({"attr", "attrs"})
_EXPECTS = _PREFIXES | {"#guard_msgs"}


# --- what runs --------------------------------------------------------------------------------------------------------


class _Found(NamedTuple):
    """Something in a text that counts as code, or that a statement may depend on."""

    kind: str
    name: str
    at: int
    code: bool
    """False if it runs no code."""
    entry: tuple[int, int] | None = None
    """For an attribute before a declaration: indices of the list and of the entry in it."""


def _found(file: _File) -> list[_Found]:
    """Everything in a file that a statement may depend on without naming it, in order."""
    found = [each for command in file.commands for each in _in_command(file, command)]
    if file.end < len(file.text):
        found.append(_Found(RAW, _snippet(file.text, file.end), file.end, True))  # a comment or string that never ends
    # Any code may declare tokens.
    raw_from = min([file.raw_from, *(each.at for each in found if each.code)])
    seen = {each.at for each in found}
    found += [each for each in _in_raw_text(file.text, raw_from, len(file.text)) if each.at not in seen]
    return sorted(found, key=lambda each: each.at)


def _in_command(file: _File, command: _Command) -> Iterator[_Found]:
    """What a command has, by its tokens."""
    for index in command.unknown:
        yield _Found(command.word, file.tokens[index].text, file.tokens[index].start, True)
    index = command.first
    while index < command.last:
        token = file.tokens[index]
        # 1. Attributes.
        if index in file.lists:
            end, entries = file.lists[index]
            for number, entry in enumerate(entries):
                for word in entry.words:
                    if word not in _QUIET:
                        place = (index, number) if token.text == "@" else None
                        at = file.tokens[min(entry.first, len(file.tokens) - 1)].start
                        yield _Found("attribute", word, at, word not in _HARMLESS, place)
            index = end
            continue
        # 2. Words, and code in the braces of strings.
        if token.kind == "name":
            name = _code_name(file.tokens, index) or file.family_word(index)
            if name:
                yield _Found(command.word, name, token.start, True)
            elif token.text in _NOTATION or token.text in SCOPED or _gives_other_meaning(file.tokens, index):
                yield _Found(token.text, _snippet(file.text, token.start), token.start, False)
        elif token.kind == "string" and "{" in token.text:
            yield from _in_raw_text(file.text, token.start, token.end)
        elif token.text == "#":
            word = file._word(index)[1:]
            if word and word not in _QUERIES:
                yield _Found(command.word, f"#{word}", token.start, True)
        index += 1


def _gives_other_meaning(tokens: Sequence[Token], index: int) -> bool:
    """True for `renaming` (of `open`), and for the option that lets any hypothesis be an instance."""
    name = tokens[index].text
    return name == "renaming" or (_plain(name) == _ANNOTATIONS and tokens[index - 1].text == "set_option")


def _code_name(tokens: Sequence[Token], index: int) -> str:
    """The code that begins with a name; empty if there is none."""
    name = tokens[index].text
    before = tokens[index - 1] if index else None
    behind = tokens[index + 1] if index + 1 < len(tokens) else None
    if _CODE_WORD.fullmatch(name) or _COMPILED.fullmatch(name.rpartition(".")[2]):
        return name
    if name == "eval" and behind is not None and behind.text == "%" and behind.start == tokens[index].end:
        return "eval%"
    added = before is not None and before.text == "+"
    if name == "native" and (added or (behind is not None and behind.text == ":=")):
        return "+native"
    if before is not None and before.text == "set_option" and _plain(name).startswith(_CODE_OPTIONS):
        return name
    return ""


def _in_raw_text(text: str, start: int, end: int) -> Iterator[_Found]:
    """What the text between two offsets has, without regard to tokens."""
    for match in _RAW_CODE.finditer(text, start, end):
        yield _Found(RAW, match.group(), match.start(), True)
    for match in _RAW_NOTATION.finditer(text, start, end):
        yield _Found(RAW, _snippet(text, match.start()), match.start(), False)
    for match in _RAW_SCOPED.finditer(text, start, end):
        yield _Found(RAW, match.group(), match.start(), False)
    for match in _RAW_ATTRIBUTE.finditer(text, start, end):
        for entry in (match.group(1) or "").split(","):
            plain = _RAW_ENTRY.fullmatch(entry)
            name = plain.group(1) if plain else _snippet(text, match.start())
            if name not in _QUIET:
                yield _Found(RAW, name, match.start(), name not in _HARMLESS)


def _plain(name: str) -> str:
    """A name without guillemets."""
    return name.replace("«", "").replace("»", "")


def _snippet(text: str, start: int) -> str:
    """The beginning of the text at an offset, in one line."""
    return " ".join(text[start : start + 120].split("\n", 1)[0].split())[:40]


def code_in(text: str) -> list[LocalItem]:
    """Everything in a text that could run code of the file while Lean elaborates it, in order.

    What is not known counts as code: attributes, commands with `#`, words where a command should begin. An empty list
    means that the text declares no macro, elaborator, syntax or handler, evaluates nothing, and replaces no compiled
    code. Notation runs no code.
    """
    return _items(text, code_only=True)


def touches_statements(text: str) -> list[LocalItem]:
    """Everything in a text that statements below it may depend on without naming it, in order.

    This is all code, as in `code_in`; notation; attributes that decide what Lean fills into a statement; and
    `variable`, `include` and `omit`, whose hypotheses the text of a theorem does not show. Those items have the command
    as their kind, except behind a place where words in comments count (kind `RAW`).
    """
    return _items(text, code_only=False)


def _items(text: str, *, code_only: bool) -> list[LocalItem]:
    file = _File(text)
    items = (LocalItem(each.kind, each.name, file.line(each.at)) for each in _found(file) if each.code or not code_only)
    return list(dict.fromkeys(items))


# --- the file without code --------------------------------------------------------------------------------------------

_ROUNDS = 3
_SORRY = ":= sorry"
_ENDS_TERM = frozenset({")", "]", "}", "⟩"})


def cleaned(text: str) -> str:
    """The text without code of the file, with `sorry` for the proofs of its theorems. No line moves.

    `code_in` finds nothing in the result. Commands with code, commands with `#`, and comments become blanks; so do
    attributes that count as code. Proofs of `theorem`, `lemma` and `example` become `:= sorry` where the end of the
    statement is certain; otherwise the whole theorem stays. Instances and definitions keep their bodies. Columns move
    only behind a proof that is shorter than `:= sorry`, up to the end of its line. Behind `#exit`, and behind a comment
    or string that never ends, nothing is left.
    """
    for _ in range(_ROUNDS):
        text = _cleaned_once(text)
        if not code_in(text):
            return text
    # What is left is found without regard to tokens. Each step removes all text from the first such command on.
    while True:
        file = _File(text)
        first = next((each for each in _found(file) if each.code), None)
        if first is None:
            return text
        number = file.command_at(first.at)
        start = min(first.at, file.start(file.commands[number]) if number >= 0 else first.at)
        text = text[:start] + _blank(text[start:])


def _cleaned_once(text: str) -> str:
    file = _File(text)
    characters = list(text)
    # 1. Comments, and everything behind the place where reading ended.
    for start, end in file.comments:
        characters[start:end] = _blank(text[start:end])
    end = file.end
    # 2. Commands with code. Of a declaration with such an attribute, only the attribute goes.
    with_code: set[int] = set()
    entries: dict[int, set[int]] = {}
    for each in _found(file):
        if not each.code:
            continue
        if each.entry is not None:
            entries.setdefault(each.entry[0], set()).add(each.entry[1])
        elif (number := file.command_at(each.at)) >= 0 and each.at < file.stop(file.commands[number]):
            with_code.add(number)
    # 3. Proofs of the remaining theorems.
    for number, command in enumerate(file.commands):
        start, stop = file.start(command), file.stop(command)
        if command.word == "#exit" or (number == len(file.commands) - 1 and file.end < len(text)):
            end = min(end, start)
            break
        if number in with_code or command.word.startswith("#"):
            characters[start:stop] = _blank(text[start:stop])
        elif command.word in _PROOFS and (proof := _proof(file, command)) is not None:
            _put_sorry(characters, file.tokens[proof].start, stop)
    # 4. Attributes, last: the indices of characters have not changed.
    for index, numbers in entries.items():
        _drop_entries(file, characters, index, numbers)
    return "".join(characters[:end]) + _blank(text[end:])


_FRAME = _words("namespace section end universe universes variable include omit open import prelude module")
"""Commands that say where a statement stands. They declare nothing that a statement could depend on."""

_PLAIN_OPTION = re.compile(r"maxHeartbeats|maxRecDepth|autoImplicit|relaxedAutoImplicit|(?:pp|linter|warn)\..*")
"""Options under which a statement means the same in any file."""


def bare(text: str, own: Collection[str], library: Sequence[str]) -> str:
    """A clean text (of `cleaned`) without everything that its statements could depend on without naming it.

    What stays are the statements of its theorems, and the commands that say where they stand. So definitions,
    instances, notation and most options become blanks, as do attributes. No line moves. `own`: the user's modules,
    which it then does not import; `library`: what it imports in place of them.
    """
    file = _File(text)
    characters = list(text)
    mutual = False
    for command in file.commands:
        start, word = file.start(command), command.word
        closes = mutual and word == "end"
        mutual = (mutual or word == "mutual") and not closes
        if word == "import" and _plain(file._text(command.last - 1)) in own:
            _blank_range(characters, start, file.stop(command))
            public = "public " if is_module(text) else ""  # so that also public statements may use it
            characters[start] = "".join(f" {public}import {each} " for each in library)
            library = ()
            continue
        kept = word in _PROOFS or (word in _FRAME and not closes)
        if not kept and not (word == "set_option" and _PLAIN_OPTION.fullmatch(file._text(command.keyword + 1))):
            _blank_range(characters, start, file.stop(command))
            continue
        _blank_prefixes(file, command, characters)
        # Only some names of a namespace may be opened, among them definitions.
        for at in range(command.first, command.last if word == "open" else command.keyword):
            if file._text(at) == "(" and _inside_open(file, command.first, at):
                end = next((to for to in range(at, command.last) if file._text(to) == ")"), at)
                _blank_range(characters, file.tokens[at].start, file.tokens[end].end)
            elif file._text(at) == "hiding" and word == "open":
                _blank_range(characters, file.tokens[at].start, file.stop(command))
        # Without its definitions, a namespace may not exist, and Lean would refuse to open it.
        opened = [name for at in range(command.first, command.last) for name in _opened(file, at, command)]
        if not "".join(characters[start : file.stop(command)]).isspace():
            characters[start] = "".join(f"namespace {each} end {each} " for each in opened) + characters[start]
    return "".join(characters)


_ACTS_BY_NAME = _words("def abbrev structure inductive opaque axiom mutual")
"""Commands whose declarations can only matter to a statement whose text names them."""


def acts_unnamed(text: str) -> bool:
    """True if a clean text has a command that may matter to a statement which names nothing of it.

    Instances, attributes, notation, options and `open ... renaming` may. Definitions alone do not.
    """
    file = _File(text)
    for command in file.commands:
        plain = command.word in _PROOFS | _FRAME | _ACTS_BY_NAME
        begins = range(command.first, command.keyword)
        attributed = command.word not in _PROOFS and any(at in file.lists for at in begins)
        if (
            not plain
            or attributed
            or (command.word == "open" and not _is_plain_prefix(file, command.first, command.last))
        ):
            return True
        if any(file._text(at) in ("open", "set_option", "attribute") for at in begins):
            return True
    return "«" in text


def acting(text: str) -> list[LocalItem]:
    """The commands of a text that `bare` leaves out, in order. Those that act without being named come first."""
    file = _File(text)
    items: list[tuple[bool, LocalItem]] = []
    for command in file.commands:
        start = file.start(command)
        renames = command.word == "open" and "renaming" in text[start : file.stop(command)]
        if command.word not in _PROOFS | _FRAME or renames:
            acts = renames or command.word in ("instance", "attribute", "deriving", "export", "class", "set_option")
            items.append((acts, LocalItem("unnamed", _snippet(text, start), file.line(start))))
    return [item for acts, item in items if acts] or [item for _, item in items]


def _blank_prefixes(file: _File, command: _Command, characters: list[str]) -> None:
    """Blank the attributes of a command, and the prefixes with `in` that could change what its statement means."""
    first = command.first
    for index in range(command.first, command.last):
        token = file.tokens[index]
        if token.text == "@" and index in file.lists:
            _blank_range(characters, token.start, file.tokens[file.lists[index][0] - 1].end)
        if index < command.keyword and token.text == "in" and token.kind == "name":
            if not _is_plain_prefix(file, first, index):
                _blank_range(characters, file.tokens[first].start, token.end)
            first = index + 1
    if command.word == "open" and not _is_plain_prefix(file, command.first, command.last):
        _blank_range(characters, file.start(command), file.stop(command))


def _is_plain_prefix(file: _File, first: int, last: int) -> bool:
    """True if the command in a range of tokens says where a statement stands, and gives no name another meaning."""
    word = file._text(first)
    if word == "set_option":
        return _PLAIN_OPTION.fullmatch(file._text(first + 1)) is not None
    return word in _FRAME and all(file._text(at) != "renaming" for at in range(first, last))


def _inside_open(file: _File, first: int, index: int) -> bool:
    """True if the command that a token belongs to, alone or as a prefix, is an `open`."""
    behind = max((at + 1 for at in range(first, index) if file._text(at) == "in"), default=first)
    return file._text(behind) == "open"


def _opened(file: _File, index: int, command: _Command) -> list[str]:
    """The namespaces that an `open` at a token opens."""
    if file._text(index) != "open" or index > command.keyword:
        return []
    names = []
    for at in range(index + 1, command.last):
        token = file.tokens[at]
        if token.kind != "name" or token.text in ("in", "hiding", "renaming"):
            break
        if token.text != "scoped" and not token.text.startswith("_root_"):
            names.append(token.text)
    return names


def _blank(text: str) -> str:
    """White space of the same length and with the same line breaks."""
    return re.sub(r"[^\n]", " ", text)


def _put_sorry(characters: list[str], start: int, stop: int) -> None:
    """Replace a proof. Each element of `characters` keeps its index; one may hold the text of several."""
    line = next((at for at in range(start, min(stop, start + len(_SORRY))) if characters[at] == "\n"), stop)
    room = min(line, start + len(_SORRY)) - start
    for at in range(start, stop):
        if characters[at] != "\n":
            characters[at] = " "
    if room == len(_SORRY):
        characters[start : start + room] = _SORRY
    else:
        characters[start] = _SORRY + " "


def _drop_entries(file: _File, characters: list[str], index: int, numbers: set[int]) -> None:
    """Blank some entries of a list of attributes; the whole list if no other entry is left."""
    end, entries = file.lists[index]
    kept = [number for number in range(len(entries)) if number not in numbers]
    tokens = file.tokens
    if not kept:
        _blank_range(characters, tokens[index].start, tokens[end - 1].end)
        return
    for number, entry in enumerate(entries):
        if number in numbers and entry.first < entry.last:
            _blank_range(characters, tokens[entry.first].start, tokens[entry.last - 1].end)
        # The comma behind an entry stays if it separates two entries that stay.
        if number + 1 < len(entries) and (number + 1 in numbers or number < kept[0]):
            _blank_range(characters, tokens[entry.last].start, tokens[entry.last].end)


def _blank_range(characters: list[str], start: int, end: int) -> None:
    for at in range(start, end):
        if characters[at] != "\n":
            characters[at] = " "


def _proof(file: _File, command: _Command) -> int | None:
    """Index of the token with which a theorem's proof begins; None if it is not certain where its statement ends."""
    stack: list[str] = []
    colon, bindings = False, 0
    for index in range(command.keyword + 1, command.last):
        token = file.tokens[index]
        # 1. Inside brackets nothing ends the statement; brackets that do not match leave no certain end.
        if token.kind == "symbol" and token.text in _BRACKETS:
            if _BRACKETS[token.text] > 0:
                stack.append(token.text)
            elif not stack or stack.pop() != _OPENS[token.text]:
                return None
        elif stack:
            continue
        # 2. `:=` ends it, unless a `let` in the statement waits for its own; so does a `|` at the line's start.
        elif token.kind == "symbol":
            colon |= token.text == ":"
            if token.text == ":=":
                if not bindings:
                    return index if colon else None
                bindings -= 1
            elif token.text == "|" and token.column < 2 and _ends_term(file.tokens[index - 1]):
                return index if colon and not bindings else None
        # 3. Words that bind, that end it, or behind which a term of any shape may follow.
        elif token.kind == "name":
            if token.text in ("let", "have", "letI", "haveI", "let_fun"):
                bindings += 1
            elif token.text == "where":
                return index if colon and not bindings else None
            elif token.text in ("by", "match", "do", "from", "nomatch"):
                return None
    return None


_OPENS = {")": "(", "]": "[", "}": "{", "⟩": "⟨"}


def _ends_term(token: Token) -> bool:
    return token.kind != "symbol" or token.text in _ENDS_TERM
