/-!
What pocket Lean lacks, under the names that Lean's own library has: the types and native functions that the judge uses.

Pocket Lean finds a native function by the mangled form of the Lean name, or by the name in `export`. So each declaration here needs the
name, the order of the arguments and the constructors of Lean 4.35.
-/
set_option autoImplicit false
set_option linter.all false

noncomputable instance (priority := low) {α : Type} [h : Nonempty α] : Inhabited α := ⟨Classical.choice h⟩

/-! ## IO: a function of the state of the world, which compiled code leaves out -/

opaque Void.nonemptyType (σ : Type) : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def Void (σ : Type) : Type := (Void.nonemptyType σ).type
instance {σ : Type} : Nonempty (Void σ) := (Void.nonemptyType σ).property
inductive EST.Out (ε σ α : Type) : Type where
  | ok : α → Void σ → EST.Out ε σ α
  | error : ε → Void σ → EST.Out ε σ α
def EST (ε σ α : Type) := Void σ → EST.Out ε σ α
structure ST.Out (σ α : Type) where
  val : α
  state : Void σ
def ST (σ α : Type) := Void σ → ST.Out σ α
instance {ε σ : Type} : Monad (EST ε σ) where
  pure a := fun w => .ok a w
  bind x f := fun w => match x w with
    | .ok a w => f a w
    | .error e w => .error e w
instance {ε σ : Type} : MonadExceptOf ε (EST ε σ) where
  throw e := fun w => .error e w
  tryCatch x f := fun w => match x w with
    | .ok a w => .ok a w
    | .error e w => f e w
instance {ε σ α : Type} [h : Nonempty ε] : Nonempty (EST ε σ α) := h.elim fun e => ⟨fun w => .error e w⟩
opaque IO.RealWorld.nonemptyType : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def IO.RealWorld : Type := IO.RealWorld.nonemptyType.type
opaque IO.Error.nonemptyType : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def IO.Error : Type := IO.Error.nonemptyType.type
instance : Nonempty IO.Error := IO.Error.nonemptyType.property
abbrev EIO (ε α : Type) := EST ε IO.RealWorld α
abbrev BaseIO (α : Type) := ST IO.RealWorld α
abbrev IO (α : Type) := EIO IO.Error α
instance {σ : Type} {α : Type} [h : Nonempty α] : Nonempty (ST σ α) := h.elim fun a => ⟨fun w => ⟨a, w⟩⟩
instance {ε σ : Type} : MonadLift (ST σ) (EST ε σ) := ⟨fun x w => match x w with | ⟨a, w⟩ => .ok a w⟩

instance : Nonempty ByteArray := ⟨ByteArray.empty⟩
structure IO.FS.Stream where
  flush : IO Unit
  read : USize → IO ByteArray
  write : ByteArray → IO Unit
  getLine : IO String
  putStr : String → IO Unit
  isTty : BaseIO Bool
instance : Nonempty IO.FS.Stream :=
  ⟨⟨default, default, default, default, default, fun w => ⟨false, w⟩⟩⟩
@[extern "x"] opaque IO.getStdin : BaseIO IO.FS.Stream
@[extern "x"] opaque IO.getStdout : BaseIO IO.FS.Stream
@[extern "x"] opaque IO.getStderr : BaseIO IO.FS.Stream
@[extern "x"] opaque IO.getEnv (name : @& String) : BaseIO (Option String)
@[extern "x"] opaque IO.Process.exit {α : Type} (code : UInt8) : IO α
@[extern "x"] opaque IO.Error.toString (e : IO.Error) : String

@[extern "x"] opaque ByteArray.get! (a : @& ByteArray) (i : @& Nat) : UInt8
@[extern "x"] opaque ByteArray.extract (a : @& ByteArray) (start stop : @& Nat) : ByteArray
@[extern "x"] opaque String.toUTF8 (s : @& String) : ByteArray
@[extern "x"] opaque String.fromUTF8? (a : ByteArray) : Option String
@[extern "x"] unsafe opaque ptrAddrUnsafe {α : Type} (a : @& α) : USize

/-! ## Terms and declarations -/

