"""Compiled files that were forged: nothing false is accepted, and honest files beside them are."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from node.lean.check.files import verifier as verifier_module
from node.lean.check.files.sources import from_text
from node.lean.check.verify.kernel import KernelProcess
from node.lean.process.fresh import Limits
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.files.conftest import Judged
from tests.node.lean.files.verified import Verifying
from tests.node.lean.olean.attacks import CHANGES, ENORMOUS, FINE, HARMLESS, TEXT, UNREPAIRED, WHOLE, changed
from tests.node.lean.olean.judges import File, Forge, accepted, forging_verifier, in_batch
from tests.node.lean.olean.mutations import HONEST, TRUE, faults, mutate

pytestmark = [pytest.mark.lean, pytest.mark.timeout(900)]

BAD = {"bad", "bad_two"}


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
async def test_a_forged_file_is_not_accepted_and_an_honest_one_beside_it_is(every: int) -> None:
    forgeries = {name: changed(change, repair=name not in UNREPAIRED) for name, change in CHANGES.items()}
    forgeries |= {name: changed(change) for name, change in HARMLESS.items()}
    names = [*forgeries][::every]
    _, answers = await in_batch(TEXT, [forgeries[name] for name in names])
    for name, answer in zip(names, answers, strict=True):
        assert not answer.whole and BAD.isdisjoint(answer.accepted), (name, answer)
        assert name not in HARMLESS or {"fine", "fine_two"} <= {*answer.accepted}, (name, answer)


SAMPLE = ("names as commands", "an import as commands", "a library next to the file", "a file that imports itself")


@pytest.mark.parametrize(
    "names", [SAMPLE, *(pytest.param((name,), marks=pytest.mark.slow, id=name) for name in WHOLE if name not in SAMPLE)]
)
async def test_a_verifier_is_not_deceived_by_files_and_their_imports(names: Sequence[str], judged: Judged) -> None:
    attacks = [WHOLE[name] for name in names]
    for attack in attacks:
        reports = await judged(attack.files)
        assert BAD.isdisjoint(accepted(reports))
        for file, report in zip(attack.files, reports, strict=True):
            assert not (report.accepted and "theorem bad " in file.text), report
        assert any(attack.told in each.problem for each in reports)
    for twin, honest in {tuple(attack.twin): attack.honest for attack in attacks}.items():
        assert honest <= accepted(await judged(twin))


@pytest.mark.slow
@pytest.mark.parametrize("name", ENORMOUS)
async def test_an_enormous_file_is_judged_within_its_limits(name: str, judged: Judged) -> None:
    assert BAD.isdisjoint(accepted(await judged([File("Main", TEXT, ENORMOUS[name])])))


MODULE = f"module\n@[expose] public section\n{HONEST}"
SEEDS = {HONEST: (0, 8, 15), MODULE: (0, 11)}
"""The later ones are refused for reasons that few others meet."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("text", [HONEST, MODULE], ids=["files", "last parts"])
async def test_of_changed_files_nothing_is_accepted_but_what_the_text_proves(text: str, every: bool) -> None:
    seeds = range(2000) if every else SEEDS[text]
    for batch in (seeds[first : first + 60] for first in range(0, len(seeds), 60)):
        changes: list[Forge] = [lambda content, _, seed=seed: mutate(content, seed).content for seed in batch]
        (honest, *_), (whole, *answers) = await in_batch(text, [lambda content, _: content, *changes])
        assert set(whole.accepted) == TRUE and not faults(whole)
        assert any(not answer.problem for answer in answers)
        for seed, answer in zip(batch, answers, strict=True):
            assert not faults(answer), (mutate(honest, seed).description, answer)


# --- the processes ----------------------------------------------------------------------------------------------------


async def test_a_pipe_is_no_compiled_file(monkeypatch: pytest.MonkeyPatch) -> None:
    async with forging_verifier() as forging:
        compile_ = forging.compiler.compile

        async def piped(*arguments: Any, **options: Any) -> object:
            compiled = await compile_(*arguments, **options)
            assert compiled.olean is not None
            compiled.olean.unlink()
            os.mkfifo(compiled.olean)
            return compiled

        monkeypatch.setattr(forging.compiler, "compile", piped)
        report = await forging.verifier.verify_text(FINE)
    assert "another kind of file" in report.problem


