"""Judges snippets with our verifiers: its verdicts come from fresh processes and from what they compiled.

Most snippets are one theorem with a tactic proof. These are verified like proofs of the mesh, in batches if several
wait. Other snippets, and those not accepted this way, are verified as files. A file may contain any Lean, and the
messages then refer to its own lines and names.
"""

from __future__ import annotations

from node.lean.files.report import FileReport
from node.lean.files.verifier import FileVerifier
from node.lean.snippets.judging import NO_THEOREM, Judgement, NoJudgement
from node.lean.snippets.plain import single_proof
from node.lean.snippets.reading import Fault
from node.lean.snippets.snippet import Verdict
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.verifier import VerificationFailed, Verifier

_OUT_OF_TIME, _OUT_OF_MEMORY = "not done after", "of memory"
"""Parts of the reason when a process exceeded its limits (`node.lean.process.fresh`)."""


class FileJudge:
    """Judges snippets. Call `close` at the end."""

    def __init__(self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int) -> None:
        """`at_once`: files verified in parallel; `seconds` and `memory_mb`: limits of each process."""
        self._seconds = seconds
        self._files = FileVerifier(toolchain, at_once=at_once, seconds=seconds, memory_mb=memory_mb)
        self._proofs = Verifier(toolchain, at_once=max(1, at_once // 2), seconds=seconds, memory_mb=memory_mb)

    async def judge(self, code: str) -> Judgement:
        """The judgement on a snippet. Raises NoJudgement."""
        seconds = 0.0
        if (proof := single_proof(code)) is not None:
            try:
                reply = await self._proofs.verify(*proof)
            except VerificationFailed:
                pass  # it may still compile as a file, for example with automatic implicit arguments
            else:
                seconds = reply.elapsed
                if reply.accepted:
                    return Judgement(Verdict(True, reply.axioms), seconds=seconds)
        # The worker found no error in the file, so the slower salvage of files with errors is not needed.
        return judgement(await self._files.verify_text(code, salvage=False), self._seconds, seconds)

    def close(self) -> None:
        """Remove the verifiers' scratch folders."""
        self._files.close()
        self._proofs.close()


def judgement(report: FileReport, limit: float, before: float = 0.0) -> Judgement:
    """The judgement by a report. `limit`: time limit of its processes; `before`: seconds already spent on the snippet.

    Raises NoJudgement.
    """
    seconds = before + report.seconds
    axioms = tuple(sorted({axiom for each in report.declarations for axiom in each.axioms}))
    rejected = [Fault(max(1, each.line), f"{each.name}: {each.reason}") for each in report.declarations if each.reason]
    faults = [Fault(1, f"not verified: {report.problem}")] if report.problem else rejected
    if faults:
        if any(_OUT_OF_TIME in fault.text for fault in faults):
            raise NoJudgement("the verification timed out", timeout=limit)
        if any(_OUT_OF_MEMORY in fault.text for fault in faults):
            raise NoJudgement(f"the verification ran out of memory: {faults[0].text}")
        return Judgement(Verdict(False, axioms, faults[0].text), tuple(faults), seconds)
    verdict = Verdict(True, axioms) if report.declarations else Verdict(False, axioms, NO_THEOREM)
    return Judgement(verdict, seconds=seconds)
