"""Files that are forged with a purpose: each would be accepted, or keep the verifier busy, if one check were missing.

Code that runs while Lean compiles a file can write any bytes into the compiled file. So an attack is a text, and a
function that replaces the compiled file. Most texts here state `1 = 2` and leave the proof open; the forged compiled
file is there to have it accepted all the same. Each attack has an honest twin: as similar as possible, and to be
accepted.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import struct
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import ClassVar

import psutil

from node.lean.check.files.compiling import Compiled, Compiler
from node.lean.check.files.report import FileReport
from node.lean.check.files.sources import from_text, imports_of
from node.lean.check.files.verifier import FileVerifier
from node.lean.check.olean.terms import mixed_hash
from node.lean.process.fresh import Limits
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean import writer
from tests.node.lean.olean.writer import Forged, Maker, Object, Value, common, details, linked, natural, parts

Forge = Callable[[bytes, Path], bytes]
"""From the compiled file and where it stands, the file to be put in its place. It may write others next to it."""

Change = Callable[[Forged, Maker], None]
"""A change to the objects of a compiled file."""

MB = 1 << 20
PATIENCE = 5
"""How many times its computing time a process may take on a busy machine."""

BAD = "theorem bad : 1 = 2 := sorry\n"
FINE = "theorem fine : 1 = 1 := rfl\n"


@dataclass(frozen=True)
class File:
    """A text, and what its compiled file is replaced with."""

    module: str
    text: str
    forge: Forge | None = None


Rounds = tuple[tuple[File, ...], ...]
"""The files of each call of one verifier, one call after the other."""


@dataclass(frozen=True)
class Attack:
    name: str
    rounds: Rounds
    twin: Rounds
    """The same without the lie."""
    honest: frozenset[str] = frozenset({"fine"})
    """The declarations of the twin that must be accepted."""
    wrong: frozenset[str] = frozenset({"bad"})
    """The declarations that must not be accepted."""
    seconds: float = 30.0
    """Most computing time of the verifier's own process. Lean's processes have limits of their own."""
    memory_mb: int = 2000
    """Most that the verifier's own process may take."""


# --- running an attack ------------------------------------------------------------------------------------------------


class CompilingOnce(Compiler):
    """Compiles each text without imports once in this process: most attacks forge the files of the same few texts."""

    known: ClassVar[dict[tuple[str, str, bool, str], tuple[Compiled, bytes]]] = {}

    async def compile(
        self, module: str, text: str, folder: Path, path: Sequence[Path], *, salvage: bool, named_as: str = ""
    ) -> Compiled:
        key = module, text, salvage, named_as
        if key in self.known:
            compiled, content = self.known[key]
            olean = folder / "0" / "out" / "module.olean"
            olean.parent.mkdir(parents=True)
            olean.write_bytes(content)
            return replace(compiled, olean=olean, commands=list(compiled.commands), failed=dict(compiled.failed))
        compiled = await super().compile(module, text, folder, path, salvage=salvage, named_as=named_as)
        if compiled.olean is not None and not imports_of(text):
            kept = replace(compiled, commands=list(compiled.commands), failed=dict(compiled.failed))
            self.known[key] = kept, compiled.olean.read_bytes()
        return compiled


