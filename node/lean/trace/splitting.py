"""Splits composed tactics into atomic steps: `rw` lists, case blocks, `<;>`, `have ... := by`, `calc`.

Each rule finds the pieces of a tactic in the info tree, and writes a text that does its first step only: `induction n
with | zero => ?_ | ...` leaves the cases as goals, `have h : T := ?_` leaves the claim. Lean checks the split proof
afterwards (`checking`). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from node.lean.trace.infotree import LeanSource, Span, TacticInfo, dedent
from node.lean.trace.records import premises
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
"""A `have` with a type. Without the type, the claim could not become a goal."""
_HAS_FROM = re.compile(r"(\bfrom|:=)\s*$")
_TAIL_BY = re.compile(r"(?<![\w.'])(by)\s*$")
_ALTERNATIVE = "Tactic.inductionAltLHS"
_RULE = "Tactic.rwRule"


@dataclass(frozen=True)
class Style:
    """How far to split."""

    rewrite: str = ""
    """Tactic for all but the last step of a `rw` list: `rw` or `rewrite`; empty: do not split lists. `rw` tries to
    close the goal by `rfl` after each rule, and would then leave no goal for the remaining rules."""
    blocks: bool = False
    """Split case blocks, `<;>`, `all_goals`, and tactic blocks in terms."""
    claims_last: bool = True
    """True if the claim of `have h : T := ?_` is the last of its goals. This depends on Lean's version."""


