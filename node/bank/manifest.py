"""A bank's manifest `bank.json`: its sources, the commands that import it again, the transitions for a warm start."""

from __future__ import annotations

from pathlib import Path

import msgspec

from common.files import write_whole

FILE = "bank.json"


class ManifestError(ValueError):
    """The file cannot be read; the message says where and why."""


class WarmStartRule(msgspec.Struct, frozen=True):
    """Selects the transitions of the warm start: those of some levels, without some tactics."""

    levels: tuple[int, ...]
    held_out: tuple[str, ...] = ()
    """Transitions whose tactic contains one of these texts are left out."""

    def takes(self, level: int, tactic: str) -> bool:
        """True when a transition of this level with this tactic belongs to the warm start."""
        return level in self.levels and not any(text in tactic for text in self.held_out)


class SourceRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A source of a bank's statements, and the Lean under which they elaborate."""

    origin: str
    """The file, the folder or the id on the Hugging Face hub."""
    revision: str = ""
    """The commit of the hub's copy."""
    licence: str = ""
    """The licence that the data set states; empty if it is unknown."""
    homepage: str = ""
    paper: str = ""
    digest: str = ""
    """A digest of the statements that were read from it."""
    rows: int = 0
    statements: int = 0
    """Number of rows that were read as statements, with those that do not elaborate."""
    lean: str = ""
    """Version of the Lean under which the bank's statements elaborate; empty if this was not tried."""
    library: dict[str, str] = {}
    """Commits of that Lean's project and its packages (`node.lean.toolchain.library`)."""


class Manifest(msgspec.Struct, frozen=True):
    """The description of a bank. For a bank without the file it is empty."""

    commands: dict[str, str] = {}
    """The command that imports a source again, by source."""
    warm_start: WarmStartRule | None = None
    """None: all transitions belong to the warm start."""
    sources: dict[str, SourceRecord] = {}
    """Sources by the name in the rows of statements."""
    digest: str = ""
    """`node.bank.bank.digest` of the written bank; empty if it was not recorded."""


def read(directory: Path) -> Manifest:
    """A bank's manifest. Raises ManifestError."""
    path = directory / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return Manifest()
    except (OSError, msgspec.DecodeError) as error:
        raise ManifestError(f"{path}: cannot be read ({error})") from error


def write(directory: Path, manifest: Manifest) -> None:
    """Write a bank's manifest. Raises OSError."""
    write_whole(directory / FILE, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
