"""What three common checkers pay, from the messages that Lean writes about a completion. Each is written anew, from the
project's own description or behaviour; the sources are named."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Read:
    """Lean's answer about a text, as the community REPL gives it."""

    messages: Sequence[dict[str, Any]]
    sorries: Sequence[dict[str, Any]]

    def texts(self, severity: str) -> list[str]:
        """The messages of a severity."""
        return [each["data"] for each in self.messages if each["severity"] == severity]


def verifiers_pays(code: str, statement: str, read: Read) -> float:
    """`LeanRubric` of PrimeIntellect-ai/verifiers (verifiers/envs/experimental/composable/tasksets/lean/lean_task.py):
    the lines that state the theorem, up to `:= by`, must stand in the file as they were, between two marks; `lean` must
    end with 0; and its output must not hold ``declaration uses 'sorry'``.

    Whoever cheats writes around the protected lines and leaves them alone.
    """
    if f"\n{statement} := by\n" not in f"\n{code}":
        return 0.0
    said = "\n".join(each["data"] for each in read.messages)
    return 0.0 if read.texts("error") or re.search(r"declaration uses 'sorry'", said) else 1.0


def kimina_rl_pays(read: Read) -> float:
    """project-numina/kimina-prover-rl: 1 where the Kimina Lean Server's answer has no error message and no sorries."""
    return 0.0 if read.texts("error") or read.sorries else 1.0


def repl_pays(read: Read) -> float:
    """The check of a plain REPL, as DeepSeek-Prover-V1.5 publishes it (`complete` of its verifier): no errors, no
    sorries, and no warning ``declaration uses 'sorry'`` or with `failed`. It asks for no axioms."""
    warned = any("declaration uses 'sorry'" in text or "failed" in text for text in read.texts("warning"))
    return 0.0 if read.texts("error") or read.sorries or warned else 1.0
