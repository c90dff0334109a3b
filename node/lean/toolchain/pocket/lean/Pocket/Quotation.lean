module
prelude
public import Pocket.Coe
@[expose] public section
/-! What macros and quotations need once coercions are there: kinds of syntax that stand for one another, and values as syntax. -/
set_option autoImplicit false

namespace Lean
instance : Coe SyntaxNodeKind SyntaxNodeKinds := ⟨fun k => [k]⟩
instance {ks : SyntaxNodeKinds} : CoeOut (TSyntax ks) Syntax := ⟨TSyntax.raw⟩
namespace TSyntax
instance {k : SyntaxNodeKind} {ks : SyntaxNodeKinds} : Coe (TSyntax [k]) (TSyntax (k :: ks)) := ⟨fun s => ⟨s.raw⟩⟩
instance {ks : SyntaxNodeKinds} {k : SyntaxNodeKind} : Coe (TSyntax ks) (TSyntax (k :: ks)) := ⟨fun s => ⟨s.raw⟩⟩
instance : Coe Ident Term := ⟨fun s => ⟨s.raw⟩⟩
instance {info : SourceInfo} {ss : Substring.Raw} {n : Name} {res : List Syntax.Preresolved} :
    CoeDep Term ⟨Syntax.ident info ss n res⟩ Ident := ⟨⟨Syntax.ident info ss n res⟩⟩
instance : Coe StrLit Term := ⟨fun s => ⟨s.raw⟩⟩
instance : Coe NameLit Term := ⟨fun s => ⟨s.raw⟩⟩
instance : Coe ScientificLit Term := ⟨fun s => ⟨s.raw⟩⟩
instance : Coe NumLit Term := ⟨fun s => ⟨s.raw⟩⟩
instance : Coe CharLit Term := ⟨fun s => ⟨s.raw⟩⟩
instance : Coe Ident Syntax.Level := ⟨fun s => ⟨s.raw⟩⟩
instance : Coe NumLit Prio := ⟨fun s => ⟨s.raw⟩⟩
instance : Coe NumLit Prec := ⟨fun s => ⟨s.raw⟩⟩
instance : Coe Ident (TSyntax `Lean.Parser.Command.declId) := ⟨fun s => mkNode _ #[s.raw, mkNullNode]⟩
namespace Compat
scoped instance {k : SyntaxNodeKinds} : CoeTail Syntax (TSyntax k) := ⟨fun s => ⟨s⟩⟩
scoped instance {k : SyntaxNodeKinds} : CoeTail (Array Syntax) (TSyntaxArray k) := ⟨TSyntaxArray.mk⟩
end Compat
end TSyntax
namespace Syntax
instance {sep : String} : Coe (Array Syntax) (SepArray sep) := ⟨SepArray.ofElems⟩
instance {k : SyntaxNodeKinds} {sep : String} : Coe (TSyntaxArray k) (TSepArray k sep) := ⟨TSepArray.ofElems⟩
instance {sep : String} : CoeOut (SepArray sep) (Array Syntax) := ⟨SepArray.getElems⟩
instance {k : SyntaxNodeKinds} {sep : String} : CoeOut (TSepArray k sep) (TSyntaxArray k) := ⟨TSepArray.getElems⟩
instance {k : SyntaxNodeKinds} : CoeOut (TSyntaxArray k) (Array Syntax) := ⟨TSyntaxArray.raw⟩
instance {k k' : SyntaxNodeKinds} [Coe (TSyntax k) (TSyntax k')] : Coe (TSyntaxArray k) (TSyntaxArray k') := ⟨fun a => .mk a.raw⟩
end Syntax

/-- Values that have a syntax. -/
class Quote (α : Type) (k : SyntaxNodeKind := `term) where
  quote : α → TSyntax k
export Quote (quote)
instance : Quote Term := ⟨id⟩
instance : Quote Nat := ⟨fun n => Syntax.mkNatLit n⟩
instance : Quote String := ⟨fun s => Syntax.mkStrLit s⟩
instance : Quote Char := ⟨fun c => Syntax.mkCharLit c⟩
instance : Quote Bool := ⟨fun | true => mkCIdent ``Bool.true | false => mkCIdent ``Bool.false⟩
instance : Quote Unit := ⟨fun _ => mkCIdent ``Unit.unit⟩
@[extern "x", instance_reducible, instance] def instQuoteNameMkStr1 : Quote Name := ⟨fun n => mkCIdent n⟩
instance {α β : Type} [Quote α] [Quote β] : Quote (α × β) := ⟨fun p => Syntax.mkCApp ``Prod.mk (#[quote p.1, quote p.2])⟩
end Lean
