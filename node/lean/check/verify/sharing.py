"""Finds proofs of a compiled batch that depend on declarations of other proofs, in the .olean file, without Lean.

Random tokens in their names keep proofs from referring to each other. But Lean generates auxiliary declarations
(`match_1`, `_proof_1`). If two proofs need the same one, Lean may generate it only once (versions that elaborate
theorems one after another do). Then the second proof depends on the first one, and might fail if checked alone.

Lean generates other declarations from the library's: the equations of a function that `simp` unfolds, the splitter of
a match. They do not depend on the proof that needs them, so proofs may share them. A declaration of neither kind may be
used by one proof at most.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from node.lean.check.olean.plan import Uses

_GENERATED = re.compile(
    r"eq_\d+|eq_def|eq_unfold|splitter|congr_simp|congr_eq_\d+|hcongr_\d+|fun_cases\w*|\w*induct\w*"
)
"""Last name components of declarations that Lean generates from the library's, the same for every proof."""


class UnreadableModule(Exception):
    """A declaration cannot be assigned to a single proof."""


def dependent_proofs(used: Uses, tokens: Sequence[str]) -> set[int]:
    """Indices of proofs that use a declaration of another proof, or share one with it. Raises UnreadableModule.

    `used`: of the compiled proofs; `tokens`: one for each proof. Names of the proof's declarations have it as a
    component.
    """
    proofs = {token: number for number, token in enumerate(tokens)}
    owners = {name: {proofs[part] for part in name.split(".") if part in proofs} for name in used}
    dependent: set[int] = set()
    users = defaultdict[str, set[int]](set)
    for name, below in used.items():
        others = {owner for each in below for owner in owners.get(each, ())}
        loose = {each for each in below - {name} if each in owners and not owners[each] and not _is_generated(each)}
        if len(owners[name]) > 1 or (others and not owners[name]):
            raise UnreadableModule(f"declaration {name!r} cannot be assigned to a single proof")
        if loose and not owners[name]:
            raise UnreadableModule(f"declaration {name!r} belongs to no proof, and neither does one that it uses")
        if others - owners[name]:
            dependent |= owners[name]
        for each in loose:
            users[each] |= owners[name]
    return dependent.union(*(sharers for sharers in users.values() if len(sharers) > 1))


def _is_generated(name: str) -> bool:
    return bool(_GENERATED.fullmatch(name.rsplit(".", 1)[-1]))
