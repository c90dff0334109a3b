"""The judge over the verifier of whole files: its verdicts come from fresh processes."""

from __future__ import annotations

from node.lean.files.verifier import FileReport, FileVerifier
from node.lean.snippets.judging import NO_THEOREM, Judgement
from node.lean.snippets.reading import Fault
from node.lean.snippets.snippet import Verdict
from node.lean.snippets.texts import whole_text
from node.lean.toolchain.lean_toolchain import LeanToolchain


class FileJudge:
    """Judges snippets as files. `close` it in the end."""

    def __init__(self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int) -> None:
        """`at_once`: files verified side by side; `seconds` and `memory_mb`: limits of each."""
        self._header = toolchain.default_header
        self._verifier = FileVerifier(toolchain, at_once=at_once, seconds=seconds, memory_mb=memory_mb)

    async def judge(self, code: str) -> Judgement:
        """The judgement on a snippet. Raises NoJudgement."""
        text, before = whole_text(code, self._header)
        return judgement(await self._verifier.verify_text(text), before)

    def close(self) -> None:
        """Remove the verifier's scratch folder."""
        self._verifier.close()


def judgement(report: FileReport, before: int) -> Judgement:
    """What a report comes to. `before`: lines of the text that come before the snippet. Raises NoJudgement."""
    if report.problem:
        return _refused([Fault(1, f"not verified: {report.problem}")])
    errors = [item for item in report.messages if item.severity == "error"]
    if errors:
        return _refused([Fault(max(1, item.line - before), f"not verified: {item.data}") for item in errors])
    rejected = [each for each in report.declarations if not each.accepted]
    if rejected:
        return _refused([Fault(max(1, each.line - before), f"{each.name}: {each.reason}") for each in rejected])
    axioms = tuple(sorted({axiom for each in report.declarations for axiom in each.axioms}))
    if not report.declarations:
        return Judgement(Verdict(False, axioms, NO_THEOREM))
    if not report.accepted:
        return _refused([Fault(1, "not verified")])
    return Judgement(Verdict(True, axioms))


def _refused(faults: list[Fault]) -> Judgement:
    return Judgement(Verdict(False, reason=faults[0].text), tuple(faults))
