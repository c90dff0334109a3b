"""`proofmesh recheck RUN`: verifies every recorded proof of a run anew, on this machine, with a second kernel as well.

What a run counts as proved rests on verdicts of lean-proxies when it was recorded. This command trusts none of them: it
reads the statements and proofs from the records, writes them as Lean files, and checks these like `proofmesh verify
--second-kernel`. It works beside a running learner, and goes on where it was interrupted.

Exit code: 0 all accepted, 1 one or more rejected, 2 the records or Lean cannot be used.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import tyro

from common.config import config_file, load_lean
from common.life.waiting import side_by_side
from common.limits import Natural, Timeout
from common.output.command import Exit, UserError, command
from common.output.visible import say, say_data
from common.output.words import number_of
from common.records.readers import RecordedProof, recorded
from common.settings import LeanSettings

if TYPE_CHECKING:
    from node.lean.check.files.proofs import ProofVerifier

AT_ONCE = 50
"""Most proofs in a file."""

SAY_EVERY = 10.0
"""Seconds between two lines about the progress."""

PROGRESS = "recheck.jsonl"
"""In the run's folder while a recheck is not complete: its verdicts so far."""

_NAME = "proofmesh_recorded_"
"""Begins the names of the theorems in the files; the proof's number follows."""


@dataclass
class RecheckSettings:
    """Verify every recorded proof of a run anew."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder, such as runs/demo, of a learner or of self-play."""

    second_kernel: bool = True
    """Also check each proof with a second, independent kernel, written in Python."""

    again: bool = False
    """Begin anew if an earlier recheck was interrupted."""

    json: bool = False
    """Print one JSON document instead of lines."""

    jobs: Natural = 0
    """Files checked at once; 0: one per core."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean version, project and header; section [lean] of --config. Use those of the run."""

    config: Path | None = None
    """A TOML file with a section [lean], such as that of the run; flags win over it."""

    seconds: Timeout = 120.0
    """Time limit for each Lean process."""


class Judged(msgspec.Struct):
    """The new verdict on a recorded proof."""

    number: int
    """Its number in the records."""
    problem: str
    """Why it is not accepted; empty if it is."""
    by: str
    """Lean's version and what checked it: verdicts of another Lean are not taken over."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    file = config_file(argv)
    default = RecheckSettings(run=Path(), lean=load_lean(file), config=file)
    return command(RecheckSettings, list(argv), _recheck, prog="proofmesh recheck", default=default)


async def _recheck(settings: RecheckSettings) -> int:
    from node.lean.process.fresh import OutOfLimits

    if settings.run == Path():
        raise UserError("name the folder of a run, such as runs/demo")
    proofs = recorded(settings.run)
    try:
        async with _verifier(settings) as (verifier, configured):
            by = f"Lean {verifier.files.version}, {verifier.files.rechecked}"
            # 1. Take over the verdicts of an interrupted recheck.
            progress = settings.run / PROGRESS
            if settings.again:
                progress.unlink(missing_ok=True)
            judged = {each.number: each for each in _read(progress) if each.by == by}
            left = [proof for proof in proofs if proof.number not in judged]
            if judged and left:
                say(f"proofmesh recheck: going on after {len(judged)} of {len(proofs)} proofs", file=sys.stderr)
            # 2. Judge the others, and keep each verdict at once.
            said = time.monotonic()
            async for number, problem in _judge(verifier, left, configured, settings.jobs):
                judged[number] = Judged(number, problem, by)
                _keep(progress, judged[number])
                if time.monotonic() - said > SAY_EVERY:
                    said = time.monotonic()
                    say(f"proofmesh recheck: {len(judged)} of {len(proofs)} proofs", file=sys.stderr)
    except OutOfLimits as error:
        raise UserError(str(error)) from error
    # 3. Report. A complete recheck leaves nothing behind: the next one begins anew.
    progress.unlink(missing_ok=True)
    rejected = [(proof, judged[proof.number].problem) for proof in proofs if judged[proof.number].problem]
    _report(settings, proofs, rejected, by)
    return Exit.FAILED if rejected else Exit.DONE


@asynccontextmanager
async def _verifier(settings: RecheckSettings) -> AsyncIterator[tuple[ProofVerifier, str]]:
    """What judges, and the configured header. Raises LeanProblem."""
    from node.lean.check.files.proofs import ProofVerifier
    from node.lean.check.second.calling import SecondKernel
    from node.lean.process.protections import READS_NOT_CONFINED
    from node.lean.settings import LeanProcessSettings
    from node.lean.toolchain.find import find

    toolchain = await (await asyncio.to_thread(find, settings.lean)).confined()
    for note in toolchain.notes:
        say(f"proofmesh recheck: {note}", file=sys.stderr)
    if not toolchain.protections.reads:
        say(f"proofmesh recheck: {READS_NOT_CONFINED}", file=sys.stderr)
    second = SecondKernel(toolchain) if settings.second_kernel else None
    limits = LeanProcessSettings(lean=settings.lean, verifications=settings.jobs, verify_seconds=settings.seconds)
    verifier = ProofVerifier(limits, toolchain, second)
    try:
        yield verifier, toolchain.default_header
    finally:
        await verifier.stop()
        if second is not None:
            await second.close()


async def _judge(
    verifier: ProofVerifier, proofs: Sequence[RecordedProof], configured: str, jobs: int
) -> AsyncIterator[tuple[int, str]]:
    """Each proof's number, and why it is not accepted (empty if it is), in any order."""
    by_header: dict[str, list[RecordedProof]] = defaultdict(list)
    for proof in proofs:
        if proof.theorem.place is None:
            by_header[configured if proof.header is None else proof.header].append(proof)
    groups = [("", [proof]) for proof in proofs if proof.theorem.place is not None]
    for header, same in by_header.items():
        groups += [(header, same[first : first + AT_ONCE]) for first in range(0, len(same), AT_ONCE)]

    async def judged(group: tuple[str, list[RecordedProof]]) -> list[tuple[int, str]]:
        return await _judged_together(verifier, group[1], group[0])

    async for verdicts in side_by_side(judged, groups, jobs or 2):
        for verdict in verdicts:
            yield verdict


