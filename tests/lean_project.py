"""A Lean installation, a `lake` and a Lake project in a folder, as small as they can be.

Lean is genuine (pocket Lean's, behind a script that stands where an installation has `bin/lean`); `lake` is a script
that answers `lake env`, `setup-file` and `translate-config` in the words of the real one. No elan or Lake is on the
machines that the tests run on.
"""

import hashlib
import os
import shlex
import subprocess
from pathlib import Path

from filelock import FileLock

from common.files import cache_directory
from node.lean.toolchain import judge
from node.lean.toolchain.pocket import build as pocket

NAME = "leanprover/lean4:v4.35.0"
"""What elan calls pocket Lean's version."""

SETUP, ASKED, TRANSLATED = "setup.json", "asked", "translated.toml"
"""What the `lake` here answers with, and what it was asked."""

BASIC = """def Demo.double (n : Nat) : Nat := n + n

theorem Demo.double_zero : Demo.double 0 = 0 := rfl
"""


def program(path: Path, text: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def make_toolchain(folder: Path) -> Path:
    """A Lean installation: bin/lean, lib/lean. Returns its folder."""
    environment = pocket.environment()
    library = environment.pop("LEAN_PATH")
    search_path = f"{library}:{lean_module()}"
    given = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
    program(
        folder / "bin" / "lean",
        f'case " $* " in *" --print-prefix "*) echo {shlex.quote(str(folder))}; exit 0;; esac\n'
        # As a real one, it finds its own library behind LEAN_PATH.
        f'exec env {given} LEAN_PATH="${{LEAN_PATH:+$LEAN_PATH:}}{search_path}" {shlex.join(pocket.command())} "$@"',
    )
    (folder / "lib").mkdir()
    (folder / "lib" / "lean").symlink_to(library)
    return folder


def lean_module() -> Path:
    """A folder with a module `Lean` for programs that `import Lean`: what the judge uses of it. Compiled once."""
    source = Path(judge.__file__).parent / "Pocket.lean"
    text = source.read_bytes() + pocket.environment()["LEAN_PATH"].encode()
    folder = cache_directory() / f"tests-lean-{hashlib.blake2b(text, digest_size=8).hexdigest()}"
    with FileLock(f"{folder}.lock"):
        if not (folder / "Lean.olean").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            command = [*pocket.command(), f"--root={source.parent}", "-o", str(folder / "new"), str(source)]
            subprocess.run(command, check=True, env=pocket.environment())
            (folder / "new").rename(folder / "Lean.olean")
    return folder


def make_elan(home: Path, name: str = NAME) -> Path:
    """$ELAN_HOME with one toolchain, and with `elan` and `lake` in bin. Returns the toolchain's folder."""
    toolchain = make_toolchain(home / "toolchains" / name.replace("/", "--").replace(":", "---"))
    program(home / "bin" / "elan", f'[ "$1 $3 $4" = "run lean --print-prefix" ] && echo {shlex.quote(str(toolchain))}')
    make_lake(home / "bin" / "lake", toolchain)
    return toolchain


def make_lake(path: Path, toolchain: Path) -> Path:
    """A `lake` that prints the environment of the project in which it is called.

    In a project with a file SETUP it prints that as its answer to `setup-file FILE HEADER --no-build`, and its words in
    the file ASKED; in one with TRANSLATED that is what lakefile.lean becomes. Elsewhere it is one of the old ones.
    """
    sysroot = shlex.quote(str(toolchain))
    return program(
        path,
        f'if [ "$1" = setup-file ] && [ -f {SETUP} ]; then echo "$@" > {ASKED}; exec cat {SETUP}; fi\n'
        f'if [ "$1 $2" = "translate-config toml" ] && [ -f {TRANSLATED} ]; then exec cp {TRANSLATED} "$3"; fi\n'
        '[ "$1" = env ] || { echo "error: unknown command \'$1\'" >&2; exit 1; }\n'
        'if grep -qs broken lakefile.toml; then echo "error: lakefile.toml: unexpected identifier" >&2; exit 1; fi\n'
        f"echo LAKE={shlex.quote(str(path))}; echo LEAN={sysroot}/bin/lean; echo LEAN_SYSROOT={sysroot}\n"
        'echo "LEAN_PATH=./.lake/build/lib/lean"; echo "LEAN_SRC_PATH=./."; echo "PATH=$PATH"',
    )


def make_project(folder: Path, toolchain: Path, *, wants: str = NAME, built: bool = True) -> Path:
    """A Lake project with one module, Demo.Basic. Returns its folder."""
    (folder / "Demo").mkdir(parents=True)
    (folder / "lakefile.toml").write_text('name = "demo"\n\n[[lean_lib]]\nname = "Demo"\n')
    (folder / "lean-toolchain").write_text(f"{wants}\n")
    (folder / "Demo" / "Basic.lean").write_text(BASIC)
    if built:
        compile_module(toolchain, folder / "Demo" / "Basic.lean", folder / ".lake/build/lib/lean/Demo/Basic.olean")
    return folder


def compile_module(toolchain: Path, source: Path, target: Path) -> None:
    """Compile one file."""
    target.parent.mkdir(parents=True)
    subprocess.run([toolchain / "bin" / "lean", "-o", target, source], check=True, cwd=source.parent.parent)


def environ(home: Path, *first: Path) -> dict[str, str]:
    """Our environment, with this $ELAN_HOME, and these folders first on PATH."""
    return {**os.environ, "ELAN_HOME": str(home), "PATH": os.pathsep.join([*map(str, first), os.environ["PATH"]])}
