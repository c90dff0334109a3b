"""Verifies a proof in fresh processes, either of a standalone statement or at its place in a file."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from common.lean import BadContext, Context, Place, Theorem
from common.protocol.messages import Busy, Failure, FailureKind, LeanVerifyReply, LeanVerifyRequest
from node.lean.check.files.commands import PROOFS, LookedAt
from node.lean.check.files.report import DeclarationVerdict, FileReport
from node.lean.check.files.verifier import FileVerifier
from node.lean.check.second.calling import SecondKernel
from node.lean.check.verify.checks import local_name
from node.lean.check.verify.judge import axioms_problem
from node.lean.check.verify.verifier import VerificationFailed, Verifier
from node.lean.settings import LeanProcessSettings
from node.lean.text.allowed import theorem_problem
from node.lean.text.lexing import blanked, mentions
from node.lean.text.rules import header_problem, proof_problem, statement_problem
from node.lean.text.script import filled
from node.lean.text.statement import import_lines, is_module, statement_lines
from node.lean.toolchain.lean_toolchain import LeanToolchain

_PLAIN_LINE = re.compile(
    r"\s*(?:open|set_option|universe)\b(?!.*\bin\b)"
    r"|\s*(?!(?:namespace|section|noncomputable|public|end)\b)[\w.]+(?:\s+[\w.]+)*\s*$"
)
"""A line of a header that declares nothing and opens no scope. A line of names alone continues an `open`."""


WAITING = 8
"""Proofs in files that wait for each one that is checked. They cannot be checked together, so further ones get Busy: an
answer that comes after its asker has given up would only take the time of others."""

BUSY_SECONDS = 1.0


class ProofVerifier:
    """Decides whether a script proves a theorem. Call `stop` at the end."""

    def __init__(
        self, settings: LeanProcessSettings, toolchain: LeanToolchain, second: SecondKernel | None = None
    ) -> None:
        """`second`: must accept what is verified in files, too."""
        self._settings = settings
        self._second = second
        self._toolchain = toolchain
        self.statements = Verifier(
            toolchain,
            at_once=settings.resolved_verifications(),
            seconds=settings.verify_seconds,
            memory_mb=settings.verify_memory_mb,
            batch=settings.verify_batch,
        )
        self._files: FileVerifier | None = None
        self._in_files = 0
        """Proofs in files that are checked or wait."""

    @property
    def files(self) -> FileVerifier:
        """Verifies whole files; created for the first one."""
        if self._files is None:
            self._files = FileVerifier(
                self._toolchain,
                at_once=self._settings.resolved_verifications(),
                seconds=self._settings.verify_seconds,
                memory_mb=self._settings.verify_memory_mb,
                second=self._second,
            )
        return self._files

    async def stop(self) -> None:
        """Cancel running verifications, and remove scratch folders."""
        if self._files is not None:
            await self._files.close()
        await self.statements.stop()

    async def answer(self, request: LeanVerifyRequest) -> LeanVerifyReply | Failure | Busy:
        """The verdict on a `lean.verify` request; Failure if there is none, Busy if too many proofs wait."""
        in_file = request.theorem.place is not None or declares(request.theorem.header)
        if in_file and self._in_files > WAITING * self._settings.resolved_verifications():
            return Busy(retry_after=BUSY_SECONDS, reason="proofs in files wait")
        self._in_files += in_file
        try:
            verdict = await self.verify(request.theorem, request.script)
        except VerificationFailed as error:
            return Failure(reason=str(error), kind=error.kind)
        finally:
            self._in_files -= in_file
        return msgspec.structs.replace(verdict, header=self._toolchain.default_header)

    async def verify(self, theorem: Theorem, script: str) -> LeanVerifyReply:
        """Check that `script`, a tactic block, proves the theorem. Raises VerificationFailed.

        For a gap in a file, the command with the script in it must be valid. Other gaps of the command stay open, and
        so do theorems above without a proof. If the proof uses them, the reply has `sorryAx` among its axioms, and its
        reason says so.
        """
        if problem := theorem_problem(theorem):
            raise VerificationFailed(problem, FailureKind.BAD_STATEMENT)
        place = theorem.place
        if place is None and not declares(theorem.header):
            return await self.statements.verify(theorem, script)
        if place is None:
            problem = header_problem(theorem.header) or statement_problem(theorem.binders, theorem.conclusion)
            if problem:
                raise VerificationFailed(problem, FailureKind.BAD_STATEMENT)
            place = _behind(self._toolchain.header(theorem.header), theorem)
        if problem := proof_problem(script, theorem.rule):
            return LeanVerifyReply(accepted=False, reason=problem)
        try:
            above = place.context.text
        except BadContext as error:
            raise VerificationFailed(str(error), FailureKind.BAD_STATEMENT) from error
        place, others = others_assumed(place)
        above, open_above = theorems_assumed(above) if theorem.place is not None else (above, 0)
        if others or open_above:
            if mentions_axiom(script):
                return LeanVerifyReply(accepted=False, reason=f"the proof uses the reserved name {AXIOM!r}")
            above = with_axiom(above)
        report = await self.files.verify_text(above + _command(place, script))
        return _reply(report, above.count("\n") + 1, others)


def declares(header: str) -> bool:
    """True if a header has more than imports, opens and options, such as declarations, `variable`s or notation.

    Each of the three files of a verification would declare these again. So such a statement is verified in one file. So
    is one behind `module`: the statement would be private to the file that declares it.
    """
    if is_module(header):
        return True
    lines = blanked(header).split("\n")
    return any(line.strip() and not _PLAIN_LINE.match(line) for line in lines[import_lines(header) :])


def _behind(header: str, theorem: Theorem) -> Place:
    """A standalone statement as a gap behind its header, with the same options as in its search."""
    statement = "\n".join(statement_lines(f"theorem {local_name(theorem)}", theorem)).removesuffix("by")
    return Place(Context.of(f"{header}\nset_option autoImplicit false\n"), statement, "\n", tactic=False)


def _command(place: Place, script: str) -> str:
    lines = textwrap.dedent(script.strip("\n")).split("\n")
    return filled(place, lines)


def _reply(report: FileReport, first: int, others: int) -> LeanVerifyReply:
    """The verdict on the command that begins at line `first`. `others`: number of its gaps that stay open."""
    verdicts = [each for each in report.declarations if each.line >= first]
    accepted = bool(verdicts) and not report.problem and all(_accepted(each) for each in verdicts)
    axioms = {"sorryAx" if axiom == AXIOM else axiom for each in verdicts for axiom in each.axioms}
    still_open = f"{others} other `sorry` of its command {'is' if others == 1 else 'are'} left" if others else ""
    if not others and "sorryAx" in axioms:
        still_open = "it uses a theorem above that is not proved yet"
    return LeanVerifyReply(
        accepted=accepted,
        reason=still_open if accepted else _reason(report, verdicts),
        axioms=tuple(sorted(axioms)),
        lean_version=report.lean_version,
        elapsed=report.seconds,
        rechecked=bool(report.rechecked),
    )


def _accepted(verdict: DeclarationVerdict) -> bool:
    """True if a declaration is proved, apart from gaps that stay open."""
    return verdict.accepted or verdict.reason == axioms_problem([AXIOM])


def _reason(report: FileReport, verdicts: list[DeclarationVerdict]) -> str:
    """Why the command is not accepted."""
    if report.problem:
        return report.problem
    if not verdicts:
        return "the command declares no theorem, or Lean did not reach it within the limits"
    return next((each.reason for each in verdicts if not _accepted(each)), "")


# ----------------------------------------------------------------------------------------------------------------------
# Prepares a check of a proof for one gap of a command, independent of the command's other gaps. Pure.
#
# Each other `sorry` is replaced by an axiom of ours that proves anything. The command may then use only Lean's own
# axioms and this one. A `sorry` in the proof itself, or in a definition that it uses, is still Lean's `sorryAx` and
# is detected.

AXIOM = "proofmesh other gap"
"""Name of the axiom. It needs guillemets, and the text rules refuse it, so no proof can use it."""

_TOKEN = "proofmesh_other_gap"
"""Replacement for a `sorry`. Like `sorry`, it is both a term and a tactic."""

_PRELUDE = f"""axiom «{AXIOM}».{{u}} {{α : Sort u}} : α
macro "{_TOKEN}" : term => `(term| @«{AXIOM}» _)
macro "{_TOKEN}" : tactic => `(tactic| exact @«{AXIOM}» _)"""


def others_assumed(place: Place) -> tuple[Place, int]:
    """The place with every other `sorry` of its command replaced, and their number."""
    gap = "_____"  # a neutral filler, so that the text before and behind the gap forms no new word
    behind = len(place.before) + len(gap)
    starts = [each.start for each in mentions(place.before + gap + place.after)]
    before = _replaced(place.before, [start for start in starts if start < behind])
    after = _replaced(place.after, [start - behind for start in starts if start >= behind])
    return Place(place.context, before, after, place.tactic), len(starts)


def theorems_assumed(context: str) -> tuple[str, int]:
    """The text above with every `sorry` in its theorems replaced, and their number.

    Those in definitions stay, because Lean compiles definitions and cannot compile an axiom.
    """
    if "sorry" not in context:
        return context, 0
    text = LookedAt(context)
    if "#guard_msgs" in text.code:  # the replacement would change the messages that it compares
        return context, 0
    theorems = [each for each in text.commands if each.keyword in PROOFS]  # sorted, without overlaps
    before = [(gap, bisect_right(theorems, gap, key=lambda each: each.start) - 1) for gap in text.gaps]
    starts = [gap for gap, number in before if number >= 0 and gap < theorems[number].end]
    return _replaced(context, starts), len(starts)


def with_axiom(context: str) -> str:
    """The text above a command with the axiom right below its imports, outside all namespaces and variables."""
    lines = context.split("\n", import_lines(context))
    imports, body = lines[: import_lines(context)], lines[import_lines(context) :]
    # In a module it would be private, with another name.
    return "\n".join([*imports, f"public {_PRELUDE}" if is_module(context) else _PRELUDE, *body])


def mentions_axiom(script: str) -> bool:
    """True if a proof uses the name of our axiom or token."""
    return AXIOM in script or _TOKEN in script


def _replaced(text: str, starts: Sequence[int]) -> str:
    """The text with our token in place of each `sorry` that begins at one of these offsets."""
    parts, at = [], 0
    for start in starts:
        parts += [text[at:start], _TOKEN]
        at = start + len("sorry")
    return "".join([*parts, text[at:]])
