prelude
import Pocket.Syntax
universe u v w u₁ u₂ u₃ w₀
set_option linter.all false
-- equality / logic kit
def Eq.mpr {α β : Sort u} (h : α = β) (b : β) : α := cast h.symm b
def Eq.mp {α β : Sort u} (h : α = β) (a : α) : β := cast h a
theorem Iff.mp {a b : Prop} (h : a ↔ b) : a → b := match h with | .intro f _ => f
theorem Iff.mpr {a b : Prop} (h : a ↔ b) : b → a := match h with | .intro _ f => f
theorem Iff.refl (a : Prop) : a ↔ a := ⟨fun h => h, fun h => h⟩
theorem Iff.rfl {a : Prop} : a ↔ a := Iff.refl a
theorem Iff.symm {a b : Prop} (h : a ↔ b) : b ↔ a := ⟨h.mpr, h.mp⟩
theorem Iff.trans {a b c : Prop} (h₁ : a ↔ b) (h₂ : b ↔ c) : a ↔ c := ⟨fun x => h₂.mp (h₁.mp x), fun x => h₁.mpr (h₂.mpr x)⟩
axiom propext {a b : Prop} : (a ↔ b) → a = b
axiom Quot.sound : ∀ {α : Sort u} {r : α → α → Prop} {a b : α}, r a b → Quot.mk r a = Quot.mk r b
axiom Classical.choice {α : Sort u} : Nonempty α → α
theorem HEq.symm {α β : Sort u} {a : α} {b : β} (h : HEq a b) : HEq b a := h.rec (HEq.refl a)
theorem HEq.trans {α β γ : Sort u} {a : α} {b : β} {c : γ} (h₁ : HEq a b) (h₂ : HEq b c) : HEq a c := h₂.rec h₁
theorem type_eq_of_heq {α β : Sort u} {a : α} {b : β} (h : HEq a b) : α = β := h.rec rfl
theorem Ne.symm {α : Sort u} {a b : α} (h : a ≠ b) : b ≠ a := fun e => h e.symm
theorem absurd' {a : Prop} (h : a) (hn : ¬ a) : False := hn h
def absurd {a : Prop} {b : Sort v} (h₁ : a) (h₂ : ¬ a) : b := (h₂ h₁).rec
theorem trivial : True := True.intro
theorem funext {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : ∀ x, f x = g x) : f = g :=
  congrArg (f := fun (q : Quot (fun (f g : (x : α) → β x) => ∀ x, f x = g x)) (x : α) =>
      Quot.lift (fun (k : (x : α) → β x) => k x) (fun _ _ hk => hk x) q)
    (Quot.sound (r := fun (f g : (x : α) → β x) => ∀ x, f x = g x) h)
theorem of_eq_true {p : Prop} (h : p = True) : p := h.symm ▸ trivial
theorem eq_true {p : Prop} (h : p) : p = True := propext ⟨fun _ => trivial, fun _ => h⟩
theorem eq_false {p : Prop} (h : ¬ p) : p = False := propext ⟨h, False.elim⟩
theorem eq_false' {p : Prop} (h : p → False) : p = False := eq_false h
theorem of_eq_false {p : Prop} (h : p = False) : ¬ p := fun hp => h ▸ hp
theorem false_of_true_eq_false (h : True = False) : False := h ▸ trivial
theorem eq_self {α : Sort u} (a : α) : (a = a) = True := eq_true rfl
theorem ne_of_eq_false {α : Sort u} {a b : α} (h : (a = b) = False) : a ≠ b := of_eq_false h
theorem implies_congr {p₁ p₂ : Sort u} {q₁ q₂ : Sort v} (h₁ : p₁ = p₂) (h₂ : q₁ = q₂) : (p₁ → q₁) = (p₂ → q₂) := h₁ ▸ h₂ ▸ rfl
theorem iff_of_eq {a b : Prop} (h : a = b) : a ↔ b := h ▸ Iff.rfl
theorem implies_congr_ctx {p₁ p₂ q₁ q₂ : Prop} (h₁ : p₁ = p₂) (h₂ : p₂ → q₁ = q₂) : (p₁ → q₁) = (p₂ → q₂) :=
  propext ⟨fun f hp => (h₂ hp) ▸ f (h₁ ▸ hp), fun f hp => (h₂ (h₁ ▸ hp)) ▸ f (h₁ ▸ hp)⟩