namespace Lean
opaque Level.nonemptyType : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def Level : Type := Level.nonemptyType.type
instance : Nonempty Level := Level.nonemptyType.property
opaque Expr.nonemptyType : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def Expr : Type := Expr.nonemptyType.type
instance : Nonempty Expr := Expr.nonemptyType.property
inductive BinderInfo where
  | default | implicit | strictImplicit | instImplicit
@[extern "x"] opaque levelZero : Level
@[extern "x"] opaque mkLevelSucc (a : Level) : Level
@[extern "x"] opaque mkLevelMax (a b : Level) : Level
@[extern "x"] opaque mkLevelIMax (a b : Level) : Level
@[extern "x"] opaque mkLevelParam (name : Name) : Level
@[extern "x"] opaque mkBVar (index : Nat) : Expr
@[extern "x"] opaque mkSort (level : Level) : Expr
@[extern "x"] opaque mkConst (name : Name) (levels : List Level) : Expr
@[extern "x"] opaque mkApp (f x : Expr) : Expr
@[extern "x"] opaque mkLambda (name : Name) (info : BinderInfo) (type body : Expr) : Expr
@[extern "x"] opaque mkForall (name : Name) (info : BinderInfo) (type body : Expr) : Expr
@[extern "x"] opaque mkLet (name : Name) (type value body : Expr) (nondep : Bool := false) : Expr
@[extern "x"] opaque mkRawNatLit (n : Nat) : Expr
@[extern "x"] opaque mkStrLit (s : String) : Expr
@[extern "x"] opaque mkProj (structName : Name) (index : Nat) (struct : Expr) : Expr
@[extern "x"] opaque Expr.eqv (a b : @& Expr) : Bool
instance : BEq Expr := ⟨Expr.eqv⟩
@[extern "x"] opaque Expr.hasLooseBVars (e : Expr) : Bool
@[extern "x"] opaque Expr.getUsedConstants (e : Expr) : Array Name
instance : Inhabited Level := ⟨levelZero⟩
instance : Inhabited Expr := ⟨mkBVar 0⟩

structure ConstantVal where
  name : Name
  levelParams : List Name
  type : Expr
structure AxiomVal extends ConstantVal where
  isUnsafe : Bool
inductive ReducibilityHints where
  | opaque : ReducibilityHints
  | abbrev : ReducibilityHints
  | regular : UInt32 → ReducibilityHints
inductive DefinitionSafety where
  | «unsafe» | safe | «partial»
structure DefinitionVal extends ConstantVal where
  value : Expr
  hints : ReducibilityHints
  safety : DefinitionSafety
  all : List Name := [name]
structure TheoremVal extends ConstantVal where
  value : Expr
  all : List Name := [name]
structure OpaqueVal extends ConstantVal where
  value : Expr
  isUnsafe : Bool
  all : List Name := [name]
structure Constructor where
  name : Name
  type : Expr
structure InductiveType where
  name : Name
  type : Expr
  ctors : List Constructor
inductive Declaration where
  | axiomDecl (val : AxiomVal)
  | defnDecl (val : DefinitionVal)
  | thmDecl (val : TheoremVal)
  | opaqueDecl (val : OpaqueVal)
  | quotDecl
  | mutualDefnDecl (defns : List DefinitionVal)
  | inductDecl (lparams : List Name) (nparams : Nat) (types : List InductiveType) (isUnsafe : Bool)
inductive QuotKind where
  | type | ctor | lift | ind
structure QuotVal extends ConstantVal where
  kind : QuotKind
structure InductiveVal extends ConstantVal where
  numParams : Nat
  numIndices : Nat
  all : List Name
  ctors : List Name
  numNested : Nat
  isRec : Bool
  isUnsafe : Bool
  isReflexive : Bool
structure ConstructorVal extends ConstantVal where
  induct : Name
  cidx : Nat
  numParams : Nat
  numFields : Nat
  isUnsafe : Bool
structure RecursorRule where
  ctor : Name
  nfields : Nat
  rhs : Expr
structure RecursorVal extends ConstantVal where
  all : List Name
  numParams : Nat
  numIndices : Nat
  numMotives : Nat
  numMinors : Nat
  rules : List RecursorRule
  k : Bool
  isUnsafe : Bool
