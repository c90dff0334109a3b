"""Proofs whose code replaces the compiled file: nothing is accepted that is not proved, and no caller gets a traceback.

Each forgery changes the compiled file of the proofs when Lean has written it. It is tried on a single proof, and on a
batch whose other proofs must get the verdicts that they would get alone.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from common.lean import Theorem
from common.protocol.messages import LeanVerifyReply
from node.lean.check.verify.checks import CHECK, PROOF, STATEMENT
from node.lean.check.verify.kernel import FreshLean
from node.lean.check.verify.verifier import Verifier
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean import writer
from tests.node.lean.olean.writer import Forged, Maker, Object, Parts, Value, common, details, linked, parts

pytestmark = pytest.mark.lean

Change = Callable[[Forged, Maker], None]
Replace = Callable[[Path], None]

THEOREMS = (Theorem("one", "", "1 = 1"), Theorem("all", "(n : Nat)", "n = n"), Theorem("two", "", "2 = 2"))


def proofs(forged: Forged) -> list[Object]:
    """The theorems of the file that are proofs."""
    return [info for name, info in forged.infos().items() if PROOF in name]


def key(info: Object) -> Parts:
    """The prefix of the names of a proof."""
    name = parts(common(info).fields[0])
    return name[: name.index(PROOF)]


def prove(info: Object, value: Object) -> None:
    details(info).fields[1] = value


# --- changes to the objects of the file -------------------------------------------------------------------------------


def another_proof(forged: Forged, make: Maker) -> None:
    for info in proofs(forged):
        prove(info, make.constant("True.intro"))


def another_statement(forged: Forged, make: Maker) -> None:
    for info in proofs(forged):
        common(info).fields[2] = make.constant("True")
        prove(info, make.constant("True.intro"))


def statement_declared_again(forged: Forged, make: Maker) -> None:
    another_statement(forged, make)
    for info in proofs(forged):
        forged.add(make.definition(make.name(*key(info), STATEMENT), make.sort(0), make.constant("True")))


def check_that_uses_itself(forged: Forged, make: Maker) -> None:
    for info in proofs(forged):
        name = make.name(*key(info), CHECK)
        forged.add(make.theorem(name, make.constant(make.name(*key(info), STATEMENT)), make.constant(name)))
        prove(info, make.constant(name))


def check_as_an_axiom(forged: Forged, make: Maker) -> None:
    for info in proofs(forged):
        name = make.name(*key(info), CHECK)
        forged.add(make.axiom(name, make.constant(make.name(*key(info), STATEMENT))))
        prove(info, make.constant(name))


def check_as_a_constructor(forged: Forged, make: Maker) -> None:
    for number, info in enumerate(proofs(forged)):
        type_, name = make.name("X", number), make.name(*key(info), CHECK)
        forged.add(make.inductive(type_, make.sort(0), [name]))
        forged.add(make.constructor(name, make.constant(type_), type_))


def below_the_name_of_an_axiom(forged: Forged, make: Maker) -> None:
    for number, info in enumerate(proofs(forged)):
        name = make.name("propext", number)
        forged.add(make.axiom(name, common(info).fields[2]))  # type: ignore[arg-type]
        prove(info, make.constant(name))


def _replaced(forged: Forged, made: Callable[[Value, Object, Object], Object]) -> None:
    for at, info in enumerate(forged.constants()):
        if PROOF in parts(common(info).fields[0]):
            name, _, type_ = common(info).fields
            forged.items(writer.CONSTANTS)[at] = made(name, type_, details(info).fields[1])  # type: ignore[arg-type]


def axioms_for_theorems(forged: Forged, make: Maker) -> None:
    _replaced(forged, lambda name, type_, _: make.axiom(name, type_))


def definitions_for_theorems(forged: Forged, make: Maker) -> None:
    _replaced(forged, make.definition)


def opaque_for_theorems(forged: Forged, make: Maker) -> None:
    _replaced(forged, make.opaque)


def with_parameters(*names: tuple[str | int, ...]) -> Change:
    """The theorems have these universe parameters."""

    def change(forged: Forged, make: Maker) -> None:
        for info in proofs(forged):
            common(info).fields[1] = linked([make.name(*each) for each in names])

    return change


def imports_the_statement(forged: Forged, make: Maker) -> None:
    forged.items(writer.IMPORTS).append(Object(0, [make.name(STATEMENT)], bytes([0, 1, 0, 0, 0, 0, 0, 0])))


def open_proof(forged: Forged, make: Maker) -> None:
    for info in proofs(forged):
        prove(info, make.apply(make.constant("sorryAx", 0), common(info).fields[2], make.constant("Bool.false")))  # type: ignore[arg-type]


def no_theorem(forged: Forged, make: Maker) -> None:
    for name in forged.infos():
        if PROOF in name:
            forged.remove(".".join(map(str, name)))


def each_by_another(forged: Forged, make: Maker) -> None:
    """Each proof is that of another one, or its own name."""
    infos = proofs(forged)
    names = [common(info).fields[0] for info in infos]
    for info, name in zip(infos, names[1:] + names[:1], strict=True):
        prove(info, make.constant(name))


# --- another kind of file in its place --------------------------------------------------------------------------------


def pipe(olean: Path) -> None:
    olean.unlink()
    os.mkfifo(olean)


def folder(olean: Path) -> None:
    olean.unlink()
    olean.mkdir()


def no_folder(olean: Path) -> None:
    shutil.rmtree(olean.parent)


def link_to(target: str) -> Replace:
    def replace(olean: Path) -> None:
        olean.unlink()
        olean.symlink_to(target)

    return replace


def large(olean: Path) -> None:
    with olean.open("r+b") as file:
        file.truncate(200 << 20)


def cut(olean: Path) -> None:
    with olean.open("r+b") as file:
        file.truncate(olean.stat().st_size // 16 * 8)


CHANGES: dict[str, Change] = {
    "another proof": another_proof,
    "another statement": another_statement,
    "the statement declared again": statement_declared_again,
    "a check that uses itself": check_that_uses_itself,
    "the check as an axiom": check_as_an_axiom,
    "the check as a constructor": check_as_a_constructor,
    "an axiom whose name begins with that of Lean's": below_the_name_of_an_axiom,
    "axioms for theorems": axioms_for_theorems,
    "definitions for theorems": definitions_for_theorems,
    "opaque constants for theorems": opaque_for_theorems,
    "a universe parameter twice": with_parameters(("u",), ("u",)),
    "a universe parameter without a name": with_parameters(()),
    "many universe parameters": with_parameters(*(("u", number) for number in range(2000))),
    "an import of the statement": imports_the_statement,
    "an open proof": open_proof,
    "no theorem": no_theorem,
}
FILES: dict[str, Replace] = {
    "a pipe": pipe,
    "a folder": folder,
    "no file": Path.unlink,
    "no folder": no_folder,
    "an empty file": lambda olean: olean.write_bytes(b"") and None,
    "half a file": cut,
    "a large file": large,
    "a link to a device": link_to("/dev/zero"),
    "a link to nothing": link_to("nowhere"),
    "a link to itself": link_to(f"{PROOF}.olean"),
}


def changed(change: Change) -> Replace:
    def replace(olean: Path) -> None:
        forged = Forged.decode(olean.read_bytes())
        change(forged, Maker())
        forged.repair()
        olean.write_bytes(forged.encode())

    return replace


FORGERIES = {name: changed(change) for name, change in CHANGES.items()} | FILES


@pytest.fixture
def forging(monkeypatch: pytest.MonkeyPatch) -> Callable[[Replace | None], None]:
    """Has Lean's compiled proofs changed, as their code could do it."""
    one, many = FreshLean.compile, FreshLean.compile_many

    def forge(replace: Replace | None) -> None:
        async def compile_one(lean: FreshLean, folder: Path, module: str) -> object:
            finished = await one(lean, folder, module)
            if module == PROOF and replace:
                replace(folder / f"{PROOF}.olean")
            return finished

        async def compile_many(lean: FreshLean, folder: Path, module: str, *limits: Any) -> object:
            finished = await many(lean, folder, module, *limits)
            if module == PROOF and replace:
                replace(folder / f"{PROOF}.olean")
            return finished

        monkeypatch.setattr(FreshLean, "compile", compile_one)
        monkeypatch.setattr(FreshLean, "compile_many", compile_many)

    return forge


