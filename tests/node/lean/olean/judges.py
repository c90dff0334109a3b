"""Judges of forged compiled files: a whole `FileVerifier`, or the same parts with one Lean process for many files.

Code that runs while Lean compiles a file can write any bytes into the compiled file. So a forgery is a function that
replaces the compiled file when Lean has written it.
"""

import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from node.lean.check.files.clean import cleaned, touches_statements
from node.lean.check.files.compiling import Compiled, Compiler
from node.lean.check.files.judge import (
    AnswerReply,
    AnswerRequest,
    Judge as FileJudge,
    ReadReply,
    ReadRequest,
    StatedReply,
    StatedRequest,
)
from node.lean.check.files.report import FileReport
from node.lean.check.files.sources import from_text
from node.lean.check.files.verifier import FileVerifier, corrected
from node.lean.olean.module import PARTS, part
from node.lean.process.fresh import Limits, OutOfLimits, run_fresh
from node.lean.text.statement import imports_of, is_module
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean.writer import Forged

Forge = Callable[[bytes, Path], bytes]
"""From the compiled file and where it stands, the file to be put in its place. It may write others next to it."""


@dataclass(frozen=True)
class File:
    """A text, and what its compiled file is replaced with."""

    module: str
    text: str
    forge: Forge | None = None


@dataclass(frozen=True)
class Answer:
    """What a judge says of a file."""

    accepted: tuple[str, ...] = ()
    """The accepted declarations, as they are shown: private ones without their mark."""
    whole: bool = False
    """Whether the file is accepted as a whole."""
    problem: str = ""
    """Why it is not judged."""


def parts_of(olean: Path) -> dict[str, bytes]:
    """The files of a compiled module: the first one, and the parts that it has, by suffix."""
    paths = {suffix: part(olean, suffix) for suffix in ("", *PARTS)}
    return {suffix: path.read_bytes() for suffix, path in paths.items() if path.exists()}


def last_part(olean: Path) -> bytes:
    """The last part of a compiled module, written so that it uses nothing of the others."""
    *before, last = parts_of(olean).values()
    return Forged.decode(last, before).encode()


# --- a whole verifier -------------------------------------------------------------------------------------------------


class CompilingOnce(Compiler):
    """Compiles each text without imports once in this process: most attacks forge the files of the same few texts."""

    known: ClassVar[dict[tuple[str, str, bool, str], tuple[Compiled, dict[str, bytes]]]] = {}

    async def compile(
        self, module: str, text: str, folder: Path, path: Sequence[Path], *, salvage: bool, named_as: str = ""
    ) -> Compiled:
        key = module, text, salvage, named_as
        if key in self.known:
            compiled, contents = self.known[key]
            olean = folder / "0" / "out" / "module.olean"
            olean.parent.mkdir(parents=True)
            for suffix, content in contents.items():
                part(olean, suffix).write_bytes(content)
            return replace(compiled, olean=olean, commands=list(compiled.commands), failed=dict(compiled.failed))
        compiled = await super().compile(module, text, folder, path, salvage=salvage, named_as=named_as)
        if compiled.olean is not None and not imports_of(text):
            kept = replace(compiled, commands=list(compiled.commands), failed=dict(compiled.failed))
            self.known[key] = kept, parts_of(compiled.olean)
        return compiled


class ForgingCompiler(CompilingOnce):
    """Compiles as ever, and then replaces the compiled file, as code in the file could."""

    forges: dict[str, Forge]
    """By module."""

    async def compile(self, module: str, *arguments: Any, **options: Any) -> Compiled:
        compiled = await super().compile(module, *arguments, **options)
        if forge := self.forges.get(module):
            assert compiled.olean is not None, compiled.messages
            compiled.olean.write_bytes(forge(compiled.olean.read_bytes(), compiled.olean))
        return compiled


@dataclass(frozen=True)
class Forging:
    """A verifier, and its compiler, whose forgeries may be changed."""

    verifier: FileVerifier
    compiler: ForgingCompiler

    async def judged(self, files: Sequence[File]) -> list[FileReport]:
        """The reports of a whole verifier on files whose compiled files are forged."""
        self.compiler.forges = {each.module: each.forge for each in files if each.forge}
        sources = [from_text(each.text, each.module, each.module) for each in files]
        async with aclosing(self.verifier.verify(sources)) as results:
            return [each.report async for each in results]


