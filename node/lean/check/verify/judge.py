"""Judges compiled proofs against compiled statements, in a child process that reads both as data (`process/dialog.py`).

    1. ProofsRequest: read the two compiled files, and write the declarations of both for the kernel, with one theorem
       more for each proof:  theorem CHECK : STATEMENT := PROOF
    2. AnswerRequest: read the kernel's answer.

The file of the proof is hostile. Of what it says, only that counts which the kernel has accepted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from node.lean.olean.declarations import BadAnswer, Declarations, Uses, groups, read_answer, uses
from node.lean.olean.module import Constant, Kind, Module
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import Tag, Terms
from node.lean.process.dialog_child import answer

AXIOMS = frozenset({"propext", "Quot.sound", "Classical.choice"})
"""The standard axioms of Lean. A proof that uses another axiom is rejected."""

UNFINISHED = "the proof is not finished: it uses sorry"


class Pair(msgspec.Struct):
    """A statement and a proof of it."""

    statement: str
    """Name of the definition of type `Prop`, in the statements' file."""
    proof: str
    """Name of the theorem, in the proofs' file."""
    check: str
    """Name for the theorem that the proof proves the statement."""
    token: str = ""
    """Part of the names of all declarations of this proof, if the file has several proofs."""


class ProofsRequest(msgspec.Struct, tag="proofs"):
    """Read the compiled files, and write the declarations for the kernel."""

    statements: str
    proofs: str
    declarations: str
    """Path of the file to write."""
    pairs: list[Pair]


class AnswerRequest(msgspec.Struct, tag="answer"):
    """The kernel's answer to the declarations of the last ProofsRequest."""

    answer: str


class Reply(msgspec.Struct):
    """The reply to both requests; to the first one, only the problem."""

    problem: str = ""
    """Why nothing can be judged; empty if it can."""
    failed: bool = False
    """Whether the problem is not the proof's: a file cannot be opened."""
    reasons: list[str] = []
    """For each pair, why the proof is rejected; empty if it is accepted."""
    axioms: list[list[str]] = []
    """For each pair, the axioms that the proof uses."""
    dependent: list[int] = []
    """Proofs that depend on declarations of other proofs of the file."""
    imports: list[str] = []
    """Of the first request: the modules of the library that the declarations name."""


@dataclass
class _Case:
    """What waits for the kernel's answer."""

    steps: list[str] = field(default_factory=list)
    """The first name that each step declares."""
    pairs: list[Pair] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)
    """By number of the pair, why it is rejected already."""
    dependent: list[int] = field(default_factory=list)


class Judge:
    """Answers the requests."""

    def __init__(self) -> None:
        self._case = _Case()

    def handle(self, request: ProofsRequest | AnswerRequest) -> Reply:
        """The reply to a request."""
        try:
            return self._read(request) if isinstance(request, ProofsRequest) else self._judge(request)
        except (BadOlean, UnreadableModule, OSError, ValueError) as error:
            return Reply(f"the compiled proof cannot be read: {error}", failed=isinstance(error, OSError))
        except BadAnswer as error:
            return Reply(f"the kernel's answer is incomplete: {error}")

    def _read(self, request: ProofsRequest) -> Reply:
        """Write the declarations. Raises BadOlean, UnreadableModule, OSError, ValueError."""
        # 1. Read both files.
        case = self._case = _Case(pairs=request.pairs)
        terms = Terms()
        statements, proofs = (_module(path, terms) for path in (request.statements, request.proofs))
        if not set(proofs.imports) <= set(statements.imports):
            raise BadOlean("the compiled proof imports other modules than the statement")
        # 2. Their declarations, those of the statements first.
        document = Declarations(terms)
        used = uses(proofs, terms)
        for module, below in ((statements, uses(statements, terms)), (proofs, used)):
            for group in groups(module, below):
                document.group(group)
                case.steps.append(group[0].name)
        # 3. A theorem for each pair.
        for number, pair in enumerate(request.pairs):
            check = _check(terms, pair, statements, proofs)
            if isinstance(check, str):
                case.problems[number] = check
                continue
            document.declare(check)
            case.steps.append(pair.check)
        if any(pair.token for pair in request.pairs):
            case.dependent = sorted(dependent_proofs(used, [pair.token for pair in request.pairs]))
        if len(request.pairs) > 1 and any(map(_changes_meaning, (statements, proofs))):
            case.dependent = [*range(len(request.pairs))]
        imports = [*dict.fromkeys(statements.imports)]
        Path(request.declarations).write_bytes(document.written(imports, [pair.check for pair in request.pairs]))
        return Reply(imports=imports)

    def _judge(self, request: AnswerRequest) -> Reply:
        """The verdicts by the kernel's answer. Raises BadAnswer."""
        case = self._case
        answer = read_answer(request.answer.encode(), len(case.steps), len(case.pairs))
        refused = {name: reason for name, reason in zip(case.steps, answer.reasons, strict=True) if reason}
        accepted = set(case.steps) - set(refused)
        reply = Reply(dependent=case.dependent)
        for number, pair in enumerate(case.pairs):
            axioms = sorted(answer.axioms[number] or ())
            reason = case.problems.get(number, "")
            if not reason and (pair.check not in accepted or answer.axioms[number] is None):
                reason = _blame(pair, refused)
            reply.reasons.append(reason or axioms_problem(axioms))
            reply.axioms.append(axioms)
        return reply


