"""`bank.json`, what a bank says of itself: what makes it anew, and which of its transitions a warm start may see."""

from __future__ import annotations

from pathlib import Path

import msgspec

from common.files import write_whole

FILE = "bank.json"


class ManifestError(ValueError):
    """The file cannot be read; the message says where and why."""


class WarmStartRule(msgspec.Struct, frozen=True):
    """Which transitions belong to the warm start: those of some levels, without some of the vocabulary."""

    levels: tuple[int, ...]
    held_out: tuple[str, ...] = ()
    """Transitions with one of these texts in their tactic are left out."""

    def takes(self, level: int, tactic: str) -> bool:
        """Whether a transition of this level with this tactic belongs to the warm start."""
        return level in self.levels and not any(text in tactic for text in self.held_out)


class SourceRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where statements of a bank are from, and under which Lean they elaborate."""

    origin: str
    """The file, the folder or the id on the Hugging Face hub."""
    revision: str = ""
    """Of the hub's copy: its commit."""
    licence: str = ""
    """As the data set states it; empty where nobody knows."""
    homepage: str = ""
    paper: str = ""
    digest: str = ""
    """Names the statements that were read of it."""
    rows: int = 0
    statements: int = 0
    """Of the rows: those that were read, whether they elaborate or not."""
    lean: str = ""
    """Version of the Lean under which the bank's statements elaborate; empty: it was not tried."""
    library: dict[str, str] = {}
    """Commits of the packages that this Lean found, and of its project (`node.bank.library`)."""


class Manifest(msgspec.Struct, frozen=True):
    """What a bank says of itself. A bank without the file has an empty one."""

    commands: dict[str, str] = {}
    """What makes the bank anew: a command for each source."""
    warm_start: WarmStartRule | None = None
    """None: all transitions belong to the warm start."""
    sources: dict[str, SourceRecord] = {}
    """By the name that statements have as their source."""
    digest: str = ""
    """`node.bank.bank.digest` of the bank as it was written; empty: nobody noted it."""


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
    """Raises OSError."""
    write_whole(directory / FILE, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
