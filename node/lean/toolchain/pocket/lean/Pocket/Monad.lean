module
prelude
public import Pocket.Quotation
public import Pocket.Option
public import Pocket.List.Mem
@[expose] public section
/-! Monads for programs: `Id`, `Option`, `Except`, their transformers, states, loops over lists, and the laws of monads. -/
set_option autoImplicit false
universe u v w u₁ u₂ w₁ w₂

/-- Leave a loop, or go on. It comes first, so that its matcher has the name that the elaborator of `for` knows. -/
@[always_inline, inline] abbrev Break.runK {α : Type u} {β : Type v} (x : Option α) (breakK : Unit → β) (successK : α → β) : β := match x with
  | some a => successK a
  | none => breakK ()

instance instNonemptyOfMonad {m : Type u → Type v} {α : Type u} [Monad m] : [Nonempty α] → Nonempty (m α)
  | ⟨a⟩ => ⟨pure a⟩
class Alternative (f : Type u → Type v) : Type (max (u + 1) v) extends Applicative f where
  failure : {α : Type u} → f α
  orElse : {α : Type u} → f α → (Unit → f α) → f α
export Alternative (failure)
instance instOrElseOfAlternative (f : Type u → Type v) (α : Type u) [Alternative f] : OrElse (f α) := ⟨Alternative.orElse⟩
@[inline] def guard {f : Type → Type v} [Alternative f] (p : Prop) [Decidable p] : f Unit := if p then pure () else failure
@[inline] def optional {f : Type u → Type v} [Alternative f] {α : Type u} (x : f α) : f (Option α) := (some <$> x) <|> pure none
@[always_inline, inline] def discard {f : Type u → Type v} {α : Type u} [Functor f] (x : f α) : f PUnit := Functor.mapConst PUnit.unit x
@[inline] def Functor.discard {f : Type u → Type v} {α : Type u} [Functor f] (x : f α) : f PUnit := Functor.mapConst PUnit.unit x
@[always_inline, inline] def when {m : Type → Type u} [Applicative m] (c : Bool) (t : m Unit) : m Unit := if c then t else pure ()
@[always_inline, inline] def «unless» {m : Type → Type u} [Applicative m] (c : Bool) (t : m Unit) : m Unit := if c then pure () else t
@[always_inline, inline] def Bind.kleisliRight {α : Type u} {m : Type u₁ → Type u₂} {β γ : Type u₁} [Bind m] (f : α → m β) (g : β → m γ) (a : α) : m γ :=
  f a >>= g
@[always_inline, inline] def Bind.kleisliLeft {α : Type u} {m : Type u₁ → Type u₂} {β γ : Type u₁} [Bind m] (g : β → m γ) (f : α → m β) (a : α) : m γ :=
  f a >>= g
@[always_inline, inline] def Bind.bindLeft {α β : Type u} {m : Type u → Type v} [Bind m] (f : α → m β) (x : m α) : m β := x >>= f

/-! ## `Id`, `Option`, `Except` -/

@[implicit_reducible] def Id (type : Type u) : Type u := type
namespace Id
@[always_inline, inline] protected def run {α : Type u} (x : Id α) : α := x
@[always_inline] instance instMonad : Monad Id where
  pure x := x
  bind x f := f x
  map f x := f x
instance instOfNat {α : Type u} {n : Nat} [OfNat α n] : OfNat (Id α) n := inferInstanceAs (OfNat α n)
@[simp] theorem run_pure {α : Type u} (a : α) : (pure a : Id α).run = a := rfl
@[simp] theorem run_bind {α β : Type u} (x : Id α) (f : α → Id β) : (x >>= f).run = (f x.run).run := rfl
@[simp] theorem run_map {α β : Type u} (f : α → β) (x : Id α) : (f <$> x).run = f x.run := rfl
end Id
instance instMonadOption : Monad Option where
  pure := some
  bind := Option.bind
  map := Option.map
instance Option.instAlternative : Alternative Option where
  failure := none
  orElse := Option.orElse
namespace Option
@[simp] theorem pure_def {α : Type u} : (pure : α → Option α) = some := rfl
@[simp] theorem bind_eq_bind {α β : Type u} : @Bind.bind Option _ α β = Option.bind := rfl
@[simp] theorem map_eq_map {α β : Type u} {f : α → β} : Functor.map f = Option.map f := rfl
@[inline] def toMonad {m : Type → Type} {α : Type} [Monad m] [Alternative m] : Option α → m α
  | none => failure
  | some a => pure a
def get! {α : Type u} [Inhabited α] : Option α → α
  | some a => a
  | none => panic "value is none"