class ForgingCompiler(CompilingOnce):
    """Compiles as ever, and then replaces the compiled file, as code in the file could."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits) -> None:
        super().__init__(toolchain, limits)
        self.forges: dict[str, Forge] = {}
        """By module."""

    async def compile(
        self, module: str, text: str, folder: Path, path: Sequence[Path], *, salvage: bool, named_as: str = ""
    ) -> Compiled:
        compiled = await super().compile(module, text, folder, path, salvage=salvage, named_as=named_as)
        forge = self.forges.get(module)
        if forge is not None:
            assert compiled.olean is not None, compiled.messages
            compiled.olean.write_bytes(forge(compiled.olean.read_bytes(), compiled.olean))
        return compiled


@asynccontextmanager
async def forging_verifier(*, seconds: float = 10, memory_mb: int = 2048) -> AsyncIterator[FileVerifier]:
    """A verifier whose compiler is a ForgingCompiler: `forges(verifier)` are its forgeries."""
    toolchain = LeanToolchain.pocket()
    verifier = FileVerifier(toolchain, at_once=1, seconds=seconds, memory_mb=memory_mb)
    limits = Limits(seconds=seconds, memory_mb=memory_mb)
    verifier._compiler, verifier._clean_compiler = ForgingCompiler(toolchain, limits), CompilingOnce(toolchain, limits)
    try:
        yield verifier
    finally:
        verifier.close()


def forges(verifier: FileVerifier) -> dict[str, Forge]:
    """The forgeries of a verifier, to be changed."""
    compiler = verifier._compiler
    assert isinstance(compiler, ForgingCompiler)
    return compiler.forges


async def judged(rounds: Rounds, *, seconds: float = 10, memory_mb: int = 2048) -> list[FileReport]:
    """The reports on all files, each round a call of the same verifier."""
    reports = []
    async with forging_verifier(seconds=seconds, memory_mb=memory_mb) as verifier:
        for files in rounds:
            forges(verifier).clear()
            forges(verifier).update({each.module: each.forge for each in files if each.forge})
            sources = [from_text(each.text, each.module, each.module) for each in files]
            async with aclosing(verifier.verify(sources)) as results:
                reports += [each.report async for each in results]
    return reports


def accepted(reports: Sequence[FileReport]) -> set[str]:
    """The accepted declarations."""
    return {each.name for report in reports if not report.problem for each in report.declarations if each.accepted}


def successes(attack: Attack, reports: Sequence[FileReport]) -> list[str]:
    """What of an attack has succeeded; empty if nothing has."""
    found = [f"{name} is accepted" for name in sorted(accepted(reports) & attack.wrong)]
    files = [each for files in attack.rounds for each in files]
    for file, report in zip(files, reports, strict=True):
        if report.accepted and any(f"theorem {name} " in file.text for name in attack.wrong):
            found.append(f"{file.module} is accepted as a whole")
    return found


@dataclass(frozen=True)
class Outcome:
    """The end of an attack that ran in a process of its own."""

    reports: tuple[FileReport, ...]
    problem: str
    """Why there are no reports: a traceback, too long, too much memory. Empty if there are."""
    seconds: float
    memory_mb: float
    """The most that the process took, without Lean's processes."""


def contained(attacks: Sequence[Attack], *, twin: bool = False) -> dict[str, Outcome]:
    """Run attacks one by one in each of two processes, which are stopped when one takes too long or too much memory.

    Returns the outcomes by name. A new process goes on behind an attack that failed.
    """

    def all_of(part: Sequence[Attack]) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        while left := [each for each in part if each.name not in outcomes]:
            outcomes |= _in_process(left, twin)
        return outcomes

    with ThreadPoolExecutor(2) as threads:
        return dict(item for found in threads.map(all_of, (attacks[::2], attacks[1::2])) for item in found.items())


def _in_process(attacks: Sequence[Attack], twin: bool) -> dict[str, Outcome]:
    """The outcomes of attacks, up to the first that fails."""
    # 1. The process, which sends its reports.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_attacked, args=(theirs, [each.name for each in attacks], twin))
    process.start()
    theirs.close()
    outcomes: dict[str, Outcome] = {}
    try:
        watched = psutil.Process(process.pid)
        for attack in attacks:
            # 2. It is watched until it has sent those of one attack.
            outcome = outcomes[attack.name] = _watched(attack, ours, watched)
            if outcome.problem:
                break
    finally:
        ended(process)
    return outcomes


def _watched(attack: Attack, ours: Connection, process: psutil.Process) -> Outcome:
    """The outcome of the attack that the process runs now."""
    started, most = time.monotonic(), 0.0
    before = used = computing_time(process)
    while not ours.poll(0.05):
        with contextlib.suppress(psutil.Error):
            most = max(most, process.memory_info().rss / MB)
            used = computing_time(process) - before
        seconds = time.monotonic() - started
        if used > attack.seconds or seconds > PATIENCE * attack.seconds:
            return Outcome((), f"no verdict after {used:.1f} s of computing", seconds, most)
        if most > attack.memory_mb:
            return Outcome((), f"more than {attack.memory_mb} MB of memory", seconds, most)
    try:
        reports, problem = ours.recv()
    except EOFError:
        reports, problem = (), "the process ended without an answer"
    return Outcome(reports, problem, time.monotonic() - started, most)


