"""Refuses tactics that a rule does not allow, or that it bans, wherever they stand in a text. Pure, without Lean.

`allow`: the text is read as Lean reads it, tactic by tactic, down to each `by` in a term. Every tactic must begin with
an allowed head, or be one of the allowed forms. What cannot be read with certainty is refused.
`ban`: no word of the text may be a banned tactic, or one that runs a banned tactic.

The reader follows these facts about Lean's grammar. A tactic begins only behind `by`, a separator (`;`, `<;>`), a
bullet, a bracket of tactics, a combinator (`try`, `first |`, ...), the `=>` of an alternative of a tactic, or as the
first word of a line in the column of an open block. (Behind an incomplete term, a line may begin further to the left
and leave the block open. So columns stay open until it is certain that their block has ended.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from common.lean import BadContext, TacticRule, Theorem
from common.output.command import UserError
from node.lean.text.lexing import Token, blanked, folded, lex, tokens_of


class BadRule(UserError, ValueError):
    """An entry of a rule cannot be read, or two contradict each other. The message names it."""


MOST_NAMED = 12
"""Most allowed entries that a message names."""

# --- What is known about tactics --------------------------------------------------------------------------------------

_SEQUENCE = """
try repeat repeat' repeat1 repeat1' all_goals all_goals' any_goals any_goals' focus iterate fail_if_success
with_reducible with_reducible_and_instances with_unfolding_all success_if_fail classical show_term unhygienic
"""
"""Heads with a block of tactics behind them."""

_ARROW = "case case' next on_goal conv conv_lhs conv_rhs"
"""Heads with a block of tactics behind their `=>`."""

_ALTERNATIVES = "induction cases fun_induction fun_cases match intro"
"""Heads that may have alternatives `| pattern => tactics`."""

_TERMS = """
ac_nf ac_rfl aesop and_intros apply apply_fun assumption assumption_mod_cast absurd abel abel_nf by_cases by_contra
by_contra! calc change choose choose! clear clear_value congr congr! constructor continuity contradiction contrapose
contrapose! convert convert_to decide delta done dsimp eq_refl erw exact exact_mod_cast exacts exfalso exists existsi
ext ext1 fail field_simp fin_cases funext gcongr generalize get_elem_tactic grind group have have' haveI infer_instance
injection injections interval_cases intros itauto left let letI lia lift linarith linear_combination mod_cases
nlinarith nofun nomatch norm_cast norm_num norm_num1 nth_rewrite nth_rw obtain omega positivity push_cast push_neg
rcases refine refine' rename rename_i replace revert rewrite rfl right ring ring1 ring_nf rintro rotate_left
rotate_right rw rw_mod_cast rwa set show simp simp! simp_all simp_all_arith simp_arith simp_rw simpa simpa! skip
specialize split split_ifs subsingleton subst subst_eqs subst_vars suffices swap symm tauto trans trivial
unfold use use! wlog zify qify bv_omega apply_mod_cast
"""
"""Heads whose arguments are terms, names and patterns: there is a tactic in them only behind `by`."""

_ANY_TERMS = """
exact refine refine' apply have have' haveI let letI show suffices specialize obtain rcases replace change calc exists
convert exacts set cases induction by_cases rename
"""
"""Those of them with any term as an argument. Behind another head, `(x := e)` and `=>` may stand before a tactic:
`simp (disch := e)`."""

_ALONE = """
rfl assumption constructor trivial contradiction omega decide left right simp simp_all norm_num ring ring_nf linarith
nlinarith positivity exfalso skip done symm split ac_rfl infer_instance field_simp tauto aesop grind push_neg norm_cast
"""
"""Heads behind which no name can stand."""

_RUNS = {
    "simp": """simpa simpa! simp! simp_all simp_all_arith simp_arith simp_rw simp_intro dsimp dsimp! field_simp norm_num
        norm_num1 norm_cast push_cast push_neg exact_mod_cast apply_mod_cast rw_mod_cast assumption_mod_cast mod_cast
        aesop ring_nf abel_nf get_elem_tactic decreasing_tactic decreasing_with bv_omega grind linarith nlinarith
        positivity zify qify contrapose! by_contra! linear_combination tauto itauto interval_cases fin_cases continuity
        measurability gcongr fun_prop field bound reduce split split_ifs decreasing_trivial clean_wf group nontriviality
        rify""",
    "omega": "omega_nat bv_omega lia get_elem_tactic decreasing_tactic decreasing_with decreasing_trivial",
    "grind": "lia cutsat grobner",
    "decide": """trivial get_elem_tactic norm_num norm_num1 interval_cases aesop decreasing_tactic bv_omega
        decreasing_trivial""",
    "assumption": """rwa simpa simpa! trivial get_elem_tactic assumption_mod_cast aesop tauto itauto simp_all
        decreasing_trivial decreasing_trivial_pre_omega""",
    "rw": "rwa erw rw_mod_cast nth_rw simp_rw",
    "rewrite": "rw rwa erw rw_mod_cast nth_rw nth_rewrite simp_rw",
    "rfl": "eq_refl ac_rfl trivial exact_rfl rfl' apply_rfl",
    "contradiction": "trivial nofun nomatch aesop tauto itauto",
    "cases": "rcases obtain rintro cases' fun_cases aesop tauto itauto",
    "induction": "induction' fun_induction",
    "exact": "exacts exact_mod_cast",
    "apply": "apply_mod_cast",
    "ring": "ring1 ring_nf linear_combination linarith nlinarith field_simp field",
    "linarith": "nlinarith positivity bound",
    "norm_num": "norm_num1 positivity linarith nlinarith interval_cases gcongr",
    "norm_cast": "mod_cast push_cast exact_mod_cast apply_mod_cast rw_mod_cast assumption_mod_cast",
    "tauto": "itauto",
    "intro": "intros rintro",
    "constructor": "and_intros trivial",
}
"""By tactic, the tactics that run it or do the same. The lists are for Lean and Mathlib; `allow` needs none of them."""

_COMPUTES = re.compile(
    r"(?i:\w*decid\w*)|dec(?:Eq|Lt|Le)\w*|(?:\w*_)?(?:beq|ble|blt)(?:_\w*)?|Lean|Linear|Omega|Grind|SOM|BVDecide"
)
"""Parts of names that prove by computation what `decide` does: `of_decide_eq_true`, `Nat.le_of_ble_eq_true`, and the
theorems with which `omega` and `simp` reflect their results (`Lean.Omega`, `Nat.Linear`)."""

_IN_TERMS = {
    "nofun": "nofun",
    "nomatch": "nomatch",
    "mod_cast": "norm_cast",
    "decreasing_by": "decreasing_by",
    "termination_by": "decreasing_tactic",
    "rec": "decreasing_tactic",
    "where": "decreasing_tactic",
}
"""Words of terms that run tactics, and the tactic that each stands for."""

_WORDS_OF_TERMS = """
fun let have show from if then else match with do return in at by using calc forall exists nomatch nofun mod_cast
suffices haveI letI only generalizing unless for try catch where rec decreasing_by termination_by Type Prop Sort
"""
_KEYWORDS = frozenset(_WORDS_OF_TERMS.split())
_SEQUENCES, _ARROWS, _ALTERNATING, _PLAIN = (
    frozenset(words.split()) for words in (_SEQUENCE, _ARROW, _ALTERNATIVES, _TERMS)
)
_ANY_TERM = frozenset(_ANY_TERMS.split())
_WITHOUT_NAME = frozenset(_ALONE.split())
_ALWAYS = frozenset({"rotate_left"})
"""The prover writes it between goals. It proves nothing."""

_BEFORE_LIST = _PLAIN | {"only"}
_UNFINISHED = (_KEYWORDS | _PLAIN | _SEQUENCES | _ARROWS | _ALTERNATING) - _WITHOUT_NAME

_HEAD = re.compile(r"[A-Za-z_][\w'!?]*")
_CLOSERS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⦃": "⦄"}
_CLOSING = frozenset(_CLOSERS.values())


# --- Rules ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Compiled:
    """A rule, ready to use."""

    words: str
    heads: frozenset[str]
    forms: dict[str, list[tuple[str, ...]]]
    """Allowed forms by head, as tokens; `h*` is one token."""
    banned: frozenset[str]
    banned_forms: tuple[tuple[str, ...], ...]

    @property
    def allows_all(self) -> bool:
        return not self.heads and not self.forms

    def permits(self, head: str) -> bool:
        """Whether a tactic is allowed with any arguments."""
        return head not in self.banned and (self.allows_all or head in self.heads)


def rule_of(allow: Sequence[str], ban: Sequence[str]) -> TacticRule | None:
    """The rule with these entries; None without any. Raises BadRule."""
    if not allow and not ban:
        return None
    rule = TacticRule(tuple(entry.strip() for entry in allow), tuple(entry.strip() for entry in ban))
    _compiled(rule)
    return rule


@lru_cache(64)
def _compiled(rule: TacticRule) -> _Compiled:
    """Raises BadRule."""
    allowed = [_entry(entry, "allow") for entry in rule.allow]
    refused = [_entry(entry, "ban") for entry in rule.ban]
    banned = {each[0] for each in refused if len(each) == 1}
    for head in banned.copy():
        banned.update(_RUNS.get(head, "").split())
    forms: dict[str, list[tuple[str, ...]]] = {}
    for each in allowed:
        if len(each) > 1:
            forms.setdefault(each[0], []).append(each)
        if each[0] in banned or each in refused:
            by = each[0] if each[0] in rule.ban else next(head for head in rule.ban if each[0] in _family(head))
            raise BadRule(f"allow and ban contradict each other: `{' '.join(each)}` is allowed and `{by}` is banned")
    heads = frozenset(each[0] for each in allowed if len(each) == 1)
    longer = tuple(each for each in refused if len(each) > 1)
    words = ", ".join(rule.allow[:MOST_NAMED]) + (", ..." if len(rule.allow) > MOST_NAMED else "")
    return _Compiled(words, heads, forms, frozenset(banned), longer)


def _family(head: str) -> list[str]:
    return [head, *_RUNS.get(head, "").split()]


def _entry(entry: str, name: str) -> tuple[str, ...]:
    """The tokens of a head or a form. Raises BadRule."""
    lexed = lex(entry)
    read = tokens_of(entry)
    texts = list(_texts(read.tokens))
    wrong = lexed.problem or lexed.comments or "\n" in entry or read.doubtful < len(entry) or read.end < len(entry)
    if wrong or not texts or not _HEAD.fullmatch(texts[0]) or {"by", ";", "`"} & set(texts):
        raise BadRule(
            f"{name}: {entry!r} is no tactic: write a head, such as `rw`, or the form of one tactic, such as `rw [_]` "
            "or `rw [← h*]` (`_` stands for one name, `h*` for one that begins with h)"
        )
    return tuple(texts)


def _texts(tokens: Sequence[Token]) -> Iterator[str]:
    """The texts of tokens; a `*` directly behind a name belongs to it."""
    before: Token | None = None
    for token, following in zip(tokens, [*tokens[1:], None], strict=False):
        if following is not None and token.kind == "name" and following.text == "*" and following.start == token.end:
            yield f"{token.text}*"
        elif not (token.text == "*" and before is not None and before.kind == "name" and before.end == token.start):
            yield token.text
        before = token


def refusal(text: str, rule: TacticRule) -> str:
    """Why a rule refuses a tactic or a proof; empty if it does not. `text`: balanced and without comments."""
    try:
        compiled = _compiled(rule)
        _check(text, compiled)
    except (BadRule, _Refused) as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply to tell which tactics it has"
    return ""


class _Refused(Exception):
    """A rule refuses the text. The message says why."""


def _check(text: str, rule: _Compiled) -> None:
    """Raises _Refused."""
    read = tokens_of(text)
    doubtful = min(read.doubtful, read.end)
    if doubtful < len(text):
        line = text.count("\n", 0, doubtful) + 1
        raise _Refused(f"line {line} cannot be read with certainty, so it may have a tactic that is not allowed")
    for variant in dict.fromkeys((text, folded(text))):
        tokens = tokens_of(variant).tokens
        for number, token in enumerate(tokens):
            _check_token(token, tokens, number, rule)
    for form in rule.banned_forms:
        for start in range(len(read.tokens)):
            if _matches(form, read.tokens[start : start + len(form)]):
                raise _Refused(f"`{' '.join(form)}` is banned here")
    if not rule.allows_all:
        _Reader(text, read.tokens, rule).all()


def _check_token(token: Token, tokens: Sequence[Token], number: int, rule: _Compiled) -> None:
    """What holds for a token wherever it stands. Raises _Refused."""
    if token.kind == "name":
        word = token.text.replace("«", "").replace("»", "")
        bare = word.rstrip("?!")
        if {word, bare} & rule.banned or any(bare.startswith(f"{head}_") for head in rule.banned):
            raise _Refused(f"`{token.text}` is banned here{_which(bare, rule)}")
        if bare == "by" and word != "by":
            raise _Refused(f"`{token.text}` searches, and is not allowed here")
        if stands_for := _IN_TERMS.get(word):
            _require(stands_for, token.text, rule)
        if any(_COMPUTES.fullmatch(part) for part in word.split(".")):
            _require("decide", token.text, rule)
    elif token.text == "‹":
        _require("assumption", "‹...›", rule)
    elif token.text == "∎":
        raise _Refused("`∎` searches, and is not allowed here")
    elif token.text == "`":
        raise _Refused("a quotation is not allowed here")
    elif token.text == "[" and _is_index(tokens, number):
        _require("get_elem_tactic", "x[i]", rule)


def _which(word: str, rule: _Compiled) -> str:
    runs = [head for head, family in _RUNS.items() if head in rule.banned and word in family.split()]
    return f": it runs `{runs[0]}`" if runs else ""


def _only(rule: _Compiled) -> str:
    return "" if rule.allows_all else f": only {rule.words}"


def _require(tactic: str, what: str, rule: _Compiled) -> None:
    if not rule.permits(tactic):
        without = "" if what == tactic else f" without `{tactic}`, whose work it does"
        raise _Refused(f"`{what}` is not allowed here{without}{_only(rule)}")


def _is_index(tokens: Sequence[Token], number: int) -> bool:
    """Whether a bracket begins an index whose bound a tactic proves: `x[i]`, and not `x[i]!` or `x[i]'h`."""
    before = tokens[number - 1] if number else None
    if before is None or before.end != tokens[number].start:
        return False
    ends_term = before.kind != "symbol" or before.text in _CLOSING or before.text in ("·", "›")
    if not ends_term or before.text in _BEFORE_LIST:
        return False
    depth = 0
    for place in range(number, len(tokens)):
        depth += (tokens[place].text in _CLOSERS) - (tokens[place].text in _CLOSING)
        if not depth:
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            glued = following is not None and following.start == tokens[place].end
            return not (glued and following is not None and following.text[0] in "'!?")
    return True


def _matches(form: Sequence[str], tokens: Sequence[Token]) -> bool:
    """Whether tokens have this form."""
    if len(form) != len(tokens):
        return False
    for want, token in zip(form, tokens, strict=True):
        is_name = token.kind == "name" and token.text not in _KEYWORDS
        if want == "_":
            fits = is_name
        elif want.endswith("*") and len(want) > 1:
            fits = is_name and "." not in token.text and token.text.startswith(want[:-1])
        else:
            fits = want == token.text
        if not fits:
            return False
    return True


# --- Reads the tactics of a text --------------------------------------------------------------------------------------


class _Reader:
    """Reads a text tactic by tactic. Each method begins at the current token and ends behind what it has read."""

    def __init__(self, text: str, tokens: Sequence[Token], rule: _Compiled) -> None:
        self.text, self.tokens, self.rule = text, tokens, rule
        self.at = 0
        self.columns: list[set[int]] = [set()]
        """By open bracket, the columns of blocks that Lean may have open there."""
        self.bars = 0
        """Open `first`s and alternatives: in them, a `|` ends a tactic."""

    # --- tokens

    @property
    def now(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def text_at(self, offset: int = 0) -> str:
        place = self.at + offset
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def column(self) -> int:
        token = self.tokens[self.at]
        return token.start - (self.text.rfind("\n", 0, token.start) + 1)

    def first_in_line(self) -> bool:
        return self.now is not None and self.now.column < 2

    def is_chain(self) -> bool:
        """Whether `<;>` stands here."""
        return [self.text_at(offset) for offset in range(3)] == ["<", ";", ">"]

    def refuse(self, why: str) -> _Refused:
        token = self.now or (self.tokens[-1] if self.tokens else None)
        line = self.text.count("\n", 0, token.start) + 1 if token else 1
        where = f" (line {line})" if "\n" in self.text.strip() else ""
        return _Refused(f"{why}{where}: only {self.rule.words}")

    # --- blocks of tactics

    def all(self) -> None:
        """The whole text is one block."""
        if self.now is not None:
            self.block()
        if self.now is not None:
            raise self.refuse(f"`{self.now.text}` stands where no tactic can be read")

    def block(self) -> None:
        """Tactics below each other in one column, or separated by `;`."""
        if self.now is None:
            raise self.refuse("a tactic is missing")
        column = self.column()
        self.columns[-1].add(column)
        while True:
            self.chain(column)
            if self.text_at() == ";":
                self.at += 1
                if self.now is None or self.now.text in _CLOSING:
                    return
                if self.first_in_line() and self.column() < column:
                    return
                continue
            if self.now is None or not self.first_in_line() or self.column() != column or self.text_at() in ("|", ","):
                return
            self.close_columns(column)

    def close_columns(self, column: int) -> None:
        """Forget the blocks to the right of a new tactic, if the line above it ends in a complete term or a bracket:
        then Lean reads no argument here, because those stand to the right of their tactic."""
        before = self.tokens[self.at - 1]
        complete = before.text in _CLOSING or before.kind in ("number", "string")
        if complete or (before.kind == "name" and before.text not in _UNFINISHED | self.rule.heads - _WITHOUT_NAME):
            self.columns[-1] = {each for each in self.columns[-1] if each <= column}

    def chain(self, column: int) -> None:
        """Tactics that `<;>` combines."""
        self.tactic(column)
        while self.is_chain():
            self.at += 3
            self.tactic(column)

    def tactic(self, column: int) -> None:
        """One tactic. `column`: of the block that it stands in."""
        token = self.now
        if token is None:
            raise self.refuse("a tactic is missing")
        if token.text in ("·", "."):
            self.at += 1
            self.block()
        elif token.text in ("(", "{"):
            self.at += 1
            self.inside(_CLOSERS[token.text])
        elif token.kind == "name":
            self.named(token, column)
        else:
            raise self.refuse(f"`{token.text}` does not begin a tactic that can be read")

    def inside(self, closer: str) -> None:
        """A block in brackets, up to the closing one."""
        self.columns.append(set())
        bars, self.bars = self.bars, 0
        self.block()
        if self.text_at() != closer:
            raise self.refuse(f"`{self.text_at()}` stands where no tactic can be read")
        self.at += 1
        self.bars = bars
        self.columns.pop()

    def named(self, token: Token, column: int) -> None:
        """A tactic that begins with a word."""
        head, rule = token.text, self.rule
        # 1. Is it allowed?
        if head not in rule.heads and head not in _ALWAYS:
            if head in rule.forms:
                self.formed(rule.forms[head])
                return
            raise self.refuse(f"`{head}` is not allowed")
        self.at += 1
        # 2. The tactics inside it.
        if head == "first":
            self.alternatives(patterns=False)
        elif head in _SEQUENCES:
            if self.now is not None and self.now.kind == "number":
                self.at += 1
            self.block()
        elif head in _ARROWS:
            self.until_arrow()
            self.block()
        elif head in _ALTERNATING:
            self.terms(head, column)
            if self.text_at(-1) == "with" and self.text_at() != "|":
                raise self.refuse("a tactic behind `with` is not allowed")
            if self.text_at() == "|" and (self.text_at(-1) == "with" or head == "intro"):
                self.alternatives(patterns=True)
        elif head in _PLAIN:
            self.terms(head, column)
        else:
            self.unknown(head, column)

    def formed(self, forms: Sequence[tuple[str, ...]]) -> None:
        """A tactic that must have one of these forms, from its first to its last token."""
        for form in sorted(forms, key=len, reverse=True):
            if _matches(form, self.tokens[self.at : self.at + len(form)]):
                start, self.at = self.at, self.at + len(form)
                if self.ends_here():
                    return
                self.at = start
        end = self.at + 1
        while end < len(self.tokens) and self.tokens[end].column == 2 and end < self.at + 12:
            end += 1
        written = self.text[self.tokens[self.at].start : self.tokens[end - 1].end]
        raise self.refuse(f"`{written}` has no allowed form")

    def ends_here(self) -> bool:
        """Whether the tactic before this place ends here, whatever its grammar."""
        text = self.text_at()
        if self.now is None or text in _CLOSING or text == ";" or self.is_chain():
            return True
        return text in ("|", ",") or (self.first_in_line() and self.column() in self.columns[-1])

    def alternatives(self, *, patterns: bool) -> None:
        """`| tactics | tactics` of `first`, or `| pattern => tactics`."""
        if self.text_at() != "|":
            raise self.refuse("an alternative is missing")
        column = self.column()
        self.bars += 1
        while self.text_at() == "|" and (not self.first_in_line() or self.column() >= column):
            self.at += 1
            if patterns:
                self.until_arrow()
                if self.text_at() in ("_", "?") and self.hole():
                    continue
            self.block()
        self.bars -= 1

    def hole(self) -> bool:
        """Skip `_`, `?_` or `?name` in place of tactics."""
        self.at += 1 if self.text_at() == "_" else 2
        return True

    def until_arrow(self) -> None:
        """Skip a pattern or names, up to the `=>` behind them."""
        depth = 0
        while self.now is not None and (self.text_at() != "=>" or depth):
            if self.text_at() in ("by", ";", ":=", "=>"):
                break
            depth += (self.text_at() in _CLOSERS) - (self.text_at() in _CLOSING)
            self.at += 1
        if self.text_at() != "=>" or depth:
            raise self.refuse("an alternative without `=>` cannot be read")
        self.at += 1

    # --- terms

    def unknown(self, head: str, column: int) -> None:
        """The arguments of a tactic of an unknown grammar: only lists in brackets, and places (`at h`)."""
        while not (self.ends_here() or (self.first_in_line() and self.column() <= column)):
            if self.text_at() == "[":
                self.at += 1
                self.bracket("]")
            elif self.text_at() == "at" and self.now is not None:
                self.at += 1
                while self.now is not None and (self.now.kind == "name" or self.now.text in ("⊢", "*")):
                    self.expect_continuation()
                    self.at += 1
            else:
                raise self.refuse(f"the arguments of `{head}` are not known here; write its form, such as `{head} _`")

    def terms(self, head: str, column: int) -> None:
        """The arguments of a tactic, to its end, with each `by` in them. `column`: of the block that it stands in."""
        patterns = head == "rintro"  # a `|` in a pattern ends nothing
        while (token := self.now) is not None:
            text = token.text
            if text in _CLOSING or text == ";" or self.is_chain():
                return
            if self.first_in_line() and self.column() <= column and not self.continues(head):
                return
            if text == "|" and (self.text_at(-1) == "with" or head == "intro") and head in _ALTERNATING:
                return
            if text == "|" and self.bars and (not patterns or self.first_in_line()):
                return
            patterns = patterns or head == "obtain" or (head == "rcases" and text == "with")
            if head == "obtain" and text == ":=":
                patterns, head = False, "obtained"
            if head not in _ANY_TERM and head != "obtained":
                named = text == "(" and self.text_at(2) == ":=" and self.text_at(1) != "config"
                if named or text == "=>":
                    what = f"({self.text_at(1)} := ...)" if named else "=>"
                    raise self.refuse(f"`{what}` of `{head}` may stand before a tactic, and is not allowed")
            self.term_token()
            if head in _ALTERNATING and text == "with":
                return

    def continues(self, head: str) -> bool:
        """Whether a line that begins at its block's column goes on with the tactic above: a further step of `calc`."""
        return head == "calc" and self.text_at() == "_"

    def term_token(self) -> None:
        """One token of a term, with its bracket's content, or with the block behind `by`."""
        text = self.text_at()
        self.expect_continuation()
        self.at += 1
        if text == "by":
            self.block()
        elif text in _CLOSERS:
            self.bracket(_CLOSERS[text])

    def expect_continuation(self) -> None:
        """Refuse a word that may begin a tactic of a block that is still open."""
        token = self.now
        if token is None or not self.first_in_line() or token.text == "_":
            return
        if self.column() in self.columns[-1] and (token.kind == "name" or token.text in ("(", "{", "·", ".")):
            raise self.refuse(f"`{token.text}` may begin a tactic: indent it further, or put the term into one line")

    def bracket(self, closer: str) -> None:
        """The content of a bracket in a term, and the closing bracket."""
        self.columns.append(set())
        bars, self.bars = self.bars, 0
        while self.now is not None and self.text_at() not in _CLOSING:
            # A `;` may end a tactic of a block in this bracket, which only the column seems to have ended.
            if self.text_at() == ";" or self.is_chain():
                self.at += 3 if self.is_chain() else 1
                self.block()
            else:
                self.term_token()
        if self.text_at() != closer:
            raise self.refuse("a bracket is not closed where a term can be read")
        self.at += 1
        self.bars = bars
        self.columns.pop()


