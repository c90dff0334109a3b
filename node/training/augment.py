"""Data augmentation of transitions: reorders and renames hypotheses without a change of meaning. Pure.

The network reads canonical names (`node.model.names`), so renaming alone changes nothing for it unless that is switched
off; another order changes which name is which.
"""

from __future__ import annotations

import random

from common.protocol.attempts import Transition
from node.model.names import IDENTIFIER, Names
from node.model.prompt import entries

FRESH = tuple("abcdefgijklmnopqrstuvwxyzαβγδ") + tuple(f"{letter}{digit}" for letter in "hxyz" for digit in "₀₁₂₃₄₅₆₇")
"""Names to draw from, typical of human-written Lean."""


def augmented(transition: Transition, rng: random.Random, *, shuffle: bool, rename: bool) -> Transition:
    """The augmented transition."""
    if shuffle:
        transition = shuffled(transition, rng)
    return renamed(transition, rng) if rename else transition


def shuffled(transition: Transition, rng: random.Random) -> Transition:
    """The hypotheses of each goal in a random order; none comes before a hypothesis that it mentions.

    The order is drawn hypothesis by hypothesis from those that are ready. A state with inaccessible names (`h✝`) keeps
    its order: tactics such as `rename_i` go by it.
    """
    if "✝" in transition.state:
        return transition
    parts: list[str] = []
    block: list[str] = []
    lines = entries(transition.state)
    for place, entry in enumerate(lines):
        if entry.startswith(("⊢", "case ")) or ":" not in entry:
            parts += _reordered(block, rng)
            block = []
            parts.append(entry)
        else:
            block.append(entry if entry.endswith("\n") or place < len(lines) - 1 else entry + "\n")
    return Transition("".join(parts + block), transition.tactic, transition.remaining_steps)


def _reordered(block: list[str], rng: random.Random) -> list[str]:
    names = [set(entry.split(":", 1)[0].split()) for entry in block]
    mentioned = [{found.group() for found in IDENTIFIER.finditer(entry.split(":", 1)[1])} for entry in block]
    left = list(range(len(block)))
    order: list[int] = []
    while left:
        ready = [
            place for place in left if not any(names[other] & mentioned[place] for other in left if other != place)
        ]
        # Two hypotheses of one name (shadowing) can seem to need each other: then the order stays.
        if not ready:
            return block
        chosen = rng.choice(ready)
        left.remove(chosen)
        order.append(chosen)
    return [block[place] for place in order]


def renamed(transition: Transition, rng: random.Random) -> Transition:
    """Local names drawn anew, consistently in state and tactic; new names in the tactic are drawn, too."""
    names = Names(transition.state)
    hidden_state, hidden = names.state, names.hide(transition.tactic)
    taken = {found.group() for found in IDENTIFIER.finditer(f"{transition.state}\n{transition.tactic}")}
    canonical = sorted({word for word in IDENTIFIER.findall(f"{hidden_state}\n{hidden}") if _is_canonical(word)})
    free = [name for name in FRESH if name not in taken]
    rng.shuffle(free)
    if len(free) < len(canonical):
        return transition
    drawn = dict(zip(canonical, free, strict=False))

    def put(text: str) -> str:
        return IDENTIFIER.sub(lambda match: drawn.get(match.group(), match.group()), text)

    return Transition(put(hidden_state), put(hidden), transition.remaining_steps)


def _is_canonical(word: str) -> bool:
    return word[0] == "v" and word[1:].isdecimal()
