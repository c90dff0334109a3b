"""Rows of `proofmesh verify`."""

from __future__ import annotations

from node.command.proofs.verdicts import Verdicts
from node.lean.check.files.report import DeclarationVerdict, FileReport


def test_a_cause_that_many_share_is_shown_once() -> None:
    cause = "it may depend on the command in line 2, which fails: unexpected token\n  of many\n  lines"
    other = "it may depend on the command in line 9, which fails: unknown namespace"
    reasons = {"a": cause, "b": cause, "c": "it uses sorry", "d": cause, "e": other}
    report = FileReport("A.lean")
    report.declarations = [DeclarationVerdict(name, "theorem", 3, reason) for name, reason in reasons.items()]
    verdicts = Verdicts()
    verdicts.add_file(report)
    short = "it may depend on the command in line 2 (see a)"
    assert [row.reason for row in verdicts.rows] == [cause, short, "it uses sorry", short, other]
