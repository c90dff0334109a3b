"""The program's text: that it fits the known signatures of several Lean versions, and where it is kept."""

import subprocess
from pathlib import Path

import pytest

from node.lean.toolchain import judge
from node.lean.toolchain.lean_toolchain import LeanToolchain

SOURCES = Path(judge.__file__).parent

NAMES = """
structure Import where
  module : Name
  runtimeOnly : Bool := false
opaque Options : Type := PUnit
axiom emptyOptions : Options
noncomputable instance : EmptyCollection Options := ⟨emptyOptions⟩
inductive OLeanLevel where | exported | server | «private»
opaque LocalContext : Type := PUnit
axiom Environment : Type
"""
EXCEPTION = """
inductive {name} where
  | unknownConstant (env : Environment) (name : Name)
  | {other} (env : Environment) (name : Name)
"""
KERNEL = """
namespace Kernel
axiom Environment : Type
{exception}
axiom Environment.addDeclCore (env : Environment) {limits} (decl : Declaration) (cancelTk? : Option Unit) :
  Except Exception Environment
end Kernel
axiom Environment.toKernelEnv (env : Environment) : Kernel.Environment
"""
IMPORT = (
    "axiom importModules (imports : Array Import) (opts : Options) (trustLevel : UInt32 := .ofNat 0) {more} :"
    " IO Environment"
)
NEWER = EXCEPTION.format(name="Exception", other="thmTypeIsNotProp")

VERSIONS = {
    "4.8": NAMES
    + EXCEPTION.format(name="KernelException", other="alreadyDeclared")
    + IMPORT.format(more="(leakEnv : Bool := false)")
    + "\naxiom Environment.addDecl (env : Environment) (decl : Declaration) : Except KernelException Environment\n",
    "4.9": NAMES
    + EXCEPTION.format(name="KernelException", other="alreadyDeclared")
    + IMPORT.format(more="(leakEnv : Bool := false)")
    + "\naxiom Environment.addDeclCore (env : Environment) (maxHeartbeat : USize) (decl : Declaration)"
    " (cancelTk? : Option Unit) : Except KernelException Environment\n",
    "4.17": NAMES
    + KERNEL.format(exception=NEWER, limits="(maxHeartbeat : USize)")
    + IMPORT.format(more="(plugins : Array String := .empty) (leakEnv : Bool := false)"),
    "4.20": NAMES
    + KERNEL.format(exception=NEWER, limits="(maxHeartbeats : USize)")
    + IMPORT.format(more="(plugins : Array String := .empty) (leakEnv : Bool := false) (loadExts : Bool := false)"),
    "4.34": NAMES
    + KERNEL.format(exception=NEWER, limits="(maxHeartbeats : USize) (maxRecDepth : USize)")
    + IMPORT.format(
        more="(plugins : Array String := .empty) (leakEnv : Bool := false) (loadExts : Bool := false)"
        " (level : OLeanLevel := .private) (arts : NameMap Unit := mkNameMap Unit)"
    ),
}
"""What the program needs of Lean's environment in several versions, by Lean's own sources and lean4checker's."""
SAMPLE = ("4.8", "4.34")
"""The first and the last; those in between have some of the changes between these two."""


def elaborate(text: str, folder: Path) -> str:
    """The messages of pocket Lean about a file."""
    toolchain = LeanToolchain.pocket()
    file = folder / "Shape.lean"
    file.write_text(text)
    command = [*toolchain.command, str(file)]
    finished = subprocess.run(command, env=dict(toolchain.environment), capture_output=True, text=True, timeout=120)
    return finished.stdout + finished.stderr


@pytest.mark.lean
@pytest.mark.parametrize(
    "version", [each if each in SAMPLE else pytest.param(each, marks=pytest.mark.slow) for each in VERSIONS]
)
def test_the_program_fits_the_api_of(version: str, tmp_path: Path) -> None:
    names = (SOURCES / "Pocket.lean").read_text().partition("/-! ## The environment and the kernel -/")[0]
    text = names + VERSIONS[version] + "\nend Lean\nnoncomputable section\n" + (SOURCES / "Versions.lean").read_text()
    chosen = "\n#print Judge.importLibrary\n#print Judge.declare\n#print Judge.isNotProposition\n"
    messages = elaborate(text + chosen, tmp_path)
    assert "error" not in messages and "sorry" not in messages, messages
    assert ("true" in messages) == (version not in ("4.8", "4.9"))  # it knows the exception by name
    assert ("toKernelEnv" in messages) == (version not in ("4.8", "4.9"))
    assert ("10000" in messages) == (version == "4.34")


@pytest.mark.lean
def test_a_version_that_the_program_does_not_fit_makes_it_fail(tmp_path: Path) -> None:
    names = (SOURCES / "Pocket.lean").read_text().partition("/-! ## The environment and the kernel -/")[0]
    other = VERSIONS["4.34"].replace("(decl : Declaration)", "(decl : Declaration) (mode : Bool)")
    assert "error" in elaborate(
        names + other + "\nend Lean\nnoncomputable section\n" + (SOURCES / "Versions.lean").read_text(), tmp_path
    )


def test_the_command_of_a_full_toolchain_imports_leans_own_library(tmp_path: Path) -> None:
    toolchain = LeanToolchain(
        ("lake", "env", "lean", "-Ddebug.skipKernelTC=true"), {"LEAN_PATH": "/library"}, version="4.20.0"
    )
    *start, run, program = judge.command(toolchain, tmp_path / "programs")
    assert (start, run) == (["lake", "env", "lean"], "--run")
    text = Path(program).read_text()
    assert text.startswith("import Lean\n") and "extern" not in text and text.count("\nimport ") == 0
    assert judge.environment(toolchain, [Path("/more")]) == {"LEAN_PATH": "/library:/more", "LEAN_ABORT_ON_PANIC": "1"}
