prelude
import Pocket.Data
/-!
The types of Lean's own syntax, as far as declarations need them whose native code is linked in (Pocket.Syntax, Pocket.Unexpanders).
They are stubs: nothing computes with them in Lean code, so there are no user macros and no statements about strings.
-/
set_option autoImplicit false

structure Char where mk ::
  val : Nat
  valid : Nat
structure String where mk ::
  data : List Char
  valid : Nat

namespace Lean
inductive Name where
  | anonymous : Name
  | str (pre : Name) (s : String) : Name
  | num (pre : Name) (i : Nat) : Name
inductive Syntax where
  | missing : Syntax
  | node (s : Syntax) (n : Name)
abbrev SyntaxNodeKind := Name
/-- Constructors in the order of Lean's own type: native values of it are used as they are. -/
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
  | sepBy (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool)
  | sepBy1 (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool)
  | unicodeSymbol (val asciiVal : String) (preserveForPP : Bool)
abbrev TrailingParserDescr := ParserDescr

structure MacroContext where mk ::
  a : Nat
  b : Nat
structure MacroState where mk ::
  a : Nat
  b : Nat
inductive MacroResult where
  | ok (s : Syntax) (t : MacroState)
  | err (s : Syntax) (t : MacroState)
abbrev Macro := Syntax → MacroContext → MacroState → MacroResult
abbrev PrettyPrinter.Unexpander := Syntax → MacroContext → MacroState → MacroResult
structure Parser.Category

@[extern "x"] def Name.mkStr1 (_ : String) : Name := .anonymous
@[extern "x"] def Name.mkStr2 (_ _ : String) : Name := .anonymous
@[extern "x"] def Name.mkStr3 (_ _ _ : String) : Name := .anonymous
@[extern "x"] def Name.mkStr4 (_ _ _ _ : String) : Name := .anonymous
@[extern "x"] def Name.mkStr5 (_ _ _ _ _ : String) : Name := .anonymous
@[extern "x"] def Name.mkStr6 (_ _ _ _ _ _ : String) : Name := .anonymous
end Lean