SPLIT = tuple(Style(rewrite, True, last) for rewrite in ("rw", "rewrite", "") for last in (True, False))
"""Styles to try in this order, until Lean accepts the split proof."""

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
    """Replays the tactics of a file's blocks, and splits them in a style."""

    def __init__(self, source: LeanSource, names: Mapping[Span, str], style: Style) -> None:
        self.source = source
        self.names = names
        self.style = style

    def block(self, info: TacticInfo) -> Slot:
        """The tree of a `by` block. Raises Unsupported."""
        slot, opened = root(info.before)
        if play(items(info), opened, self.one):
            raise Unsupported("goals are left at the end of the block")
        return slot

    def one(self, info: TacticInfo, opened: list[Open]) -> list[Open]:
        """Replay one tactic over the open goals."""
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
        """Replay a tactic as written."""
        return step(self.item(info), opened)

    def item(
        self,
        info: TacticInfo,
        tactic: str = "",
        after: list[str] | None = None,
        without: Sequence[TacticInfo] = (),
    ) -> PlayedStep:
        """A tactic as a step, with another text if `tactic` is given. `without`: inner tactics that are separate
        steps, whose premises are left out."""
        named = premises(info, self.names)
        if without:
            places = [each.span for each in without]
            named = tuple(
                each for each in named if not any(place.holds(Span(each.start, each.end)) for place in places)
            )
        after = list(info.after) if after is None else after
        return PlayedStep(tactic or self.source.tactic(info.span), info.span, info.before, after, named)

    def pieces(self, info: TacticInfo) -> list[TacticInfo]:
        """All tactic nodes below that are pieces of the tactic's own syntax, nearest first on every path."""
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
        # `rwa` tries `assumption` after its rules: a separate step.
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
        """`case TAG NAMES => ...` and `next NAMES => ...`: select the goal, rename hypotheses, replay the block."""
        words = match.group(2).split()
        inner = inside(info)
        if "|" in words or match.group(1) == "case'" or not inner:
            return self.whole(info, opened)
        index = chosen(info, opened)
        if index is None:
            return self.whole(info, opened)
        names = words if match.group(1) == "next" else words[1:]
        if names:
            renamed = inner[0].before
            item = PlayedStep(f"rename_i {' '.join(names)}", info.span, [opened[index].text], renamed)
            [goal] = step(item, [opened[index]])
            opened = [*opened[:index], goal, *opened[index + 1 :]]
        return focused(opened, inner, self.one, index)

    # -- one tactic on several goals

    def each(self, info: TacticInfo, opened: list[Open]) -> list[Open]:
        """`all_goals` and `any_goals`: replay the block on each goal for which the info tree records a run."""
        runs = [part for part in info.parts if part.kind == "Tactic.tacticSeq"]
        remaining: list[Open] = []
        for goal in opened:
            if runs and runs[0].before == (goal.text,):
                remaining += play(items(runs.pop(0)), [goal], self.one)
            else:
                remaining.append(goal)
        if runs or [goal.text for goal in remaining] != list(info.after):
            raise Unsupported(f"line {info.span.start[0]}: the recorded runs do not match the goals")
        return remaining

    def combined(self, info: TacticInfo, opened: list[Open]) -> list[Open]:
        """`t <;> s`: replay t on the goal, then s on each goal that t leaves."""
        parts = inside(info)
        runs = [part for part in self._everything(info) if part.synthetic and part.kind == "Tactic.allGoals"]
        if not parts or not runs:
            return self.whole(info, opened)
        remaining = play([parts[0]], [opened[0]], self.one)
        return [*self.each(runs[0], remaining), *opened[1:]]

    # -- blocks inside a tactic

    def alternatives(self, info: TacticInfo, opened: list[Open]) -> list[Open]:
        """`induction ... with | ... => ...`: the cases become goals with the same names."""
        heads = [part for part in self.pieces(info) if _ALTERNATIVE in part.kind]
        if any(len(part.before) != 1 for part in heads):
            raise Unsupported(f"line {info.span.start[0]}: an alternative does not have exactly one goal")
        places = list(dict.fromkeys(part.span for part in heads))
        head = self.source.slice(Span(info.span.start, places[0].start)).rstrip()
        tactic = " ".join([head, *(f"{' '.join(self.source.slice(place).split())} ?_" for place in places)])
        runs = [inside(part) for part in heads]
        item = self.item(
            info, tactic, [part.before[0] for part in heads], without=[each for run in runs for each in run]
        )
        goals = attach(item, opened[0].slot, [opened[0]], item.after)
        remaining: list[Open] = []
        for inner, goal in zip(runs, goals, strict=True):
            remaining += play(inner, [goal], self.one) if inner else [goal]
        return [*remaining, *opened[1:]]

    def holes(self, info: TacticInfo, opened: list[Open], text: str) -> list[Open]:
        """`have h : T := by ...`, `calc ... := by ...`: the blocks become goals."""
        blocks = self._blocks(info, text)
        if not blocks:
            return self.whole(info, opened)
        tactic = self._with_holes(info, text, blocks)
        claims = [block.goal for block in blocks]
        own = len(info.after) - (len(opened) - 1)  # number of goals that the tactic itself leaves
        if own < 0 or [goal.text for goal in opened[1:]] != list(info.after[own:]):
            raise Unsupported(f"`{tactic}` also changes other goals")
        last = self.style.claims_last and not text.startswith("calc")
        after = [*info.after[:own], *claims] if last else [*claims, *info.after[:own]]
        item = self.item(info, tactic, after, without=[each for block in blocks for each in block.tactics])
        goals = attach(item, opened[0].slot, [opened[0]], after)
        claimed, remaining = (goals[own:], goals[:own]) if last else (goals[: len(blocks)], goals[len(blocks) :])
        for block, goal in zip(blocks, claimed, strict=True):
            if play(block.tactics, [goal], self.one):
                raise Unsupported("goals are left at the end of a block in a term")
        return [*remaining, *opened[1:]]

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
        """`have h : T := by ...`: a macro turns the block at the end into a `case`, so the info tree has no `by`."""
        inner = inside(info)
        if not inner or len(inner[0].before) != 1:
            return []
        begin = self.source.offset(info.span.start)
        first = self.source.offset(inner[0].span.start)
        match = _TAIL_BY.search(self.source.text[begin:first])
        if match is None or (text.startswith("have") and not _TYPED_HAVE.match(text)):
            return []
        return [TermBlock(begin + match.start(1), begin + len(text), inner[0].before[0], inner)]
