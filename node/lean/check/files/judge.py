"""Judges compiled files, in a child process that reads them as data (`process/dialog.py`).

    ReadRequest      read a compiled file, and write its declarations and those of the user's files that it imports
    AnswerRequest    read the kernel's answer, and give the verdicts on the file
    StatedRequest    compare a file's statements with those of its text, compiled where none of its code ran
    CompareRequest   compare the files of a submission with those of a reference
    ForgetRequest    forget files

A compiled file is hostile. Of what it says, only that counts which the kernel has accepted.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec

from node.lean.check.files import verdicts
from node.lean.check.files.against import Comparison
from node.lean.check.files.commands import Command, Text
from node.lean.check.files.judging import LocalModule, shown_name
from node.lean.check.files.report import DeclarationVerdict, LocalItem
from node.lean.olean.declarations import BadAnswer, Declarations, parts_of, read_answer
from node.lean.olean.module import Constant, Kind
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import Terms, quoted
from node.lean.process.dialog_child import answer

LACKED = "the text states it, but the compiled file does not have it"


class ReadRequest(msgspec.Struct, tag="read"):
    """Read a compiled file."""

    key: str
    """For later requests."""
    module: str
    olean: str
    text: str
    """The text that was compiled."""
    version: str
    """Of Lean; see `Text`."""
    commands: list[Command]
    """Those that Lean did not reject."""
    imports: list[str]
    """The modules that its text imports."""
    others: list[str] = []
    """Keys of the user's files that it imports, directly or not, each after those that it imports."""
    touching: list[LocalItem] = []
    """Commands that could change what a statement below them means."""
    declarations: str = ""
    """Path of the file to write; empty: the kernel is not asked."""
    shift: int = 0
    """Number of lines that our header added above the file."""
    named_as: str = ""
    """The text whose examples have the same names as those in the same lines of this one; empty: this text."""


class ReadReply(msgspec.Struct):
    problem: str = ""
    """Why the file cannot be read; empty if it can."""
    imports: list[str] = []
    """The modules of the library that the written declarations name."""


class AnswerRequest(msgspec.Struct, tag="answer"):
    """The kernel's answer to the declarations of a file."""

    key: str
    answer: str
    everything: bool = False
    """Also judge declarations that are not theorems."""
    touched: bool = False
    """Also name what of the text could touch a statement; else the comparison with the clean text does."""


class Fact(msgspec.Struct):
    """What a constant of a file uses, and what it may change."""

    name: str
    line: int
    """Where it, or the declaration it was generated for, is declared; 0 if unknown."""
    shown: str
    """Name of the declaration that it was generated for, or its own."""
    below: list[str]
    """Constants of the same file that it uses."""
    sorry: bool
    """True if it uses `sorryAx` directly."""
    written: bool = False
    """True if a command of the file names it."""
    overrides: bool = False
    """True for an instance about types of the library alone, of a class of the library or one that leads to such a
    class: it may replace the library's own instances."""
    hides: str = ""
    """A name of the library that means this constant where its namespace is open, as `False` in `Mine` may mean
    `Mine.False`; empty if there is none."""


class AnswerReply(msgspec.Struct):
    problem: str = ""
    verdicts: list[DeclarationVerdict] = []
    facts: list[Fact] = []


class StatedRequest(msgspec.Struct, tag="stated"):
    """Compare the statements of a file with those of the same text where none of its code ran."""

    key: str
    clean: list[str]
    """Keys of the compiled clean texts, of the file itself and of the user's files that it imports. The first one is
    the file itself."""
    named: bool = False
    """There is no bare text: a statement depends on nothing of the file if its text names nothing of it."""
    bare: str = ""
    """Key of the compiled text with nothing but its statements; empty if there is none."""


class StatedReply(msgspec.Struct):
    """By `stated_key`."""

    differing: dict[str, str] = {}
    """Theorems whose compiled statement is another one than that of the text, with the difference."""
    same: list[str] = []
    """Theorems whose compiled statement is that of the text."""
    touching: dict[str, list[LocalItem]] = {}
    """For the same statements: commands of the clean text that could touch them."""
    plain: list[str] = []
    """Theorems whose compiled statement is also that of the bare text: they depend on nothing of the file."""
    hidden: dict[str, list[LocalItem]] = {}
    """For the same statements: hypotheses that they have by `variable` lines above them, without a mention in their own
    text."""
    missing: list[DeclarationVerdict] = []
    """Verdicts on theorems of the text that the compiled file does not have."""


