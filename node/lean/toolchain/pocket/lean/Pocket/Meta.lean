module
prelude
public import Pocket.Control
@[expose] public section
/-!
Names, syntax trees, parser descriptions, and the monad in which macros run: what user notation and macros compute with. The types are
those of Lean's core, field by field, because native code makes and takes their values. Functions marked `extern "x"` are opaque to
proofs, and run as the native function of the same name.
-/
set_option autoImplicit false
universe u v

namespace Lean

/-! ## Names -/

inductive Name where
  | anonymous : Name
  | str (pre : Name) (str : String)
  | num (pre : Name) (i : Nat)
with
  /-- Kept in every name, so that native tables find it fast. -/
  @[computed_field] hash : Name → UInt64
    | .anonymous => .ofNatLT 1723 (Nat.le_of_ble_eq_true rfl)
    | .str p s => mixHash p.hash s.hash
    | .num p v => mixHash p.hash (dite (LT.lt v UInt64.size) (fun h => UInt64.ofNatLT v h) fun _ => UInt64.ofNatLT 17 (Nat.le_of_ble_eq_true rfl))
instance instInhabitedName : Inhabited Name := ⟨Name.anonymous⟩
instance instHashableName : Hashable Name := ⟨Name.hash⟩
namespace Name
abbrev mkStr (p : Name) (s : String) : Name := Name.str p s
abbrev mkNum (p : Name) (v : Nat) : Name := Name.num p v
abbrev mkSimple (s : String) : Name := .str .anonymous s
@[reducible] def mkStr1 (s₁ : String) : Name := .str .anonymous s₁
@[reducible] def mkStr2 (s₁ s₂ : String) : Name := .str (mkStr1 s₁) s₂
@[reducible] def mkStr3 (s₁ s₂ s₃ : String) : Name := .str (mkStr2 s₁ s₂) s₃
@[reducible] def mkStr4 (s₁ s₂ s₃ s₄ : String) : Name := .str (mkStr3 s₁ s₂ s₃) s₄
@[reducible] def mkStr5 (s₁ s₂ s₃ s₄ s₅ : String) : Name := .str (mkStr4 s₁ s₂ s₃ s₄) s₅
@[reducible] def mkStr6 (s₁ s₂ s₃ s₄ s₅ s₆ : String) : Name := .str (mkStr5 s₁ s₂ s₃ s₄ s₅) s₆
@[reducible] def mkStr7 (s₁ s₂ s₃ s₄ s₅ s₆ s₇ : String) : Name := .str (mkStr6 s₁ s₂ s₃ s₄ s₅ s₆) s₇
@[reducible] def mkStr8 (s₁ s₂ s₃ s₄ s₅ s₆ s₇ s₈ : String) : Name := .str (mkStr7 s₁ s₂ s₃ s₄ s₅ s₆ s₇) s₈
@[extern "lean_name_eq"] protected def beq : (@& Name) → (@& Name) → Bool
  | anonymous, anonymous => true
  | str p₁ s₁, str p₂ s₂ => and (BEq.beq s₁ s₂) (Name.beq p₁ p₂)
  | num p₁ n₁, num p₂ n₂ => and (BEq.beq n₁ n₂) (Name.beq p₁ p₂)
  | _, _ => false
instance instBEq : BEq Name := ⟨Name.beq⟩
@[extern "x"] opaque appendCore (n m : Name) : Name
@[extern "x"] opaque append (a b : Name) : Name
@[extern "x"] opaque hasMacroScopes (n : Name) : Bool
@[extern "x"] opaque eraseMacroScopes (n : Name) : Name
@[extern "x"] opaque simpMacroScopes (n : Name) : Name
end Name
instance instAppendName : Append Name := ⟨Name.append⟩

/-! ## Syntax trees -/

inductive SourceInfo where
  | original (leading : Substring.Raw) (pos : String.Pos.Raw) (trailing : Substring.Raw) (endPos : String.Pos.Raw)
  | synthetic (pos : String.Pos.Raw) (endPos : String.Pos.Raw) (canonical : Bool := false)
  | protected none
instance instInhabitedSourceInfo : Inhabited SourceInfo := ⟨SourceInfo.none⟩
@[extern "x"] opaque SourceInfo.getPos? (info : SourceInfo) (canonicalOnly : Bool := false) : Option String.Pos.Raw
@[extern "x"] opaque SourceInfo.getTailPos? (info : SourceInfo) (canonicalOnly : Bool := false) : Option String.Pos.Raw

