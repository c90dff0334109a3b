"""The work of `proofmesh verify` without its output: finds Lean and the files, and gets a verdict on each theorem."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from node.lean.files.report import DeclarationVerdict, FileReport
from node.lean.files.sources import SourceFile, collect, from_text, imports_of
from node.lean.files.verifier import FileVerifier
from node.lean.text.statement import StatementError, parse_statement
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.mesh.projects import lean_for

if TYPE_CHECKING:
    from node.mesh.verify import VerifySettings


class VerifyListener(Protocol):
    """Gets the verdicts."""

    def add_file(self, report: FileReport) -> None:
        """The verdicts on a file."""

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
) -> None:
    """Verify groups of files that may import each other, or compare them with a reference if there is one.

    `everything`: also verdicts on definitions. `shown`: the name of several files together in a comparison.
    """
    if reference:
        await _compare(verifier, [source for group in groups for source in group], reference, report, shown)
        return
    for group in groups:
        async for judged in verifier.verify(group, everything=everything):
            source = next(each for each in group if each.shown == judged.report.file)
            if source.wanted:
                report.add_file(judged.report)


async def _compare(
    verifier: FileVerifier,
    submission: Sequence[SourceFile],
    reference: list[SourceFile],
    report: VerifyListener,
    shown: str,
) -> None:
    """Report the verdict on each theorem of the reference."""
    requested = [source for source in submission if source.wanted]
    if len(reference) == 1 and len(requested) == 1:
        # With one file on each side, both get the same module name, so that their declarations can be compared.
        statement = reference[0]
        if statement.path is None:
            header = "".join(f"import {name}\n" for name in imports_of(requested[0].text))
            statement = replace(statement, text=header + statement.text, imports=requested[0].imports)
        reference = [replace(statement, module=requested[0].module)]
    problems, verdicts, filled = await verifier.compare(submission, reference)
    for problem in problems:
        report.add_file(problem)
    shown = requested[0].shown if len(requested) == 1 else shown
    report.add_comparison(shown, verdicts, filled, verifier.version, verifier.rechecked)


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
    if toolchain.project and any(f"{path.resolve()}{os.sep}".startswith(own) for path in settings.paths):
        # The project's own modules are compiled again and checked, so its build folder must not be on LEAN_PATH.
        search_path = [
            folder
            for folder in toolchain.environment.get("LEAN_PATH", "").split(os.pathsep)
            if not folder.startswith(own) or f"{os.sep}packages{os.sep}" in folder
        ]
        toolchain = replace(toolchain, environment={**toolchain.environment, "LEAN_PATH": os.pathsep.join(search_path)})
    return toolchain