def _attacked(answer: Connection, names: Sequence[str], twin: bool) -> None:
    """The process: sends reports or a traceback for each attack."""
    by_name = {each.name: each for each in ATTACKS}
    for name in names:
        attack = by_name[name]
        try:
            reports = asyncio.run(judged(attack.twin if twin else attack.rounds))
            answer.send((tuple(reports), ""))
        except BaseException:
            answer.send(((), traceback.format_exc()))
    answer.close()


def computing_time(process: psutil.Process) -> float:
    """The seconds of processor time that a process has taken, without its children."""
    times = process.cpu_times()
    return float(times.user + times.system)


def ended(process: BaseProcess) -> None:
    """Stop a process with all that it started."""
    with contextlib.suppress(psutil.Error):
        for each in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                each.kill()
    process.kill()
    process.join()


# --- tools of the forgers ---------------------------------------------------------------------------------------------


def changed(change: Change, *, repair: bool = True) -> Forge:
    """A forgery by a change to the objects of the file, with all hashes and summaries right again."""

    def forge(content: bytes, place: Path) -> bytes:
        forged = Forged.decode(content)
        change(forged, Maker())
        if repair:
            forged.repair()
        return forged.encode()

    return forge


def one_file(
    name: str,
    forge: Forge,
    *,
    text: str = FINE + BAD,
    twin: str | File = FINE,
    seconds: float = 30,
    memory_mb: int = 2000,
) -> Attack:
    """An attack with one file."""
    honest = twin if isinstance(twin, File) else File("Main", twin)
    return Attack(name, ((File("Main", text, forge),),), ((honest,),), seconds=seconds, memory_mb=memory_mb)


def one_is_two(make: Maker) -> Object:
    return make.equal(make.numeral_of(1), make.numeral_of(2))


def set_value(forged: Forged, name: str, value: Object) -> None:
    details(forged.info(name)).fields[1] = value


def set_type(forged: Forged, name: str, type_: Object) -> None:
    common(forged.info(name)).fields[2] = type_


# --- names as commands ------------------------------------------------------------------------------------------------


def name_as_commands(forged: Forged, make: Maker) -> None:
    """A constant that does not exist, whose name is commands. As text it stands right before `sorryAx`.

    When the axioms are asked one a line, the line of this name has the answer about `True`, and so has the next one.
    """
    evil = make.name("sorry", "x» #print axioms True\n#print axioms True #exit")
    junk = make.theorem(make.name("junk"), make.constant("True"), make.constant(evil))
    forged.add(junk)


def import_as_commands(forged: Forged, make: Maker) -> None:
    forged.items(writer.IMPORTS).append(
        Object(0, [make.name("Init\n#print axioms True\n--")], bytes([0, 1, 0, 0, 0, 0, 0, 0]))
    )


# --- what the kernel never sees, or sees otherwise --------------------------------------------------------------------


def third_safety(forged: Forged, make: Maker) -> None:
    """Neither unsafe, safe nor partial: no step of the plan, and nothing that Lean's kernel refuses to use."""
    info = forged.info("trick")
    common(info).fields[2] = one_is_two(make)
    writer.set_flag(info, 0, 3)


def unsafe_recursor(forged: Forged, make: Maker) -> None:
    """Both rules give the second branch; marked as unsafe, it is compared with nothing."""
    info = forged.info("Two.rec")
    first, second = (writer.fields_of(each, 3) for each in writer.items_of(details(info).fields[6]))
    first.fields[2] = second.fields[2]
    writer.set_flag(info, 1, 1)


RECURSOR_TEXT = """\
inductive Two | a | b
noncomputable def number (t : Two) : Nat := Two.rec 1 2 t
theorem fine : number Two.a = 1 := rfl
"""