abbrev SyntaxNodeKind := Name
inductive Syntax.Preresolved where
  | namespace (ns : Name)
  | decl (n : Name) (fields : List String)
instance Syntax.instInhabitedPreresolved : Inhabited Syntax.Preresolved := ⟨.namespace .anonymous⟩
inductive Syntax where
  | missing : Syntax
  | node (info : SourceInfo) (kind : SyntaxNodeKind) (args : Array Syntax) : Syntax
  | atom (info : SourceInfo) (val : String) : Syntax
  | ident (info : SourceInfo) (rawVal : Substring.Raw) (val : Name) (preresolved : List Syntax.Preresolved) : Syntax
instance instInhabitedSyntax : Inhabited Syntax := ⟨Syntax.missing⟩
@[implicit_reducible] def SyntaxNodeKinds := List SyntaxNodeKind
structure TSyntax (ks : SyntaxNodeKinds) where
  raw : Syntax
instance instInhabitedTSyntax {ks : SyntaxNodeKinds} : Inhabited (TSyntax ks) := ⟨⟨default⟩⟩
abbrev TSyntaxArray (ks : SyntaxNodeKinds) := Array (TSyntax ks)
unsafe def TSyntaxArray.rawImpl {ks : SyntaxNodeKinds} : TSyntaxArray ks → Array Syntax := unsafeCast
@[implemented_by TSyntaxArray.rawImpl] opaque TSyntaxArray.raw {ks : SyntaxNodeKinds} (as : TSyntaxArray ks) : Array Syntax
unsafe def TSyntaxArray.mkImpl {ks : SyntaxNodeKinds} : Array Syntax → TSyntaxArray ks := unsafeCast
@[implemented_by TSyntaxArray.mkImpl] opaque TSyntaxArray.mk {ks : SyntaxNodeKinds} (as : Array Syntax) : TSyntaxArray ks

end Lean
/-! What quotations compile to. -/
namespace Array
variable {α : Type u}
@[extern "lean_mk_empty_array_with_capacity"] def mkEmpty {α : Type u} (_capacity : @& Nat) : Array α := ⟨List.nil⟩
def mkArray0 : Array α := emptyWithCapacity 0
def mkArray1 (a₁ : α) : Array α := mkArray0.push a₁
def mkArray2 (a₁ a₂ : α) : Array α := (mkArray1 a₁).push a₂
def mkArray3 (a₁ a₂ a₃ : α) : Array α := (mkArray2 a₁ a₂).push a₃
def mkArray4 (a₁ a₂ a₃ a₄ : α) : Array α := (mkArray3 a₁ a₂ a₃).push a₄
def mkArray5 (a₁ a₂ a₃ a₄ a₅ : α) : Array α := (mkArray4 a₁ a₂ a₃ a₄).push a₅
def mkArray6 (a₁ a₂ a₃ a₄ a₅ a₆ : α) : Array α := (mkArray5 a₁ a₂ a₃ a₄ a₅).push a₆
def mkArray7 (a₁ a₂ a₃ a₄ a₅ a₆ a₇ : α) : Array α := (mkArray6 a₁ a₂ a₃ a₄ a₅ a₆).push a₇
def mkArray8 (a₁ a₂ a₃ a₄ a₅ a₆ a₇ a₈ : α) : Array α := (mkArray7 a₁ a₂ a₃ a₄ a₅ a₆ a₇).push a₈
/-- All elements of one array behind those of another. -/
protected def appendCore (as bs : Array α) : Array α := bs.toList.foldl push as
/-- Elements from position `start` on, before position `stop`. -/
@[extern "x"] opaque extract (as : Array α) (start : Nat := 0) (stop : Nat := as.size) : Array α
end Array
namespace Lean
namespace Syntax
def node1 (info : SourceInfo) (kind : SyntaxNodeKind) (a₁ : Syntax) : Syntax := node info kind (Array.mkArray1 a₁)
def node2 (info : SourceInfo) (kind : SyntaxNodeKind) (a₁ a₂ : Syntax) : Syntax := node info kind (Array.mkArray2 a₁ a₂)
def node3 (info : SourceInfo) (kind : SyntaxNodeKind) (a₁ a₂ a₃ : Syntax) : Syntax := node info kind (Array.mkArray3 a₁ a₂ a₃)
def node4 (info : SourceInfo) (kind : SyntaxNodeKind) (a₁ a₂ a₃ a₄ : Syntax) : Syntax := node info kind (Array.mkArray4 a₁ a₂ a₃ a₄)
def node5 (info : SourceInfo) (kind : SyntaxNodeKind) (a₁ a₂ a₃ a₄ a₅ : Syntax) : Syntax := node info kind (Array.mkArray5 a₁ a₂ a₃ a₄ a₅)
def node6 (info : SourceInfo) (kind : SyntaxNodeKind) (a₁ a₂ a₃ a₄ a₅ a₆ : Syntax) : Syntax :=
  node info kind (Array.mkArray6 a₁ a₂ a₃ a₄ a₅ a₆)
