"""Generate the theorem bank: propose, check with Lean, sort into splits, trace, write.

python -m scripts.bank.build --out data/pocket [--scale 1.0] [--seed 1]

The same seed, scale and library give the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from common.lean import ProofTree, Theorem
from common.script import proof_script
from common.seeds import derive_seed
from scripts.bank import lean_check
from scripts.bank.draft import Draft, size
from scripts.bank.families import FALSE_MAKERS, MAKERS, TEST_ONLY
from scripts.bank.normal_form import normal_form, skeleton

SPLITS = {"train": 6000, "valid": 440, "test": 440}
"""Statements wanted; what the families cannot fill is left out."""

LEVEL_SHARES = {1: 0.28, 2: 0.30, 3: 0.23, 4: 0.19}
FALSE_SHARE = 0.1
"""Of the train statements (issue: about 10%)."""

EASY_SHARE = 0.08
"""Of the statements of levels 1 and 2 that a single tactic of FLOOR_TACTICS closes after `intros`; none above."""

MAX_DEPTH = 8
MAX_TACTIC = 60
"""Characters of a tactic; about 24 tokens."""
MAX_SIZE = 12
MAX_STATE = 420
"""Characters of a state; about 200 tokens."""

FLOOR_TACTICS = ("assumption", "contradiction", "rfl", "trivial", "decide", "simp", "simp_all")
BATCH = 250
MAX_BATCHES = 60
"""Candidates per family: at most BATCH * MAX_BATCHES * scale."""


@dataclass
class Item:
    """An accepted statement."""

    theorem: Theorem
    draft: Draft
    split: str
    level: int
    template: str
    proof: ProofTree
    checked: lean_check.Checked

    @property
    def true(self) -> bool:
        return self.draft.proof is not None


@dataclass
class Bank:
    """What has been accepted so far."""

    scale: float
    quotas: dict[tuple[str, str, int], int] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    easy: Counter = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)


def level_of(proof: ProofTree) -> int:
    """1-4 by the number of tactics of the generator's proof: up to 2, 4, 6, more."""
    return min(4, (size(proof) + 1) // 2)


def split_of(template: str) -> str:
    """The split of a template: fixed by its text, so no template is in two splits."""
    share = derive_seed("split", template) % 100
    return "test" if share < 11 else "valid" if share < 22 else "train"


def quotas(scale: float) -> dict[tuple[str, str, int], int]:
    """Statements wanted for each split, family and level."""
    total = sum(weight for _, weight in MAKERS.values())
    wanted = {}
    for split, count in SPLITS.items():
        for family, (_, weight) in MAKERS.items():
            for level, share in LEVEL_SHARES.items():
                wanted[split, family, level] = max(1, round(scale * count * weight / total * share))
    return wanted


def admissible(draft: Draft) -> bool:
    """Short enough for the demo's model: steps, tactics, names."""
    if draft.proof is None:
        return True
    nodes = list(lean_check.preorder(draft.proof))
    return (
        len(nodes) <= MAX_SIZE
        and draft.proof.remaining_steps <= MAX_DEPTH
        and all(len(node.tactic) <= MAX_TACTIC for node in nodes)
    )


def propose(bank: Bank, family: str, maker: Callable, rng: random.Random, false: bool) -> list[Item]:
    """Candidates that fit an open quota and have not been seen."""
    found: list[Item] = []
    for _ in range(BATCH * 8):
        if len(found) == BATCH:
            break
        draft = maker(rng)
        if draft is None or not admissible(draft) or (draft.proof is None) != false:
            continue
        theorem = draft.theorem(f"c{len(bank.seen)}", rng)
        form = normal_form(theorem)
        if form in bank.seen:
            continue
        template = f"{draft.generator}| {skeleton(theorem)}"
        split = "test" if family in TEST_ONLY else split_of(template)
        level = 1 + min(2, len(theorem.proposition) // 60) if draft.proof is None else level_of(draft.proof)
        if false and split != "train":
            continue
        if not false and bank.counts[split, family, level] >= bank.quotas[split, family, level]:
            continue
        bank.seen.add(form)
        proof = draft.proof or draft.counter_proof()
        found.append(Item(theorem, draft, split, level, template, proof, lean_check.Checked()))
    return found


def accept(bank: Bank, family: str, candidates: list[Item], limit: int | None = None) -> int:
    """Keep what Lean accepts and no single tactic closes. Returns how many were kept."""
    goals = [item.theorem if item.true else item.theorem.negation() for item in candidates]
    for item, checked in zip(
        candidates, lean_check.check([(g, i.proof) for g, i in zip(goals, candidates, strict=True)]), strict=True
    ):
        item.checked = checked
    proved = [i for i in candidates if i.checked.proved and max(map(len, i.checked.states)) <= MAX_STATE]
    easy = easily_closed([item.theorem for item in proved])
    kept = 0
    for item, is_easy in zip(proved, easy, strict=True):
        key = (item.split, family, item.level)
        if limit is not None and kept >= limit:
            break
        if item.true and bank.counts[key] >= bank.quotas[key]:
            continue
        if is_easy and (item.level > 2 or not item.true or bank.easy[key] >= EASY_SHARE * bank.quotas[key]):
            continue
        bank.easy[key] += is_easy
        bank.counts[key] += item.true
        bank.items.append(item)
        kept += 1
    return kept


def easily_closed(theorems: list[Theorem]) -> list[bool]:
    """Is each statement closed by one of the floor tactics after `intros`?"""
    return lean_check.closed_by(theorems, f"first | {' | '.join(FLOOR_TACTICS)}")


def fill(bank: Bank, seed: int, report: Callable[[str], None]) -> None:
    """Every family until its quotas are full or its tries are used up; then the false statements."""
    for family, (maker, _) in MAKERS.items():
        wanted = sum(
            count
            for key, count in bank.quotas.items()
            if key[1] == family and (family not in TEST_ONLY or key[0] == "test")
        )
        for batch in range(max(2, round(MAX_BATCHES * min(1.0, bank.scale * 2)))):
            have = sum(count for key, count in bank.counts.items() if key[1] == family)
            if have >= wanted:
                break
            rng = random.Random(derive_seed(seed, family, batch))
            candidates = propose(bank, family, maker, rng, false=False)
            if len(candidates) < BATCH // 25:
                break
            accept(bank, family, candidates)
        report(f"{family}: {have} of {wanted}")
    true_train = sum(item.split == "train" for item in bank.items)
    wanted_false = round(true_train * FALSE_SHARE / (1 - FALSE_SHARE))
    for family, maker in FALSE_MAKERS.items():
        share, kept = wanted_false // len(FALSE_MAKERS), 0
        for batch in range(30):
            if kept >= share:
                break
            rng = random.Random(derive_seed(seed, "false", family, batch))
            kept += accept(bank, family, propose(bank, family, maker, rng, false=True), share - kept)
        report(f"{family}, false: {kept} of {share}")


def write(bank: Bank, out: Path, seed: int) -> None:
    """Statements by split, truth, transitions."""
    out.mkdir(parents=True, exist_ok=True)
    truth, transitions = [], []
    for split in SPLITS:
        chosen = [item for item in bank.items if item.split == split]
        random.Random(derive_seed(seed, "order", split)).shuffle(chosen)
        rows = []
        for number, item in enumerate(chosen):
            name = f"{split}_{number:05d}"
            rows.append(_statement_row(name, item))
            truth.append(_truth_row(name, item))
            if split == "train":
                transitions += _transition_rows(name, item)
        _write_lines(out / f"{split}.jsonl.gz", rows)
    _write_lines(out / "truth.jsonl.gz", truth)
    _write_lines(out / "transitions.jsonl.gz", transitions)


def _statement_row(name: str, item: Item) -> dict:
    return {
        "name": name,
        "binders": item.theorem.binders,
        "conclusion": item.theorem.conclusion,
        "family": item.draft.family,
        "level": item.level,
        "template": item.template,
    }


def _truth_row(name: str, item: Item) -> dict:
    return {"name": name, "true": item.true, "proof" if item.true else "negation_proof": proof_script(item.proof)}


def _transition_rows(name: str, item: Item) -> list[dict]:
    return [
        {
            "theorem": name if item.true else f"{name}_neg",
            "level": item.level,
            "family": item.draft.family,
            "state": state,
            "tactic": node.tactic,
            "remaining_steps": node.remaining_steps,
        }
        for node, state in zip(lean_check.preorder(item.proof), item.checked.states, strict=True)
    ]


def _write_lines(path: Path, rows: list[dict]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    # No time stamp and no file name inside: equal text gives equal bytes.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def build(out: Path, scale: float, seed: int, report: Callable[[str], None] = print) -> Bank:
    """Generate a bank into a directory."""
    bank = Bank(scale, quotas(scale))
    fill(bank, seed, report)
    write(bank, out, seed)
    return bank


def table(bank: Bank) -> str:
    """Counts by family and level, for each split."""
    counts = Counter((item.draft.family, item.split, item.level) for item in bank.items)
    lines = [f"{'family':<24}" + "".join(f"{split:>24}" for split in SPLITS)]
    for family in sorted({key[0] for key in counts}):
        cells = ["".join(f"{counts[family, split, level]:6d}" for level in LEVEL_SHARES) for split in SPLITS]
        lines.append(f"{family:<24}" + "".join(f"{cell:>24}" for cell in cells))
    return "\n".join(lines)


def main() -> int:
    """Entry point of `python -m scripts.bank.build`."""
    parser = argparse.ArgumentParser(description="Generate the theorem bank.")
    parser.add_argument("--out", type=Path, default=Path("data/pocket"))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    bank = build(arguments.out, arguments.scale, arguments.seed)
    print(table(bank))
    return 0


if __name__ == "__main__":
    sys.exit(main())
