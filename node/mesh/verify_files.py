"""Which .lean files are meant by files and folders, and the proofs in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from node.lean.text.proof_file import UnreadableFile, WrittenProof, read_proofs


def read(paths: Sequence[Path]) -> Iterator[tuple[Path, list[WrittenProof], str]]:
    """Each file once: its proofs, or why it has none that can be read."""
    seen: set[Path] = set()
    for path in paths:
        files = lean_files(path)
        if not files:
            yield path, [], "no .lean file in this folder"
        for file in files:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file, *_proofs(file)


def lean_files(path: Path) -> list[Path]:
    """A file itself; of a folder the .lean files below it, without hidden folders (`.lake` holds other people's)."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*.lean") if file.is_file())
    return sorted(file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts))


def _proofs(file: Path) -> tuple[list[WrittenProof], str]:
    try:
        return read_proofs(file.read_text(encoding="utf-8")), ""
    except OSError as error:
        return [], str(error.strerror)
    except UnicodeDecodeError as error:
        return [], f"not UTF-8 ({error.reason} at byte {error.start})"
    except UnreadableFile as error:
        return [], str(error)