def node7 (info : SourceInfo) (kind : SyntaxNodeKind) (a₁ a₂ a₃ a₄ a₅ a₆ a₇ : Syntax) : Syntax :=
  node info kind (Array.mkArray7 a₁ a₂ a₃ a₄ a₅ a₆ a₇)
def node8 (info : SourceInfo) (kind : SyntaxNodeKind) (a₁ a₂ a₃ a₄ a₅ a₆ a₇ a₈ : Syntax) : Syntax :=
  node info kind (Array.mkArray8 a₁ a₂ a₃ a₄ a₅ a₆ a₇ a₈)
end Syntax

abbrev choiceKind : SyntaxNodeKind := .mkSimple "choice"
abbrev nullKind : SyntaxNodeKind := .mkSimple "null"
abbrev groupKind : SyntaxNodeKind := .mkSimple "group"
abbrev identKind : SyntaxNodeKind := .mkSimple "ident"
abbrev strLitKind : SyntaxNodeKind := .mkSimple "str"
abbrev charLitKind : SyntaxNodeKind := .mkSimple "char"
abbrev numLitKind : SyntaxNodeKind := .mkSimple "num"
abbrev hexnumKind : SyntaxNodeKind := .mkSimple "hexnum"
abbrev scientificLitKind : SyntaxNodeKind := .mkSimple "scientific"
abbrev nameLitKind : SyntaxNodeKind := .mkSimple "name"
abbrev fieldIdxKind : SyntaxNodeKind := .mkSimple "fieldIdx"
abbrev hygieneInfoKind : SyntaxNodeKind := .mkSimple "hygieneInfo"
abbrev interpolatedStrLitKind : SyntaxNodeKind := .mkSimple "interpolatedStrLitKind"
abbrev interpolatedStrKind : SyntaxNodeKind := .mkSimple "interpolatedStrKind"
@[inline] def mkNode (k : SyntaxNodeKind) (args : Array Syntax) : TSyntax (List.cons k List.nil) := ⟨Syntax.node SourceInfo.none k args⟩
@[inline] def mkNullNode (args : Array Syntax := Array.empty) : Syntax := (mkNode nullKind args).raw
def mkAtom (val : String) : Syntax := Syntax.atom SourceInfo.none val

namespace Syntax
@[extern "x"] opaque getKind (stx : Syntax) : SyntaxNodeKind
@[extern "x"] opaque setKind (stx : Syntax) (k : SyntaxNodeKind) : Syntax
@[extern "x"] opaque isOfKind (stx : Syntax) (k : SyntaxNodeKind) : Bool
@[extern "x"] opaque getArg (stx : Syntax) (i : Nat) : Syntax
@[extern "x"] opaque getArgs (stx : Syntax) : Array Syntax
@[extern "x"] opaque getNumArgs (stx : Syntax) : Nat
@[extern "x"] opaque getOptional? (stx : Syntax) : Option Syntax
@[extern "x"] opaque isMissing (stx : Syntax) : Bool
@[extern "x"] opaque isNodeOf (stx : Syntax) (k : SyntaxNodeKind) (n : Nat) : Bool
@[extern "x"] opaque isIdent (stx : Syntax) : Bool
@[extern "x"] opaque isAtom (stx : Syntax) : Bool
@[extern "x"] opaque isNone (stx : Syntax) : Bool
@[extern "x"] opaque getId (stx : Syntax) : Name
@[extern "x"] opaque getHeadInfo (stx : Syntax) : SourceInfo
@[extern "x"] opaque getPos? (stx : Syntax) (canonicalOnly : Bool := false) : Option String.Pos.Raw
@[extern "x"] opaque getTailPos? (stx : Syntax) (canonicalOnly : Bool := false) : Option String.Pos.Raw
@[extern "x"] opaque matchesNull (stx : Syntax) (n : Nat) : Bool
@[extern "x"] opaque matchesIdent (stx : Syntax) (id : Name) : Bool
@[extern "x"] opaque matchesLit (stx : Syntax) (k : SyntaxNodeKind) (val : String) : Bool
@[extern "x"] opaque isNatLit? (s : Syntax) : Option Nat
@[extern "x"] opaque isStrLit? (stx : Syntax) : Option String
@[extern "x"] opaque isCharLit? (stx : Syntax) : Option Char
@[extern "x"] opaque isNameLit? (stx : Syntax) : Option Name
@[extern "x"] opaque structEq (s t : Syntax) : Bool
instance instBEq : BEq Syntax := ⟨structEq⟩
instance instBEqTSyntax {k : SyntaxNodeKinds} : BEq (TSyntax k) := ⟨fun s t => BEq.beq s.raw t.raw⟩

