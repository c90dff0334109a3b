"""The kernel check alone, on genuine and forged compiled files: forged ones are refused or rejected."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from node.lean.check.files.commands import Text
from node.lean.check.files.judging import LocalModule
from node.lean.check.verify.kernel import KernelProcess
from node.lean.olean.declarations import Declarations, groups, read_answer, uses
from node.lean.olean.terms import Terms
from node.lean.process.fresh import Limits, OutOfLimits
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean.forging import SOURCE, compile_text, opened
from tests.node.lean.olean.writer import Forged, common, details, set_flag

pytestmark = pytest.mark.lean

Change = Callable[[Forged], object]


@pytest.fixture(scope="module")
def olean(tmp_path_factory):
    return asyncio.run(compile_text(SOURCE, tmp_path_factory.mktemp("replay")))


@pytest.fixture
async def kernel(tmp_path):
    kernel = KernelProcess(LeanToolchain.pocket(), Limits(), tmp_path)
    yield kernel
    await kernel.close()


async def rejected(olean: Path, folder: Path, kernel: KernelProcess) -> dict[str, str]:
    """The declarations of a compiled file that the kernel rejects. Raises BadOlean."""
    with opened(olean) as module:
        together, document = list(groups(module, uses(module, module.reader.terms))), Declarations(module.reader.terms)
    for group in together:
        document.group(group)
    file = folder / "declarations"
    file.write_bytes(document.written(module.imports, [group[0].name for group in together]))
    answer = await kernel.answer(file, module.imports)
    reasons = read_answer(answer.encode(), len(together), len(together)).reasons
    return {group[0].name: reason for group, reason in zip(together, reasons, strict=True) if reason}


EVERY_KIND = Path(__file__).with_name("every_kind.lean").read_text(encoding="utf-8")


async def test_the_kernel_accepts_what_lean_compiled(olean, tmp_path, kernel):
    assert await rejected(olean, tmp_path, kernel) == {}
    assert await rejected(await compile_text(EVERY_KIND, tmp_path), tmp_path, kernel) == {}


async def test_a_process_of_the_kernel_is_kept_for_the_same_imports_and_replaced_when_it_has_ended(tmp_path, kernel):
    def declarations(*imports: str) -> Path:
        file = tmp_path / "declarations"
        file.write_bytes(Declarations(Terms()).written(imports, ["Nat.add_comm"]))
        return file

    async def answered(*imports: str) -> bool:
        answer = await kernel.answer(declarations(*imports), imports)
        return read_answer(answer.encode(), 0, 1).axioms[0] is not None

    kernel.prepare([])
    assert [await answered("Init"), await answered("Init"), kernel.starts] == [True, True, 1]
    # 1. Other imports need another process, and both are kept.
    found = [await answered(module) for module in ("Pocket.Prelude", "Init", "Pocket.Prelude")]
    assert found == [False, True, False]
    assert kernel.starts == 2
    # 2. One that has ended while it was idle is replaced, and so is one that ends at a document: this one is malformed.
    for idle in kernel._idle:
        idle.child.kill_now()
        await idle.child.process.wait()
    assert [await answered("Init"), kernel.starts] == [True, 3]
    declarations("Init").write_bytes(declarations("Init").read_bytes().replace(b"end", b"and"))
    with pytest.raises(OutOfLimits, match="kernel's process ended with code 1"):
        await kernel.answer(tmp_path / "declarations", ["Init"])
    assert kernel.starts == 4, "a new one has tried it, too"
    assert [await answered("Init"), kernel.starts] == [True, 5]


def part(name: str, index: int, of: str) -> Change:
    """A field of what a constant has besides name and type is the one of another constant."""

    def change(forged: Forged) -> None:
        details(forged.info(name)).fields[index] = details(forged.info(of)).fields[index]

    return change


def constructor_type(forged: Forged) -> None:
    """A constructor with another type than the recursor was made for."""
    common(forged.info("Even.step")).fields[2] = common(forged.info("Tree.node")).fields[2]


def universe_parameters(forged: Forged) -> None:
    """A polymorphic constant that says it has no universe parameters."""
    common(forged.info("size")).fields[1] = 0


def number_of_indices(forged: Forged) -> None:
    """No indices: it would pass for a structure whose elements are all equal."""
    details(forged.info("Even")).fields[2] = 0


FORGERIES: dict[str, tuple[Change, bool]] = {
    "a constructor's type": (constructor_type, True),
    "the value of an opaque constant": (part("one", 1, of="hidden"), True),
    "universe parameters": (universe_parameters, True),
    # The kernel makes these by itself, so that what the file says of them does not matter.
    "rules of a recursor": (part("Tree.rec", 6, of="Even.rec"), False),
    # It would reduce like the one of equality, which a type with two fields must not.
    "K of a recursor": (lambda forged: set_flag(forged.info("Pair.rec"), 0, 1), False),
    "the number of indices": (number_of_indices, False),
}
"""Changes, and whether they matter."""


async def test_a_forged_declaration_is_not_accepted_where_it_matters(olean, tmp_path, kernel):
    assert not await rejected(olean, tmp_path, kernel)
    for name, (change, matters) in FORGERIES.items():
        forged = Forged.decode(olean.read_bytes())
        change(forged)
        (tmp_path / "Main.olean").write_bytes(forged.encode())
        assert forged.encode() != olean.read_bytes()
        found = await rejected(tmp_path / "Main.olean", tmp_path, kernel)
        assert bool(found) is matters, (name, found)
    assert not await rejected(olean, tmp_path, kernel), "the same process accepts the honest file after them"
    assert kernel.starts == 1


async def test_what_rests_on_a_rejected_half_of_a_mutual_pair_is_named_in_another_file(olean, tmp_path):
    # The kernel rejects both types together, under the name of the first; the other file uses the second.
    main = shutil.copy(olean, tmp_path / "Main.olean")
    text = "import Main\ntheorem three_is_odd : Odd 3 := .step (.step (.step .zero))\n"
    other = await compile_text(text, tmp_path, "Other")
    terms = Terms()
    modules = [LocalModule.read(file.stem, file, Text(""), [], terms) for file in (Path(main), other)]
    modules[1].others = modules[:1]
    reasons = ["it is wrong" if group[0].name == "Even" else "" for group in modules[0].order]
    modules[0].judged(reasons, {})
    assert modules[1].rejection("three_is_odd") == "it uses Odd, which the kernel rejects: it is wrong"
    assert "Odd" in modules[0].rejected
