"""Loads the prepared data of a run, and chooses the statements that the run tries to prove."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from common.lean import Theorem
from common.seeds import derive_seed
from node.bank.bank import BankError
from node.bank.sources import SourceProblem
from node.stp.errors import StpError
from node.stp.keys import key
from node.stp.lemmas import LemmasError, Library
from node.stp.plan import BANK, StpPlan
from node.stp.prepare import MANIFEST, PrepareError, load_prepared, prepare
from node.stp.records import ConjecturerExample, Proof, Statement
from node.stp.sources import read

PREPARED = "data"
"""Name of the data folder in the run's folder."""


@dataclass(frozen=True)
class RunData:
    """The initial data of a run."""

    statements: tuple[Statement, ...]
    """Statements to prove (`train`) and to evaluate on (`test`)."""
    given: tuple[tuple[Theorem, Proof], ...]
    """Initial theorems with proofs."""
    conjectures: tuple[ConjecturerExample, ...]
    """The conjecturer's first examples."""
    library: Library
    """Lemmas that proofs may invoke."""
    others: tuple[Theorem, ...] = ()
    """Statements of the data that this run does not try to prove."""

    @cached_property
    def keys(self) -> set[str]:
        """Keys of the known statements that are not in the store. A conjecture with one of them is not new."""
        return {key(theorem) for theorem in (*self.others, *(theorem for theorem, _ in self.given))}


def data_of(plan: StpPlan) -> RunData:
    """Load the data that a plan names; for `bank` it is prepared first. Raises StpError."""
    settings = plan.settings
    folder = plan.directory / PREPARED if settings.data == BANK else Path(settings.data)
    try:
        if settings.data == BANK and not (folder / MANIFEST).exists():
            prepare([read(BANK)], folder, seed=settings.seed, command="proofmesh stp prepare")
        prepared = load_prepared(folder)
    except (PrepareError, LemmasError, BankError, SourceProblem) as error:
        raise StpError(str(error)) from error
    except OSError as error:
        raise StpError(f"{error.filename or folder}: {error.strerror or error}") from error
    given = tuple(pair for pair in prepared.proofs if is_given(pair[0].name, settings.given, settings.seed))
    given_names = {theorem.name for theorem, _ in given}
    train = [each for each in prepared.statements if each.split == "train" and each.theorem.name not in given_names]
    chosen = drawn(train, settings.statements, settings.seed)
    names = {each.theorem.name for each in chosen}
    if not prepared.proofs:
        raise StpError(f"{folder}: no proofs to start from; prepare the data again with a source of proofs (`bank`)")
    if not chosen:
        raise StpError(f"{folder}: all statements have proofs already; prepare the data again with unproved statements")
    return RunData(
        statements=(*chosen, *(each for each in prepared.statements if each.split == "test")),
        given=given,
        conjectures=tuple(each for each in prepared.conjectures if each.seed.theorem.name in given_names),
        library=prepared.library,
        others=tuple(
            each.theorem for each in prepared.statements if each.split != "test" and each.theorem.name not in names
        ),
    )


def is_given(name: str, share: float, seed: int) -> bool:
    """Whether this statement's proofs are in the share of proofs for the first training."""
    return share >= 1 or random.Random(derive_seed(seed, "given", name)).random() < share


def drawn(statements: list[Statement], count: int, seed: int) -> list[Statement]:
    """A random subset of `count` statements in their order; 0: all."""
    if not count or count >= len(statements):
        return statements
    rng = random.Random(derive_seed(seed, "statements"))
    return [statements[index] for index in sorted(rng.sample(range(len(statements)), count))]


def around(data: RunData, target: Theorem, given: list[tuple[Theorem, Proof]]) -> RunData:
    """The data of a run that only tries to prove one statement, with these initial proofs."""
    others = (*data.others, *(each.theorem for each in data.statements if each.theorem.name != target.name))
    return replace(data, statements=(Statement(target),), given=tuple(given), others=others)
