"""The program's text: that it fits the known signatures of several Lean versions, and where it is kept."""

from pathlib import Path

import pytest

from node.lean.toolchain import judge
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.toolchain.pocket.conftest import elaborate_file

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

OLDER = NAMES + EXCEPTION.format(name="KernelException", other="alreadyDeclared")
OLDER += IMPORT.format(more="(leakEnv : Bool := false)") + "\naxiom Environment."
LEAK = "(plugins : Array String := .empty) (leakEnv : Bool := false)"
EXTENSIONS = f"{LEAK} (loadExts : Bool := false)"
LEVEL = f"{EXTENSIONS} (level : OLeanLevel := .private) (arts : NameMap Unit := mkNameMap Unit)"


def newer(limits: str, imports: str) -> str:
    return NAMES + KERNEL.format(exception=NEWER, limits=limits) + IMPORT.format(more=imports)


VERSIONS = {
    "4.8": f"{OLDER}addDecl (env : Environment) (decl : Declaration) : Except KernelException Environment\n",
    "4.9": f"{OLDER}addDeclCore (env : Environment) (maxHeartbeat : USize) (decl : Declaration)"
    " (cancelTk? : Option Unit) : Except KernelException Environment\n",
    "4.17": newer("(maxHeartbeat : USize)", LEAK),
    "4.20": newer("(maxHeartbeats : USize)", EXTENSIONS),
    "4.34": newer("(maxHeartbeats : USize) (maxRecDepth : USize)", LEVEL),
}
"""What the program needs of Lean's environment in several versions, by Lean's own sources and lean4checker's."""
SAMPLE = ("4.8", "4.34")
"""The first and the last; those in between have some of the changes between these two."""


def messages_of(version: str, changed: tuple[str, str] = ("", ""), chosen: str = "") -> str:
    """What pocket Lean says of the program over what a version has."""
    names = (SOURCES / "Pocket.lean").read_text().partition("/-! ## The environment and the kernel -/")[0]
    program = "\nend Lean\nnoncomputable section\n" + (SOURCES / "Versions.lean").read_text()
    told = elaborate_file(names + VERSIONS[version].replace(*changed) + program + chosen)
    return "\n".join(f"{each.severity}: {each.text}" for each in told)


@pytest.mark.lean
@pytest.mark.parametrize(
    "version", [each if each in SAMPLE else pytest.param(each, marks=pytest.mark.slow) for each in VERSIONS]
)
def test_the_program_fits_the_api_of(version: str) -> None:
    printed = "importLibrary", "declare", "isNotProposition"
    messages = messages_of(version, chosen="".join(f"\n#print Judge.{name}" for name in printed))
    assert "error" not in messages and "sorry" not in messages, messages
    assert ("true" in messages) == (version not in ("4.8", "4.9"))  # it knows the exception by name
    assert ("toKernelEnv" in messages) == (version not in ("4.8", "4.9"))
    assert ("10000" in messages) == (version == "4.34")


@pytest.mark.lean
def test_a_version_that_the_program_does_not_fit_makes_it_fail() -> None:
    assert "error" in messages_of("4.34", ("(decl : Declaration)", "(decl : Declaration) (mode : Bool)"))


def test_the_command_of_a_full_toolchain_imports_leans_own_library(tmp_path: Path) -> None:
    command = ("lake", "env", "lean", "-Ddebug.skipKernelTC=true")
    toolchain = LeanToolchain(command, {"LEAN_PATH": "/library"}, version="4.20.0")
    *start, run, program = judge.command(toolchain, tmp_path / "programs")
    assert (start, run) == (["lake", "env", "lean"], "--run")
    text = Path(program).read_text()
    assert text.startswith("import Lean\n") and "extern" not in text and text.count("\nimport ") == 0
    assert judge.environment(toolchain, [Path("/more")]) == {"LEAN_PATH": "/library:/more", "LEAN_ABORT_ON_PANIC": "1"}
