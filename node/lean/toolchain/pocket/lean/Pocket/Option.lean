module
prelude
public import Pocket.Bool
@[expose] public section
/-! Optional values. -/
set_option autoImplicit false
universe u v w

namespace Option
variable {α : Type u} {β : Type v} {γ : Type w}

instance instDecidableEq [DecidableEq α] : DecidableEq (Option α)
  | none, none => isTrue rfl
  | none, some _ => isFalse fun h => nomatch h
  | some _, none => isFalse fun h => nomatch h
  | some a, some b => match decEq a b with
    | isTrue h => isTrue (congrArg some h)
    | isFalse h => isFalse fun e => h (some.inj e)
where decEq (a b : α) : Decidable (a = b) := inferInstance

def map (f : α → β) : Option α → Option β
  | none => none
  | some a => some (f a)
def bind : Option α → (α → Option β) → Option β
  | none, _ => none
  | some a, f => f a
def getD : Option α → α → α
  | none, d => d
  | some a, _ => a
def isSome : Option α → Bool
  | none => false
  | some _ => true
def isNone : Option α → Bool
  | none => true
  | some _ => false
def orElse : Option α → (Unit → Option α) → Option α
  | none, b => b ()
  | some a, _ => some a
def or : Option α → Option α → Option α
  | none, b => b
  | some a, _ => some a
def filter (p : α → Bool) : Option α → Option α
  | none => none
  | some a => match p a with
    | true => some a
    | false => none
def join : Option (Option α) → Option α
  | none => none
  | some o => o
def elim : Option α → β → (α → β) → β
  | none, b, _ => b
  | some a, _, f => f a

/-! ## Equality -/

theorem some_ne_none (x : α) : some x ≠ none := fun h => nomatch h
theorem none_ne_some (x : α) : none ≠ some x := fun h => nomatch h
theorem some_inj {a b : α} : some a = some b ↔ a = b := ⟨some.inj, congrArg some⟩
@[simp] protected theorem «forall» {p : Option α → Prop} : (∀ x, p x) ↔ p none ∧ ∀ x, p (some x) :=
  ⟨fun h => ⟨h none, fun x => h (some x)⟩, fun ⟨hn, hs⟩ x => match x with | none => hn | some x => hs x⟩
@[simp] protected theorem «exists» {p : Option α → Prop} : (∃ x, p x) ↔ p none ∨ ∃ x, p (some x) :=
  ⟨fun ⟨x, h⟩ => match x, h with | none, h => .inl h | some x, h => .inr ⟨x, h⟩,
   fun h => h.elim (fun h => ⟨none, h⟩) (fun ⟨x, h⟩ => ⟨some x, h⟩)⟩
theorem ne_none_iff_exists {o : Option α} : o ≠ none ↔ ∃ x, some x = o := by
  cases o with
  | none => exact ⟨fun h => absurd rfl h, fun ⟨x, h⟩ => absurd h (some_ne_none x)⟩
  | some a => exact ⟨fun _ => ⟨a, rfl⟩, fun _ => some_ne_none a⟩
theorem eq_none_or_eq_some (o : Option α) : o = none ∨ ∃ x, o = some x := by
  cases o with
  | none => exact .inl rfl
  | some a => exact .inr ⟨a, rfl⟩
theorem eq_none_iff_forall_ne_some {o : Option α} : o = none ↔ ∀ a, o ≠ some a := by
  cases o with
  | none => exact ⟨fun _ a => none_ne_some a, fun _ => rfl⟩
  | some a => exact ⟨fun h => absurd h (some_ne_none a), fun h => absurd rfl (h a)⟩

/-! ## `map` and `bind` -/

@[simp] theorem map_none (f : α → β) : map f none = none := rfl
@[simp] theorem map_some (f : α → β) (a : α) : map f (some a) = some (f a) := rfl
@[simp] theorem map_id_fun : map (id : α → α) = id := funext fun o => by cases o <;> rfl
theorem map_id {o : Option α} : map id o = o := by cases o <;> rfl
@[simp] theorem map_id' {o : Option α} : map (fun a => a) o = o := by cases o <;> rfl
@[simp] theorem map_map (h : β → γ) (g : α → β) (o : Option α) : map h (map g o) = map (h ∘ g) o := by cases o <;> rfl
theorem map_comp_map (f : α → β) (g : β → γ) : map g ∘ map f = map (g ∘ f) := funext fun o => map_map g f o
@[simp] theorem map_eq_none_iff {f : α → β} {o : Option α} : map f o = none ↔ o = none := by
  cases o with
  | none => exact iff_of_true rfl rfl
  | some a => exact iff_of_false (some_ne_none _) (some_ne_none _)
@[simp] theorem map_eq_some_iff {f : α → β} {o : Option α} {b : β} : map f o = some b ↔ ∃ a, o = some a ∧ f a = b := by
  cases o with
  | none => exact ⟨fun h => absurd h (none_ne_some b), fun ⟨a, h, _⟩ => absurd h (none_ne_some a)⟩
  | some a => exact ⟨fun h => ⟨a, rfl, some.inj h⟩, fun ⟨a', h, e⟩ => (some.inj h) ▸ congrArg some e⟩