/-- Elements and separators, in turn. -/
structure SepArray (sep : String) where
  elemsAndSeps : Array Syntax
structure TSepArray (ks : SyntaxNodeKinds) (sep : String) where
  elemsAndSeps : Array Syntax
instance instInhabitedSepArray {sep : String} : Inhabited (SepArray sep) := ⟨⟨default⟩⟩
instance instInhabitedTSepArray {ks : SyntaxNodeKinds} {sep : String} : Inhabited (TSepArray ks sep) := ⟨⟨default⟩⟩
@[extern "x"] opaque SepArray.getElems {sep : String} (sa : SepArray sep) : Array Syntax
@[extern "x"] opaque TSepArray.getElems {k : SyntaxNodeKinds} {sep : String} (sa : TSepArray k sep) : TSyntaxArray k
@[extern "x"] opaque SepArray.ofElems {sep : String} (elems : Array Syntax) : SepArray sep
@[extern "x"] opaque TSepArray.ofElems {k : SyntaxNodeKinds} {sep : String} (elems : Array (TSyntax k)) : TSepArray k sep

abbrev Term := TSyntax (List.cons (.mkSimple "term") List.nil)
abbrev Command := TSyntax (List.cons (.mkSimple "command") List.nil)
protected abbrev Level := TSyntax (List.cons (.mkSimple "level") List.nil)
protected abbrev Tactic := TSyntax (List.cons (.mkSimple "tactic") List.nil)
abbrev Prec := TSyntax (List.cons (.mkSimple "prec") List.nil)
abbrev Prio := TSyntax (List.cons (.mkSimple "prio") List.nil)
abbrev Ident := TSyntax (List.cons identKind List.nil)
abbrev StrLit := TSyntax (List.cons strLitKind List.nil)
abbrev CharLit := TSyntax (List.cons charLitKind List.nil)
abbrev NameLit := TSyntax (List.cons nameLitKind List.nil)
abbrev ScientificLit := TSyntax (List.cons scientificLitKind List.nil)
abbrev NumLit := TSyntax (List.cons numLitKind List.nil)
abbrev HygieneInfo := TSyntax (List.cons hygieneInfoKind List.nil)
@[extern "x"] opaque mkApp (fn : Term) (args : TSyntaxArray (List.cons (.mkSimple "term") List.nil)) : Term
@[extern "x"] opaque mkCApp (fn : Name) (args : TSyntaxArray (List.cons (.mkSimple "term") List.nil)) : Term
@[extern "x"] opaque mkStrLit (val : String) (info : SourceInfo := SourceInfo.none) : StrLit
@[extern "x"] opaque mkCharLit (val : Char) (info : SourceInfo := SourceInfo.none) : CharLit
@[extern "x"] opaque mkNumLit (val : String) (info : SourceInfo := SourceInfo.none) : NumLit
@[extern "x"] opaque mkNatLit (val : Nat) (info : SourceInfo := SourceInfo.none) : NumLit
@[extern "x"] opaque mkNameLit (val : String) (info : SourceInfo := SourceInfo.none) : NameLit
end Syntax
export Syntax (Term Command Prec Prio Ident StrLit CharLit NameLit ScientificLit NumLit HygieneInfo)
@[extern "x"] opaque SourceInfo.fromRef (ref : Syntax) (canonical : Bool := false) : SourceInfo
@[extern "x"] opaque mkAtomFrom (src : Syntax) (val : String) (canonical : Bool := false) : Syntax
@[extern "x"] opaque mkIdentFrom (src : Syntax) (val : Name) (canonical : Bool := false) : Ident
@[extern "x"] opaque mkCIdentFrom (src : Syntax) (c : Name) (canonical : Bool := false) : Ident
@[extern "x"] opaque mkCIdent (c : Name) : Ident
@[extern "x"] opaque mkIdent (val : Name) : Ident
@[extern "x"] opaque mkOptionalNode (arg : Option Syntax) : Syntax
@[extern "x"] opaque mkSepArray (as : Array Syntax) (sep : Syntax) : Array Syntax
@[extern "x"] opaque mkHole (ref : Syntax) (canonical : Bool := false) : Term
namespace TSyntax
@[extern "x"] opaque getId (s : Ident) : Name
@[extern "x"] opaque getNat (s : NumLit) : Nat
@[extern "x"] opaque getString (s : StrLit) : String
@[extern "x"] opaque getChar (s : CharLit) : Char
@[extern "x"] opaque getName (s : NameLit) : Name
end TSyntax