def unsafe_sorry(forged: Forged, make: Maker) -> None:
    """A constant of the file has the name of a library's axiom: unsafe, so that it has no step and no axioms."""
    name = make.name("sorryAx")
    forged.add(make.definition(name, make.constant("True"), make.constant("True.intro"), safety=writer.UNSAFE))


def safe_sorry(forged: Forged, make: Maker) -> None:
    forged.add(make.theorem(make.name("sorryAx"), make.constant("True"), make.constant("True.intro")))


def library_next_to_it(content: bytes, place: Path) -> bytes:
    """Another compiled file with an axiom, imported by its path; the axiom's name says that it is private."""
    make = Maker()
    where = str(place.with_name("evil"))
    everything = make.forall("p", make.sort(0), make.bound(0))
    oops = make.name("_private", where, 0, "oops")
    header = content[: writer.HEADER_BYTES]
    # Another address than that of the file, where Lean wants to map it.
    base = int.from_bytes(header[writer.BASE_AT :], "little") + (1 << 32)
    other = writer.module(
        header[: writer.BASE_AT] + base.to_bytes(8, "little"), [], [make.axiom(oops, everything)], make
    )
    place.with_name("evil.olean").write_bytes(other.encode())
    forged = Forged.decode(content)
    forged.items(writer.IMPORTS).append(Object(0, [make.name(where)], bytes([0, 1, 0, 0, 0, 0, 0, 0])))
    set_value(forged, "bad", make.constant(oops))
    return forged.encode()


def imports_an_unsound_file(forged: Forged, make: Maker) -> None:
    """The compiled file imports one that the text does not import."""
    forged.items(writer.IMPORTS).append(Object(0, [make.name("Cheat")], bytes([0, 1, 0, 0, 0, 0, 0, 0])))
    set_value(forged, "bad", make.constant("cheat"))


def axiom_with_a_name(*components: str | int) -> Change:
    """An axiom whose name may pass for one of Lean's own, and `bad` proved by it."""

    def change(forged: Forged, make: Maker) -> None:
        name = make.name(*components)
        forged.add(make.axiom(name, one_is_two(make)))
        set_value(forged, "bad", make.constant(name))

    return change


def equal_strings(one: str, other: str) -> Change:
    """`bad` states that two strings are equal, and its proof is that the second equals itself."""

    def change(forged: Forged, make: Maker) -> None:
        left, right = make.string(one), make.string(other)
        type_, level = make.constant("String"), make.number_level(1)
        set_type(forged, "bad", make.apply(make.constant("Eq", level), type_, left, right))
        set_value(forged, "bad", make.apply(make.constant("Eq.refl", level), type_, right))

    return change


def equal_numbers(one: int, other: int) -> Change:
    """`bad` states that two numbers are equal, and its proof is that the second equals itself."""

    def change(forged: Forged, make: Maker) -> None:
        set_type(forged, "bad", make.equal(make.numeral(one), make.numeral(other)))
        set_value(forged, "bad", make.reflexive(make.numeral(other)))

    return change


def field_by_number(index: int) -> Change:
    """`bad` takes a field of a pair by this number: 1 more than a power of 2 is 1 in too few bits."""

    def change(forged: Forged, make: Maker) -> None:
        pair = make.bound(0)
        value = make.expression(writer.PROJECTION, make.name("And"), natural(index), pair)
        both = make.apply(make.constant("And"), make.constant("False"), make.constant("True"))
        set_type(forged, "bad", make.forall("h", both, make.constant("True")))
        set_value(forged, "bad", make.lambda_("h", both, value))

    return change


def importing(*names: str) -> Change:
    """The compiled file imports these modules, too."""

    def change(forged: Forged, make: Maker) -> None:
        forged.items(writer.IMPORTS).extend(
            Object(0, [make.dotted(name)], bytes([0, 1, 0, 0, 0, 0, 0, 0])) for name in names
        )

    return change


# --- another compiled file than the text ------------------------------------------------------------------------------


def another_statement(forged: Forged, make: Maker) -> None:
    set_type(forged, "bad", make.equal(make.numeral_of(1), make.numeral_of(1)))
    set_value(forged, "bad", make.reflexive(make.numeral_of(1)))