def get {α : Type u} : (o : Option α) → o.isSome = true → α
  | some a, _ => a
end Option
namespace Except
variable {ε : Type u} {α β : Type v}
@[always_inline, inline] protected def pure (a : α) : Except ε α := .ok a
@[always_inline, inline] protected def map (f : α → β) : Except ε α → Except ε β
  | .error e => .error e
  | .ok a => .ok (f a)
@[always_inline, inline] protected def bind (x : Except ε α) (f : α → Except ε β) : Except ε β := match x with
  | .error e => .error e
  | .ok a => f a
@[always_inline, inline] def mapError {ε' : Type u} (f : ε → ε') : Except ε α → Except ε' α
  | .error e => .error (f e)
  | .ok a => .ok a
@[always_inline, inline] protected def tryCatch (x : Except ε α) (handle : ε → Except ε α) : Except ε α := match x with
  | .error e => handle e
  | .ok a => .ok a
@[always_inline, inline] protected def toOption : Except ε α → Option α
  | .ok a => some a
  | .error _ => none
protected def toBool : Except ε α → Bool
  | .ok _ => true
  | .error _ => false
@[always_inline] instance instMonad : Monad (Except ε) where
  pure := Except.pure
  bind := Except.bind
  map := Except.map
end Except
instance instMonadExceptOfExcept (ε : Type u) : MonadExceptOf ε (Except ε) := ⟨Except.error, Except.tryCatch⟩

/-! ## States -/

@[implicit_reducible] def StateT (σ : Type u) (m : Type u → Type v) (α : Type u) : Type (max u v) := σ → m (α × σ)
@[reducible] def StateM (σ α : Type u) : Type u := StateT σ Id α
@[reducible] def ReaderM (ρ : Type u) := ReaderT ρ Id
namespace StateT
variable {σ : Type u} {m : Type u → Type v} {α β : Type u}
@[always_inline, inline] def mk (x : σ → m (α × σ)) : StateT σ m α := x
@[always_inline, inline] def run (x : StateT σ m α) (s : σ) : m (α × σ) := x s
@[always_inline, inline] def run' [Functor m] (x : StateT σ m α) (s : σ) : m α := (fun p => p.1) <$> x s
variable [Monad m]
@[always_inline, inline] protected def pure (a : α) : StateT σ m α := fun s => Pure.pure (a, s)
@[always_inline, inline] protected def bind (x : StateT σ m α) (f : α → StateT σ m β) : StateT σ m β := fun s => x s >>= fun p => f p.1 p.2
@[always_inline, inline] protected def map (f : α → β) (x : StateT σ m α) : StateT σ m β := fun s => x s >>= fun p => Pure.pure (f p.1, p.2)
@[always_inline] instance instMonad : Monad (StateT σ m) where
  pure := StateT.pure
  bind := StateT.bind
  map := StateT.map
@[always_inline, inline] protected def get : StateT σ m σ := fun s => Pure.pure (s, s)
@[always_inline, inline] protected def set (s : σ) : StateT σ m PUnit := fun _ => Pure.pure (⟨⟩, s)
@[always_inline, inline] protected def modifyGet (f : σ → α × σ) : StateT σ m α := fun s => Pure.pure (f s)
@[always_inline, inline] protected def lift (x : m α) : StateT σ m α := fun s => x >>= fun a => Pure.pure (a, s)
instance instMonadLift : MonadLift m (StateT σ m) := ⟨StateT.lift⟩
@[always_inline] instance instMonadFunctor (σ : Type u) (m : Type u → Type v) : MonadFunctor m (StateT σ m) := ⟨fun f x s => f (x s)⟩
instance instAlternativeOfMonad [Alternative m] : Alternative (StateT σ m) where
  failure := fun _ => failure
  orElse x y := fun s => x s <|> y () s
@[always_inline] instance instMonadExceptOf (ε : Type w) [MonadExceptOf ε m] : MonadExceptOf ε (StateT σ m) where
  throw e := StateT.lift (throwThe ε e)
  tryCatch x c := fun s => tryCatchThe ε (x s) fun e => c e s
end StateT
instance instMonadStateOfStateTOfMonad {σ : Type u} {m : Type u → Type v} [Monad m] : MonadStateOf σ (StateT σ m) where
  get := StateT.get
  set := StateT.set
  modifyGet := StateT.modifyGet

/-! ## Transformers of exceptions and options -/

