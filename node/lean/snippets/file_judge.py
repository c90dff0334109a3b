"""The judge over the verifier of whole files: what it says comes from fresh processes and from what they compiled."""

from __future__ import annotations

from node.lean.files.report import FileReport
from node.lean.files.verifier import FileVerifier
from node.lean.snippets.judging import NO_THEOREM, Judgement, NoJudgement
from node.lean.snippets.reading import Fault
from node.lean.snippets.snippet import Verdict
from node.lean.toolchain.lean_toolchain import LeanToolchain

_OUT_OF_TIME, _OUT_OF_MEMORY = "not done after", "of memory"
"""In the reason of a process that was ended by its limits (`node.lean.process.fresh`)."""


class FileJudge:
    """Judges snippets as files. `close` it in the end."""

    def __init__(self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int) -> None:
        """`at_once`: files verified side by side; `seconds` and `memory_mb`: limits of each process."""
        self._seconds = seconds
        self._verifier = FileVerifier(toolchain, at_once=at_once, seconds=seconds, memory_mb=memory_mb)

    async def judge(self, code: str) -> Judgement:
        """The judgement on a snippet. Raises NoJudgement."""
        # Lean had no error in it, so there is nothing to save from a file with errors.
        return judgement(await self._verifier.verify_text(code, salvage=False), self._seconds)

    def close(self) -> None:
        """Remove the verifier's scratch folder."""
        self._verifier.close()


def judgement(report: FileReport, seconds: float) -> Judgement:
    """What a report comes to. `seconds`: the limit of its processes. Raises NoJudgement."""
    axioms = tuple(sorted({axiom for each in report.declarations for axiom in each.axioms}))
    rejected = [Fault(max(1, each.line), f"{each.name}: {each.reason}") for each in report.declarations if each.reason]
    faults = [Fault(1, f"not verified: {report.problem}")] if report.problem else rejected
    if faults:
        if any(_OUT_OF_TIME in fault.text for fault in faults):
            raise NoJudgement("the verification timed out", timeout=seconds)
        if any(_OUT_OF_MEMORY in fault.text for fault in faults):
            raise NoJudgement(f"the verification ran out of memory: {faults[0].text}")
        return Judgement(Verdict(False, axioms, faults[0].text), tuple(faults))
    return Judgement(Verdict(True, axioms) if report.declarations else Verdict(False, axioms, NO_THEOREM))