async def _judged_together(
    verifier: ProofVerifier, proofs: Sequence[RecordedProof], header: str
) -> list[tuple[int, str]]:
    """The verdicts on a proof for a gap in a file, or on proofs of statements with the same header: those are judged
    together, and in smaller files if that is not possible."""
    from node.lean.check.files.proofs_text import ProvedStatement, proofs_files
    from node.lean.text.rules import header_problem, proof_problem, statement_problem

    if proofs[0].theorem.place is not None:
        return [(proof.number, await _judged_in_its_file(verifier, proof)) for proof in proofs]
    # 1. The text rules, as at the first verification: a proof may hold no command.
    found = {
        proof.number: header_problem(proof.theorem.header)
        or statement_problem(proof.theorem.binders, proof.theorem.conclusion)
        or proof_problem(proof.script, proof.theorem.rule)
        or ""
        for proof in proofs
    }
    allowed = [proof for proof in proofs if not found[proof.number]]
    # 2. As Lean files. A proof without a verdict is not accepted.
    found |= {proof.number: "Lean did not reach it" for proof in allowed}
    rows = [ProvedStatement(f"{_NAME}{proof.number}", proof.theorem, proof.script) for proof in allowed]
    for text in proofs_files(rows, "recheck", "", header).texts if rows else ():
        report = await verifier.files.verify_text(text)
        if report.problem and len(rows) > 1:
            half = len(allowed) // 2
            for part in (allowed[:half], allowed[half:]):
                found |= dict(await _judged_together(verifier, part, header))
            break
        if report.problem:
            found[allowed[0].number] = report.problem
        for verdict in report.declarations:
            if match := re.search(rf"\b{_NAME}(\d+)(?:_\d+)?$", verdict.name.rstrip("»")):
                found[int(match[1])] = verdict.reason
    return [*found.items()]


async def _judged_in_its_file(verifier: ProofVerifier, proof: RecordedProof) -> str:
    from node.lean.check.verify.verifier import VerificationFailed

    try:
        reply = await verifier.verify(proof.theorem, proof.script)
    except VerificationFailed as failure:
        return f"{failure.kind}: {failure}"
    return "" if reply.accepted else reply.reason or "no reason was given"


def _read(progress: Path) -> list[Judged]:
    """The verdicts of an interrupted recheck. A line that a kill has cut off is left out."""
    try:
        lines = progress.read_bytes().split(b"\n")
    except OSError:
        return []
    read = []
    for line in lines:
        try:
            read.append(msgspec.json.decode(line, type=Judged))
        except msgspec.DecodeError:
            continue
    return read


def _keep(progress: Path, judged: Judged) -> None:
    try:
        with progress.open("ab") as out:
            out.write(msgspec.json.encode(judged) + b"\n")
    except OSError:
        return  # a folder that cannot be written: the recheck cannot be resumed then


def _report(
    settings: RecheckSettings, proofs: Sequence[RecordedProof], rejected: Sequence[tuple[RecordedProof, str]], by: str
) -> None:
    if settings.json:
        rows = [
            {"theorem": proof.name, "attempt": proof.attempt_id, "script": proof.script, "reason": problem}
            for proof, problem in rejected
        ]
        document = {"proofs": len(proofs), "accepted": len(proofs) - len(rejected), "by": by, "rejected": rows}
        say_data(msgspec.json.format(msgspec.json.encode(document)).decode())
        return
    for proof, problem in rejected:
        say(f"rejected  {proof.name} (attempt {proof.attempt_id}): {problem}")
    accepted = len(proofs) - len(rejected)
    say(f"{accepted} of {number_of(len(proofs), 'recorded proof')} accepted ({by})")
