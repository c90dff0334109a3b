"""Which proofs of a compiled batch lean on another one's declarations. Reads the .olean file; no Lean needed.

Names with random tokens keep a proof from naming its neighbours. But Lean makes auxiliary declarations by itself
(`match_1`, `_proof_1`), and where two proofs need the same one, it may make it once (versions that elaborate theorems
one after another do). Then the second proof is checked with the first one's declaration, and might not stand alone.

Other declarations Lean makes of a library's: the equations of a function that `simp` unfolds, the splitter of a match.
They are the same whoever asks for them, so proofs may share them. A declaration of neither kind has one user or none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from node.lean.olean.module import Module
from node.lean.olean.plan import Uses, uses
from node.lean.olean.region import BadOlean, UnknownFormat
from node.lean.olean.terms import Terms

_GENERATED = re.compile(
    r"eq_\d+|eq_def|eq_unfold|splitter|congr_simp|congr_eq_\d+|hcongr_\d+|fun_cases\w*|\w*induct\w*"
)
"""Last parts of the names of declarations that Lean makes of a library's, the same for all."""


class UnreadableModule(Exception):
    """The file is not what we can read, or a declaration in it belongs to several proofs."""


class UnknownVersion(UnreadableModule):
    """This Lean writes files of another version."""


def leaning(olean: Path, tokens: Sequence[str]) -> set[int]:
    """Numbers of the proofs that lean on another's declarations, or share one with another. Raises UnreadableModule.

    `tokens`: of each proof; each of its declarations has its token as a part of the name.
    """
    terms = Terms()
    try:
        module = Module(olean, terms)
        module.close()
    except UnknownFormat as error:
        raise UnknownVersion(str(error)) from error
    except (BadOlean, OSError) as error:
        raise UnreadableModule(f"a damaged file: {error}") from error
    return _leaning(uses(module, terms), {token: number for number, token in enumerate(tokens)})


def _leaning(used: Uses, proofs: dict[str, int]) -> set[int]:
    owners = {name: {proofs[part] for part in name.split(".") if part in proofs} for name in used}
    found: set[int] = set()
    users = defaultdict[str, set[int]](set)
    for name, below in used.items():
        others = {other for each in below for other in owners.get(each, ())}
        loose = {each for each in below - {name} if each in owners and not owners[each] and not _is_generated(each)}
        if len(owners[name]) > 1 or (others and not owners[name]):
            raise UnreadableModule("a declaration that belongs to several proofs, or to none and leans on one")
        if loose and not owners[name]:
            raise UnreadableModule("a declaration that belongs to no proof leans on another such")
        if others - owners[name]:
            found |= owners[name]
        for each in loose:
            users[each] |= owners[name]
    return found.union(*(several for several in users.values() if len(several) > 1))


def _is_generated(name: str) -> bool:
    return bool(_GENERATED.fullmatch(name.rsplit(".", 1)[-1]))
