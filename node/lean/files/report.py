"""What became of a file: one verdict for each of its theorems."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class FileMessage:
    """One of Lean's messages. Lines count from 1, columns from 0, in characters."""

    severity: str
    """`error`, `warning` or `information`."""
    text: str
    line: int
    column: int = 0
    end_line: int = 0
    """0 where the message has no end."""
    end_column: int = 0


@dataclass(frozen=True)
class LocalItem:
    """Something that a file itself declares, and that a statement of it depends on."""

    kind: str
    """The command that declares it: def, instance, structure, notation, macro, ..."""
    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.name} ({self.kind}, line {self.line})" if self.line else f"{self.name} ({self.kind})"


@dataclass(frozen=True)
class DeclarationVerdict:
    """What became of one declaration."""

    name: str
    kind: str
    """The command that declares it: theorem, example, def, ..."""
    line: int
    reason: str = ""
    """Why it is not accepted; empty when it is."""
    axioms: tuple[str, ...] = ()
    depends: tuple[LocalItem, ...] = ()
    """What its statement depends on and the file itself declares."""
    seconds: float = 0.0
    """Time of its elaboration, without what Lean did on other threads meanwhile."""

    @property
    def accepted(self) -> bool:
        """Whether the kernel accepts it with Lean's own axioms alone."""
        return not self.reason


@dataclass
class FileReport:
    """What became of a file."""

    file: str
    problem: str = ""
    """Why the file as a whole could not be judged; empty when it could."""
    messages: list[FileMessage] = field(default_factory=list)
    """Lean's messages about the file as it stands."""
    declarations: list[DeclarationVerdict] = field(default_factory=list)
    """In the order of the file."""
    runs_code: list[LocalItem] = field(default_factory=list)
    """Commands that run code while Lean elaborates the file, or change what other code does."""
    lean_version: str = ""
    rechecked: str = ""
    """What checked the compiled file once more: `kernel`, `leanchecker`, or nothing."""
    seconds: float = 0.0

    @property
    def accepted(self) -> bool:
        """Whether all of it is accepted."""
        return not self.problem and all(each.accepted for each in self.declarations)
