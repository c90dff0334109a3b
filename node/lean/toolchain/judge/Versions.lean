/-!
What differs between the Lean versions that the judge runs on. Each definition lists the forms of newer versions first; Lean takes the first
one that has the right type. If none has, the program does not compile, and nothing is accepted.
-/
set_option autoImplicit false
set_option linter.all false
set_option linter.deprecated false

namespace Judge
open Lean

/-- Lean 4.17 separated the kernel's environment from the elaborator's (lean4#5145). -/
abbrev KernelEnvironment : Type := by
  first
    | exact Lean.Kernel.Environment
    | exact Lean.Environment
abbrev KernelException : Type := by
  first
    | exact Lean.Kernel.Exception
    | exact Lean.KernelException

/-- The environment with these modules alone. Since 4.20, extensions can be left out (`loadExts`, lean4#6325), and then no initializer runs. -/
def importLibrary (modules : Array Import) : IO KernelEnvironment := by
  first
    | exact (do return (← importModules modules {} 0 (loadExts := false)).toKernelEnv)
    | exact (do return (← importModules modules {} 0).toKernelEnv)
    | exact importModules modules {} 0
/-- The kernel checks a declaration and adds it, without a limit on steps. Since about 4.34 it also takes a limit on the depth of recursion, of
which it allows 16 times as much. No form looks at options, so `debug.skipKernelTC` means nothing here. -/
def declare (env : KernelEnvironment) (declaration : Declaration) : Except KernelException KernelEnvironment := by
  first
    | exact Lean.Kernel.Environment.addDeclCore env (.ofNat 0) (.ofNat 10000) declaration none
    | exact Lean.Kernel.Environment.addDeclCore env (.ofNat 0) declaration none
    | exact Lean.Environment.addDeclCore env (.ofNat 0) declaration none
    | exact Lean.Environment.addDecl env declaration none
    | exact Lean.Environment.addDecl env declaration
def isNotProposition (problem : KernelException) : Bool := by
  first
    | exact (match problem with | .thmTypeIsNotProp .. => true | _ => false)
    | exact false
end Judge