# --- Syntax that a header or a file defines ---------------------------------------------------------------------------

_DEFINES = re.compile(
    r"\b(?:macro|macro_rules|syntax|declare_syntax_cat|elab|elab_rules|simproc|dsimproc|run_cmd|run_elab|run_meta)\b"
    r"|(?:@\[|\battribute\s*\[)[^\]]*\b(?:tactic|macro|term_elab|\w*parser)\b"
)
_NOTATION = re.compile(
    r"^[^\S\n]*(?:@\[[^\]]*\]\s*)?(?:(?:local|scoped)\s+)?(?:notation3?|infix[lr]?|prefix|postfix)\b.*?(?=\n\S|\Z)",
    re.MULTILINE | re.DOTALL,
)
_DEFAULT = re.compile(r"[(\[{⦃][^()\[\]{}⦃⦄]*:=\s*by\b")
_RUNS_TACTICS = re.compile(r"\bby\b|‹|\bmod_cast\b|\bnofun\b|\bnomatch\b|[Dd]ecid")


@lru_cache(64)
def syntax_problem(header: str) -> str:
    """Why no rule can be enforced below a text: it defines tactics or notation that runs some; empty if it does not."""
    match = _defining(blanked(header)) or _defining(tokens_of(header).code_of(header))  # raw strings differ
    if match is None:
        return ""
    line = header.count("\n", 0, match.start()) + 1
    what = " ".join(match.group().split())[:40]
    return f"line {line} of its header or file defines syntax (`{what}`): with allow or ban, tactics must be known"


def _defining(code: str) -> re.Match[str] | None:
    """What defines tactics, or notation that runs some."""
    running = (each for each in _NOTATION.finditer(code) if _RUNS_TACTICS.search(each.group()))
    return _DEFINES.search(code) or next(running, None)


def theorem_problem(theorem: Theorem) -> str:
    """Why the rule of a theorem cannot be enforced; empty if it can, or if there is none."""
    if theorem.rule is None:
        return ""
    place = theorem.place
    try:
        _compiled(theorem.rule)
        if place is not None:
            return syntax_problem(place.context.text + place.before)
    except (BadRule, BadContext) as error:
        return str(error)
    if match := _DEFAULT.search(blanked(theorem.header)):
        line = theorem.header.count("\n", 0, match.end()) + 1
        return f"line {line} of its header has an argument that a tactic fills: with allow or ban, it may have none"
    return syntax_problem(theorem.header)
