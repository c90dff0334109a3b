"""Reports on verified files, with one verdict for each theorem."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class FileMessage:
    """A message from Lean. Lines count from 1, columns from 0 in characters."""

    severity: str
    """`error`, `warning` or `information`."""
    text: str
    line: int
    column: int = 0
    end_line: int = 0
    """0 if the message has no end."""
    end_column: int = 0


@dataclass(frozen=True)
class LocalItem:
    """Something that a file itself declares, and that one of its statements depends on."""

    kind: str
    """Keyword of the command that declares it: def, instance, structure, notation, macro, ..."""
    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.name} ({self.kind}, line {self.line})" if self.line else f"{self.name} ({self.kind})"


@dataclass(frozen=True)
class DeclarationVerdict:
    """The verdict on one declaration."""

    name: str
    kind: str
    """Keyword of the command that declares it: theorem, example, def, ..."""
    line: int
    reason: str = ""
    """Why it is not accepted; empty if it is."""
    axioms: tuple[str, ...] = ()
    depends: tuple[LocalItem, ...] = ()
    """Declarations of the file itself that its statement depends on."""
    seconds: float = 0.0
    """Time of its elaboration, without Lean's other threads."""
    constant: str = ""
    """Its full name in the compiled file; empty if it has none."""

    @property
    def accepted(self) -> bool:
        """True if the kernel accepts it and it uses only Lean's own axioms."""
        return not self.reason


@dataclass
class FileReport:
    """The result of verifying a file."""

    file: str
    problem: str = ""
    """Why the file as a whole could not be judged; empty if it could."""
    messages: list[FileMessage] = field(default_factory=list)
    """Lean's messages about the unchanged file."""
    declarations: list[DeclarationVerdict] = field(default_factory=list)
    """The verdicts in the order of the file."""
    runs_code: list[LocalItem] = field(default_factory=list)
    """Commands that run code while Lean elaborates the file, or change what other code does."""
    lean_version: str = ""
    rechecked: str = ""
    """What checked the compiled file again: `kernel`, or `kernel and a second kernel`; empty if nothing did."""
    seconds: float = 0.0

    @property
    def accepted(self) -> bool:
        """True if all declarations are accepted."""
        return not self.problem and all(each.accepted for each in self.declarations)