def stated_key(shown: str, line: int) -> str:
    """What tells the theorems of a file apart: private ones may have the same shown name, and so have examples."""
    return f"{shown} {max(line, 0)}"


class CompareRequest(msgspec.Struct, tag="compare"):
    """Compare the files of a submission with those of a reference."""

    reference: list[str]
    submission: list[str]


class CompareReply(msgspec.Struct):
    verdicts: list[DeclarationVerdict] = []
    filled: dict[str, str] = {}


class ForgetRequest(msgspec.Struct, tag="forget"):
    """Forget files."""

    keys: list[str]


class Done(msgspec.Struct):
    """The reply to a ForgetRequest."""


Request = ReadRequest | AnswerRequest | StatedRequest | CompareRequest | ForgetRequest
Reply = ReadReply | AnswerReply | StatedReply | CompareReply | Done


class Judge:
    """Answers the requests. All files are read into one table of terms, so that they can be compared."""

    def __init__(self) -> None:
        self._terms = Terms()
        self._modules: dict[str, LocalModule] = {}

    def handle(self, request: Request) -> Reply:
        """The reply to a request."""
        match request:
            # Reading hostile data may fail in any of these ways; the reason is the reply, and the child goes on.
            case ReadRequest():
                try:
                    return ReadReply(imports=self._read(request))
                except (BadOlean, OSError, ValueError) as error:
                    return ReadReply(str(error))
            case AnswerRequest():
                try:
                    return self._answer(request)
                except BadAnswer as error:
                    return AnswerReply(f"the kernel's answer is incomplete: {error}")
            case StatedRequest():
                return self._stated(request)
            case CompareRequest():
                reference, submission = (
                    [self._modules[key] for key in keys] for keys in (request.reference, request.submission)
                )
                comparison = Comparison(self._terms, reference, submission)
                return CompareReply([*comparison.verdicts()], comparison.filled)
            # The terms are shared by all modules, so they can go only when the last module has gone.
            case ForgetRequest():
                for key in request.keys:
                    self._modules.pop(key, None)
                if not self._modules:
                    self._terms = Terms()
                return Done()

    def _read(self, request: ReadRequest) -> list[str]:
        """Read a file, and write its declarations. Returns the modules that these name as imports. Raises BadOlean,
        OSError, ValueError."""
        module = LocalModule.read(
            request.module,
            Path(request.olean),
            Text(request.text, request.version, request.named_as),
            request.commands,
            self._terms,
            request.imports,
        )
        module.touching, module.shift = request.touching, request.shift
        module.others = [self._modules[key] for key in request.others]
        module.check_names()
        self._modules[request.key] = module
        if not request.declarations:
            return []
        document = Declarations(self._terms)
        for group, accepted in module.imported():
            document.group(group, accepted)
        for group in module.order:
            document.group(group)
        imports = [*module.library_imports()]
        Path(request.declarations).write_bytes(document.written(imports, self._queries(module)))
        return imports

    @staticmethod
    def _queries(module: LocalModule) -> list[str]:
        """The constants whose axioms are asked. Of shorter names it is asked whether they exist."""
        shorter = dict.fromkeys(short for constant, _ in module.written() for short in _shorter(constant.name))
        return [*(each.name for group in module.order for each in group), *shorter]

    def _answer(self, request: AnswerRequest) -> AnswerReply:
        """The verdicts by the kernel's answer. Raises BadAnswer."""
        module = self._modules[request.key]
        queries = self._queries(module)
        imported = [group[0].name for group, _ in module.imported()]
        answer = read_answer(request.answer.encode(), len(imported) + len(module.order), len(queries))
        # What an imported file declares must be there as in the judgement on that file: a name that means something
        # else here would give the statements of that file another meaning.
        for name, reason in zip(imported, answer.reasons, strict=False):
            if reason:
                return AnswerReply(f"the kernel rejects {shown_name(name)} of a file that it imports: {reason}")
        axioms = {name: each for name, each in zip(queries, answer.axioms, strict=True) if each is not None}
        module.judged(answer.reasons[len(imported) :], axioms)
        judged = verdicts.judged(module, request.everything, request.touched)
        return AnswerReply("", judged, _facts(module, axioms.keys()))

    def _stated(self, request: StatedRequest) -> StatedReply:
        """The comparison of a file with its clean text."""
        module = self._modules[request.key]
        clean = [self._modules[key] for key in request.clean if key in self._modules]
        reply = StatedReply()
        if not clean:
            return reply
        # Whatever the clean text leaves open must be open in the compiled file, too.
        comparison = Comparison(self._terms, clean, [module, *module.others], fillable=False)
        for constant, keyword in clean[0].stated():
            if constant.name in module.constants or constant.kind not in (Kind.THEOREM, Kind.DEFINITION):
                continue
            if constant.kind is Kind.THEOREM or keyword == "example":
                name = "example" if keyword == "example" else shown_name(constant.name)
                line = max(clean[0].line_of(constant.name) - module.shift, 0)
                reply.missing.append(DeclarationVerdict(name, keyword, line, LACKED))
        bare = self._modules.get(request.bare)
        alone = Comparison(self._terms, [bare], [module, *module.others], fillable=False) if bare else None
        shown_names = {shown_name(name) for name in clean[0].constants}
        for constant, _ in module.stated():
            if constant.name not in clean[0].constants:
                if shown_name(constant.name) in shown_names:
                    key = stated_key(shown_name(constant.name), module.line_of(constant.name) - module.shift)
                    reply.differing[key] = "the text has this name for another constant"
                continue
            shown = "example" if verdicts.is_example(module, constant) else shown_name(constant.name)
            key = stated_key(shown, module.line_of(constant.name) - module.shift)
            difference = comparison.statement_difference(clean[0], module, constant.name)
            if difference and shown == "example" and clean[0].below_variables(constant.name):
                continue  # an `example` takes the variables that its proof uses, and the clean text has no proofs
            if difference:
                reply.differing[key] = difference
                continue
            reply.same.append(key)
            reply.touching[key] = [*clean[0].touched_by(constant.name)]
            reply.hidden[key] = clean[0].hidden_hypotheses(constant.name)
            if request.named and not clean[0].names_own(constant.name):
                reply.plain.append(key)
            if bare is None or alone is None or constant.name not in bare.constants:
                continue
            if not alone.statement_difference(bare, module, constant.name):
                reply.plain.append(key)
        return reply