@pytest.fixture
async def verifier() -> AsyncIterator[Verifier]:
    verifier = Verifier(LeanToolchain.pocket(), at_once=2, seconds=20, memory_mb=1024)
    yield verifier
    await verifier.stop()


QUICK = (*list(CHANGES)[:7], "a pipe", "no file", "no folder")


def some(names: Iterable[str]) -> list[object]:
    """These names, all but a few marked as slow."""
    return [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in names]


@pytest.mark.parametrize("name", some(FORGERIES))
async def test_a_proof_whose_compiled_file_is_forged_is_rejected(name, forging, verifier):
    forging(FORGERIES[name])
    assert not (await verifier.verify(THEOREMS[0], "rfl")).accepted


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.slow
async def test_a_batch_whose_compiled_file_is_forged_is_rejected(name, forging, verifier):
    forging(FORGERIES[name])
    for reply in await verifier.verify_many([(theorem, "rfl") for theorem in THEOREMS]):
        assert isinstance(reply, LeanVerifyReply) and (not reply.accepted or name == "the check as a constructor")


async def test_a_batch_without_a_compiled_file_is_judged_one_by_one(forging, verifier):
    def once(olean: Path) -> None:
        forging(None)
        olean.unlink()

    forging(once)
    replies = await verifier.verify_many([(theorem, "rfl") for theorem in THEOREMS])
    assert all(isinstance(reply, LeanVerifyReply) and reply.accepted for reply in replies)


async def test_proofs_of_a_batch_that_use_each_other_are_judged_alone(forging, verifier):
    forging(changed(each_by_another))
    for reply in await verifier.verify_many([(theorem, "rfl") for theorem in THEOREMS]):
        assert isinstance(reply, LeanVerifyReply) and not reply.accepted  # alone, each is proved by itself


async def test_what_no_proof_uses_does_no_harm(forging, verifier):
    def more(forged: Forged, make: Maker) -> None:
        forged.add(make.axiom(make.name("a\0b\nc d", ""), make.constant("False")))
        forged.add(make.definition(make.name("«»", 7), make.constant("String"), make.string("\0\nend\nsteps 0")))

    forging(changed(more))
    reply = await verifier.verify(THEOREMS[0], "rfl")
    assert reply.accepted and reply.axioms == ()