@[implicit_reducible] def ExceptT (ε : Type u) (m : Type u → Type v) (α : Type u) : Type v := m (Except ε α)
@[implicit_reducible] def OptionT (m : Type u → Type v) (α : Type u) : Type v := m (Option α)
namespace ExceptT
variable {ε : Type u} {m : Type u → Type v} {α β : Type u}
@[always_inline, inline] def mk (x : m (Except ε α)) : ExceptT ε m α := x
@[always_inline, inline] def run (x : ExceptT ε m α) : m (Except ε α) := x
variable [Monad m]
@[always_inline, inline] protected def pure (a : α) : ExceptT ε m α := ExceptT.mk (Pure.pure (.ok a))
@[always_inline, inline] protected def bind (x : ExceptT ε m α) (f : α → ExceptT ε m β) : ExceptT ε m β := ExceptT.mk (x.run >>= fun r => match r with
  | .ok a => (f a).run
  | .error e => Pure.pure (.error e))
@[always_inline, inline] protected def lift (x : m α) : ExceptT ε m α := ExceptT.mk (Except.ok <$> x)
@[always_inline] instance instMonad : Monad (ExceptT ε m) where
  pure := ExceptT.pure
  bind := ExceptT.bind
instance instMonadLift : MonadLift m (ExceptT ε m) := ⟨ExceptT.lift⟩
instance instMonadLiftExcept : MonadLift (Except ε) (ExceptT ε m) := ⟨fun x => ExceptT.mk (Pure.pure x)⟩
instance instMonadFunctor (ε : Type u) (m : Type u → Type v) : MonadFunctor m (ExceptT ε m) := ⟨fun f x => f x⟩
@[always_inline, inline] protected def tryCatch (x : ExceptT ε m α) (handle : ε → ExceptT ε m α) : ExceptT ε m α :=
  ExceptT.mk (x.run >>= fun r => match r with
    | .ok a => Pure.pure (.ok a)
    | .error e => (handle e).run)
end ExceptT
instance instMonadExceptOfExceptTOfMonad {ε : Type u} {m : Type u → Type v} [Monad m] : MonadExceptOf ε (ExceptT ε m) where
  throw e := ExceptT.mk (pure (.error e))
  tryCatch := ExceptT.tryCatch
namespace OptionT
variable {m : Type u → Type v} {α β : Type u}
@[always_inline, inline] def mk (x : m (Option α)) : OptionT m α := x
@[always_inline, inline] def run (x : OptionT m α) : m (Option α) := x
variable [Monad m]
@[always_inline, inline] protected def pure (a : α) : OptionT m α := OptionT.mk (Pure.pure (some a))
@[always_inline, inline] protected def bind (x : OptionT m α) (f : α → OptionT m β) : OptionT m β := OptionT.mk (x.run >>= fun r => match r with
  | some a => (f a).run
  | none => Pure.pure none)
@[always_inline, inline] protected def lift (x : m α) : OptionT m α := OptionT.mk (some <$> x)
@[always_inline] instance instMonad : Monad (OptionT m) where
  pure := OptionT.pure
  bind := OptionT.bind
instance instAlternative : Alternative (OptionT m) where
  failure := OptionT.mk (Pure.pure none)
  orElse x y := OptionT.mk (x.run >>= fun r => match r with
    | some a => Pure.pure (some a)
    | none => (y ()).run)
instance instMonadLift : MonadLift m (OptionT m) := ⟨OptionT.lift⟩
end OptionT

@[always_inline] instance ExceptT.instMonadExceptOf (ε₁ : Type u) (ε₂ : Type u) (m : Type u → Type v) [MonadExceptOf ε₁ m] : MonadExceptOf ε₁ (ExceptT ε₂ m) where
  throw e := ExceptT.mk (throwThe ε₁ e)
  tryCatch x handle := ExceptT.mk (tryCatchThe ε₁ x handle)
@[always_inline] instance OptionT.instMonadExceptOf (ε : Type u) (m : Type u → Type v) [Monad m] [MonadExceptOf ε m] : MonadExceptOf ε (OptionT m) where
  throw e := OptionT.mk (throwThe ε e)
  tryCatch x handle := OptionT.mk (tryCatchThe ε x handle)

/-! ## What `do` makes of `return`, `break` and `continue` inside loops and `try`. The elaborator knows these names and their matchers. -/

