import Lean
/-!
What differs between the Lean versions that the judge runs on. Each definition lists the forms of newer versions first; Lean takes the first
one that has the right type. If none has, the program does not compile, and nothing is accepted.
-/
set_option autoImplicit false
set_option linter.all false
set_option linter.deprecated false

namespace Judge
open Lean

/-- Lean 4.17 separated the kernel's environment from the elaborator's. -/
abbrev KernelEnvironment : Type := by
  first
    | exact Lean.Kernel.Environment
    | exact Lean.Environment
abbrev KernelException : Type := by
  first
    | exact Lean.Kernel.Exception
    | exact Lean.KernelException

/-- The environment with these modules alone. Where the version can leave out extensions (`loadExts`), no initializer runs. -/
def importLibrary (modules : Array Import) : IO KernelEnvironment := by
  first
    | exact (do return (← importModules modules {} 0 (loadExts := false)).toKernelEnv)
    | exact (do return (← importModules modules {} 0).toKernelEnv)
    | exact importModules modules {} 0
/-- The kernel checks a declaration and adds it, without a limit on steps. Lean 4.34 has a limit on the depth of recursion as well. -/
def declare (env : KernelEnvironment) (declaration : Declaration) : Except KernelException KernelEnvironment := by
  first
    | exact Lean.Kernel.Environment.addDeclCore env 0 10000 declaration none
    | exact Lean.Kernel.Environment.addDeclCore env 0 declaration none
    | exact Lean.Environment.addDeclCore env 0 declaration none
def isNotProposition (problem : KernelException) : Bool := by
  first
    | exact (match problem with | .thmTypeIsNotProp .. => true | _ => false)
    | exact false
end Judge
