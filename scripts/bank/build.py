"""Generates the theorem bank: proposes statements, checks them with Lean, splits them, traces proofs, writes files.

python -m scripts.bank.build --out data/pocket [--scale 1.0] [--seed 1]

The same seed, scale and library give the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from common.lean import ProofTree, Theorem
from common.seeds import derive_seed
from node.bank import manifest
from node.bank.bank import digest
from node.bank.manifest import Manifest, WarmStartRule
from node.lean.text.script import proof_script
from scripts.bank import lean_check
from scripts.bank.draft import Draft, size
from scripts.bank.families import FALSE_MAKERS, MAKERS, TEST_ONLY, Maker
from scripts.bank.normal_form import normal_form, skeleton

SPLITS = {"train": 6600, "valid": 460, "test": 460}
"""Target numbers of statements. The bank may have fewer if a family cannot produce enough."""

WARM_START = WarmStartRule(
    levels=(1, 2),
    held_out=(
        "Nat.mul_left_comm",
        "Nat.add_right_comm",
        "Nat.mul_assoc",
        "Nat.mul_le_mul",
        "Nat.lt_of_lt_of_le",
        "List.map_reverse",
        "exfalso",
        "rw [← h",
    ),
)
"""The warm start trains on short proofs only (levels 1 and 2), without tactics that have these names. Reinforcement
learning must discover longer proofs and these tactics."""

LEVEL_SHARES = {1: 0.28, 2: 0.30, 3: 0.23, 4: 0.19}
FALSE_SHARE = 0.1
"""Share of false statements in the train split."""

EASY_SHARE = 0.12
"""Largest share of easy statements in a split while it is filled. Easy statements are closed by a single tactic of
FLOOR_TACTICS after `intros`; only levels 1 and 2 may have them."""

EASY_MOST = {"valid": 0.16, "test": 0.13}
"""Largest share of easy statements in the final splits. We promise that no single tactic closes more than 15% of
test."""

MAX_DEPTH = 8
MAX_TACTIC = 60
"""Most characters of a tactic; about 24 tokens."""
MAX_SIZE = 12
MAX_STATE = 420
"""Most characters of a state; about 200 tokens."""

FLOOR_TACTICS = ("assumption", "contradiction", "rfl", "trivial", "decide", "simp", "simp_all")
BATCH = 250
"""Candidates that are checked by Lean together."""

TRIES = 14
"""Most generated statements of a family per target statement. After that, the family stays incomplete."""

LEVEL_SLACK = 1.6
"""A level may exceed its share by this factor, to make up for levels that cannot be filled."""


@dataclass
class BankItem:
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
    """The accepted statements of one family so far."""

    targets: dict[str, int]
    """Target number of statements by split."""
    tries: int
    batch: int = BATCH
    items: list[BankItem] = field(default_factory=list)
    counts: Counter[Any] = field(default_factory=Counter)
    """Numbers of accepted statements by split, by split and level, and easy ones by split."""
    seen: set[str] = field(default_factory=set)

    def wants(self, split: str, level: int) -> bool:
        """Whether the split needs more statements of this level."""
        target = self.targets.get(split, 0)
        return self.counts[split] < target and self.counts[split, level] < max(
            2, target * LEVEL_SHARES[level] * LEVEL_SLACK
        )

    def takes_easy(self, item: BankItem) -> bool:
        """Whether the bank can accept this statement even if a single tactic closes it."""
        return item.true and item.level <= 2 and self.counts[item.split, "easy"] < EASY_SHARE * self.targets[item.split]

    def keep(self, item: BankItem, easy: bool) -> None:
        self.items.append(item)
        self.counts.update([item.split, (item.split, item.level)] + [(item.split, "easy")] * easy)

    @property
    def full(self) -> bool:
        return self.tries <= 0 or all(self.counts[split] >= target for split, target in self.targets.items())


def level_of(proof: ProofTree) -> int:
    """The level from 1 to 4, by the number of tactics in the generator's proof: up to 2, 4, 6, or more."""
    return min(4, (size(proof) + 1) // 2)


def split_of(template: str) -> str:
    """The split of a template. It depends only on the text, so no template is in two splits."""
    share = derive_seed("split", template) % 100
    return "test" if share < 11 else "valid" if share < 22 else "train"


def target_counts(family: str, scale: float) -> dict[str, int]:
    """The target number of statements of a family in each split."""
    share = scale * MAKERS[family][1] / sum(weight for _, weight in MAKERS.values())
    return {
        split: round(count * share) for split, count in SPLITS.items() if split == "test" or family not in TEST_ONLY
    }


def admissible(draft: Draft) -> bool:
    """Whether a proof is short enough for the demo's model: its size, depth and tactics."""
    if draft.proof is None:
        return True
    nodes = list(lean_check.preorder(draft.proof))
    return (
        len(nodes) <= MAX_SIZE
        and draft.proof.remaining_steps <= MAX_DEPTH
        and all(len(node.tactic) <= MAX_TACTIC for node in nodes)
    )


def propose(bank: Bank, maker: Maker, rng: random.Random, false: bool) -> list[BankItem]:
    """Generate new candidates that the bank still needs."""
    candidates: list[BankItem] = []
    while len(candidates) < bank.batch and bank.tries > 0:
        bank.tries -= 1
        draft = maker(rng)
        if draft is None or not admissible(draft) or (draft.proof is None) != false:
            continue
        theorem = draft.theorem(f"c{len(bank.seen)}", rng)
        form = normal_form(theorem)
        template = f"{draft.generator}| {skeleton(theorem)}"
        split = "test" if draft.family in TEST_ONLY else split_of(template)
        level = 1 + min(2, len(theorem.proposition) // 60) if draft.proof is None else level_of(draft.proof)
        if form in bank.seen or not bank.wants(split, level):
            continue
        bank.seen.add(form)
        proof = draft.proof or draft.counter_proof()
        candidates.append(BankItem(theorem, draft, split, level, template, proof, lean_check.Checked()))
    return candidates


def accept(bank: Bank, candidates: list[BankItem]) -> None:
    """Keep the candidates that Lean accepts and that no single tactic closes (except for a share of easy ones)."""
    easy = easily_closed([item.theorem for item in candidates])
    open_items = [
        (item, is_easy) for item, is_easy in zip(candidates, easy, strict=True) if bank.takes_easy(item) or not is_easy
    ]
    goals = [item.theorem if item.true else item.theorem.negation() for item, _ in open_items]
    proofs = [item.proof for item, _ in open_items]
    for (item, is_easy), checked in zip(
        open_items, lean_check.check(list(zip(goals, proofs, strict=True))), strict=True
    ):
        if not checked.proved or max(map(len, checked.states)) > MAX_STATE or not bank.wants(item.split, item.level):
            continue
        if is_easy and not bank.takes_easy(item):
            continue
        item.checked = checked
        bank.keep(item, is_easy)


def easily_closed(theorems: list[Theorem]) -> list[bool]:
    """A quick filter: whether the first floor tactic that succeeds closes the statement, after `intros`.

    It misses statements that `simp` changes and that only `simp_all` closes; `thin` counts exactly.
    """
    return lean_check.closed_by(theorems, f"first | {' | '.join(FLOOR_TACTICS)}")


def thin(items: list[BankItem], seed: int) -> list[BankItem]:
    """Drop valid and test statements that a floor tactic closes, until their share is EASY_MOST."""
    exact = f"first | {' | '.join(f'({tactic}; done)' for tactic in FLOOR_TACTICS)}"
    dropped: set[int] = set()
    for split, most in EASY_MOST.items():
        in_split = [item for item in items if item.split == split]
        closed = lean_check.closed_by([item.theorem for item in in_split], exact)
        easy = [item for item, is_closed in zip(in_split, closed, strict=True) if is_closed]
        easy.sort(key=lambda item: derive_seed(seed, "thin", normal_form(item.theorem)))
        remaining = int((len(in_split) - len(easy)) * most / (1 - most))
        dropped |= {id(item) for item in easy[remaining:]}
    return [item for item in items if id(item) not in dropped]


def batch_of(scale: float) -> int:
    """The number of candidates that are checked by Lean together; smaller for small banks."""
    return min(BATCH, max(10, round(BATCH * scale * 5)))


def fill_family(family: str, scale: float, seed: int) -> list[BankItem]:
    """Generate true statements of a family until the splits are full or its tries are used up."""
    targets = target_counts(family, scale)
    bank = Bank(targets, TRIES * sum(targets.values()), batch_of(scale))
    return _fill(bank, MAKERS[family][0], random.Random(derive_seed(seed, family)), false=False)


def fill_false(family: str, scale: float, seed: int) -> list[BankItem]:
    """Generate false statements for the train split."""
    target = round(scale * SPLITS["train"] * FALSE_SHARE / (1 - FALSE_SHARE) / len(FALSE_MAKERS))
    bank = Bank({"train": target}, TRIES * target, batch_of(scale))
    return _fill(bank, FALSE_MAKERS[family], random.Random(derive_seed(seed, "false", family)), false=True)


def _fill(bank: Bank, maker: Maker, rng: random.Random, false: bool) -> list[BankItem]:
    while not bank.full:
        accept(bank, propose(bank, maker, rng, false))
    return bank.items


def merge(parts: Iterable[list[BankItem]]) -> list[BankItem]:
    """Merge all families. Drops repeated statements, and shapes of a family that are in two splits. Levels do not
    reveal which statements are false."""
    seen: set[str] = set()
    split_by_shape: dict[tuple[str, str], str] = {}
    merged = []
    for item in (item for part in parts for item in part):
        form, shape = normal_form(item.theorem), (item.draft.family, skeleton(item.theorem))
        if form in seen or split_by_shape.setdefault(shape, item.split) != item.split:
            continue
        seen.add(form)
        merged.append(item)
    level_false(merged)
    return merged


def level_false(items: list[BankItem]) -> None:
    """Give false statements levels that true ones of their family have, so that a level does not reveal truth."""
    levels: dict[str, set[int]] = defaultdict(set)
    for item in items:
        if item.true and item.split == "train":
            levels[item.draft.family].add(item.level)
    for item in items:
        if not item.true:
            item.level = min(levels[item.draft.family], key=lambda level: (abs(level - item.level), level))


def write(items: list[BankItem], out: Path, seed: int) -> None:
    """Write the files of the bank: statements by split, truth, transitions."""
    out.mkdir(parents=True, exist_ok=True)
    truth, transitions = [], []
    for split in SPLITS:
        chosen = [item for item in items if item.split == split]
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


def _statement_row(name: str, item: BankItem) -> dict[str, Any]:
    return {
        "name": name,
        "binders": item.theorem.binders,
        "conclusion": item.theorem.conclusion,
        "family": item.draft.family,
        "level": item.level,
        "template": item.template,
    }


def _truth_row(name: str, item: BankItem) -> dict[str, Any]:
    return {"name": name, "true": item.true, "proof" if item.true else "negation_proof": proof_script(item.proof)}


def _transition_rows(name: str, item: BankItem) -> list[dict[str, Any]]:
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


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    # The archive has no time stamp and no file name, so equal text gives equal bytes.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def build(
    out: Path, scale: float, seed: int, report: Callable[[str], None] = print, workers: int = 2
) -> list[BankItem]:
    """Generate a bank into a directory. The result does not depend on the number of workers."""
    tasks = [(fill_family, family) for family in MAKERS] + [(fill_false, family) for family in FALSE_MAKERS]
    with ProcessPoolExecutor(workers) as pool:
        futures = [pool.submit(task, family, scale, seed) for task, family in tasks]
        for (task, family), future in zip(tasks, futures, strict=True):
            report(f"{task.__name__} {family}: {len(future.result())}")
    items = thin(merge(future.result() for future in futures), seed)
    write(items, out, seed)
    without_digest = manifest_of(scale, seed)
    manifest.write(out, without_digest)  # written first, because the digest also covers the warm-start rule
    manifest.write(out, msgspec.structs.replace(without_digest, digest=digest(out)))
    return items


def manifest_of(scale: float, seed: int) -> Manifest:
    """The manifest of the bank, without its digest."""
    return Manifest({"pocket": f"python -m scripts.bank.build --scale {scale:g} --seed {seed}"}, WARM_START)


def table(items: list[BankItem]) -> str:
    """Counts by family and level, for each split."""
    counts = Counter((item.draft.family, item.split, item.level) for item in items)
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
    print(table(build(arguments.out, arguments.scale, arguments.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