abbrev EarlyReturnT (ρ : Type u) (m : Type u → Type v) (α : Type u) := ExceptT ρ m α
@[always_inline, inline] abbrev EarlyReturnT.return {ρ : Type u} {m : Type u → Type v} {α : Type u} [Monad m] (r : ρ) : EarlyReturnT ρ m α := throw r
@[always_inline, inline] abbrev EarlyReturn.runK {ρ α : Type u} {β : Type v} (x : Except ρ α) (ret : ρ → β) (pure : α → β) : β := x.casesOn ret pure
abbrev BreakT := OptionT
@[always_inline, inline] abbrev BreakT.break {m : Type w → Type u} {α : Type w} [Monad m] : BreakT m α := failure
abbrev ContinueT := OptionT
@[always_inline, inline] abbrev ContinueT.continue {m : Type w → Type u} {α : Type w} [Monad m] : ContinueT m α := failure
@[always_inline, inline] abbrev Continue.runK {α : Type u} {β : Type v} (x : Option α) (continueK : Unit → β) (successK : α → β) : β :=
  x.casesOn (fun _ => continueK ()) (fun a _ => successK a) ()

/-! ## Loops -/

inductive ForInStep (α : Type u) where
  | done : α → ForInStep α
  | yield : α → ForInStep α
instance instInhabitedForInStep {α : Type u} [Inhabited α] : Inhabited (ForInStep α) := ⟨.done default⟩
class ForIn (m : Type u₁ → Type u₂) (ρ : Type u) (α : outParam (Type v)) where
  forIn {β : Type u₁} (xs : ρ) (b : β) (f : α → β → m (ForInStep β)) : m β
export ForIn (forIn)
class ForIn' (m : Type u₁ → Type u₂) (ρ : Type u) (α : outParam (Type v)) (d : outParam (Membership α ρ)) where
  forIn' {β : Type u₁} (x : ρ) (b : β) (f : (a : α) → a ∈ x → β → m (ForInStep β)) : m β
export ForIn' (forIn')
class ForM (m : Type u → Type v) (γ : Type w₁) (α : outParam (Type w₂)) where
  forM (coll : γ) (f : α → m PUnit) : m PUnit
export ForM (forM)
/-- What a block with `return` in a loop gives back. -/
inductive DoResultPR (α β σ : Type u) where
  | pure : α → σ → DoResultPR α β σ
  | return : β → σ → DoResultPR α β σ
inductive DoResultBC (σ : Type u) where
  | break : σ → DoResultBC σ
  | continue : σ → DoResultBC σ
inductive DoResultPRBC (α β σ : Type u) where
  | pure : α → σ → DoResultPRBC α β σ
  | return : β → σ → DoResultPRBC α β σ
  | break : σ → DoResultPRBC α β σ
  | continue : σ → DoResultPRBC α β σ
inductive DoResultSBC (α σ : Type u) where
  | pureReturn : α → σ → DoResultSBC α σ
  | break : σ → DoResultSBC α σ
  | continue : σ → DoResultSBC α σ

namespace List
variable {m : Type u₁ → Type u₂} {α : Type v}
def forIn'.loop {β : Type u₁} [Monad m] (as : List α) (f : (a : α) → a ∈ as → β → m (ForInStep β)) :
    (as' : List α) → (b : β) → (∀ a, a ∈ as' → a ∈ as) → m β
  | [], b, _ => pure b
  | a :: as', b, h => f a (h a (.head _)) b >>= fun r => match r with
    | .done b => pure b
    | .yield b => forIn'.loop as f as' b fun x hx => h x (.tail _ hx)
@[inline] protected def forIn' {β : Type u₁} [Monad m] (as : List α) (init : β) (f : (a : α) → a ∈ as → β → m (ForInStep β)) : m β :=
  forIn'.loop as f as init fun _ h => h
@[specialize] protected def forIn {β : Type u₁} [Monad m] (as : List α) (init : β) (f : α → β → m (ForInStep β)) : m β := match as with
  | [] => pure init
  | a :: as => f a init >>= fun r => match r with
    | .done b => pure b
    | .yield b => List.forIn as b f
instance instForIn'InferInstanceMembershipOfMonad [Monad m] : ForIn' m (List α) α inferInstance := ⟨List.forIn'⟩
instance instForInOfMonad [Monad m] : ForIn m (List α) α := ⟨List.forIn⟩
@[specialize] def mapM {m : Type u → Type v} [Monad m] {α : Type w} {β : Type u} (f : α → m β) : List α → m (List β)
  | [] => pure []
  | a :: as => f a >>= fun b => (b :: ·) <$> mapM f as
@[specialize] protected def forM {m : Type u → Type v} [Monad m] {α : Type w} (as : List α) (f : α → m PUnit) : m PUnit := match as with
  | [] => pure ⟨⟩
  | a :: as => f a >>= fun _ => List.forM as f
instance instForMOfMonad {m : Type u → Type v} [Monad m] {α : Type w} : ForM m (List α) α := ⟨List.forM⟩
@[specialize] protected def foldlM {m : Type u → Type v} [Monad m] {s : Type u} {α : Type w} (f : s → α → m s) (init : s) : List α → m s
  | [] => pure init
  | a :: as => f init a >>= fun s => List.foldlM f s as
