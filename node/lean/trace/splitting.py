"""Splits composed tactics into atomic steps: `rw` lists, case blocks, `<;>`, `have ... := by`, `calc`.

Each rule finds the pieces in the info tree and says which text does the same in one step: `induction n with | zero =>
?_ | ...` leaves the cases as goals, `have h : T := ?_` leaves the claim. Whether Lean agrees is seen afterwards, when
the split proof is elaborated (`checking`). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from node.lean.trace.infotree import Span, TacticInfo
from node.lean.trace.premises import premises
from node.lean.trace.source import LeanSource, dedent
from node.lean.trace.tree import (
    Open,
    PlayedStep,
    Slot,
    Unsupported,
    attach,
    chosen,
    focused,
    inside,
    items,
    play,
    refreshed,
    root,
    step,
)

_REWRITES = re.compile(r"(rw|rewrite|erw|rwa|simp_rw)(?![\w'])")
_TAKES_HOLES = re.compile(r"(have|suffices|show|calc)(?![\w'])")
_CASE = re.compile(r"(case'?|next)(?![\w'])(.*?)=>", re.DOTALL)
_TYPED_HAVE = re.compile(r"have[^:=]*:(?!=)")
"""Without its type, a claim could not be a goal."""
_HAS_FROM = re.compile(r"(\bfrom|:=)\s*$")
_TAIL_BY = re.compile(r"(?<![\w.'])(by)\s*$")
_ALTERNATIVE = "Tactic.inductionAltLHS"
_RULE = "Tactic.rwRule"


@dataclass(frozen=True)
class Style:
    """How far to split."""

    rewrite: str = ""
    """`rw` or `rewrite` for all but the last step of a `rw` list; empty: such lists stay whole. `rw` tries to close
    the goal by `rfl` after each rule, and then the rest of the list has nothing to work on."""
    blocks: bool = False
    """Case blocks, `<;>`, `all_goals`, and tactic blocks in terms."""
    claims_last: bool = True
    """Where the claim of `have h : T := ?_` stands among the goals: it depends on Lean's version."""


SPLIT = tuple(Style(rewrite, True, last) for rewrite in ("rw", "rewrite", "") for last in (True, False))
"""Tried in this order, until Lean accepts the split proof."""

WHOLE = Style()


@dataclass(frozen=True)
class TermBlock:
    """A `by` block in the term of a tactic."""

    start: int
    """Character offset of its `by`."""
    end: int
    goal: str
    tactics: list[TacticInfo]


