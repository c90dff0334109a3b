Universe levels, opaque constants, quotients.
--! reference
universe u v
theorem t (α : Type u) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := sorry
--! pair one_universe
universe u v
- theorem t (α : Type u) (β : Type u) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
+ theorem t (α : Type u) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
--! pair universe_zero
- theorem t (α β : Type) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
+ theorem t.{u, v} (α : Type u) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
--! pair swapped_universes
- theorem t.{v, u} (α : Type u) (β : Type (max u v)) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
+ theorem t.{v, u} (α : Type u) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
--! pair propositions
- theorem t (α β : Prop) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := (k rfl).elim
+ theorem t.{u, v} (α : Type u) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := mt (h a b) k
--! pair third_universe
- theorem t.{u, v, w} (α : Type u) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) (_ : PUnit.{w}) : f a ≠ f b := fun e => k (h a b e)
+ theorem t.{w, v} (α : Type w) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
--! pair sorts
- theorem t.{u, v} (α : Sort u) (β : Sort v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
+ theorem s.{u, v} (α : Sort u) (β : Sort v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
+ theorem t.{u, v} (α : Type u) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := s α β f h a b k
--! pair max_universe
- theorem t.{u, v} (α : Type (max u v)) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
+ theorem s.{u, v} (α : Type (max u v)) (a b : α) (k : a ≠ b) : b ≠ a := k.symm
+ theorem t.{u, v} (α : Type u) (β : Type v) (f : α → β) (h : ∀ a b, f a = f b → a = b) (a b : α) (k : a ≠ b) : f a ≠ f b := fun e => k (h a b e)
--! reference
opaque secret : Nat
opaque hidden (n : Nat) : Nat := n + 1
def Parity : Type := Quot fun a b : Nat => ∃ k, b = a + 2 * k
def Parity.of (n : Nat) : Parity := Quot.mk _ n
theorem t : secret = secret + 0 := sorry
theorem u (n : Nat) : hidden n = hidden (n + 0) := sorry
theorem v : Parity.of 0 = Parity.of 4 := sorry
--! pair opaque_made_a_definition
- def secret : Nat := 0
+ opaque secret : Nat
opaque hidden (n : Nat) : Nat := n + 1
def Parity : Type := Quot fun a b : Nat => ∃ k, b = a + 2 * k
def Parity.of (n : Nat) : Parity := Quot.mk _ n
theorem t : secret = secret + 0 := rfl
theorem u (n : Nat) : hidden n = hidden (n + 0) := rfl
theorem v : Parity.of 0 = Parity.of 4 := Quot.sound ⟨2, rfl⟩
--! pair opaque_with_another_value
opaque secret : Nat
- opaque hidden (n : Nat) : Nat := 0
+ opaque hidden : (n : Nat) → Nat := fun n => n + 1
def Parity : Type := Quot fun a b : Nat => ∃ k, b = a + 2 * k
def Parity.of (n : Nat) : Parity := Quot.mk _ n
theorem t : secret = secret + 0 := rfl
theorem u (n : Nat) : hidden n = hidden (n + 0) := rfl
theorem v : Parity.of 0 = Parity.of 4 := Quot.sound ⟨2, rfl⟩
--! pair quotient_by_everything
opaque secret : Nat
opaque hidden (n : Nat) : Nat := n + 1
- def Parity : Type := Quot fun _ _ : Nat => True
+ def Parity : Type := Quot fun a b : Nat => ∃ c, b = a + 2 * c
def Parity.of (n : Nat) : Parity := Quot.mk _ n
theorem t : secret = secret + 0 := rfl
theorem u (n : Nat) : hidden n = hidden (n + 0) := rfl
- theorem v : Parity.of 0 = Parity.of 4 := Quot.sound trivial
+ theorem v : Parity.of 0 = Parity.of 4 := Quot.sound ⟨2, rfl⟩
--! pair own_quotient
namespace My
- inductive Quot {α : Type} (r : α → α → Prop) : Type | any
- def Quot.mk {α : Type} (r : α → α → Prop) (a : α) : Quot r := .any
+ inductive Quot' {α : Type} (r : α → α → Prop) : Type | any
end My
- open My (Quot.mk)
+ open My
opaque secret : Nat
opaque hidden (n : Nat) : Nat := n + 1
- def Parity : Type := My.Quot fun a b : Nat => ∃ k, b = a + 2 * k
- def Parity.of (n : Nat) : Parity := My.Quot.mk _ n
+ def Parity : Type := Quot fun a b : Nat => ∃ k, b = a + 2 * k
+ def Parity.of (n : Nat) : Parity := Quot.mk _ n
theorem t : secret = secret + 0 := rfl
theorem u (n : Nat) : hidden n = hidden (n + 0) := rfl
- theorem v : Parity.of 0 = Parity.of 4 := rfl
+ theorem v : Parity.of 0 = Parity.of 4 := Quot.sound ⟨2, rfl⟩
--! reference
universe u v
structure Two (α : Type u) (β : Type v) where
  one : α
  two : β
inductive Wrapped.{w, z} : Prop
  | made (α : Type w) (β : Type z) (_ : α) (_ : β)
def turned (x : Two.{u, v} α β) : Two β α := ⟨x.two, x.one⟩
theorem t (α : Type u) (β : Type v) (x : Two α β) (_ : Wrapped.{u, v}) (γ : Type u) (c : γ) : turned (turned x) = x ∧ c = c := sorry
--! pair order_of_parameters
universe v u
structure Two (α : Type u) (β : Type v) where
  one : α
  two : β
inductive Wrapped.{z, w} : Prop
  | made (α : Type w) (β : Type z) (_ : α) (_ : β)
def turned (x : Two.{v, u} α β) : Two β α := ⟨x.two, x.one⟩
- theorem t (α : Type u) (β : Type v) (x : Two α β) (_ : Wrapped.{u, v}) (γ : Type u) (c : γ) : turned (turned x) = x ∧ c = c := ⟨rfl, rfl⟩
+ theorem t (α : Type u) (β : Type v) (x : Two α β) (_ : Wrapped.{v, u}) (γ : Type u) (c : γ) : turned (turned x) = x ∧ c = c := ⟨rfl, rfl⟩
--! pair applied_to_others
- universe v u
- structure Two (α : Type u) (β : Type v) where
+ universe a b
+ structure Two (α : Type b) (β : Type a) where
  one : α
  two : β
- inductive Wrapped.{z, w} : Prop
+ inductive Wrapped.{w, z} : Prop
  | made (α : Type w) (β : Type z) (_ : α) (_ : β)
- def turned (x : Two.{v, u} α β) : Two β α := ⟨x.two, x.one⟩
- theorem t (α : Type u) (β : Type v) (x : Two α β) (_ : Wrapped.{v, u}) (γ : Type v) (c : γ) : turned (turned x) = x ∧ c = c := ⟨rfl, rfl⟩
+ def turned (x : Two.{a, b} α β) : Two β α := ⟨x.two, x.one⟩
+ theorem t (α : Type b) (β : Type a) (x : Two α β) (_ : Wrapped.{b, a}) (γ : Type b) (c : γ) : turned (turned x) = x ∧ c = c := ⟨rfl, rfl⟩