def axioms_problem(axioms: list[str]) -> str:
    """Why a proof that uses these axioms is rejected; empty if they are Lean's own."""
    if "sorryAx" in axioms:
        return UNFINISHED
    foreign = [axiom for axiom in axioms if axiom not in AXIOMS]
    return f"it uses other axioms than Lean's own: {', '.join(foreign)}" if foreign else ""


def _module(path: str, terms: Terms) -> Module:
    module = Module(Path(path), terms)
    module.close()
    return module


def _blame(pair: Pair, refused: dict[str, str]) -> str:
    """The reason for a proof that the kernel does not accept."""
    mine = f"{pair.token}." if pair.token else ""
    for name, reason in refused.items():
        if name not in (pair.check, pair.proof) and (name.startswith(mine) or pair.proof in refused):
            return f"the kernel rejects {name}: {reason}"
    if pair.proof in refused:
        return f"the kernel rejects {pair.proof}: {refused[pair.proof]}"
    return f"the proof does not prove the statement: {refused.get(pair.check, 'the kernel lacks it')}"


def _check(terms: Terms, pair: Pair, statements: Module, proofs: Module) -> Constant | str:
    """The theorem that a proof proves its statement, or why there is none."""
    statement, proof = statements.constants.get(pair.statement), proofs.constants.get(pair.proof)
    if statement is None or statement.value is None:
        return "the compiled file of the statement does not have it"
    if proof is None or not proof.safe or proof.kind is not Kind.THEOREM:
        return "the compiled file of the proof has no such theorem"
    levels = _levels(terms, statement, proof)
    if levels is None:
        return "the proof does not prove the statement: it has other universe parameters"

    def applied(name: str, parameters: tuple[str, ...]) -> int:
        numbers = tuple(terms.level_parameter(each) for each in parameters)
        return terms.add((Tag.CONSTANT, name, numbers), 0, bool(numbers))

    return Constant(
        pair.check,
        Kind.THEOREM,
        statement.level_parameters,
        applied(pair.statement, statement.level_parameters),
        applied(pair.proof, levels),
    )


def _levels(terms: Terms, statement: Constant, proof: Constant) -> tuple[str, ...] | None:
    """The statement's universe parameters in the order of the proof's; None if there is no order that fits.

    A wrong order does no harm: the kernel then rejects the proof.
    """
    assert statement.value is not None
    if set(statement.level_parameters) == set(proof.level_parameters):
        return proof.level_parameters
    if len(statement.level_parameters) != len(proof.level_parameters):
        return None
    theirs = terms.level_parameters(statement.value)
    by_proof = dict(zip(terms.level_parameters(proof.type), theirs, strict=False))
    return tuple(by_proof.get(each, "") for each in proof.level_parameters) if len(by_proof) == len(theirs) else None


def main() -> None:
    """Entry point of the child."""
    answer(ProofsRequest | AnswerRequest, Judge().handle)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------------------
# Finds proofs of a compiled batch that depend on declarations of other proofs, in the .olean file, without Lean.
#
# Random tokens in their names keep proofs from referring to each other. But Lean generates auxiliary declarations
# (`match_1`, `_proof_1`). If two proofs need the same one, Lean may generate it only once (versions that elaborate
# theorems one after another do). Then the second proof depends on the first one, and might fail if checked alone.
#
# Lean generates other declarations from the library's: the equations of a function that `simp` unfolds, the splitter
# of a match. They do not depend on the proof that needs them, so proofs may share them. A declaration of neither
# kind may be used by one proof at most.

_GENERATED = re.compile(
    r"eq_\d+|eq_def|eq_unfold|splitter|congr_simp|congr_eq_\d+|hcongr_\d+|fun_cases\w*|\w*induct\w*"
)
"""Last name components of declarations that Lean generates from the library's, the same for every proof."""


class UnreadableModule(Exception):
    """A declaration cannot be assigned to a single proof."""


_MEANING = re.compile(r"Lean\.Parser\..*|Lean\.Elab\..*Attribute|.*[iI]nstanceExtension|Lean\.aliasExtension|.*unif.*")
"""Extensions of an environment that say what the text below means: parsers, macros, elaborators, instances, aliases."""


def _changes_meaning(module: Module) -> bool:
    """Whether something in a file of several statements may change what the statements below it mean. The rules for
    texts let none through; a header may have it, and then its statements are checked one by one."""
    return any(entry.pointers and _MEANING.fullmatch(name) for name, entry in module.entries.items())


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


if __name__ == "__main__":
    main()