class Splitter:
    """Plays the tactics of one file's blocks, splitting them in a style."""

    def __init__(self, source: LeanSource, names: Mapping[Span, str], style: Style) -> None:
        self.source = source
        self.names = names
        self.style = style

    def block(self, info: TacticInfo) -> Slot:
        """The tree of a `by` block. Raises Unsupported."""
        slot, opened = root(info.before)
        left = play(items(info), opened, self.one)
        if left:
            raise Unsupported("goals are left at the end of the block")
        return slot

    def one(self, info: TacticInfo, opened: list[Open]) -> list[Open]:
        """Play one tactic over the open goals."""
        text = self.source.slice(info.span)
        if info.kind == "Lean.cdot":
            return focused(opened, inside(info), self.one)
        if not self.style.blocks:
            return self.rewriting(info, opened, text)
        if info.kind == "Tactic.focus":
            return focused(opened, inside(info), self.one)
        if match := _CASE.match(text):
            return self.case(info, opened, match)
        if info.kind in ("Tactic.allGoals", "Tactic.anyGoals"):
            return self.each(info, opened)
        if "<;>" in info.kind:
            return self.combined(info, opened)
        if any(_ALTERNATIVE in part.kind for part in self.pieces(info)):
            return self.alternatives(info, opened)
        if _TAKES_HOLES.match(text):
            return self.holes(info, opened, text)
        return self.rewriting(info, opened, text)

    def whole(self, info: TacticInfo, opened: list[Open]) -> list[Open]:
        """Play a tactic as it is written."""
        return step(self.item(info), opened)

    def item(
        self,
        info: TacticInfo,
        tactic: str = "",
        after: list[str] | None = None,
        without: Sequence[TacticInfo] = (),
    ) -> PlayedStep:
        """A tactic as a step, perhaps with another text; `without`: tactics inside that are steps of their own."""
        named = premises(info, self.names)
        if without:
            places = [each.span for each in without]
            named = tuple(
                each for each in named if not any(place.holds(Span(each.start, each.end)) for place in places)
            )
        after = list(info.after) if after is None else after
        return PlayedStep(tactic or self.source.tactic(info.span), info.span, info.before, after, named)

    def pieces(self, info: TacticInfo) -> list[TacticInfo]:
        """All tactic nodes below, nearest first on every path, that are pieces of the tactic's own syntax."""
        pieces, stack = [], list(reversed(info.parts))
        while stack:
            part = stack.pop()
            pieces.append(part)
            if part.synthetic or (part.node.body and part.node.body[0].startswith("[")):
                stack.extend(reversed(part.parts))
        return pieces

    # -- lists of rewrite rules

    def rewriting(self, info: TacticInfo, opened: list[Open], text: str) -> list[Open]:
        """One step for each rule of a `rw` list."""
        match = _REWRITES.match(text)
        rules = [part for part in self._everything(info) if part.kind == _RULE and not part.synthetic]
        if match is None or not self.style.rewrite or not rules or (len(rules) == 1 and match.group(1) != "rwa"):
            return self.whole(info, opened)
        begin, end = self.source.offset(info.span.start), self.source.offset(info.span.end)
        first, last = self.source.offset(rules[0].span.start), self.source.offset(rules[-1].span.end)
        bracket = self.source.text.index("]", last, end)
        lead = self.source.text[begin + match.end(1) : first]
        location = self.source.text[bracket + 1 : end].rstrip()
        keyword = match.group(1)
        for number, rule in enumerate(rules):
            final = number == len(rules) - 1
            word = self._rewrite_word(keyword, final)
            tactic = f"{word}{lead}{self.source.slice(rule.span).strip().rstrip(',').rstrip()}]{location}"
            after = info.after if final and keyword != "rwa" else rule.after
            item = PlayedStep(tactic, rule.span, rule.before, after, premises(info, self.names, rule.span))
            opened = step(item, refreshed(opened, rule))
        if keyword == "rwa" and opened:
            opened = step(PlayedStep("assumption", info.span, rules[-1].after, info.after), opened)
        return opened

    def _rewrite_word(self, keyword: str, final: bool) -> str:
        if keyword == "simp_rw":
            return "simp only"
        if keyword == "rwa":
            return "rewrite" if not final or self.style.rewrite == "rewrite" else "rw"
        return self.style.rewrite if keyword == "rw" and not final else keyword

    def _everything(self, info: TacticInfo) -> list[TacticInfo]:
        return [node.tactic for node in info.node.walk() if node.tactic is not None]

    # -- blocks that work on one goal

    def case(self, info: TacticInfo, opened: list[Open], match: re.Match[str]) -> list[Open]:
        """`case TAG NAMES => ...` and `next NAMES => ...`: choose the goal, rename, go on."""
        words = match.group(2).split()
        inner = inside(info)
        if "|" in words or match.group(1) == "case'" or not inner:
            return self.whole(info, opened)
        index = chosen(info, opened)
        if index is None:
            return self.whole(info, opened)
        given = words if match.group(1) == "next" else words[1:]
        if given:
            renamed = inner[0].before
            item = PlayedStep(f"rename_i {' '.join(given)}", info.span, [opened[index].text], renamed)
            [goal] = step(item, [opened[index]])
            opened = [*opened[:index], goal, *opened[index + 1 :]]
        return focused(opened, inner, self.one, index)

    # -- one tactic on several goals

    def each(self, info: TacticInfo, opened: list[Open]) -> list[Open]:
        """`all_goals` and `any_goals`: each goal in turn, as far as there is a record of a run on it."""
        runs = [part for part in info.parts if part.kind == "Tactic.tacticSeq"]
        left: list[Open] = []
        for goal in opened:
            if runs and runs[0].before == (goal.text,):
                left += play(items(runs.pop(0)), [goal], self.one)
            else:
                left.append(goal)
        if runs or [goal.text for goal in left] != list(info.after):
            raise Unsupported(f"runs and goals do not agree in line {info.span.start[0]}")
        return left

    def combined(self, info: TacticInfo, opened: list[Open]) -> list[Open]:
        """`t <;> s`: t on the goal, then s on each goal that it leaves."""
        parts = inside(info)
        runs = [part for part in self._everything(info) if part.synthetic and part.kind == "Tactic.allGoals"]
        if not parts or not runs:
            return self.whole(info, opened)
        left = play([parts[0]], [opened[0]], self.one)
        return [*self.each(runs[0], left), *opened[1:]]

    # -- blocks inside a tactic

    def alternatives(self, info: TacticInfo, opened: list[Open]) -> list[Open]:
        """`induction ... with | ... => ...`: the cases become goals, named as they were."""
        heads = [part for part in self.pieces(info) if _ALTERNATIVE in part.kind]
        if any(len(part.before) != 1 for part in heads):
            raise Unsupported(f"an alternative without a goal in line {info.span.start[0]}")
        places = list(dict.fromkeys(part.span for part in heads))
        head = self.source.slice(Span(info.span.start, places[0].start)).rstrip()
        tactic = " ".join([head, *(f"{' '.join(self.source.slice(place).split())} ?_" for place in places)])
        runs = [inside(part) for part in heads]
        item = self.item(
            info, tactic, [part.before[0] for part in heads], without=[each for run in runs for each in run]
        )
        goals = attach(item, opened[0].slot, [opened[0]], item.after)
        left: list[Open] = []
        for inner, goal in zip(runs, goals, strict=True):
            left += play(inner, [goal], self.one) if inner else [goal]
        return [*left, *opened[1:]]

    def holes(self, info: TacticInfo, opened: list[Open], text: str) -> list[Open]:
        """`have h : T := by ...`, `calc ... := by ...`: the blocks become goals."""
        blocks = self._blocks(info, text)
        if not blocks:
            return self.whole(info, opened)
        tactic = self._with_holes(info, text, blocks)
        claims = [block.goal for block in blocks]
        made = len(info.after) - (len(opened) - 1)
        if made < 0 or [goal.text for goal in opened[1:]] != list(info.after[made:]):
            raise Unsupported(f"`{tactic}` changes other goals, too")
        last = self.style.claims_last and not text.startswith("calc")
        after = [*info.after[:made], *claims] if last else [*claims, *info.after[:made]]
        item = self.item(info, tactic, after, without=[each for block in blocks for each in block.tactics])
        goals = attach(item, opened[0].slot, [opened[0]], after)
        mine, rest = (goals[made:], goals[:made]) if last else (goals[: len(blocks)], goals[len(blocks) :])
        for block, goal in zip(blocks, mine, strict=True):
            if play(block.tactics, [goal], self.one):
                raise Unsupported("goals are left at the end of a block in a term")
        return [*rest, *opened[1:]]

    def _with_holes(self, info: TacticInfo, text: str, blocks: list[TermBlock]) -> str:
        """The text of a tactic with `?_` in place of its blocks."""
        begin, cuts, at = self.source.offset(info.span.start), [], 0
        for block in blocks:
            lead = text[at : block.start - begin]
            needs_from = text.startswith("suffices") and not _HAS_FROM.search(lead)
            cuts.append(lead + ("from ?_" if needs_from else "?_"))
            at = block.end - begin
        return dedent("".join([*cuts, text[at:]]), info.span.start[1])

    def _blocks(self, info: TacticInfo, text: str) -> list[TermBlock]:
        """The `by` blocks in a tactic's term, in the order of the text."""
        blocks = []
        for part in self._outermost(info):
            if len(part.before) == 1:
                start, end = self.source.offset(part.span.start), self.source.offset(part.span.end)
                blocks.append(TermBlock(start, end, part.before[0], items(part)))
        if blocks:
            return sorted(blocks, key=lambda block: block.start)
        return self._tail_block(info, text)

    def _outermost(self, info: TacticInfo) -> list[TacticInfo]:
        """The outermost `by` blocks in a tactic's terms."""
        blocks, stack = [], list(reversed(info.parts))
        while stack:
            part = stack.pop()
            if part.kind == "Term.byTactic" and not part.synthetic:
                blocks.append(part)
            elif part.kind not in ("Tactic.tacticSeq", "Tactic.tacticSeq1Indented") or part.synthetic:
                stack.extend(reversed(part.parts))
        return list({part.span: part for part in blocks}.values())

    def _tail_block(self, info: TacticInfo, text: str) -> list[TermBlock]:
        """`have h : T := by ...`: a macro turns the block at the end into a `case`, so its `by` is no term."""
        inner = inside(info)
        if not inner or len(inner[0].before) != 1:
            return []
        begin = self.source.offset(info.span.start)
        first = self.source.offset(inner[0].span.start)
        match = _TAIL_BY.search(self.source.text[begin:first])
        if match is None or (text.startswith("have") and not _TYPED_HAVE.match(text)):
            return []
        return [TermBlock(begin + match.start(1), begin + len(text), inner[0].before[0], inner)]
