"""Statements of self-play: their keys, and the conjecturer's outputs as statements. Pure.

Keys are equal for statements that are equal up to white space and bound names. A statement is split into tokens. Each
binding of a name gets a number, and uses of the name within the binding's scope are replaced by the number. So
`(n : Nat) : n + 0 = n` and `(m: Nat) :  m+0 = m` have the same key, and `(a b : Nat) : a = b` and `(a b : Nat) : b = a`
have different keys. This is an approximation, not a parser of Lean. Names that it does not recognize as bound
(patterns, sets, `let`) count as written. If equal statements get two keys, the only cost is one more conjecture to
prove.

Outputs: STP (arXiv 2502.00212), section 3.2 and appendix A.2, and its code (`collect_conjecture`, `select`). As in STP,
the text is cut at `</hard theorem>` and at `:=`. Differences here:
- An output that was cut off is rejected; STP uses its beginning as a conjecture.
- Statements are compared by their keys; STP compares up to white space only.
- Earlier conjectures count as known, like the statements of the data set, including test statements.
- The theorem's name is replaced by ours. So the name of a conjecture does not matter, and a conjecture that states its
  own seed is known.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from common.lean import Theorem
from common.seeds import derive_seed
from node.bank.statements import given_proof
from node.lean.text.lexing import CLOSING, NAME, OPENING, blanked, lex
from node.lean.text.rules import HEADER_STOPS, statement_problem
from node.lean.text.script import below
from node.lean.text.statement import StatementError, parse_statement
from node.stp.records import Conjecture, Fate, Output, Seed

_APART = r"()\[\]{}⟨⟩⦃⦄,∀∃λΣΠ∑∏"
"""Symbols that are always separate tokens."""
_TOKEN = re.compile(
    rf"«[^»]*»|{NAME}(?:\.{NAME})*|\d+(?:\.\d+)?|\"(?:[^\"\\]|\\.)*\"|∃!|[{_APART}]|[^\s\w«\"{_APART}]+|\S"
)
_NAME = re.compile(NAME)
_BINDING = frozenset({"∀", "∃", "∃!", "λ", "fun", "Σ", "Π", "∑", "∏", "⨆", "⨅", "⋃", "⋂"})
_ENDS = frozenset({",", "=>", "↦"})
_GROUPS = frozenset("({[⦃")
_NO_NAMES = frozenset({"fun", "_"})


def key(theorem: Theorem) -> str:
    """A digest that is equal for statements with equal headers that are equal up to white space and bound names."""
    if theorem.place is not None:
        context = [*map(str, theorem.place.key)]
        if not theorem.binders and not theorem.place.before.startswith("theorem proofmesh_theorem"):
            return _digest(context)
        context = [theorem.place.context.digest]
    else:
        context = [" ".join(theorem.header.split())]
    return _digest([*context, *canonical(theorem.binders, theorem.conclusion)])


def canonical(binders: str, conclusion: str) -> list[str]:
    """The tokens of a statement, with numbers in place of bound names."""
    return _Reader(_tokens(f"{binders} : {conclusion}")).read()


def bound_names(binders: str, conclusion: str) -> frozenset[str]:
    """The names that a statement binds, anywhere in it."""
    reader = _Reader(_tokens(f"{binders} : {conclusion}"))
    reader.read()
    return frozenset(reader.bound)


def _digest(parts: Sequence[str]) -> str:
    return hashlib.blake2b("\x1f".join(parts).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


@dataclass
class _Reader:
    tokens: list[str]
    at: int = 0
    written: list[str] = field(default_factory=list)
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])
    """Numbers of bound names: the statement's own scope, then one scope per open bracket and binder."""
    bound: set[str] = field(default_factory=set)
    places: int = 0

    def read(self) -> list[str]:
        """Read all tokens: binders up to the colon outside brackets, then the conclusion."""
        while self.at < len(self.tokens) and self.tokens[self.at] != ":":
            if self._group_follows():
                self._group()
            elif self._is_name(self.tokens[self.at]):
                self._bind(self._take())
            else:
                self._term_token()
        while self.at < len(self.tokens):
            self._term_token()
        return self.written

    def _term(self, ends: frozenset[str]) -> None:
        """Read up to an end token outside brackets, or up to the closing bracket of an outer group; neither is read."""
        while self.at < len(self.tokens) and self.tokens[self.at] not in ends | CLOSING.keys():
            self._term_token()

    def _term_token(self) -> None:
        """Read one token; a bracket or a binder is read with its content."""
        token = self._take()
        if token in OPENING:
            self.written.append(token)
            depth = len(self.scopes)
            self.scopes.append({})
            self._term(frozenset())
            del self.scopes[depth:]
            if self.at < len(self.tokens):
                self.written.append(self._take())
        elif token in _BINDING:
            self.written.append(token)
            self._binder()
        else:
            self.written.append(self._standing_for(token))

    def _binder(self) -> None:
        """Read the names and groups after `∀`, `fun`, ...; their scope ends with the enclosing bracket."""
        self.scopes.append({})
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if self._group_follows():
                self._group()
            elif self._is_name(token):
                self._bind(self._take())
            else:
                break
        if self.at < len(self.tokens) and self.tokens[self.at] not in _ENDS | CLOSING.keys():
            self._term(_ENDS)

    def _group_follows(self) -> bool:
        """Whether a bracketed group that binds names begins here."""
        if self.at >= len(self.tokens) or self.tokens[self.at] not in _GROUPS:
            return False
        for names, token in enumerate(self.tokens[self.at + 1 :]):
            if token == ":":
                return names > 0
            if not self._is_name(token) and token != "_":
                # A group without a type, as in `∀ (x y), p` and `fun {x} => p`.
                return token == OPENING[self.tokens[self.at]] and names > 0 and self.tokens[self.at] != "["
        return False

    def _group(self) -> None:
        opening = self._take()
        names = []
        while self._is_name(self.tokens[self.at]) or self.tokens[self.at] == "_":
            names.append(self._take())
        marks = len(self.written)
        self.written += [opening, *names]
        if self.tokens[self.at] == ":":
            depth = len(self.scopes)
            self.scopes.append({})
            self._term(frozenset())
            del self.scopes[depth:]
        for place, name in enumerate(names, start=marks + 1):
            self.written[place] = self._number(name)
        if self.at < len(self.tokens):
            self.written.append(self._take())

    def _bind(self, name: str) -> None:
        self.written.append(self._number(name))

    def _number(self, name: str) -> str:
        """Give a new number to a name that is bound here."""
        if name == "_":
            return name
        self.places += 1
        self.bound.add(name)
        self.scopes[-1][name] = f"#{self.places}"
        return self.scopes[-1][name]

    def _standing_for(self, token: str) -> str:
        head, dot, projections = token.partition(".")
        for scope in reversed(self.scopes):
            if head in scope:
                return f"{scope[head]}{dot}{projections}"
        return token

    def _is_name(self, token: str) -> bool:
        return _NAME.fullmatch(token) is not None and token not in _NO_NAMES

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]