/-! ## Parser descriptions -/

inductive ParserDescr where
  | const (name : Name)
  | unary (name : Name) (p : ParserDescr)
  | binary (name : Name) (p₁ p₂ : ParserDescr)
  | node (kind : SyntaxNodeKind) (prec : Nat) (p : ParserDescr)
  | trailingNode (kind : SyntaxNodeKind) (prec lhsPrec : Nat) (p : ParserDescr)
  | symbol (val : String)
  | nonReservedSymbol (val : String) (includeIdent : Bool)
  | cat (catName : Name) (rbp : Nat)
  | parser (declName : Name)
  | nodeWithAntiquot (name : String) (kind : SyntaxNodeKind) (p : ParserDescr)
  | sepBy (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool := false)
  | sepBy1 (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool := false)
  | unicodeSymbol (val asciiVal : String) (preserveForPP : Bool)
instance instInhabitedParserDescr : Inhabited ParserDescr := ⟨ParserDescr.symbol ""⟩
abbrev TrailingParserDescr := ParserDescr
structure Parser.Category

/-! ## Monads with a position and with macro scopes -/

abbrev MacroScope := Nat
def reservedMacroScope : MacroScope := 0
def firstFrontendMacroScope : MacroScope := 1
def defaultMaxRecDepth : Nat := 512
class MonadRef (m : Type → Type) where
  getRef : m Syntax
  withRef {α : Type} : Syntax → m α → m α
export MonadRef (getRef)
instance instMonadRefOfMonadLiftOfMonadFunctor (m n : Type → Type) [MonadLift m n] [MonadFunctor m n] [MonadRef m] : MonadRef n where
  getRef := liftM (m := m) getRef
  withRef ref x := monadMap (m := m) (MonadRef.withRef ref) x
@[extern "x"] opaque replaceRef (ref oldRef : Syntax) : Syntax
@[always_inline, inline] def withRef {m : Type → Type} [Monad m] [MonadRef m] {α : Type} (ref : Syntax) (x : m α) : m α :=
  bind getRef fun oldRef => MonadRef.withRef (replaceRef ref oldRef) x
@[always_inline, inline] def withRef? {m : Type → Type} [Monad m] [MonadRef m] {α : Type} (ref? : Option Syntax) (x : m α) : m α := match ref? with
  | some ref => withRef ref x
  | none => x
class MonadQuotation (m : Type → Type) extends MonadRef m where
  getCurrMacroScope : m MacroScope
  getContext : m Name
  withFreshMacroScope {α : Type} : m α → m α
export MonadQuotation (getCurrMacroScope withFreshMacroScope)
@[inline] def MonadRef.mkInfoFromRefPos {m : Type → Type} [Monad m] [MonadRef m] : m SourceInfo :=
  bind getRef fun ref => pure (SourceInfo.fromRef ref)
instance instMonadQuotationOfMonadFunctorOfMonadLift {m n : Type → Type} [MonadFunctor m n] [MonadLift m n] [MonadQuotation m] : MonadQuotation n where
  getCurrMacroScope := liftM (m := m) getCurrMacroScope
  getContext := liftM (m := m) MonadQuotation.getContext
  withFreshMacroScope := monadMap (m := m) withFreshMacroScope