@asynccontextmanager
async def forging_verifier() -> AsyncIterator[Forging]:
    toolchain = LeanToolchain.pocket()
    limits = Limits(seconds=10, memory_mb=2048)
    verifier = FileVerifier(toolchain, at_once=1, seconds=limits.seconds, memory_mb=limits.memory_mb)
    verifier._compiler = compiler = ForgingCompiler(toolchain, limits)
    verifier._clean_compiler = CompilingOnce(toolchain, limits)
    compiler.forges = {}
    try:
        yield Forging(verifier, compiler)
    finally:
        await verifier.close()


def accepted(reports: Sequence[FileReport]) -> set[str]:
    """The accepted declarations."""
    return {each.name for report in reports if not report.problem for each in report.declarations if each.accepted}


# --- its parts, with one process for many files -----------------------------------------------------------------------

_MANY = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("kernel", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.set_int_max_str_digits(0)
kernel = module.Kernel(module.ctypes.CDLL(os.environ[module.LIBRARY_VARIABLE], mode=module.ctypes.RTLD_GLOBAL))
kernel.import_library([kernel.name(("Init",))])
for path in sys.argv[2:]:
    if not os.fork():
        document = module.Document(open(path, "rb").read(), kernel)
        document.read_tables()
        if [kernel.parts(name) for name in document.imports()] != [("Init",)]:
            os._exit(1)
        answer = document.answer()
        with open(path + ".answer", "wb") as file:
            file.write(answer)
        os._exit(0)
    os.wait()
"""
"""The kernel's process, copied for each file when it has imported the library."""


async def in_batch(text: str, forgeries: Sequence[Forge]) -> tuple[list[bytes], list[Answer]]:
    """What the parts of `FileVerifier` say of each forged file of this text, and the files.

    Of a text that begins with `module`, the last part is forged (see `last_part`), and the others are honest.
    """
    toolchain, limits = LeanToolchain.pocket(), Limits(seconds=10, memory_mb=1024)
    folder = Path(tempfile.mkdtemp())
    try:
        # 1. The honest text and its clean text, compiled once.
        compiled, clean = [
            await Compiler(toolchain, limits).compile("Main", each, folder / name, [], salvage=name == "clean")
            for name, each in (("once", text), ("clean", cleaned(text)))
        ]
        assert compiled.olean is not None and clean.olean is not None
        both = compiled, clean
        commands, clean_commands = ([one for one in each.commands if one not in each.failed] for each in both)
        stated = ReadRequest("clean", "Main", str(clean.olean), cleaned(text), "", clean_commands, [])
        others = parts_of(compiled.olean)
        honest = last_part(compiled.olean) if is_module(text) else compiled.olean.read_bytes()
        contents = [forge(honest, compiled.olean) for forge in forgeries]
        # 2. Each file is read, and its declarations are written. A file that is refused has its answer.
        answers: list[Answer | None] = []
        judges: list[FileJudge] = []
        for index, content in enumerate(contents):
            olean = folder / f"{index}.olean"
            for suffix, each in {**others, [*others][-1]: content}.items():
                part(olean, suffix).write_bytes(each)
            touching, document = touches_statements(text), str(folder / f"{index}")
            request = ReadRequest("file", "Main", str(olean), text, "", commands, [], [], touching, document)
            judges.append(FileJudge())
            reply = judges[-1].handle(request)
            assert isinstance(reply, ReadReply)
            answers.append(Answer(problem=reply.problem) if reply.problem else None)
        # 3. The kernel checks them. A file without an answer was too much for it.
        python, *options, program = toolchain.kernel
        paths = [str(folder / f"{index}") for index, answer in enumerate(answers) if answer is None]
        with contextlib.suppress(OutOfLimits):
            command = [python, *options, "-c", _MANY, program, *paths]
            limits, output_bytes = Limits(seconds=60), 1 << 26
            environment = toolchain.environment
            await run_fresh(command, environment=environment, folder=folder, limits=limits, output_bytes=output_bytes)
        whole = zip(answers, judges, (folder / f"{index}.answer" for index in range(len(judges))), strict=True)
        return contents, [answer or _judged(judge, file, stated) for answer, judge, file in whole]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _judged(judge: FileJudge, answer: Path, stated: ReadRequest) -> Answer:
    """The verdicts by the kernel's answer, after the comparison with the text."""
    if not answer.exists():
        return Answer(problem="the kernel's process ended")
    judged = judge.handle(AnswerRequest("file", answer.read_text(errors="replace")))
    assert isinstance(judged, AnswerReply)
    if judged.problem:
        return Answer(problem=judged.problem)
    assert judge.handle(stated) == ReadReply()
    compared = judge.handle(StatedRequest("file", ["clean"]))
    assert isinstance(compared, StatedReply)
    verdicts = corrected(judged.verdicts, compared, False, [])
    return Answer(tuple(each.name for each in verdicts if each.accepted), all(each.accepted for each in verdicts))
