module
prelude
public import Pocket.Format
public import Pocket.Monad
@[expose] public section
/-! `ToString`, and the instances with which `s!"..."` and `#eval` show values. -/
set_option autoImplicit false
universe u v

class ToString (α : Type u) where
  toString : α → String
export ToString (toString)
instance : ToString String := ⟨id⟩
instance {α : Type u} [ToString α] : ToString (id α) := ⟨fun a => toString (α := α) a⟩
instance {α : Type u} [ToString α] : ToString (Id α) := ⟨fun a => toString (α := α) a⟩
instance : ToString Nat := ⟨Nat.repr⟩
instance : ToString Int := ⟨Int.repr⟩
instance : ToString Char := ⟨fun c => String.ofList [c]⟩
instance : ToString Bool := ⟨fun b => match b with | true => "true" | false => "false"⟩
instance {p : Prop} : ToString (Decidable p) := ⟨fun d => match d with | .isTrue _ => "true" | .isFalse _ => "false"⟩
instance : ToString PUnit.{u + 1} := ⟨fun _ => "()"⟩
instance : ToString Unit := ⟨fun _ => "()"⟩
instance {n : Nat} : ToString (Fin n) := ⟨fun i => toString i.val⟩
instance : ToString UInt8 := ⟨fun n => toString n.toNat⟩
instance : ToString UInt16 := ⟨fun n => toString n.toNat⟩
instance : ToString UInt32 := ⟨fun n => toString n.toNat⟩
instance : ToString UInt64 := ⟨fun n => toString n.toNat⟩
instance : ToString USize := ⟨fun n => toString n.toNat⟩
instance : ToString Std.Format := ⟨fun f => f.pretty⟩
instance : ToString Lean.Name := ⟨fun n => n.toString⟩
@[extern "x"] opaque Substring.Raw.toString (s : Substring.Raw) : String
instance : ToString Substring.Raw := ⟨Substring.Raw.toString⟩
/-- In parentheses, if it contains a blank that no brackets enclose. -/
@[extern "x"] opaque addParenHeuristic (s : String) : String
instance {α : Type u} [ToString α] : ToString (Option α) := ⟨fun o => match o with
  | none => "none"
  | some a => "(some " ++ addParenHeuristic (toString a) ++ ")"⟩
instance {α : Type u} {β : Type v} [ToString α] [ToString β] : ToString (Sum α β) := ⟨fun s => match s with
  | .inl a => "(inl " ++ addParenHeuristic (toString a) ++ ")"
  | .inr b => "(inr " ++ addParenHeuristic (toString b) ++ ")"⟩
instance {α : Type u} {β : Type v} [ToString α] [ToString β] : ToString (α × β) := ⟨fun p => "(" ++ toString p.1 ++ ", " ++ toString p.2 ++ ")"⟩
instance {α : Type u} {p : α → Prop} [ToString α] : ToString (Subtype p) := ⟨fun s => toString s.val⟩
instance {ε : Type u} {α : Type v} [ToString ε] [ToString α] : ToString (Except ε α) := ⟨fun x => match x with
  | .error e => "error: " ++ toString e
  | .ok a => "ok: " ++ toString a⟩
instance {ε : Type u} {α : Type v} [Repr ε] [Repr α] : Repr (Except ε α) := ⟨fun x prec => match x with
  | .error e => Repr.addAppParen (.text "Except.error " ++ reprArg e) prec
  | .ok a => Repr.addAppParen (.text "Except.ok " ++ reprArg a) prec⟩
protected def List.toString {α : Type u} [ToString α] : List α → String
  | [] => "[]"
  | a :: as => as.foldl (fun s b => s ++ ", " ++ toString b) ("[" ++ toString a) ++ "]"
instance {α : Type u} [ToString α] : ToString (List α) := ⟨List.toString⟩
instance {α : Type u} [ToString α] : ToString (Array α) := ⟨fun a => "#" ++ toString a.toList⟩
instance {α : Type u} [Repr α] : Repr (Id α) := inferInstanceAs (Repr α)

/-! ## Failing and tracing -/

@[extern "x"] opaque mkPanicMessage (modName : String) (line col : Nat) (msg : String) : String
@[extern "x"] opaque mkPanicMessageWithDecl (modName declName : String) (line col : Nat) (msg : String) : String
@[never_extract, inline] def panicWithPos {α : Sort u} [Inhabited α] (modName : String) (line col : Nat) (msg : String) : α :=
  panic (mkPanicMessage modName line col msg)
@[never_extract, inline] def panicWithPosWithDecl {α : Sort u} [Inhabited α] (modName declName : String) (line col : Nat) (msg : String) : α :=
  panic (mkPanicMessageWithDecl modName declName line col msg)
@[never_extract, extern "lean_dbg_trace"] def dbgTrace {α : Type u} (_msg : String) (f : Unit → α) : α := f ()
@[extern "x"] opaque String.toNat? (s : String) : Option Nat
@[extern "x"] opaque String.splitOn (s : String) (sep : String := " ") : List String