inductive ConstantInfo where
  | axiomInfo (val : AxiomVal)
  | defnInfo (val : DefinitionVal)
  | thmInfo (val : TheoremVal)
  | opaqueInfo (val : OpaqueVal)
  | quotInfo (val : QuotVal)
  | inductInfo (val : InductiveVal)
  | ctorInfo (val : ConstructorVal)
  | recInfo (val : RecursorVal)

opaque NameMap.nonemptyType (α : Type) : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def NameMap (α : Type) : Type := (NameMap.nonemptyType α).type
instance {α : Type} : Nonempty (NameMap α) := (NameMap.nonemptyType α).property
@[extern "x"] opaque mkNameMap (α : Type) : NameMap α
@[extern "x"] opaque NameMap.insert {α : Type} (m : NameMap α) (name : Name) (a : α) : NameMap α
@[extern "x"] opaque NameMap.find? {α : Type} (m : NameMap α) (name : Name) : Option α

/-! ## The environment and the kernel -/

structure Import where
  module : Name
  importAll : Bool := false
  isExported : Bool := true
  isMeta : Bool := false
opaque Options.nonemptyType : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def Options : Type := Options.nonemptyType.type
instance : Nonempty Options := Options.nonemptyType.property
@[extern "x"] opaque Options.empty : Options
instance : EmptyCollection Options := ⟨Options.empty⟩
inductive OLeanLevel where
  | exported | server | «private»
opaque LocalContext.nonemptyType : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def LocalContext : Type := LocalContext.nonemptyType.type
opaque Environment.nonemptyType : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def Environment : Type := Environment.nonemptyType.type
instance : Nonempty Environment := Environment.nonemptyType.property
@[extern "x"] opaque importModules (imports : Array Import) (opts : Options) (trustLevel : UInt32 := 0) (plugins : Array String := Array.empty)
    (leakEnv : Bool := false) (loadExts : Bool := false) (level : OLeanLevel := .private) (arts : NameMap Unit := mkNameMap Unit) : IO Environment
namespace Kernel
opaque Environment.nonemptyType : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def Environment : Type := Environment.nonemptyType.type
instance : Nonempty Environment := Environment.nonemptyType.property
inductive Exception where
  | unknownConstant (env : Environment) (name : Name)
  | alreadyDeclared (env : Environment) (name : Name)
  | declTypeMismatch (env : Environment) (decl : Declaration) (givenType : Expr)
  | declHasMVars (env : Environment) (name : Name) (expr : Expr)
  | declHasFVars (env : Environment) (name : Name) (expr : Expr)
  | funExpected (env : Environment) (lctx : LocalContext) (expr : Expr)
  | typeExpected (env : Environment) (lctx : LocalContext) (expr : Expr)
  | letTypeMismatch (env : Environment) (lctx : LocalContext) (name : Name) (givenType : Expr) (expectedType : Expr)
  | exprTypeMismatch (env : Environment) (lctx : LocalContext) (expr : Expr) (expectedType : Expr)
  | appTypeMismatch (env : Environment) (lctx : LocalContext) (app : Expr) (funType : Expr) (argType : Expr)
  | invalidProj (env : Environment) (lctx : LocalContext) (proj : Expr)
  | thmTypeIsNotProp (env : Environment) (name : Name) (type : Expr)
  | other (msg : String)
  | deterministicTimeout
  | excessiveMemory
  | deepRecursion
  | interrupted
instance : Nonempty Exception := ⟨.interrupted⟩
instance {ε α : Type} [h : Nonempty ε] : Nonempty (Except ε α) := h.elim fun e => ⟨.error e⟩
@[export lean_environment_find, extern "x"] opaque Environment.find? (env : Environment) (name : Name) : Option ConstantInfo
@[extern "x"] opaque Environment.addDeclCore (env : Environment) (maxHeartbeats maxRecDepth : USize) (decl : @& Declaration)
    (cancelTk? : @& Option Unit) : Except Exception Environment
end Kernel
@[export lean_elab_environment_to_kernel_env, extern "x"] opaque Environment.toKernelEnv (env : Environment) : Kernel.Environment
end Lean