@[simp] theorem bind_fun_none (o : Option α) : o.bind (fun _ => (none : Option β)) = none := by cases o <;> rfl
@[simp] theorem bind_none (f : α → Option β) : none.bind f = none := rfl
@[simp] theorem bind_some (a : α) (f : α → Option β) : (some a).bind f = f a := rfl
@[simp] theorem bind_fun_some (o : Option α) : o.bind some = o := by cases o <;> rfl
theorem bind_assoc (o : Option α) (f : α → Option β) (g : β → Option γ) : (o.bind f).bind g = o.bind fun a => (f a).bind g := by
  cases o <;> rfl
theorem map_eq_bind {f : α → β} {o : Option α} : map f o = o.bind (some ∘ f) := by cases o <;> rfl
theorem map_bind (f : α → Option β) (g : β → γ) (o : Option α) : map g (o.bind f) = o.bind fun a => map g (f a) := by cases o <;> rfl
theorem bind_map (f : α → β) (g : β → Option γ) (o : Option α) : (map f o).bind g = o.bind (g ∘ f) := by cases o <;> rfl
theorem bind_eq_some_iff {o : Option α} {f : α → Option β} {b : β} : o.bind f = some b ↔ ∃ a, o = some a ∧ f a = some b := by
  cases o with
  | none => exact ⟨fun h => absurd h (none_ne_some b), fun ⟨a, h, _⟩ => absurd h (none_ne_some a)⟩
  | some a => exact ⟨fun h => ⟨a, rfl, h⟩, fun ⟨a', h, e⟩ => (some.inj h) ▸ e⟩
theorem bind_comm {f : α → β → Option γ} (a : Option α) (b : Option β) :
    (a.bind fun x => b.bind (f x)) = b.bind fun y => a.bind fun x => f x y := by cases a <;> cases b <;> rfl
@[simp] theorem join_none : join (none : Option (Option α)) = none := rfl
@[simp] theorem join_some (o : Option α) : join (some o) = o := rfl
theorem join_eq_bind (o : Option (Option α)) : o.join = o.bind id := by cases o <;> rfl

/-! ## Defaults and tests -/

@[simp] theorem getD_none (a : α) : getD none a = a := rfl
@[simp] theorem getD_some (a d : α) : getD (some a) d = a := rfl
theorem getD_map (f : α → β) (d : α) (o : Option α) : (o.map f).getD (f d) = f (o.getD d) := by cases o <;> rfl
@[simp] theorem isSome_none : isSome (none : Option α) = false := rfl
@[simp] theorem isSome_some (a : α) : isSome (some a) = true := rfl
@[simp] theorem isNone_none : isNone (none : Option α) = true := rfl
@[simp] theorem isNone_some (a : α) : isNone (some a) = false := rfl
theorem isSome_iff_exists {o : Option α} : o.isSome = true ↔ ∃ a, o = some a := by
  cases o with
  | none => exact ⟨fun h => Bool.noConfusion h, fun ⟨a, h⟩ => absurd h (none_ne_some a)⟩
  | some a => exact ⟨fun _ => ⟨a, rfl⟩, fun _ => rfl⟩
@[simp] theorem isNone_iff_eq_none {o : Option α} : o.isNone = true ↔ o = none := by
  cases o with
  | none => exact iff_of_true rfl rfl
  | some a => exact ⟨fun h => Bool.noConfusion h, fun h => absurd h (some_ne_none a)⟩
@[simp] theorem not_isSome (o : Option α) : (!o.isSome) = o.isNone := by cases o <;> rfl
@[simp] theorem not_isNone (o : Option α) : (!o.isNone) = o.isSome := by cases o <;> rfl
@[simp] theorem isSome_map {f : α → β} {o : Option α} : (o.map f).isSome = o.isSome := by cases o <;> rfl
@[simp] theorem isNone_map {f : α → β} {o : Option α} : (o.map f).isNone = o.isNone := by cases o <;> rfl
@[simp] theorem none_or (o : Option α) : or none o = o := rfl
@[simp] theorem some_or (a : α) (o : Option α) : or (some a) o = some a := rfl
@[simp] theorem or_none (o : Option α) : or o none = o := by cases o <;> rfl
@[simp] theorem or_self (o : Option α) : or o o = o := by cases o <;> rfl
theorem or_assoc (a b c : Option α) : or (or a b) c = or a (or b c) := by cases a <;> rfl
theorem map_or (f : α → β) (a b : Option α) : (or a b).map f = or (a.map f) (b.map f) := by cases a <;> rfl
@[simp] theorem filter_none (p : α → Bool) : filter p none = none := rfl
@[simp] theorem elim_none (b : β) (f : α → β) : elim none b f = b := rfl
@[simp] theorem elim_some (a : α) (b : β) (f : α → β) : elim (some a) b f = f a := rfl
end Option
