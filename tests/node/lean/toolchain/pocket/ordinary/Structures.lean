/-! Structures, classes, instances, defaults, inheritance and coercions. -/

universe u v

structure Named where
  name : String
deriving Repr

structure Person extends Named where
  age : Nat
  email : String := ""
deriving Repr

def ada : Person := { name := "Ada", age := 36 }

#guard ada.name == "Ada"
#guard ada.email == ""
example : ada.toNamed = { name := "Ada" } := rfl
example : { ada with age := 37 }.age = 37 := rfl
example (p : Person) : { p with age := p.age } = p := rfl

@[ext] structure Complex where
  re : Int
  im : Int

namespace Complex
instance : Add Complex := ⟨fun z w => ⟨z.re + w.re, z.im + w.im⟩⟩
instance : Neg Complex := ⟨fun z => ⟨-z.re, -z.im⟩⟩
instance : Zero Complex := ⟨⟨0, 0⟩⟩

@[simp] theorem add_re (z w : Complex) : (z + w).re = z.re + w.re := rfl
@[simp] theorem add_im (z w : Complex) : (z + w).im = z.im + w.im := rfl
@[simp] theorem neg_re (z : Complex) : (-z).re = -z.re := rfl
@[simp] theorem neg_im (z : Complex) : (-z).im = -z.im := rfl

protected theorem add_comm (z w : Complex) : z + w = w + z := by
  ext
  · simp only [add_re]; omega
  · simp only [add_im]; omega
end Complex

/-! A small hierarchy of algebra. -/

class Magma (α : Type u) where
  op : α → α → α
infixl:70 " ⋄ " => Magma.op

class Semigroup (α : Type u) extends Magma α where
  assoc : ∀ a b c : α, a ⋄ b ⋄ c = a ⋄ (b ⋄ c)

class Monoid (α : Type u) extends Semigroup α where
  unit : α
  unit_op : ∀ a : α, unit ⋄ a = a
  op_unit : ∀ a : α, a ⋄ unit = a
  power : Nat → α → α := fun n a => (List.replicate n a).foldl op unit

instance : Monoid Nat where
  op := Nat.add
  assoc := Nat.add_assoc
  unit := 0
  unit_op := Nat.zero_add
  op_unit := Nat.add_zero

instance (α : Type u) : Monoid (List α) where
  op := List.append
  assoc := List.append_assoc
  unit := []
  unit_op := List.nil_append
  op_unit := List.append_nil

section
variable {α : Type u} [Monoid α]

theorem unit_unique (e : α) (h : ∀ a : α, e ⋄ a = a) : e = Monoid.unit :=
  calc
    e = e ⋄ Monoid.unit := (Monoid.op_unit e).symm
    _ = Monoid.unit := h _

def fold : List α → α
  | [] => Monoid.unit
  | a :: as => a ⋄ fold as

theorem fold_append (as bs : List α) : fold (as ++ bs) = fold as ⋄ fold bs := by
  induction as with
  | nil => exact (Monoid.unit_op _).symm
  | cons a as ih =>
    show a ⋄ fold (as ++ bs) = a ⋄ fold as ⋄ fold bs
    rw [ih, Semigroup.assoc]
end

#guard fold [1, 2, 3] == 6

/-! Coercions. -/

structure Even where
  value : Nat
  even : value % 2 = 0

instance : CoeOut Even Nat := ⟨Even.value⟩
instance : Coe Bool Nat := ⟨fun b => if b then 1 else 0⟩
def four : Even := ⟨4, rfl⟩
example : (four : Nat) + 1 = 5 := rfl
example : (true : Nat) = 1 := rfl
example (e : Even) : (e : Nat) % 2 = 0 := e.even

structure Hom (α : Type u) (β : Type v) [Magma α] [Magma β] where
  toFun : α → β
  map_op : ∀ a b, toFun (a ⋄ b) = toFun a ⋄ toFun b
instance {α : Type u} {β : Type v} [Magma α] [Magma β] : CoeFun (Hom α β) fun _ => α → β := ⟨Hom.toFun⟩

def lengthHom (α : Type u) : Hom (List α) Nat := ⟨List.length, fun _ _ => List.length_append⟩
example : lengthHom Nat [1, 2] = 2 := rfl

structure Carrier where
  type : Type u
  point : type
instance : CoeSort Carrier.{u} (Type u) := ⟨Carrier.type⟩
def Carrier.basepoint (c : Carrier.{u}) : c := c.point

opaque secret : Nat
noncomputable def chosen (α : Type u) [Nonempty α] : α := Classical.choice ‹Nonempty α›
abbrev Pred (α : Type u) := α → Prop
example : secret = secret := rfl
