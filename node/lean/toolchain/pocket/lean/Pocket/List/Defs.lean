prelude
import Pocket.Option
/-! Lists: definitions and decidable equality. -/
set_option autoImplicit false
universe u v w

namespace List
variable {α : Type u} {β : Type v} {γ : Type w}

/-! ## Definitions -/

instance : Inhabited (List α) := ⟨[]⟩
def length : List α → Nat
  | [] => 0
  | _ :: as => length as + 1
protected def append : List α → List α → List α
  | [], bs => bs
  | a :: as, bs => a :: List.append as bs
instance instAppend : Append (List α) := ⟨List.append⟩
def map (f : α → β) : List α → List β
  | [] => []
  | a :: as => f a :: map f as
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
def foldl (f : β → α → β) (init : β) : List α → β
  | [] => init
  | a :: as => foldl f (f init a) as
def reverseAux : List α → List α → List α
  | [], r => r
  | a :: as, r => reverseAux as (a :: r)
def reverse (as : List α) : List α := reverseAux as []
def concat : List α → α → List α
  | [], b => [b]
  | a :: as, b => a :: concat as b
def flatten : List (List α) → List α
  | [] => []
  | l :: ls => l ++ flatten ls
@[inline] protected def pure (a : α) : List α := [a]
def flatMap (f : α → List β) (l : List α) : List β := flatten (map f l)
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
instance hasDecEq [DecidableEq α] : DecidableEq (List α)
  | [], [] => isTrue rfl
  | [], _ :: _ => isFalse fun h => nomatch h
  | _ :: _, [] => isFalse fun h => nomatch h
  | a :: as, b :: bs => match inferInstanceAs (Decidable (a = b)), hasDecEq as bs with
    | isTrue h₁, isTrue h₂ => isTrue (by rw [h₁, h₂])
    | isFalse n, _ => isFalse fun h => n (List.cons.inj h).1
    | _, isFalse n => isFalse fun h => n (List.cons.inj h).2
end List
