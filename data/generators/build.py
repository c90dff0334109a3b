"""Generates the theorem bank: proposes statements, checks them with Lean, splits them, traces proofs, writes files.

python -m data.generators.build [--profile witness] [--scale 1.0] [--seed 1]

The same seed, scale and library give the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from common.lean import ProofTree, Theorem
from common.seeds import derive_seed
from data.generators import lean_check
from data.generators.families.draft import Draft
from data.generators.normal_form import normal_form, skeleton
from data.generators.profiles import FLOOR_TACTICS, POCKET, PROFILES, Maker, Profile
from node.bank import bank
from node.bank.bank import SPLITS, Manifest, digest, load_statements
from node.lean.text.script import proof_script

EASY_MOST = {"valid": 0.16, "test": 0.13}
"""Largest share of easy statements in the final splits. We promise that no single tactic closes more than 15% of
test."""

MAX_TACTIC = 64
"""Most characters of a tactic; about 24 tokens."""

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

    profile: Profile
    targets: dict[str, int]
    """Target number of statements by split."""
    tries: int
    batch: int = POCKET.batch
    items: list[BankItem] = field(default_factory=list)
    counts: Counter[Any] = field(default_factory=Counter)
    """Numbers of accepted statements by split, by split and level, and easy ones by split."""
    seen: set[str] = field(default_factory=set)

    def wants(self, split: str, level: int) -> bool:
        """Whether the split needs more statements of this level."""
        target, share = self.targets.get(split, 0), self.profile.shares(split).get(level)
        if share is None:
            return False
        return self.counts[split] < target and self.counts[split, level] < max(2, target * share * LEVEL_SLACK)

    def takes_easy(self, item: BankItem) -> bool:
        """Whether the bank can accept this statement even if a single tactic closes it."""
        most = self.profile.easy_share * self.targets[item.split]
        return item.true and item.level <= 2 and self.counts[item.split, "easy"] < most

    def keep(self, item: BankItem, easy: bool) -> None:
        self.items.append(item)
        self.counts.update([item.split, (item.split, item.level)] + [(item.split, "easy")] * easy)

    @property
    def full(self) -> bool:
        return self.tries <= 0 or all(self.counts[split] >= target for split, target in self.targets.items())


def split_of(template: str) -> str:
    """The split of a template. It depends only on the text, so no template is in two splits."""
    share = derive_seed("split", template) % 100
    return "test" if share < 11 else "valid" if share < 22 else "train"


def split_in(profile: Profile, family: str, template: str) -> str:
    """The split of a template in a bank."""
    if family in profile.test_only:
        return "test"
    return split_of(template) if not profile.evaluated or family in profile.evaluated else "train"


def target_counts(profile: Profile, family: str, scale: float) -> dict[str, int]:
    """The target number of statements of a family in each split."""
    found = {}
    for split, count in profile.splits.items():
        of_split = {each: weight for each, (_, weight) in profile.makers.items()}
        if split != "train" and profile.evaluated:
            of_split = {each: weight for each, weight in of_split.items() if each in profile.evaluated}
        if family in of_split and (split == "test" or family not in profile.test_only):
            found[split] = round(scale * count * of_split[family] / sum(of_split.values()))
    return found


def admissible(draft: Draft, profile: Profile) -> bool:
    """Whether a proof is short enough for the demo's model: its size, depth and tactics."""
    if draft.proof is None:
        return True
    nodes = list(lean_check.preorder(draft.proof))
    return (
        len(nodes) <= profile.max_size
        and draft.proof.remaining_steps <= profile.max_depth
        and all(len(node.tactic) <= MAX_TACTIC for node in nodes)
    )