def _facts(module: LocalModule, known: Collection[str]) -> list[Fact]:
    """What the constants of a file use. `known`: names that the kernel's environment has."""
    facts = {}
    for name, constant in module.constants.items():
        used = module.used[name] | ({constant.inductive} - {""})
        facts[name] = Fact(
            name,
            max(module.line_of(name) - module.shift, 0),
            shown_name(module.written_for(name) or name),
            sorted(each for each in used if each in module.constants),
            "sorryAx" in used,
        )
    leading = _leading(module)
    for constant, command in module.written():
        fact = facts[constant.name]
        fact.written = True
        fact.line = command.line - module.shift
        fact.overrides = command.keyword == "instance" and _overrides(module, constant, leading)
        of_library = (each for each in _shorter(constant.name) if each in known and module.owner(each) is None)
        fact.hides = next(of_library, "")
    return [*facts.values()]


def _leading(module: LocalModule) -> set[str]:
    """The file's own classes from whose instances Lean may make instances of the library's classes."""
    leading: set[str] = set()
    while True:
        found = set()
        for constant in module.constants.values():
            command = module.command_of(module.written_for(constant.name))
            if constant.kind is not Kind.DEFINITION or command is None or command.keyword not in ("class", "instance"):
                continue
            head, arguments = module.concluded(constant.type)
            if arguments and (head in leading or module.owner(head) is None):
                found |= module.terms.constants(constant.type) & module.constants.keys() - {head}
        if found <= leading:
            return leading
        leading |= found


def _overrides(module: LocalModule, constant: Constant, leading: Collection[str]) -> bool:
    """True if an instance may replace one of the library; see `Fact.overrides`."""
    head, arguments = module.concluded(constant.type)
    if not module.unfolded(arguments).isdisjoint(module.constants):
        return False  # it is about a type of the file
    return module.owner(head) is None or head in leading


def _shorter(name: str) -> list[str]:
    """The names that a constant can be written with where its namespace is open, without its own full name."""
    parts = [quoted(part) if isinstance(part, str) else str(part) for part in parts_of(name)]
    if parts[0] == "_private":  # _private.MODULE.0.NAME: all of NAME is shorter than that
        number = next((at for at, part in enumerate(parts) if part.isdigit()), 0)
        return [".".join(parts[at:]) for at in range(number + 1, len(parts))]
    return [".".join(parts[at:]) for at in range(1, len(parts))]


def main() -> None:
    """Entry point of the child."""
    answer(Request, Judge().handle)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