theorem implies_dep_congr_ctx {p₁ p₂ q₁ : Prop} (h₁ : p₁ = p₂) {q₂ : p₂ → Prop} (h₂ : (h : p₂) → q₁ = q₂ h) : (p₁ → q₁) = ((h : p₂) → q₂ h) :=
  propext ⟨fun f hp => (h₂ hp) ▸ f (h₁ ▸ hp), fun f hp => (h₂ (h₁ ▸ hp)) ▸ f (h₁ ▸ hp)⟩
theorem forall_congr {α : Sort u} {p q : α → Prop} (h : ∀ a, p a = q a) : (∀ a, p a) = (∀ a, q a) := (funext h : p = q) ▸ rfl
theorem forall_prop_congr_dom {p₁ p₂ : Prop} (h : p₁ = p₂) (q : p₁ → Prop) : (∀ a : p₁, q a) = (∀ a : p₂, q (Eq.mpr h a)) := by
  subst h; rfl
theorem pi_congr {α : Sort u} {β β' : α → Sort v} (h : ∀ a, β a = β' a) : (∀ a, β a) = ∀ a, β' a := (funext h : β = β') ▸ rfl
theorem let_congr {α : Sort u} {β : Sort v} {a a' : α} {b b' : α → β} (h₁ : a = a') (h₂ : ∀ x, b x = b' x) : (let x := a; b x) = (let x := a'; b' x) := h₁ ▸ (funext h₂ : b = b') ▸ rfl
@[simp] theorem ne_eq {α : Sort u} (a b : α) : (a ≠ b) = ¬ (a = b) := rfl
attribute [simp] eq_self
@[simp] theorem and_true (p : Prop) : (p ∧ True) = p := propext ⟨fun h => h.1, fun h => ⟨h, trivial⟩⟩
@[simp] theorem true_and (p : Prop) : (True ∧ p) = p := propext ⟨fun h => h.2, fun h => ⟨trivial, h⟩⟩
@[simp] theorem and_false (p : Prop) : (p ∧ False) = False := eq_false fun h => h.2
@[simp] theorem false_and (p : Prop) : (False ∧ p) = False := eq_false fun h => h.1
@[simp] theorem and_self (p : Prop) : (p ∧ p) = p := propext ⟨fun h => h.1, fun h => ⟨h, h⟩⟩
@[simp] theorem or_true (p : Prop) : (p ∨ True) = True := eq_true (.inr trivial)
@[simp] theorem true_or (p : Prop) : (True ∨ p) = True := eq_true (.inl trivial)
theorem Or.elim {a b c : Prop} (h : a ∨ b) (f : a → c) (g : b → c) : c := h.rec f g
@[simp] theorem or_false (p : Prop) : (p ∨ False) = p := propext ⟨fun h => h.elim id False.elim, .inl⟩
@[simp] theorem false_or (p : Prop) : (False ∨ p) = p := propext ⟨fun h => h.elim False.elim id, .inr⟩
@[simp] theorem or_self (p : Prop) : (p ∨ p) = p := propext ⟨fun h => h.elim id id, .inl⟩
@[simp] theorem not_true_eq_false : (¬ True) = False := eq_false fun h => h trivial
@[simp] theorem not_false_eq_true : (¬ False) = True := eq_true id
@[simp] theorem iff_self (p : Prop) : (p ↔ p) = True := eq_true Iff.rfl
@[simp] theorem implies_true (α : Sort u) : (α → True) = True := eq_true fun _ => trivial
@[simp] theorem true_implies (p : Prop) : (True → p) = p := propext ⟨fun h => h trivial, fun h _ => h⟩
@[simp] theorem false_implies (p : Prop) : (False → p) = True := eq_true False.elim
theorem of_decide_eq_true {p : Prop} [i : Decidable p] (h : decide p = true) : p :=
  match i, h with | isTrue h, _ => h
theorem of_decide_eq_false {p : Prop} [i : Decidable p] (h : decide p = false) : ¬ p :=
  match i, h with | isFalse h, _ => h
theorem decide_eq_true {p : Prop} [i : Decidable p] (h : p) : decide p = true :=
  match i with | isTrue _ => rfl | isFalse n => absurd h n
instance : Decidable True := isTrue trivial
instance : Decidable False := isFalse id
instance {p q : Prop} [dp : Decidable p] [dq : Decidable q] : Decidable (p ∧ q) :=
  match dp, dq with | isTrue a, isTrue b => isTrue ⟨a, b⟩ | isFalse a, _ => isFalse fun h => a h.1 | _, isFalse b => isFalse fun h => b h.2
instance {p q : Prop} [dp : Decidable p] [dq : Decidable q] : Decidable (p ∨ q) :=
  match dp, dq with | isTrue a, _ => isTrue (.inl a) | _, isTrue b => isTrue (.inr b) | isFalse a, isFalse b => isFalse fun h => h.elim a b
instance {p : Prop} [dp : Decidable p] : Decidable (¬ p) :=
  match dp with | isTrue a => isFalse fun n => n a | isFalse a => isTrue a
instance {p q : Prop} [dp : Decidable p] [dq : Decidable q] : Decidable (p → q) :=
  match dp, dq with | isFalse a, _ => isTrue fun h => absurd h a | _, isTrue b => isTrue fun _ => b | isTrue a, isFalse b => isFalse fun h => b (h a)
set_option checkBinderAnnotations false in
@[reducible] def inferInstance {α : Sort u} [i : α] : α := i
-- arithmetic notation classes
class HAdd (α : Type u) (β : Type v) (γ : outParam (Type w)) where hAdd : α → β → γ
class HSub (α : Type u) (β : Type v) (γ : outParam (Type w)) where hSub : α → β → γ
class HMul (α : Type u) (β : Type v) (γ : outParam (Type w)) where hMul : α → β → γ
class HPow (α : Type u) (β : Type v) (γ : outParam (Type w)) where hPow : α → β → γ
class Add (α : Type u) where add : α → α → α
class Sub (α : Type u) where sub : α → α → α
class Mul (α : Type u) where mul : α → α → α
class LE (α : Type u) where le : α → α → Prop
class LT (α : Type u) where lt : α → α → Prop
@[default_instance] instance instHAdd {α : Type u} [Add α] : HAdd α α α := ⟨Add.add⟩
@[default_instance] instance instHSub {α : Type u} [Sub α] : HSub α α α := ⟨Sub.sub⟩
@[default_instance] instance instHMul {α : Type u} [Mul α] : HMul α α α := ⟨Mul.mul⟩
instance instAddNat : Add Nat := ⟨Nat.add⟩
instance instSubNat : Sub Nat := ⟨Nat.sub⟩
instance instMulNat : Mul Nat := ⟨Nat.mul⟩
instance instLENat : LE Nat := ⟨Nat.le⟩
@[reducible] def Nat.lt (n m : Nat) : Prop := Nat.le (n+1) m
instance instLTNat : LT Nat := ⟨Nat.lt⟩
@[reducible] def GE.ge {α : Type u} [LE α] (a b : α) : Prop := b ≤ a
@[reducible] def GT.gt {α : Type u} [LT α] (a b : α) : Prop := b < a
attribute [match_pattern] Add.add HAdd.hAdd
@[simp] theorem Nat.add_zero (n : Nat) : n + 0 = n := rfl
theorem Nat.add_succ (n m : Nat) : n + (m + 1) = (n + m) + 1 := rfl
@[simp] theorem Nat.zero_add (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ n ih => rw [Nat.add_succ, ih]
theorem Nat.succ_add (n m : Nat) : (n + 1) + m = (n + m) + 1 := by
  induction m with
  | zero => rfl
  | succ m ih => exact congrArg Nat.succ ih
theorem Nat.add_comm (n m : Nat) : n + m = m + n := by
  induction m with
  | zero => simp
  | succ m ih => rw [Nat.add_succ, Nat.succ_add, ih]
theorem congrFun' {α : Sort u} {β : Sort v} {f g : α → β} (h : f = g) (a : α) : f a = g a := h ▸ rfl
@[simp] theorem Nat.succ_eq_add_one (n : Nat) : Nat.succ n = n + 1 := rfl
theorem Nat.add_assoc (a b c : Nat) : a + b + c = a + (b + c) := by
  induction c with
  | zero => rfl
  | succ c ih => exact congrArg Nat.succ ih
class HDiv (α : Type u) (β : Type v) (γ : outParam (Type w)) where hDiv : α → β → γ
class HMod (α : Type u) (β : Type v) (γ : outParam (Type w)) where hMod : α → β → γ
class HAppend (α : Type u) (β : Type v) (γ : outParam (Type w)) where hAppend : α → β → γ
class Neg (α : Type u) where neg : α → α
class Dvd (α : Type u) where dvd : α → α → Prop
class Membership (α : outParam (Type u)) (γ : Type v) where mem : γ → α → Prop
class Append (α : Type u) where append : α → α → α
@[default_instance] instance instHAppendOfAppend {α : Type u} [Append α] : HAppend α α α := ⟨Append.append⟩
def List.append {α : Type u} : List α → List α → List α
  | .nil, ys => ys
  | .cons x xs, ys => .cons x (append xs ys)
instance {α : Type u} : Append (List α) := ⟨List.append⟩

class Trans.{u1,u2,u3,v1,v2,v3} {α : Sort v1} {β : Sort v2} {γ : Sort v3} (r : α → β → Sort u1) (s : β → γ → Sort u2) (t : outParam (α → γ → Sort u3)) where
  trans {a : α} {b : β} {c : γ} : r a b → s b c → t a c
instance {α : Sort u} {γ : Sort v} (r : α → γ → Sort w) : Trans Eq r r where
  trans h r := h ▸ r
instance {α : Sort u} {β : Sort v} (r : α → β → Sort w) : Trans r Eq r where
  trans r h := h ▸ r
namespace Classical
noncomputable def indefiniteDescription {α : Sort u} (p : α → Prop) (h : ∃ x, p x) : Subtype p :=
  choice (let ⟨x, px⟩ := h; ⟨⟨x, px⟩⟩)
noncomputable def choose {α : Sort u} {p : α → Prop} (h : ∃ x, p x) : α := (indefiniteDescription p h).1
theorem choose_spec {α : Sort u} {p : α → Prop} (h : ∃ x, p x) : p (choose h) := (indefiniteDescription p h).2
-- Diaconescu
theorem em (p : Prop) : p ∨ ¬ p := by
  let U (x : Prop) : Prop := x = True ∨ p
  let V (x : Prop) : Prop := x = False ∨ p
  have exU : ∃ x, U x := ⟨True, .inl rfl⟩
  have exV : ∃ x, V x := ⟨False, .inl rfl⟩
  have hu : U (choose exU) := choose_spec exU
  have hv : V (choose exV) := choose_spec exV
  have key : (choose exU ≠ choose exV) ∨ p := by
    cases hu with
    | inr h => exact .inr h
    | inl hu => cases hv with
      | inr h => exact .inr h
      | inl hv => exact .inl (fun e => false_of_true_eq_false (hu.symm.trans (e.trans hv)))
  have pimp : p → choose exU = choose exV := by
    intro hp
    have : U = V := funext fun x => propext ⟨fun _ => .inr hp, fun _ => .inr hp⟩
    have aux : ∀ (a b : Prop → Prop) (ea : ∃ x, a x) (eb : ∃ x, b x), a = b → choose ea = choose eb := by
      intro a b ea eb e
      subst e
      rfl
    exact aux U V exU exV this
  cases key with
  | inl h => exact .inr (fun hp => h (pimp hp))
  | inr h => exact .inl h
@[reducible] noncomputable def propDecidable (a : Prop) : Decidable a :=
  choice (match em a with | .inl h => ⟨isTrue h⟩ | .inr h => ⟨isFalse h⟩)
attribute [scoped instance low] propDecidable
theorem byCases {p q : Prop} (h₁ : p → q) (h₂ : ¬ p → q) : q := (em p).elim h₁ h₂
theorem byContradiction {p : Prop} (h : ¬ p → False) : p := (em p).elim id (fun n => (h n).elim)
end Classical
theorem Decidable.em (p : Prop) [i : Decidable p] : p ∨ ¬ p := match i with | isTrue h => .inl h | isFalse h => .inr h
theorem Decidable.byContradiction {p : Prop} [i : Decidable p] (h : ¬ p → False) : p := match i with | isTrue h => h | isFalse n => (h n).elim
@[macro_inline] def Decidable.byCases {p : Prop} {q : Sort u} [i : Decidable p] (h₁ : p → q) (h₂ : ¬ p → q) : q := match i with | isTrue h => h₁ h | isFalse n => h₂ n
theorem dif_pos {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t : c → α} {e : ¬ c → α} : dite c t e = t hc := match h with | isTrue _ => rfl | isFalse n => absurd hc n
theorem dif_neg {c : Prop} {h : Decidable c} (hn : ¬ c) {α : Sort u} {t : c → α} {e : ¬ c → α} : dite c t e = e hn := match h with | isTrue hc => absurd hc hn | isFalse _ => rfl
theorem if_pos {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t e : α} : ite c t e = t := match h with | isTrue _ => rfl | isFalse n => absurd hc n
theorem if_neg {c : Prop} {h : Decidable c} (hn : ¬ c) {α : Sort u} {t e : α} : ite c t e = e := match h with | isTrue hc => absurd hc hn | isFalse _ => rfl
