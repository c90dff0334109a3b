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


class Manifest(msgspec.Struct, frozen=True):
    """What a bank says of itself. A bank without the file has an empty one."""

    commands: dict[str, str] = {}
    """What makes the bank anew: a command for each source."""
    warm_start: WarmStartRule | None = None
    """None: all transitions belong to the warm start."""


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