def another_constant_in_its_place(forged: Forged, make: Maker) -> None:
    """Where the text has `bad`, the file has a true theorem of another name, and no `bad`."""
    another_statement(forged, make)
    name = common(forged.info("bad")).fields[0]
    assert isinstance(name, Object)
    name.fields[1] = writer.text("another")


def private_constant_of_its_name(forged: Forged, make: Maker) -> None:
    """A true theorem that is shown as `bad`, because its name is private; `bad` itself stays as it is."""
    true = make.equal(make.numeral_of(1), make.numeral_of(1))
    private = make.name("_private", "Main", 0, "bad")
    forged.add(make.theorem(private, true, make.reflexive(make.numeral_of(1))))
    for row in positions(forged):
        pair = writer.fields_of(row, 2)
        if parts(pair.fields[0]) == ("bad",):
            pair.fields[0] = private


def positions(forged: Forged) -> list[Value]:
    """The pairs of a declaration's name and where it stands in the text."""
    for entry in forged.items(writer.ENTRIES):
        pair = writer.fields_of(entry, 2)
        if parts(pair.fields[0]) == ("Lean", "declRangeExt"):
            return writer.fields_of(pair.fields[1], 0).fields
    return []


def another_definition(forged: Forged, make: Maker) -> None:
    """`two` is 1."""
    details(forged.info("two")).fields[1] = make.numeral_of(1)
    set_value(forged, "bad", make.reflexive(make.numeral_of(1)))


def value_is_itself(forged: Forged, make: Maker) -> None:
    set_value(forged, "bad", make.constant("bad"))


def with_positions(line: int) -> Change:
    """All declarations stand in this line."""

    def change(forged: Forged, make: Maker) -> None:
        for row in positions(forged):
            ranges = writer.fields_of(writer.fields_of(row, 2).fields[1], 2)
            place = writer.fields_of(writer.fields_of(ranges.fields[0], 4).fields[0], 2)
            place.fields[0] = natural(line)

    return change


# --- time and memory --------------------------------------------------------------------------------------------------


def use_each_other(count: int) -> Change:
    """A ring of theorems, each the proof of the one before."""

    def change(forged: Forged, make: Maker) -> None:
        names = [make.name(f"ring_{index}") for index in range(count)]
        for at, name in enumerate(names):
            forged.add(make.theorem(name, one_is_two(make), make.constant(names[(at + 1) % count])))
        set_value(forged, "bad", make.constant(names[0]))

    return change


