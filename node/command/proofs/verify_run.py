"""The work of `proofmesh verify` without its output: finds Lean and the files, and gets a verdict on each theorem."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from node.command.hints import unnoticed, with_hint
from node.command.projects import lean_for
from node.lean.check.files.report import DeclarationVerdict, FileReport
from node.lean.check.files.sources import SourceFile, collect, from_text
from node.lean.check.files.verifier import FileVerifier
from node.lean.check.verify.judge import axioms_problem
from node.lean.text.statement import StatementError, parse_statement
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanToolchain

if TYPE_CHECKING:
    from node.command.proofs.verify import VerifySettings


class VerifyListener(Protocol):
    """Gets the verdicts."""

    def add_file(self, report: FileReport) -> None:
        """The verdicts on a file."""

    def note(self, text: str) -> None:
        """What is no verdict."""

    def add_comparison(
        self, file: str, verdicts: Sequence[DeclarationVerdict], filled: Mapping[str, str], lean: str, rechecked: str
    ) -> None:
        """The verdicts of a comparison with a reference."""


class BadReference(Exception):
    """`--against` is not a usable reference. The message gives the reason."""


async def verify_all(
    verifier: FileVerifier,
    groups: Sequence[Sequence[SourceFile]],
    reference: list[SourceFile],
    report: VerifyListener,
    *,
    everything: bool = False,
    shown: str = "",
    bare: bool = False,
) -> None:
    """Verify groups of files that may import each other, or compare them with a reference if there is one.

    `everything`: also verdicts on definitions. `shown`: the name of several files together in a comparison. `bare`:
    files without imports have Lean's own names only, so what looks like Mathlib's is noted.
    """
    if reference:
        await _compare(verifier, [source for group in groups for source in group], reference, report, shown)
        return
    for group in groups:
        async for judged in verifier.verify(group, everything=everything):
            source = next(each for each in group if each.shown == judged.report.file)
            if source.wanted:
                report.add_file(_with_hints(judged.report, source.text))
                if bare and (said := unnoticed(source.text)):
                    report.note(f"{source.shown}, {said}")


def _with_hints(report: FileReport, text: str) -> FileReport:
    """A report whose reasons say what to do, where Lean's messages do not."""
    lines = text.splitlines(keepends=True)
    declarations = []
    for each, following in zip_longest(report.declarations, report.declarations[1:]):
        until = following.line - 1 if following is not None and following.line > each.line else len(lines)
        reason = with_hint(each.reason, "".join(lines[max(each.line - 1, 0) : until]))
        declarations.append(replace(each, reason=reason))
    return replace(report, problem=with_hint(report.problem, text), declarations=declarations)


async def _compare(
    verifier: FileVerifier,
    submission: Sequence[SourceFile],
    reference: list[SourceFile],
    report: VerifyListener,
    shown: str,
) -> None:
    """Report the verdict on each theorem of the reference."""
    requested = [source for source in submission if source.wanted]
    judged: list[DeclarationVerdict] = []
    if len(reference) == 1 and len(requested) == 1:
        # With one file on each side, both get the same module name, so that their declarations can be compared.
        reference = [replace(reference[0], module=requested[0].module)]
        if reference[0].path is None:
            reference, judged = await _with_imports(verifier, reference[0], requested[0], submission)
    problems, verdicts, filled = await verifier.compare(submission, reference)
    for problem in problems:
        report.add_file(problem)
    if judged:  # the other files of this reference are the submission's own
        depends = {each.name: each.depends for each in judged}
        # Their axioms are axioms of the submission, which a reference would permit.
        verdicts = [
            replace(each, depends=depends[each.name], reason=each.reason or axioms_problem([*each.axioms]))
            for each in verdicts
            if each.name in depends
        ]
    shown = requested[0].shown if len(requested) == 1 else shown
    report.add_comparison(shown, verdicts, filled, verifier.version, verifier.rechecked)


async def _with_imports(
    verifier: FileVerifier, statement: SourceFile, requested: SourceFile, submission: Sequence[SourceFile]
) -> tuple[list[SourceFile], list[DeclarationVerdict]]:
    """The files of a reference that is one statement. If they include files of the submission: also what the statement
    depends on there, in verdicts on it.

    The statement gets the imports of the requested file. The submission's own files may change what a statement means,
    so it is compiled without them. Only if it names what they declare are they part of the reference.
    """
    # 1. The modules of the library that the requested file imports, directly or through files of the submission.
    local = {source.module: source for source in submission}
    waiting, names = [requested.module], [requested.module]
    while waiting:
        for name in local[waiting.pop()].imports:
            if name not in names:
                names.append(name)
                waiting += [name] if name in local else []
    library = tuple(name for name in names if name not in local)
    own = [local[name] for name in names[1:] if name in local]
    exact = _importing(statement, library)
    # Otherwise a name that only a file of the submission declares would be a variable of the statement.
    declared = replace(statement, text=f"set_option autoImplicit false\n{statement.text}")
    alone = [each async for each in verifier.verify([_importing(declared, library)], own=True)] if own else []
    if not any(each.report.problem or each.errors for each in alone):
        return [exact], []
    # 2. With the submission's files. All their syntax counts as used: the verdicts on the statement list it.
    reference = [_importing(declared, requested.imports), *(replace(source, wanted=False) for source in own)]
    judged = [each async for each in verifier.verify(reference, own=True)]
    if any(each.report.problem or each.errors for each in judged):
        return [exact], []
    (stated,) = (each.report.declarations for each in judged if each.report.file == statement.shown)
    return reference, stated


def _importing(statement: SourceFile, names: Sequence[str]) -> SourceFile:
    """A statement behind imports."""
    header = "".join(f"import {name}\n" for name in names)
    return replace(statement, text=header + statement.text, imports=tuple(names))


def reference_of(against: str) -> list[SourceFile]:
    """The files of a reference: a file, a folder or a statement; none for an empty text. Raises BadReference."""
    if not against:
        return []
    path = Path(against)
    if "\n" not in against and path.exists():
        sources = [source for group in collect([path]) for source in group]
        if problem := next((f"{each.shown}: {each.problem}" for each in sources if each.problem), ""):
            raise BadReference(f"--against {problem}")
        return sources
    try:
        parse_statement(against)
    except StatementError as error:
        raise BadReference(
            f"--against {against[:60]!r} is not an existing file or folder, and not a statement ({error})"
        ) from None
    text = against.strip()
    return [from_text(text if ":= " in text else f"{text.removesuffix(':=').rstrip()} := sorry", "the statement")]


def toolchain_of(settings: VerifySettings) -> LeanToolchain:
    """The Lean to use. A Lake project's own Lean is used for its folder and for files in it. Raises LeanProblem."""
    toolchain = find(lean_for(settings.lean, settings.paths))
    own = f"{toolchain.project}{os.sep}"
    if toolchain.project and any(f"{os.path.realpath(path)}{os.sep}".startswith(own) for path in settings.paths):
        # The project's own modules are compiled again and checked, so its build folder must not be on LEAN_PATH.
        search_path = [
            folder
            for folder in toolchain.environment.get("LEAN_PATH", "").split(os.pathsep)
            if not folder.startswith(own) or f"{os.sep}packages{os.sep}" in folder
        ]
        toolchain = replace(toolchain, environment={**toolchain.environment, "LEAN_PATH": os.pathsep.join(search_path)})
    return toolchain