# --- the conjecturer's outputs as statements --------------------------------------------------------------------------


END = "</hard theorem>"

NOT_ENDED = "it was cut off at the token limit"

_MARK = re.compile(r"</?(?:lemma|easy theorem|hard theorem)>")
_KEYWORD = re.compile(r"(theorem|lemma|example)(?![\w'!?.])")
_FIRST_WORD = re.compile(r"@?\[?[^\s(\[{:]*")
_UNIVERSES = re.compile(r"(?:theorem|lemma)\s+[^\s({\[:]*\.\{")
_CONSTANT = {"True": "there is nothing to prove", "False": "it claims `False` without assumptions"}
_NEGATED = {"False": "True", "True": "False"}


class NotAStatement(ValueError):
    """An output is not a statement that can be attempted; the text says why."""


def statement_of(output: str, *, name: str, header: str) -> Theorem:
    """Parse an output to a statement with our name. Raises NotAStatement."""
    text = output.split(END)[0].strip()
    if not text:
        raise NotAStatement("it is empty")
    if mark := _MARK.search(text):
        raise NotAStatement(f"it contains `{mark.group()}`, so it is a prompt, not a statement")
    if not _KEYWORD.match(text):
        raise NotAStatement(_no_beginning(text))
    if _UNIVERSES.match(text):
        raise NotAStatement("it names universes, which must be left to Lean")
    lexed = lex(text)
    if lexed.comments and not lexed.problem:
        raise NotAStatement("it contains a comment")
    text = text[: given_proof(blanked(text))].rstrip()
    try:
        parsed = parse_statement(text, header)
    except StatementError as error:
        raise NotAStatement(str(error)) from error
    if problem := statement_problem(parsed.binders, parsed.conclusion):
        raise NotAStatement(problem)
    if problem := _why_trivial(parsed):
        raise NotAStatement(problem)
    return Theorem(name, parsed.binders, parsed.conclusion, header)