def empty_objects(size: int) -> Forge:
    """Objects without fields behind all others."""

    def forge(content: bytes, place: Path) -> bytes:
        assert content[6] & writer.ROOT_FIRST
        return content + struct.pack("<Q", 8 << 32) * (size // 8)

    return forge


def doubled_statement(depth: int) -> Change:
    """`fine` states `P ∧ P` of `P ∧ P` of ..., so deep: one object for each depth, but a tree of 2 ** depth."""

    def change(forged: Forged, make: Maker) -> None:
        statement, proof = make.constant("True"), make.constant("True.intro")
        for _ in range(depth):
            both = make.apply(make.constant("And"), statement, statement)
            proof = make.apply(make.constant("And.intro"), statement, statement, proof, proof)
            statement = both
        set_type(forged, "fine", statement)
        set_value(forged, "fine", proof)

    return change


def doubled_level(depth: int) -> Change:
    """A theorem with a universe level that is so deep a `max` of twice the same."""

    def change(forged: Forged, make: Maker) -> None:
        level: Value = make.level(writer.PARAMETER, make.name("u"))
        for _ in range(depth):
            level = make.level(writer.MAX, level, level)
        sort = make.expression(writer.SORT, level)
        statement = make.forall("a", sort, make.constant("True"))
        value = make.lambda_("a", sort, make.constant("True.intro"))
        forged.add(make.theorem(make.name("doubled"), statement, value, levels=linked([make.name("u")])))

    return change


def one_long_name(size: int) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        forged.add(make.theorem(make.name("n" * size), make.constant("True"), make.constant("True.intro")))

    return change


def name_of_many_parts(count: int) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        name = make.name(*["n"] * count)
        forged.add(make.theorem(name, make.constant("True"), make.constant("True.intro")))

    return change


def name_with_a_number(digits: int) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        name = make.name("n", 10**digits)
        forged.add(make.theorem(name, make.constant("True"), make.constant("True.intro")))

    return change


def universe_parameters(count: int) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        levels = [make.name(f"u{index}") for index in range(count)]
        forged.add(
            make.theorem(make.name("wide"), make.constant("True"), make.constant("True.intro"), levels=linked(levels))
        )

    return change


def long_literal(digits: int) -> Change:
    """`fine : n = n`, with a number of so many digits."""

    def change(forged: Forged, make: Maker) -> None:
        value = make.numeral_of(1 << int(digits * 3.3219280949))
        set_type(forged, "fine", make.equal(value, value))
        set_value(forged, "fine", make.reflexive(value))

    return change


def deep_term(depth: int) -> Change:
    """`fine` states of a number, which is the successor of the successor of ... 0, that it equals itself.

    Its objects are written as bytes: so many are slow to make one by one.
    """

    def change(forged: Forged, make: Maker) -> None:
        # 1. The two constants, at the beginning of the file.
        successor, zero = make.constant("Nat.succ"), make.constant("Nat.zero")
        start = Forged(writer.array([successor, zero]), forged.header).encode()
        first = len(start) - 16  # the last two words are the array's items
        links, hashed = struct.unpack("<QQ", start[first:]), writer.scalar(zero)
        base = int.from_bytes(forged.header[writer.BASE_AT :], "little")
        # 2. Behind them the applications, each of the successor to the one before.
        at, inner = base + len(start), links[1]
        block = [start[writer.HEADER_BYTES + 8 :]]
        header = writer.APPLY << 56 | 2 << 48 | 32 << 32
        for count in range(1, depth + 1):
            mixed = mixed_hash(writer.scalar(successor), hashed)
            hashed = mixed & 0xFFFFFFFF | min(count, 255) << 32
            block.append(struct.pack("<QQQQ", header, links[0], inner, hashed))
            at, inner = at + 32, at
        # 3. The statement and the proof, which lead to the last one.
        forged.head = b"".join(block)
        term = writer.Raw(inner, hashed)
        at_one = make.number_level(1)
        equal = make.apply(make.constant("Eq", at_one), make.constant("Nat"))
        for _ in range(2):
            equal = make.expression(writer.APPLY, equal, term)
        set_type(forged, "fine", equal)
        reflexive = make.apply(make.constant("Eq.refl", at_one), make.constant("Nat"))
        set_value(forged, "fine", make.expression(writer.APPLY, reflexive, term))

    return change


def many_imports(count: int) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        items = forged.items(writer.IMPORTS)
        items += [items[0]] * count

    return change


def many_constants(count: int) -> Change:
    def change(forged: Forged, make: Maker) -> None:
        for index in range(count):
            forged.add(make.theorem(make.name(f"t{index}"), make.constant("True"), make.constant("True.intro")))

    return change


def many_types_together(count: int) -> Change:
    """A type that says that it is declared together with itself, so many times."""

    def change(forged: Forged, make: Maker) -> None:
        info = details(forged.info("Two"))
        info.fields[3] = linked([common(forged.info("Two")).fields[0]] * count)

    return change


def claims(tag: int, word: int, value: int) -> Change:
    """The last array, string or integer claims another size."""

    def change(forged: Forged, make: Maker) -> None:
        make_large = make.theorem(
            make.name("large"),
            make.equal(make.numeral(1 << 200), make.numeral(1 << 200)),
            make.reflexive(make.numeral(1 << 200)),
        )
        forged.add(make_large)
        found = [each for each in writer.reachable([forged.root]) if each.tag == tag]
        found[-1].claims[word] = value

    return change


def large_numbers(where: str) -> Change:
    """A number of a constant or of a term is enormous."""

    def change(forged: Forged, make: Maker) -> None:
        huge = natural(1 << 80)
        two, pair = details(forged.info("Two")), details(forged.info("Two.a"))
        match where:
            case "bound variable":
                set_value(forged, "bad", make.expression(writer.BOUND, huge))
            case "projection":
                inner = make.constant("Nat.zero")
                set_value(forged, "bad", make.expression(writer.PROJECTION, make.name("Nat"), huge, inner))
            case "parameters":
                two.fields[1] = pair.fields[3] = huge
            case "small parameters":
                two.fields[1] = pair.fields[3] = 1 << 40

    return change


def cycle(forged: Forged, make: Maker) -> None:
    """A term that contains itself."""
    term = make.apply(make.constant("Nat.succ"), make.constant("Nat.zero"))
    set_value(forged, "bad", make.equal(term, term))
    term.fields[1] = term


def cyclic_name(forged: Forged, make: Maker) -> None:
    name = make.name("a", "b")
    assert isinstance(name, Object)
    forged.add(make.theorem(name, make.constant("True"), make.constant("True.intro")))
    name.fields[0] = name


def cyclic_list(forged: Forged, make: Maker) -> None:
    cell = Object(1, [make.name("u"), 0])
    cell.fields[1] = cell
    common(forged.info("fine")).fields[1] = cell


TWO = "inductive Two | a | b\n"


def bounded(name: str, change: Callable[[int], Change], size: int, small: int, *, stated: bool = True) -> Attack:
    """An attack on time and memory. Its twin is made in the same way, only small.

    `stated`: the twin's statement is that of its text, so it must be accepted.
    """
    attack = one_file(name, changed(change(size)), twin=File("Main", FINE, changed(change(small))))
    return attack if stated else replace(attack, honest=frozenset())


ATTACKS: list[Attack] = [
    # A name as commands: in the same file, and in a later file of the same service.
    one_file("names as commands", changed(name_as_commands)),
    Attack(
        "names as commands, for later files",
        ((File("Main", FINE + BAD.replace("bad", "first"), changed(name_as_commands)),), (File("Other", FINE + BAD),)),
        ((File("Main", FINE),), (File("Other", FINE),)),
    ),
    one_file("an import as commands", changed(import_as_commands)),
    Attack(
        "a third safety",
        (
            (
                File("A", "def trick : 1 = 1 := rfl\n", changed(third_safety)),
                File("B", "import A\ntheorem bad : 1 = 2 := trick\n"),
            ),
        ),
        ((File("A", "def trick : 1 = 1 := rfl\n"), File("B", "import A\ntheorem fine : 1 = 1 := trick\n")),),
    ),
    Attack(
        "a recursor marked as unsafe",
        (
            (
                File("A", RECURSOR_TEXT, changed(unsafe_recursor)),
                File("B", "import A\ntheorem bad : 1 = 2 := fine.symm.trans (rfl : number Two.a = 2)\n"),
            ),
        ),
        ((File("A", RECURSOR_TEXT), File("B", "import A\ntheorem again : number Two.a = 1 := rfl\n")),),
        honest=frozenset({"fine", "again"}),
    ),
    one_file("an unsafe constant with the name of an axiom", changed(unsafe_sorry)),
    one_file("a theorem with the name of an axiom", changed(safe_sorry)),
    one_file(
        "a library next to the file",
        library_next_to_it,
        text="theorem bad : ∀ p : Prop, p := sorry\n",
        twin="theorem fine : ∀ p : Prop, p → p := fun _ h => h\n",
    ),
    Attack(
        "an import that the text does not have",
        ((File("Cheat", "axiom cheat : 1 = 2\n"), File("Main", FINE + BAD, changed(imports_an_unsound_file))),),
        ((File("Cheat", "theorem cheat : 1 = 1 := rfl\n"), File("Main", f"import Cheat\n{FINE}")),),
    ),
    *(
        one_file(f"an axiom with the name {components}", changed(axiom_with_a_name(*components)))
        for components in (
            ("Classical.choice",),
            ("Quot.sound",),
            ("propext\0",),
            ("propext", ""),
            ("", "propext"),
            ("propext", 0),
            ("«propext»",),
            ("_private", "Main", 0, "propext"),
            ("propext\n",),
            ("Eq", "refl"),
        )
    ),
    one_file(
        "two strings that differ behind a zero byte",
        changed(equal_strings("a\0b", "a")),
        twin='theorem fine : "a\\x00b" = "a\\x00b" := rfl\n',
    ),
    one_file(
        "two strings that differ in the form of a character",
        changed(equal_strings("\u00e9", "e\u0301")),
        twin='theorem fine : "\u00e9" = "\u00e9" := rfl\n',
    ),
    *(
        one_file(
            f"a number that is 0 in {bits} bits",
            changed(equal_numbers(1 << bits, 0)),
            twin=f"theorem fine : {1 << bits} = {1 << bits} := rfl\n",
        )
        for bits in (31, 32, 62, 63, 64, 128)
    ),
    *(
        one_file(f"a field that is 1 in {bits} bits", changed(field_by_number((1 << bits) + 1)))
        for bits in (31, 32, 64)
    ),
    one_file("a file that imports itself", changed(importing("Main"))),
    one_file("a file that imports nothing there is", changed(importing("Nothing"))),
    Attack(
        "two files that import each other",
        ((File("A", FINE + BAD, changed(importing("B"))), File("B", "import A\ntheorem b : 1 = 1 := fine\n")),),
        ((File("A", FINE), File("B", "import A\ntheorem b : 1 = 1 := fine\n")),),
        honest=frozenset({"fine", "b"}),
    ),
    one_file("another statement", changed(another_statement)),
    one_file("another constant in its place", changed(another_constant_in_its_place)),
    one_file("a private constant of its name", changed(private_constant_of_its_name)),
    one_file(
        "another definition",
        changed(another_definition),
        text="def two : Nat := 2\ntheorem bad : 1 = two := sorry\n",
        twin="def two : Nat := 2\ntheorem fine : 2 = two := rfl\n",
    ),
    one_file("a theorem that is its own proof", changed(value_is_itself)),
    one_file("two that use each other", changed(use_each_other(2))),
    one_file("a thousand that use each other", changed(use_each_other(1000))),
    one_file("declarations in a line that the text does not have", changed(with_positions(10**9))),
    one_file("declarations in a line with an enormous number", changed(with_positions(10**30))),
    one_file("declarations in line 0", changed(with_positions(0))),
    one_file("32 MB of empty objects", empty_objects(32 * MB)),
    bounded("a statement that is enormous as a tree", doubled_statement, 60, 3, stated=False),
    bounded("a level that is enormous as a tree", doubled_level, 60, 3),
    bounded("a name of 1 MB", one_long_name, MB, 100),
    bounded("a name of 100,000 parts", name_of_many_parts, 100_000, 10),
    bounded("a name with a number of 5,000 digits", name_with_a_number, 5_000, 10),
    bounded("100,000 universe parameters", universe_parameters, 100_000, 3),
    bounded("a literal of 10 million digits", long_literal, 10_000_000, 100, stated=False),
    bounded("a term a million deep", deep_term, 1_000_000, 20, stated=False),
    bounded("a million imports", many_imports, 1_000_000, 0),
    bounded("20,000 constants", many_constants, 20_000, 10),
    one_file(
        "a type together with itself, 100,000 times",
        changed(many_types_together(100_000)),
        text=FINE + BAD + TWO,
        twin=FINE + TWO,
    ),
    *(
        one_file(f"{what} that claims more than it has", changed(claims(tag, word, value)))
        for what, tag, word, value in (
            ("an array", writer.ARRAY, 1, 1 << 40),
            ("an array's space", writer.ARRAY, 2, 1 << 61),
            ("a string", writer.STRING, 1, 1 << 40),
            ("a string's space", writer.STRING, 2, (1 << 64) - 8),
            ("an integer", writer.INTEGER, 1, (1 << 30) << 32 | 1 << 30),
        )
    ),
    *(
        one_file(f"an enormous number: {where}", changed(large_numbers(where)), text=FINE + BAD + TWO, twin=FINE + TWO)
        for where in ("bound variable", "projection", "parameters", "small parameters")
    ),
    one_file("a term that contains itself", changed(cycle, repair=False)),
    one_file("a name that contains itself", changed(cyclic_name, repair=False)),
    one_file("a list that contains itself", changed(cyclic_list, repair=False)),
]