@[extern "x"] opaque addMacroScope (ctx : Name) (n : Name) (scp : MacroScope) : Name
@[inline] def MonadQuotation.addMacroScope {m : Type → Type} [MonadQuotation m] [Monad m] (n : Name) : m Name :=
  bind MonadQuotation.getContext fun ctx => bind getCurrMacroScope fun scp => pure (Lean.addMacroScope ctx n scp)

/-! ## The monad of macros -/

namespace Macro
opaque MethodsRefPointed : NonemptyType.{0} := ⟨PUnit, ⟨PUnit.unit⟩⟩
def MethodsRef : Type := MethodsRefPointed.type
instance instNonemptyMethodsRef : Nonempty MethodsRef := MethodsRefPointed.property
structure Context where
  /-- The native `Methods`. -/
  methods : MethodsRef
  quotContext : Name
  currMacroScope : MacroScope
  currRecDepth : Nat := 0
  maxRecDepth : Nat := defaultMaxRecDepth
  ref : Syntax
inductive Exception where
  | error : Syntax → String → Exception
  /-- The next macro for this syntax is tried. -/
  | unsupportedSyntax : Exception
instance instInhabitedException : Inhabited Exception := ⟨.unsupportedSyntax⟩
structure State where
  macroScope : MacroScope
  traceMsgs : List (Prod Name String) := List.nil
  expandedMacroDecls : List Name := List.nil
instance instInhabitedState : Inhabited State := ⟨⟨0, List.nil, List.nil⟩⟩
end Macro
abbrev MacroM := ReaderT Macro.Context (EStateM Macro.Exception Macro.State)
abbrev Macro := Syntax → MacroM Syntax
namespace Macro
instance instMonadRefMacroM : MonadRef MacroM where
  getRef := bind read fun ctx => pure ctx.ref
  withRef ref x := withReader (fun ctx => { ctx with ref := ref }) x
def throwUnsupported {α : Type} : MacroM α := throw Exception.unsupportedSyntax
def throwError {α : Type} (msg : String) : MacroM α := bind getRef fun ref => throw (Exception.error ref msg)
def throwErrorAt {α : Type} (ref : Syntax) (msg : String) : MacroM α := withRef ref (throwError msg)
@[inline] protected def withFreshMacroScope {α : Type} (x : MacroM α) : MacroM α :=
  bind (modifyGet fun s : State => ⟨s.macroScope, { s with macroScope := HAdd.hAdd s.macroScope 1 }⟩) fun fresh =>
    withReader (fun ctx => { ctx with currMacroScope := fresh }) x
instance instMonadQuotationMacroM : MonadQuotation MacroM where
  getCurrMacroScope := bind read fun ctx => pure ctx.currMacroScope
  getContext := bind read fun ctx => pure ctx.quotContext
  withFreshMacroScope := Macro.withFreshMacroScope
@[extern "x"] opaque addMacroScope (n : Name) : MacroM Name
/-- The expansion, if a macro is there for this syntax. -/
@[extern "x"] opaque expandMacro? (stx : Syntax) : MacroM (Option Syntax)
@[extern "x"] opaque hasDecl (declName : Name) : MacroM Bool
@[extern "x"] opaque getCurrNamespace : MacroM Name
@[extern "x"] opaque resolveNamespace (n : Name) : MacroM (List Name)
@[extern "x"] opaque resolveGlobalName (n : Name) : MacroM (List (Prod Name (List String)))
@[extern "x"] opaque trace (clsName : Name) (msg : String) : MacroM Unit
end Macro
export Macro (expandMacro?)
@[extern "x"] opaque expandMacros (stx : Syntax) (p : SyntaxNodeKind → Bool := fun k => bne k (.mkStr4 "Lean" "Parser" "Term" "byTactic")) : MacroM Syntax

namespace PrettyPrinter
abbrev UnexpandM := ReaderT Syntax (EStateM Unit Unit)
abbrev Unexpander := Syntax → UnexpandM Syntax
instance instMonadQuotationUnexpandM : MonadQuotation UnexpandM where
  getRef := read
  withRef ref x := withReader (fun _ => ref) x
  getCurrMacroScope := pure 0
  getContext := pure (.mkSimple "_fakeMod")
  withFreshMacroScope x := x
end PrettyPrinter
end Lean