def sift(
    outputs: Sequence[tuple[Seed, Output]], known: Iterable[str], limit: int, *, round_: int, rng_seed: int = 0
) -> list[Conjecture]:
    """Turn every output into a conjecture with its fate: CUT, REFUSED, KNOWN, SURPLUS or NEW.

    `known`: the keys of all statements of the data set and of all earlier conjectures. Of equal outputs the first is
    new, and the others are known. If more than `limit` are new, a random choice by `rng_seed` stays new, and the others
    are surplus (there should not be more conjectures than unproved statements).
    """
    # 1. Each output on its own, and whether an earlier one is equal.
    seen = set(known)
    conjectures: list[Conjecture] = []
    new: dict[str, int] = {}
    for number, (seed, output) in enumerate(outputs):
        conjecture = _conjecture_of(seed, output, f"conjecture_{round_}_{number}", round_)
        if conjecture.theorem is not None:
            its_key = key(conjecture.theorem)
            if its_key in seen:
                own = its_key == key(seed.theorem)
                why = (
                    "it repeats its own seed" if own else "it is a statement of the data set, or an earlier conjecture"
                )
                conjecture = msgspec.structs.replace(conjecture, fate=Fate.KNOWN, reason=why)
            else:
                seen.add(its_key)
                new[its_key] = number
        conjectures.append(conjecture)
    # 2. Those that are more than needed.
    rng = random.Random(derive_seed("surplus", rng_seed, round_))
    chosen = set(rng.sample(sorted(new), max(0, limit))) if len(new) > limit else set(new)
    why = f"{len(new)} new conjectures; {max(0, limit)} are chosen at random"
    for its_key, number in new.items():
        if its_key not in chosen:
            conjectures[number] = msgspec.structs.replace(conjectures[number], fate=Fate.SURPLUS, reason=why)
    return conjectures


def _conjecture_of(seed: Seed, output: Output, name: str, round_: int) -> Conjecture:
    """The conjecture in an output, in the environment of its seed: cut, refused or new."""
    if not output.complete:
        return Conjecture(name, round_, seed, output.text, Fate.CUT, reason=NOT_ENDED)
    easy = seed.theorem
    try:
        theorem = statement_of(output.text, name=name, header=easy.header)
        if easy.place is not None:
            theorem = below(easy.place.context, theorem)
    except NotAStatement as error:
        return Conjecture(name, round_, seed, output.text, Fate.REFUSED, reason=str(error))
    return Conjecture(name, round_, seed, output.text, Fate.NEW, theorem)


def _no_beginning(text: str) -> str:
    first = _FIRST_WORD.match(text)
    word = first.group()[:30] if first else ""
    if word in HEADER_STOPS or word.startswith("@"):
        return f"it begins with `{word}`, but a conjecture is a single theorem without other commands"
    return f"a statement begins with `theorem`, `lemma` or `example`, but it begins with {text[:30]!r}"


def _why_trivial(theorem: Theorem) -> str:
    """Why a statement is trivial, such as `True`; empty if it may not be."""
    words = theorem.conclusion.replace("(", " ").replace(")", " ").replace("¬", " ¬ ").split()
    value = words.pop() if words else ""
    if value not in _CONSTANT or any(word != "¬" for word in words):
        return ""
    for _ in words:
        value = _NEGATED[value]
    if value == "False" and theorem.binders.strip():
        return ""  # a contradiction may follow from the hypotheses
    return f"it states `{theorem.conclusion}`: {_CONSTANT[value]}"