def propose(bank: Bank, maker: Maker, rng: random.Random, false: bool) -> list[BankItem]:
    """Generate new candidates that the bank still needs."""
    candidates: list[BankItem] = []
    while len(candidates) < bank.batch and bank.tries > 0:
        bank.tries -= 1
        draft = maker(rng)
        if draft is None or not admissible(draft, bank.profile) or (draft.proof is None) != false:
            continue
        theorem = draft.theorem(f"c{len(bank.seen)}", rng)
        form = normal_form(theorem)
        template = f"{draft.generator}| {skeleton(theorem)}"
        split = split_in(bank.profile, draft.family, template)
        false_level = 1 + min(2, len(theorem.proposition) // 60)
        level = false_level if draft.proof is None else bank.profile.level_of(draft.proof)
        if form in bank.seen or not bank.wants(split, level):
            continue
        bank.seen.add(form)
        proof = draft.proof or draft.counter_proof()
        candidates.append(BankItem(theorem, draft, split, level, template, proof, lean_check.Checked()))
    return candidates


def accept(bank: Bank, candidates: list[BankItem]) -> None:
    """Keep the candidates that Lean accepts and that no single tactic closes (except for a share of easy ones)."""
    easy = easily_closed([item.theorem for item in candidates], bank.profile.floor)
    open_items = [
        (item, is_easy) for item, is_easy in zip(candidates, easy, strict=True) if bank.takes_easy(item) or not is_easy
    ]
    goals = [item.theorem if item.true else item.theorem.negation() for item, _ in open_items]
    proofs = [item.proof for item, _ in open_items]
    for (item, is_easy), checked in zip(
        open_items, lean_check.check(list(zip(goals, proofs, strict=True))), strict=True
    ):
        if not checked.proved or max(map(len, checked.states)) > bank.profile.max_state:
            continue
        if not bank.wants(item.split, item.level):
            continue
        if is_easy and not bank.takes_easy(item):
            continue
        item.checked = checked
        bank.keep(item, is_easy)


def easily_closed(theorems: list[Theorem], floor: Sequence[str] = FLOOR_TACTICS) -> list[bool]:
    """A quick filter: whether the first floor tactic that succeeds closes the statement, after `intros`.

    It misses statements that `simp` changes and that only `simp_all` closes; `thin` counts exactly.
    """
    return lean_check.closed_by(theorems, f"first | {' | '.join(floor)}")


def thin(items: list[BankItem], seed: int, floor: Sequence[str] = FLOOR_TACTICS) -> list[BankItem]:
    """Drop valid and test statements that a floor tactic closes, until their share is EASY_MOST."""
    exact = f"first | {' | '.join(f'({tactic}; done)' for tactic in floor)}"
    dropped: set[int] = set()
    for split, most in EASY_MOST.items():
        in_split = [item for item in items if item.split == split]
        closed = lean_check.closed_by([item.theorem for item in in_split], exact)
        easy = [item for item, is_closed in zip(in_split, closed, strict=True) if is_closed]
        easy.sort(key=lambda item: derive_seed(seed, "thin", normal_form(item.theorem)))
        remaining = int((len(in_split) - len(easy)) * most / (1 - most))
        dropped |= {id(item) for item in easy[remaining:]}
    return [item for item in items if id(item) not in dropped]


def evaluated_forms(folders: Iterable[Path]) -> set[str]:
    """Normal forms of the statements in the valid and test splits of these banks."""
    statements = (row for folder in folders for split in ("valid", "test") for row in load_statements(split, folder))
    return {normal_form(row.theorem) for row in statements}


def batch_of(scale: float, profile: Profile) -> int:
    """The number of candidates that are checked by Lean together; smaller for small banks."""
    return min(profile.batch, max(10, round(profile.batch * scale * 5)))


def fill_family(family: str, scale: float, seed: int, profile_name: str = POCKET.name) -> list[BankItem]:
    """Generate true statements of a family until the splits are full or its tries are used up.

    Worker processes get the profile by its name, because its makers cannot be pickled.
    """
    profile = PROFILES[profile_name]
    targets = target_counts(profile, family, scale)
    bank = Bank(profile, targets, profile.tries * sum(targets.values()), batch_of(scale, profile))
    bank.seen |= evaluated_forms(profile.excluded)
    return _fill(bank, profile.makers[family][0], random.Random(derive_seed(seed, family)), false=False)


def fill_false(family: str, scale: float, seed: int, profile_name: str = POCKET.name) -> list[BankItem]:
    """Generate false statements for the train split."""
    profile = PROFILES[profile_name]
    share = profile.false_share / (1 - profile.false_share) / len(profile.false_makers)
    target = round(scale * profile.splits["train"] * share)
    bank = Bank(profile, {"train": target}, profile.tries * target, batch_of(scale, profile))
    return _fill(bank, profile.false_makers[family], random.Random(derive_seed(seed, "false", family)), false=True)


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
    out: Path,
    scale: float,
    seed: int,
    report: Callable[[str], None] = print,
    workers: int = 2,
    profile: Profile = POCKET,
) -> list[BankItem]:
    """Generate a bank into a directory. The result does not depend on the number of workers."""
    tasks = [(fill_family, family) for family in profile.makers]
    tasks += [(fill_false, family) for family in profile.false_makers]
    with ProcessPoolExecutor(workers) as pool:
        futures = [pool.submit(task, family, scale, seed, profile.name) for task, family in tasks]
        for (task, family), future in zip(tasks, futures, strict=True):
            report(f"{task.__name__} {family}: {len(future.result())}")
    items = thin(merge(future.result() for future in futures), seed, profile.floor)
    write(items, out, seed)
    without_digest = manifest_of(scale, seed, profile)
    bank.write_manifest(out, without_digest)  # written first, because the digest also covers the warm-start rule
    bank.write_manifest(out, msgspec.structs.replace(without_digest, digest=digest(out)))
    return items


def manifest_of(scale: float, seed: int, profile: Profile = POCKET) -> Manifest:
    """The manifest of a bank, without its digest."""
    flag = "" if profile is POCKET else f" --profile {profile.name}"
    command = f"python -m data.generators.build --scale {scale:g} --seed {seed}{flag}"
    return Manifest({profile.name: command}, profile.warm_start, allow=profile.allow)


def table(items: list[BankItem], profile: Profile = POCKET) -> str:
    """Counts by family and level, for each split."""
    counts = Counter((item.draft.family, item.split, item.level) for item in items)
    lines = [f"{'family':<24}" + "".join(f"{split:>24}" for split in profile.splits)]
    for family in sorted({key[0] for key in counts}):
        cells = [
            "".join(f"{counts[family, split, level]:6d}" for level in profile.shares(split)) for split in profile.splits
        ]
        lines.append(f"{family:<24}" + "".join(f"{cell:>24}" for cell in cells))
    return "\n".join(lines)


def main() -> int:
    """Entry point of `python -m data.generators.build`."""
    parser = argparse.ArgumentParser(description="Generate the theorem bank.")
    parser.add_argument("--profile", choices=PROFILES, default=POCKET.name, help="which bank")
    parser.add_argument("--out", type=Path, help="folder of the bank (default: data/PROFILE)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    profile = PROFILES[arguments.profile]
    out = arguments.out or Path("data") / profile.name
    print(table(build(out, arguments.scale, arguments.seed, profile=profile), profile))
    return 0


if __name__ == "__main__":
    sys.exit(main())
