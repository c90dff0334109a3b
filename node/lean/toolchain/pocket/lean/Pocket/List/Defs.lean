module
prelude
public import Pocket.Option
@[expose] public section
/-! Lists: definitions and decidable equality. -/
set_option autoImplicit false
universe u v w

namespace List
variable {α : Type u} {β : Type v} {γ : Type w}

/-! ## Definitions -/

def filter (p : α → Bool) : List α → List α
  | [] => []
  | a :: as => match p a with
    | true => a :: filter p as
    | false => filter p as
def filterMap (f : α → Option β) : List α → List β
  | [] => []
  | a :: as => match f a with
    | none => filterMap f as
    | some b => b :: filterMap f as
def foldr (f : α → β → β) (init : β) : List α → β
  | [] => init
  | a :: as => f a (foldr f init as)
def reverseAux : List α → List α → List α
  | [], r => r
  | a :: as, r => reverseAux as (a :: r)
def reverse (as : List α) : List α := reverseAux as []
@[inline] protected def pure (a : α) : List α := [a]
def replicate : (n : Nat) → (a : α) → List α
  | 0, _ => []
  | n + 1, a => a :: replicate n a
def take : (n : Nat) → (xs : List α) → List α
  | 0, _ => []
  | _ + 1, [] => []
  | n + 1, a :: as => a :: take n as
def drop : (n : Nat) → (xs : List α) → List α
  | 0, as => as
  | _ + 1, [] => []
  | n + 1, _ :: as => drop n as
def head? : List α → Option α
  | [] => none
  | a :: _ => some a
def headD : List α → α → α
  | [], d => d
  | a :: _, _ => a
def tail : List α → List α
  | [] => []
  | _ :: as => as
def getLast? : List α → Option α
  | [] => none
  | [a] => some a
  | _ :: b :: as => getLast? (b :: as)
def isEmpty : List α → Bool
  | [] => true
  | _ :: _ => false
def all : List α → (α → Bool) → Bool
  | [], _ => true
  | h :: t, p => p h && all t p
def any : List α → (α → Bool) → Bool
  | [], _ => false
  | h :: t, p => p h || any t p
def zipWith (f : α → β → γ) : List α → List β → List γ
  | a :: as, b :: bs => f a b :: zipWith f as bs
  | [], _ => []
  | _ :: _, [] => []
def zip : List α → List β → List (α × β) := zipWith Prod.mk
def sum : List Nat → Nat := foldr (· + ·) 0
def elem [BEq α] (a : α) : List α → Bool
  | [] => false
  | b :: bs => match a == b with
    | true => true
    | false => elem a bs
def count [BEq α] (a : α) : List α → Nat
  | [] => 0
  | b :: bs => match b == a with
    | true => count a bs + 1
    | false => count a bs
inductive Mem (a : α) : List α → Prop where
  | head (as : List α) : Mem a (a :: as)
  | tail (b : α) {as : List α} : Mem a as → Mem a (b :: as)
instance instMembership : Membership α (List α) := ⟨fun l a => Mem a l⟩
end List