@pytest.mark.parametrize(
    "request_",
    ["CompareRequest", *(pytest.param(each, marks=pytest.mark.slow) for each in ("AnswerRequest", "StatedRequest"))],
)
async def test_a_child_that_ends_between_two_requests_costs_no_verdict(
    request_: str, monkeypatch: pytest.MonkeyPatch, judged: Judged, verifying: Verifying
) -> None:
    # 1. The child ends before the first request of a kind.
    ask = verifier_module._Session.ask
    ended: list[str] = []

    async def ask_later(session: verifier_module._Session, request: object, keys: object, reply: object) -> object:
        if type(request).__name__ == request_ and not ended:
            ended.append(request_)
            async with session._turn:  # between two requests, not while the child answers the other submission's
                await session.dialog.close()
        return await ask(session, request, keys, reply)  # type: ignore[arg-type]

    monkeypatch.setattr(verifier_module._Session, "ask", ask_later)
    # 2. The verdicts are as ever, also on what an imported file proves.
    reference = [from_text("def P : Prop := True\ntheorem t : P := sorry\n", "Main", "Main")]
    proved = [from_text("def P : Prop := True\ntheorem t : P := trivial\n", "Main", "Main")]
    assert await verifying.compared([proved, proved], reference) == [[""], [""]]
    if request_ == "CompareRequest":
        assert ended
        return
    first = "axiom wrong : 1 = 2\ntheorem a : 1 = 1 := rfl\n"
    second = "theorem bad : 1 = 2 := wrong\ntheorem b : 1 = 1 := a\n"
    assert accepted(await judged([File("A", first), File("B", "import A\n" + second)])) == {"a", "b"}
    assert ended


# --- the kernel's process ---------------------------------------------------------------------------------------------

_NAMES = ["s 0 4:Init", "s 0 3:Nat", "s 0 1:x", "s 0 1:X", "s 4 2:mk", "s 4 3:rec"]
_INIT, _NAT, _X, _TYPE, _MADE, _RECURSOR = range(1, 7)
_TERMS = ["c 2 0", "n 1", "n 2", "s 1", "c 4 0"]  # Nat, 1, 2, Type, X
_INDUCTIVE = f"i 0 0 1 {_TYPE} 3 1 {_MADE} 4"
STEPS: list[tuple[list[str], str]] = [
    ([f"D {_NAT} 0 3 3 0"], "n"),  # a name of the library
    ([f"D {_X} 0 0 1 0", f"D {_X} 0 0 2 0"], "yn"),  # a name twice
    ([_INDUCTIVE, f"D {_RECURSOR} 0 0 1 0"], "yn"),  # a recursor's name
    ([f"D {_TYPE} 0 3 0 0", _INDUCTIVE], "yn"),  # a type's name
    ([f"D {_X} 0 0 1 0"], "y"),  # a name from before
]


async def test_what_was_accepted_before_takes_no_name_that_is_there(tmp_path: Path) -> None:
    steps = [step for each, _ in STEPS for step in (*each, "e")]  # `e`: a new environment
    wanted = "y".join([*(each for _, each in STEPS), ""])
    sections: dict[str, list[str]] = {"names": _NAMES, "levels": ["s 0"], "expressions": _TERMS, "imports": ["1"]}
    sections |= {"steps": steps, "queries": []}
    lines = [line for title, entries in sections.items() for line in (f"{title} {len(entries)}", *entries)]
    (tmp_path / "declarations").write_text("\n".join(["proofmesh-declarations 1", *lines, "end\n"]))
    kernel = KernelProcess(LeanToolchain.pocket(), Limits(), tmp_path)
    answer = await kernel.answer(tmp_path / "declarations", ["Init"])
    await kernel.close()
    assert "".join(line[0] for line in answer.splitlines()[2 : 2 + len(steps)]) == wanted
