universe u v w
inductive Rose (α : Type u) (β : Type v) : Type (max u v) | mk (a : α) (rest : List (Option (Rose α β × β)))
mutual
inductive T : Type | leaf (n : Nat) | branch (l : List F)
inductive F : Type | none | cons (t : T) (f : F)
end
structure Bundle (α : Sort u) (β : α → Sort v) where
  {implicit : Nat}
  fst : α
  snd : β fst
  proof : implicit = implicit
structure Extended extends Bundle Nat (fun _ => Nat) where
  more : Fin 3
class inductive Some (α : Type u) : Prop | intro (a : α)
inductive Acc' {α : Sort u} (r : α → α → Prop) : α → Prop | intro (x : α) (h : ∀ y, r y x → Acc' r y) : Acc' r x
inductive Vec (α : Type u) : Nat → Type u | nil : Vec α 0 | cons {n : Nat} (a : α) (v : Vec α n) : Vec α (n + 1)
inductive Big : Type | mk (n : Nat) (h : n = 36893488147419103232) : Big
def Vec.length {α : Type u} {n : Nat} : Vec α n → Nat | .nil => 0 | .cons _ v => v.length + 1
def Rest (n : Nat) : Type := Quot fun a b : Nat => a % n = b % n
noncomputable def Rest.lift {n : Nat} (f : Nat → Nat) (h : ∀ a b, a % n = b % n → f a = f b) :
    Rest n → Nat := Quot.lift f h
theorem Rest.lift_mk {n : Nat} (f : Nat → Nat) (h : ∀ a b, a % n = b % n → f a = f b) (a : Nat) :
    Rest.lift f h (Quot.mk _ a) = f a := rfl
unsafe inductive Unsound | mk (f : Unsound → Unsound)
partial def forever (n : Nat) : Nat := forever (n + 1)
theorem eta (b : Bundle Nat fun _ => Nat) : Bundle.mk b.fst b.snd b.proof = b := rfl
