"""`verify` with the second kernel: honest files are accepted, and what it has not checked is not."""

from typing import Any

import pytest

from node.lean.check.files.report import FileReport
from node.lean.check.second.calling import SecondKernel, SecondOpinion
from tests.node.lean.files.test_proofs_text import files_of
from tests.node.lean.files.verified import file_verifier
from tests.node.lean.verify.recorded import honest

pytestmark = pytest.mark.lean


async def verified(texts: list[str], second: SecondKernel) -> list[FileReport]:
    async with file_verifier(seconds=300, memory_mb=4096, second=second) as verifier:
        return [await verifier.verify_text(text) for text in texts]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", [12, pytest.param(1500, marks=pytest.mark.slow)])
async def test_proofs_of_the_bank_are_accepted_by_both_kernels(second_kernel: Any, number: int) -> None:
    reports = await verified(files_of(honest(number)).texts, second_kernel)
    assert not any(report.problem for report in reports)
    verdicts = [each for report in reports for each in report.declarations]
    assert not [(each.name, each.reason) for each in verdicts if each.reason] and len(verdicts) == number
    assert all(report.rechecked == "kernel and a second kernel" for report in reports)


async def test_what_the_second_kernel_has_not_checked_is_not_accepted() -> None:
    class Silent(SecondKernel):
        async def check(self, *_: object, **__: object) -> SecondOpinion:  # type: ignore[override]
            return SecondOpinion()

    (report,) = await verified(["theorem t : 1 = 1 := rfl\n"], Silent())
    assert [each.reason for each in report.declarations] == [
        "the second kernel has not checked it: it uses what is not checked"
    ]
