"""Proofs whose code replaces the compiled file: nothing is accepted that is not proved, and no caller gets a traceback.

Each forgery changes the compiled file of the proofs when Lean has written it. It is tried on a single proof, and on a
batch whose other proofs must get the verdicts that they would get alone.
"""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from common.lean import Theorem
from common.protocol.messages import LeanVerifyReply
from node.lean.check.verify.checks import CHECK, PROOF, STATEMENT
from node.lean.check.verify.kernel import FreshLean
from node.lean.check.verify.verifier import Verifier
from tests.node.lean.olean import writer
from tests.node.lean.olean.attacks import Change, both, changed as forgery
from tests.node.lean.olean.writer import Forged, Maker, Object, Parts, Value, common, details, linked, parts
from tests.node.lean.verify.recorded import opened

pytestmark = [pytest.mark.lean, pytest.mark.asyncio(loop_scope="module")]

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


def each(change: Callable[[Forged, Maker, Object, int], object]) -> Change:
    """A change to each proof, which has a number."""

    def changes(forged: Forged, make: Maker) -> None:
        for number, info in enumerate(proofs(forged)):
            change(forged, make, info, number)

    return changes


def state(info: Object, type_: Object) -> None:
    common(info).fields[2] = type_


def another_statement(forged: Forged, make: Maker, info: Object, number: int) -> None:
    state(info, make.const("True"))
    prove(info, make.const("True.intro"))


def check(how: Callable[[Maker, Parts, Object], Object]) -> Change:
    """The theorem that checks a proof, made in this way from its name and what it states; it is the proof, too."""

    def change(forged: Forged, make: Maker, info: Object, number: int) -> None:
        name = (*key(info), CHECK)
        forged.add(how(make, name, make.const((*key(info), STATEMENT))))
        prove(info, make.const(name))

    return each(change)


def check_as_a_constructor(forged: Forged, make: Maker, info: Object, number: int) -> None:
    type_, name = ("X", number), (*key(info), CHECK)
    forged.add(make.inductive(type_, "Prop", [name]))
    forged.add(make.constructor(name, make.const(type_), type_))


def below_the_name_of_an_axiom(forged: Forged, make: Maker, info: Object, number: int) -> None:
    name = ("propext", number)
    forged.add(make.axiom(name, common(info).fields[2]))
    prove(info, make.const(name))


def for_theorems(made: Callable[[Maker, Value, Any, Any], Object]) -> Change:
    """Constants of another kind for the theorems, from name, statement and proof."""

    def change(forged: Forged, make: Maker) -> None:
        for at, info in enumerate(forged.constants()):
            if PROOF in parts(common(info).fields[0]):
                name, _, type_ = common(info).fields
                forged.items(writer.CONSTANTS)[at] = made(make, name, type_, details(info).fields[1])

    return change


def with_parameters(*names: tuple[str | int, ...]) -> Change:
    """The theorems have these universe parameters."""

    def change(forged: Forged, make: Maker, info: Object, number: int) -> None:
        common(info).fields[1] = linked([make.name(*name) for name in names])

    return each(change)


def no_theorem(forged: Forged, make: Maker) -> None:
    for name in forged.infos():
        if PROOF in name:
            forged.remove(".".join(map(str, name)))


def each_by_another(forged: Forged, make: Maker) -> None:
    """Each proof is that of another one, or its own name."""
    infos = proofs(forged)
    names = [common(info).fields[0] for info in infos]
    for info, name in zip(infos, names[1:] + names[:1], strict=True):
        prove(info, make.const(name))


CHANGES: dict[str, Change] = {
    "another proof": each(lambda forged, make, info, number: prove(info, make.const("True.intro"))),
    "another statement": each(another_statement),
    "the statement declared again": both(
        each(another_statement),
        each(lambda forged, make, info, _: forged.add(make.definition((*key(info), STATEMENT), "Prop", "True"))),
    ),
    "a check that uses itself": check(lambda make, name, stated: make.theorem(name, stated, make.const(name))),
    "the check as an axiom": check(lambda make, name, stated: make.axiom(name, stated)),
    "the check as a constructor": each(check_as_a_constructor),
    "an axiom whose name begins with that of Lean's": each(below_the_name_of_an_axiom),
    "opaque constants for theorems": for_theorems(Maker.opaque),
    "a universe parameter twice": with_parameters(("u",), ("u",)),
    "many universe parameters": with_parameters(*(("u", number) for number in range(2000))),
    "no theorem": no_theorem,
}


# --- another kind of file in its place --------------------------------------------------------------------------------


def pipe(olean: Path) -> None:
    olean.unlink()
    os.mkfifo(olean)


def no_folder(olean: Path) -> None:
    shutil.rmtree(olean.parent)


def link_to_a_device(olean: Path) -> None:
    olean.unlink()
    olean.symlink_to("/dev/zero")


def large(olean: Path) -> None:
    with olean.open("r+b") as file:
        file.truncate(200 << 20)


def cut(olean: Path) -> None:
    with olean.open("r+b") as file:
        file.truncate(olean.stat().st_size // 16 * 8)


FILES: dict[str, Replace] = {
    "a pipe": pipe,
    "no file": Path.unlink,
    "no folder": no_folder,
    "half a file": cut,
    "a large file": large,
    "a link to a device": link_to_a_device,
}


def changed(change: Change) -> Replace:
    return lambda olean: olean.write_bytes(forgery(change)(olean.read_bytes(), olean)) and None


FORGERIES = {name: changed(change) for name, change in CHANGES.items()} | FILES


@pytest.fixture
def forging(monkeypatch: pytest.MonkeyPatch) -> Callable[[Replace | None], None]:
    """Has Lean's compiled proofs changed, as their code could do it."""
    honest = {name: getattr(FreshLean, name) for name in ("compile", "compile_many")}

    def forge(replace: Replace | None) -> None:
        for name, compile_ in honest.items():

            async def compiled(lean: FreshLean, folder: Path, *more: Any, compile_: Any = compile_) -> object:
                finished = await compile_(lean, folder, *more)
                if more[0] == PROOF and replace:
                    replace(folder / f"{PROOF}.olean")
                return finished

            monkeypatch.setattr(FreshLean, name, compiled)

    return forge


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def verifier() -> AsyncIterator[Verifier]:
    async with opened(at_once=2, seconds=20, memory_mb=1024) as verifier:
        yield verifier


QUICK = ("another proof", "the statement declared again", "a pipe")
QUICK += ("the check as an axiom", "the check as a constructor")


async def test_a_proof_whose_compiled_file_is_forged_is_rejected(forging, verifier):
    for name in QUICK:
        forging(FORGERIES[name])
        assert not (await verifier.verify(THEOREMS[0], "rfl")).accepted, name


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.slow
async def test_whatever_is_forged_a_proof_alone_and_a_batch_are_rejected(name, forging, verifier):
    forging(FORGERIES[name])
    assert not (await verifier.verify(THEOREMS[0], "rfl")).accepted
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
        forged.add(make.axiom(("a\0b\nc d", ""), "False"))
        forged.add(make.definition(("«»", 7), "String", '"\0\nend\nsteps 0"'))

    forging(changed(more))
    reply = await verifier.verify(THEOREMS[0], "rfl")
    assert reply.accepted and reply.axioms == ()