end List
instance Option.instForIn {m : Type u₁ → Type u₂} {α : Type v} [Monad m] : ForIn m (Option α) α := ⟨fun o b f => match o with
  | none => pure b
  | some a => f a b >>= fun r => match r with
    | .done b => pure b
    | .yield b => pure b⟩
instance Array.instForIn {m : Type u₁ → Type u₂} {α : Type v} [Monad m] : ForIn m (Array α) α := ⟨fun as b f => List.forIn as.toList b f⟩

/-! ## Laws -/

class LawfulFunctor (f : Type u → Type v) [Functor f] : Prop where
  map_const : {α β : Type u} → (Functor.mapConst : α → f β → f α) = Functor.map ∘ Function.const β
  id_map {α : Type u} (x : f α) : id <$> x = x
  comp_map {α β γ : Type u} (g : α → β) (h : β → γ) (x : f α) : (h ∘ g) <$> x = h <$> g <$> x
class LawfulApplicative (f : Type u → Type v) [Applicative f] : Prop extends LawfulFunctor f where
  seqLeft_eq {α β : Type u} (x : f α) (y : f β) : x <* y = Function.const β <$> x <*> y
  seqRight_eq {α β : Type u} (x : f α) (y : f β) : x *> y = Function.const α id <$> x <*> y
  pure_seq {α β : Type u} (g : α → β) (x : f α) : pure g <*> x = g <$> x
  map_pure {α β : Type u} (g : α → β) (x : α) : g <$> (pure x : f α) = pure (g x)
  seq_pure {α β : Type u} (g : f (α → β)) (x : α) : g <*> pure x = (fun h : α → β => h x) <$> g
  seq_assoc {α β γ : Type u} (x : f α) (g : f (α → β)) (h : f (β → γ)) : h <*> (g <*> x) = ((@Function.comp α β γ) <$> h) <*> g <*> x
class LawfulMonad (m : Type u → Type v) [Monad m] : Prop extends LawfulApplicative m where
  bind_pure_comp {α β : Type u} (f : α → β) (x : m α) : (x >>= fun a => pure (f a)) = f <$> x
  bind_map {α β : Type u} (f : m (α → β)) (x : m α) : (f >>= fun g => g <$> x) = f <*> x
  pure_bind {α β : Type u} (x : α) (f : α → m β) : pure x >>= f = f x
  bind_assoc {α β γ : Type u} (x : m α) (f : α → m β) (g : β → m γ) : x >>= f >>= g = x >>= fun x => f x >>= g
attribute [simp] LawfulFunctor.id_map LawfulApplicative.pure_seq LawfulApplicative.map_pure LawfulMonad.pure_bind LawfulMonad.bind_assoc
export LawfulFunctor (map_const id_map comp_map)
export LawfulApplicative (seqLeft_eq seqRight_eq pure_seq map_pure seq_pure seq_assoc)
export LawfulMonad (bind_pure_comp bind_map pure_bind bind_assoc)
@[simp] theorem bind_pure {m : Type u → Type v} [Monad m] [LawfulMonad m] {α : Type u} (x : m α) : x >>= pure = x :=
  (bind_pure_comp id x).trans (id_map x)
instance Id.instLawfulMonad : LawfulMonad Id where
  map_const := rfl
  id_map _ := rfl
  comp_map _ _ _ := rfl
  seqLeft_eq _ _ := rfl
  seqRight_eq _ _ := rfl
  pure_seq _ _ := rfl
  map_pure _ _ := rfl
  seq_pure _ _ := rfl
  seq_assoc _ _ _ := rfl
  bind_pure_comp _ _ := rfl
  bind_map _ _ := rfl
  pure_bind _ _ := rfl
  bind_assoc _ _ _ := rfl
instance Option.instLawfulMonad : LawfulMonad Option where
  map_const := rfl
  id_map x := by cases x <;> rfl
  comp_map _ _ x := by cases x <;> rfl
  seqLeft_eq x y := by cases x <;> cases y <;> rfl
  seqRight_eq x y := by cases x <;> cases y <;> rfl
  pure_seq _ _ := rfl
  map_pure _ _ := rfl
  seq_pure g _ := by cases g <;> rfl
  seq_assoc x g h := by cases h <;> cases g <;> cases x <;> rfl
  bind_pure_comp _ x := by cases x <;> rfl
  bind_map f x := by cases f <;> cases x <;> rfl
  pure_bind _ _ := rfl
  bind_assoc x f g := by cases x <;> rfl
