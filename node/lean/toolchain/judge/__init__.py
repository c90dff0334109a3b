"""The process that judges declarations: a Lean program, run by the toolchain with only its library imported.

It reads declarations as data (`proofmesh-declarations 1`), gives each one to the kernel, and prints which ones the
kernel accepts and which axioms they use (`proofmesh-verdicts 1`). The program is made of these files:

- `Pocket.lean`, for pocket Lean only: it cannot import Lean's own library, so this declares the types and native
  functions of that library. A full toolchain has the line `import Lean` in its place.
- `Versions.lean`: the few definitions that differ between Lean versions, each with the forms of all versions. Lean
  takes the first form that fits.
- `Judge.lean`: the rest, the same for all.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common.files import cache_directory
from node.lean.toolchain.lean_toolchain import LeanToolchain

ABORT_ON_PANIC = "LEAN_ABORT_ON_PANIC"
"""Lean's variable that ends a process at a panic; else Lean goes on with a wrong value. The program requires it."""

_FOLDER = Path(__file__).parent


def program(toolchain: LeanToolchain) -> str:
    """The program's text for this toolchain."""
    names = (_FOLDER / "Pocket.lean").read_text(encoding="utf-8") if toolchain.kernel else "import Lean\n"
    return names + "".join((_FOLDER / part).read_text(encoding="utf-8") for part in ("Versions.lean", "Judge.lean"))


def command(toolchain: LeanToolchain, folder: Path | None = None) -> list[str]:
    """Command line that judges documents of declarations. Run it with `environment`. Raises OSError.

    `folder`: where the program's file is kept; the cache folder if it is None. No process that runs a user's code may
    write there.
    """
    file = _written(program(toolchain), folder or cache_directory())
    # A project's options are for its own files. Lean refuses those that only the project's modules define.
    lean = [argument for argument in toolchain.command if not argument.startswith("-D")]
    return [*lean, "--run", str(file)]


def environment(toolchain: LeanToolchain, folders: Sequence[Path] = ()) -> dict[str, str]:
    """All variables of the process. `folders`: more folders with modules that the declarations import."""
    return toolchain.with_modules(folders) | {ABORT_ON_PANIC: "1"}


def _written(text: str, folder: Path) -> Path:
    """The file with this text. It is written if it is absent or different, and renamed into place as a whole."""
    encoded = text.encode()
    file = folder.absolute() / f"judge-{hashlib.blake2b(encoded, digest_size=8).hexdigest()}.lean"
    if file.is_file() and file.read_bytes() == encoded:
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(encoded)
        Path(temporary).chmod(0o644)  # mkstemp makes private files
        Path(temporary).replace(file)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return file
