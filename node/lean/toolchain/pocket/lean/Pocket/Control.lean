module
prelude
public import Pocket.Text
@[expose] public section
/-!
Monads: the class hierarchy of Lean's core, exceptions, readers, states. `MacroM`, in which macros run, is made of them; native code uses
their dictionaries, so that classes and their fields are in core's order.
-/
set_option autoImplicit false
universe u v w

/-! ## Small things that the definitions below need -/

@[reducible] def semiOutParam (α : Sort u) : Sort u := α
structure ULift.{r, s} (α : Type s) : Type (max s r) where up ::
  down : α
structure PLift (α : Sort u) : Type u where up ::
  down : α
def NonemptyType := Subtype fun α : Type u => Nonempty α
abbrev NonemptyType.type (type : NonemptyType.{u}) : Type u := type.val
class OrElse (α : Type u) where
  orElse : α → (Unit → α) → α
class HOrElse (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hOrElse : α → (Unit → β) → γ
@[default_instance] instance instHOrElseOfOrElse {α : Type u} [OrElse α] : HOrElse α α α := ⟨OrElse.orElse⟩
class AndThen (α : Type u) where
  andThen : α → (Unit → α) → α
class HAndThen (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hAndThen : α → (Unit → β) → γ
@[default_instance] instance instHAndThenOfAndThen {α : Type u} [AndThen α] : HAndThen α α α := ⟨AndThen.andThen⟩
instance instInhabitedForall_1 {α : Sort u} {β : α → Sort v} [(a : α) → Inhabited (β a)] : Inhabited ((a : α) → β a) := ⟨fun _ => default⟩
instance instInhabitedPUnit : Inhabited PUnit.{u} := ⟨PUnit.unit⟩
instance instInhabitedBool : Inhabited Bool := ⟨false⟩
instance instInhabitedNat : Inhabited Nat := ⟨Nat.zero⟩
instance instInhabitedProp : Inhabited Prop := ⟨True⟩
instance instInhabitedSort : Inhabited (Sort u) := ⟨PUnit⟩
instance instInhabitedProd {α : Type u} {β : Type v} [Inhabited α] [Inhabited β] : Inhabited (Prod α β) := ⟨⟨default, default⟩⟩
instance instInhabitedFin {n : Nat} : Inhabited (Fin (HAdd.hAdd n 1)) := ⟨⟨0, Nat.succ_le_succ (Nat.zero_le n)⟩⟩
instance instNonemptyOfInhabited {α : Sort u} [Inhabited α] : Nonempty α := ⟨default⟩

/-- No-op for compiled code. Unsafe: the kernel refuses it in every theorem. -/
unsafe def unsafeCast {α : Sort u} {β : Sort v} (a : α) : β :=
  PLift.down (ULift.down.{max u v} (cast lcProof (ULift.up.{max u v} (PLift.up a))))
@[never_extract, extern "lean_panic_fn_borrowed"] def panicCore {α : Sort u} [@& Inhabited α] (_msg : String) : α := default
/-- `default`; compiled code also prints the message. -/
@[noinline, never_extract] def panic {α : Sort u} [Inhabited α] (msg : String) : α := panicCore msg

class Hashable (α : Sort u) where
  hash : α → UInt64
export Hashable (hash)
@[extern "lean_uint64_mix_hash"] opaque mixHash (u₁ u₂ : UInt64) : UInt64
@[extern "lean_string_hash"] protected opaque String.hash (s : @& String) : UInt64
instance instHashableString : Hashable String := ⟨String.hash⟩

/-! ## Functors, applicative functors, monads -/

class Bind (m : Type u → Type v) where
  bind : {α β : Type u} → m α → (α → m β) → m β
export Bind (bind)
class Pure (f : Type u → Type v) where
  pure {α : Type u} : α → f α
export Pure (pure)
class Functor (f : Type u → Type v) : Type (max (u+1) v) where
  map : {α β : Type u} → (α → β) → f α → f β
  mapConst : {α β : Type u} → α → f β → f α := Function.comp map (Function.const _)
class Seq (f : Type u → Type v) : Type (max (u+1) v) where
  seq : {α β : Type u} → f (α → β) → (Unit → f α) → f β
class SeqLeft (f : Type u → Type v) : Type (max (u+1) v) where
  seqLeft : {α β : Type u} → f α → (Unit → f β) → f α
class SeqRight (f : Type u → Type v) : Type (max (u+1) v) where
  seqRight : {α β : Type u} → f α → (Unit → f β) → f β
class Applicative (f : Type u → Type v) extends Functor f, Pure f, Seq f, SeqLeft f, SeqRight f where
  map := fun g x => Seq.seq (pure g) fun _ => x
  seqLeft := fun x y => Seq.seq (Functor.map (Function.const _) x) y
  seqRight := fun x y => Seq.seq (Functor.map (Function.const _ id) x) y
class Monad (m : Type u → Type v) : Type (max (u+1) v) extends Applicative m, Bind m where
  map f x := bind x (Function.comp pure f)
  seq f x := bind f fun g => Functor.map g (x Unit.unit)
  seqLeft x y := bind x fun a => bind (y Unit.unit) fun _ => pure a
  seqRight x y := bind x fun _ => y Unit.unit
instance instInhabitedForallOfMonad {α : Type u} {m : Type u → Type v} [Monad m] : Inhabited (α → m α) := ⟨pure⟩
instance instInhabitedOfMonad {α : Type u} {m : Type u → Type v} [Monad m] [Inhabited α] : Inhabited (m α) := ⟨pure default⟩

class MonadLift (m : semiOutParam (Type u → Type v)) (n : Type u → Type w) where
  monadLift : {α : Type u} → m α → n α
class MonadLiftT (m : Type u → Type v) (n : Type u → Type w) where
  monadLift : {α : Type u} → m α → n α
export MonadLiftT (monadLift)
abbrev liftM := @monadLift
@[always_inline] instance instMonadLiftTOfMonadLift (m : Type u → Type v) (n : Type u → Type v) (o : Type u → Type w) [MonadLift n o] [MonadLiftT m n] :
    MonadLiftT m o := ⟨fun x => MonadLift.monadLift (m := n) (monadLift x)⟩
instance instMonadLiftT (m : Type u → Type v) : MonadLiftT m m := ⟨fun x => x⟩
class MonadEval (m : semiOutParam (Type u → Type v)) (n : Type u → Type w) where
  monadEval : {α : Type u} → m α → n α
instance instMonadEvalOfMonadLift {m : Type u → Type v} {n : Type u → Type w} [MonadLift m n] : MonadEval m n := ⟨MonadLift.monadLift⟩
class MonadEvalT (m : Type u → Type v) (n : Type u → Type w) where
  monadEval : {α : Type u} → m α → n α
instance instMonadEvalTOfMonadEval (m : Type u → Type v) (n : Type u → Type v) (o : Type u → Type w) [MonadEval n o] [MonadEvalT m n] :
    MonadEvalT m o := ⟨fun x => MonadEval.monadEval (m := n) (MonadEvalT.monadEval x)⟩
instance instMonadEvalT (m : Type u → Type v) : MonadEvalT m m := ⟨fun x => x⟩
class MonadFunctor (m : semiOutParam (Type u → Type v)) (n : Type u → Type w) where
  monadMap {α : Type u} : ({β : Type u} → m β → m β) → n α → n α
class MonadFunctorT (m : Type u → Type v) (n : Type u → Type w) where
  monadMap {α : Type u} : ({β : Type u} → m β → m β) → n α → n α
export MonadFunctorT (monadMap)
@[always_inline] instance instMonadFunctorTOfMonadFunctor (m : Type u → Type v) (n : Type u → Type v) (o : Type u → Type w)
    [MonadFunctor n o] [MonadFunctorT m n] : MonadFunctorT m o := ⟨fun f => MonadFunctor.monadMap (m := n) (monadMap (m := m) f)⟩
instance monadFunctorRefl (m : Type u → Type v) : MonadFunctorT m m := ⟨fun f => f⟩

/-! ## Exceptions -/

inductive Except (ε : Type u) (α : Type v) where
  | error : ε → Except ε α
  | ok : α → Except ε α
instance instInhabitedExcept {ε : Type u} {α : Type v} [Inhabited ε] : Inhabited (Except ε α) := ⟨Except.error default⟩
class MonadExceptOf (ε : semiOutParam (Type u)) (m : Type v → Type w) where
  throw {α : Type v} : ε → m α
  tryCatch {α : Type v} (body : m α) (handler : ε → m α) : m α
abbrev throwThe (ε : Type u) {m : Type v → Type w} [MonadExceptOf ε m] {α : Type v} (e : ε) : m α := MonadExceptOf.throw e
abbrev tryCatchThe (ε : Type u) {m : Type v → Type w} [MonadExceptOf ε m] {α : Type v} (x : m α) (handle : ε → m α) : m α :=
  MonadExceptOf.tryCatch x handle
class MonadExcept (ε : outParam (Type u)) (m : Type v → Type w) where
  throw {α : Type v} : ε → m α
  tryCatch {α : Type v} : (body : m α) → (handler : ε → m α) → m α
def MonadExcept.ofExcept {ε : Type u} {m : Type v → Type w} {α : Type v} [Monad m] [MonadExcept ε m] : Except ε α → m α
  | .ok a => pure a
  | .error e => throw e
export MonadExcept (throw tryCatch ofExcept)
instance instMonadExceptOfMonadExceptOf (ε : Type u) (m : Type v → Type w) [MonadExceptOf ε m] : MonadExcept ε m := ⟨throwThe ε, tryCatchThe ε⟩
@[inline] protected def MonadExcept.orElse {ε : Type u} {m : Type v → Type w} [MonadExcept ε m] {α : Type v} (t₁ : m α) (t₂ : Unit → m α) : m α :=
  tryCatch t₁ fun _ => t₂ Unit.unit
instance MonadExcept.instOrElse {ε : Type u} {m : Type v → Type w} [MonadExcept ε m] {α : Type v} : OrElse (m α) := ⟨MonadExcept.orElse⟩

/-! ## Readers -/

@[implicit_reducible] def ReaderT (ρ : Type u) (m : Type u → Type v) (α : Type u) : Type (max u v) := (a : @& ρ) → m α
instance instInhabitedReaderT (ρ : Type u) (m : Type u → Type v) (α : Type u) [Inhabited (m α)] : Inhabited (ReaderT ρ m α) := ⟨fun _ => default⟩
namespace ReaderT
variable {ρ : Type u} {m : Type u → Type v} {α β : Type u}
@[always_inline, inline] def mk (x : ρ → m α) : ReaderT ρ m α := x
@[always_inline, inline] def run (x : ReaderT ρ m α) (r : ρ) : m α := x r
instance instMonadLift : MonadLift m (ReaderT ρ m) := ⟨fun x _ => x⟩
@[always_inline] instance instMonadExceptOf (ε : Type w) [MonadExceptOf ε m] : MonadExceptOf ε (ReaderT ρ m) where
  throw e := liftM (m := m) (throw e)
  tryCatch x c := fun r => tryCatchThe ε (x r) fun e => c e r
@[always_inline, inline] protected def read [Monad m] : ReaderT ρ m ρ := pure
@[always_inline, inline] protected def pure [Monad m] (a : α) : ReaderT ρ m α := fun _ => Pure.pure a
@[always_inline, inline] protected def bind [Monad m] (x : ReaderT ρ m α) (f : α → ReaderT ρ m β) : ReaderT ρ m β :=
  fun r => Bind.bind (x r) fun a => f a r
@[always_inline] instance instFunctorOfMonad [Monad m] : Functor (ReaderT ρ m) where
  map f x := fun r => Functor.map f (x r)
  mapConst a x := fun r => Functor.mapConst a (x r)
@[always_inline] instance instApplicativeOfMonad [Monad m] : Applicative (ReaderT ρ m) where
  pure := ReaderT.pure
  seq f x := fun r => Seq.seq (f r) fun _ => x Unit.unit r
  seqLeft a b := fun r => SeqLeft.seqLeft (a r) fun _ => b Unit.unit r
  seqRight a b := fun r => SeqRight.seqRight (a r) fun _ => b Unit.unit r
instance instMonad [Monad m] : Monad (ReaderT ρ m) where
  bind := ReaderT.bind
instance instMonadFunctor (ρ : Type u) (m : Type u → Type v) : MonadFunctor m (ReaderT ρ m) := ⟨fun f x ctx => f (x ctx)⟩
@[always_inline, inline] protected def adapt {ρ' : Type u} (f : ρ' → ρ) (x : ReaderT ρ m α) : ReaderT ρ' m α := fun r => x (f r)
end ReaderT
class MonadReaderOf (ρ : semiOutParam (Type u)) (m : Type u → Type v) where
  read : m ρ
class MonadReader (ρ : outParam (Type u)) (m : Type u → Type v) where
  read : m ρ
export MonadReader (read)
@[always_inline, inline] def readThe (ρ : Type u) {m : Type u → Type v} [MonadReaderOf ρ m] : m ρ := MonadReaderOf.read
instance instMonadReaderOfMonadReaderOf (ρ : Type u) (m : Type u → Type v) [MonadReaderOf ρ m] : MonadReader ρ m := ⟨readThe ρ⟩
instance instMonadReaderOfOfMonadLift {ρ : Type u} {m : Type u → Type v} {n : Type u → Type w} [MonadLift m n] [MonadReaderOf ρ m] :
    MonadReaderOf ρ n := ⟨liftM (m := m) read⟩
instance instMonadReaderOfReaderTOfMonad {ρ : Type u} {m : Type u → Type v} [Monad m] : MonadReaderOf ρ (ReaderT ρ m) := ⟨ReaderT.read⟩
class MonadWithReaderOf (ρ : semiOutParam (Type u)) (m : Type u → Type v) where
  withReader {α : Type u} (f : ρ → ρ) (x : m α) : m α
@[always_inline, inline] def withTheReader (ρ : Type u) {m : Type u → Type v} [MonadWithReaderOf ρ m] {α : Type u} (f : ρ → ρ) (x : m α) : m α :=
  MonadWithReaderOf.withReader f x
class MonadWithReader (ρ : outParam (Type u)) (m : Type u → Type v) where
  withReader {α : Type u} : (f : ρ → ρ) → (x : m α) → m α
export MonadWithReader (withReader)
instance instMonadWithReaderOfMonadWithReaderOf (ρ : Type u) (m : Type u → Type v) [MonadWithReaderOf ρ m] : MonadWithReader ρ m := ⟨withTheReader ρ⟩
instance instMonadWithReaderOfOfMonadFunctor {ρ : Type u} {m : Type u → Type v} {n : Type u → Type v} [MonadFunctor m n] [MonadWithReaderOf ρ m] :
    MonadWithReaderOf ρ n := ⟨fun f => monadMap (m := m) (withTheReader ρ f)⟩
instance instMonadWithReaderOfReaderT {ρ : Type u} {m : Type u → Type v} : MonadWithReaderOf ρ (ReaderT ρ m) := ⟨fun f x ctx => x (f ctx)⟩

/-! ## States -/

class MonadStateOf (σ : semiOutParam (Type u)) (m : Type u → Type v) where
  get : m σ
  set : σ → m PUnit
  modifyGet {α : Type u} : (σ → Prod α σ) → m α
export MonadStateOf (set)
abbrev getThe (σ : Type u) {m : Type u → Type v} [MonadStateOf σ m] : m σ := MonadStateOf.get
@[always_inline, inline] abbrev modifyThe (σ : Type u) {m : Type u → Type v} [MonadStateOf σ m] (f : σ → σ) : m PUnit :=
  MonadStateOf.modifyGet fun s => ⟨PUnit.unit, f s⟩
@[always_inline, inline] abbrev modifyGetThe {α : Type u} (σ : Type u) {m : Type u → Type v} [MonadStateOf σ m] (f : σ → Prod α σ) : m α :=
  MonadStateOf.modifyGet f
class MonadState (σ : outParam (Type u)) (m : Type u → Type v) where
  get : m σ
  set : σ → m PUnit
  modifyGet {α : Type u} : (σ → Prod α σ) → m α
export MonadState (get modifyGet)
instance instMonadStateOfMonadStateOf (σ : Type u) (m : Type u → Type v) [MonadStateOf σ m] : MonadState σ m where
  set := MonadStateOf.set
  get := getThe σ
  modifyGet f := MonadStateOf.modifyGet f
@[always_inline, inline] def modify {σ : Type u} {m : Type u → Type v} [MonadState σ m] (f : σ → σ) : m PUnit := modifyGet fun s => ⟨PUnit.unit, f s⟩
@[always_inline, inline] def getModify {σ : Type u} {m : Type u → Type v} [MonadState σ m] (f : σ → σ) : m σ := modifyGet fun s => ⟨s, f s⟩
@[always_inline] instance instMonadStateOfOfMonadLift {σ : Type u} {m : Type u → Type v} {n : Type u → Type w} [MonadLift m n] [MonadStateOf σ m] :
    MonadStateOf σ n where
  get := liftM (m := m) MonadStateOf.get
  set s := liftM (m := m) (MonadStateOf.set s)
  modifyGet f := monadLift (m := m) (MonadState.modifyGet f)

/-! ## States with exceptions -/

inductive EStateM.Result (ε σ α : Type u) where
  | ok : α → σ → EStateM.Result ε σ α
  | error : ε → σ → EStateM.Result ε σ α
def EStateM (ε σ α : Type u) := σ → EStateM.Result ε σ α
namespace EStateM
variable {ε σ α β : Type u}
instance instInhabitedResult [Inhabited ε] [Inhabited σ] : Inhabited (Result ε σ α) := ⟨Result.error default default⟩
instance instInhabited [Inhabited ε] : Inhabited (EStateM ε σ α) := ⟨fun s => Result.error default s⟩
@[always_inline, inline] protected def pure (a : α) : EStateM ε σ α := fun s => Result.ok a s
@[always_inline, inline] protected def set (s : σ) : EStateM ε σ PUnit := fun _ => Result.ok PUnit.unit s
@[always_inline, inline] protected def get : EStateM ε σ σ := fun s => Result.ok s s
@[always_inline, inline] protected def modifyGet (f : σ → Prod α σ) : EStateM ε σ α := fun s => match f s with
  | ⟨a, s⟩ => Result.ok a s
@[always_inline, inline] protected def throw (e : ε) : EStateM ε σ α := fun s => Result.error e s
/-- Which part of the state an exception takes back. -/
class Backtrackable (δ : outParam (Type u)) (σ : Type u) where
  save : σ → δ
  restore : σ → δ → σ
@[always_inline, inline] protected def tryCatch {δ : Type u} [Backtrackable δ σ] (x : EStateM ε σ α) (handle : ε → EStateM ε σ α) : EStateM ε σ α :=
  fun s =>
    let saved := Backtrackable.save s
    match x s with
    | Result.error e s => handle e (Backtrackable.restore s saved)
    | Result.ok a s => Result.ok a s
@[always_inline, inline] protected def orElse {δ : Type u} [Backtrackable δ σ] (x₁ : EStateM ε σ α) (x₂ : Unit → EStateM ε σ α) : EStateM ε σ α :=
  EStateM.tryCatch x₁ fun _ => x₂ Unit.unit
@[always_inline, inline] def adaptExcept {ε' : Type u} (f : ε → ε') (x : EStateM ε σ α) : EStateM ε' σ α := fun s => match x s with
  | Result.error e s => Result.error (f e) s
  | Result.ok a s => Result.ok a s
@[always_inline, inline] protected def bind (x : EStateM ε σ α) (f : α → EStateM ε σ β) : EStateM ε σ β := fun s => match x s with
  | Result.ok a s => f a s
  | Result.error e s => Result.error e s
@[always_inline, inline] protected def map (f : α → β) (x : EStateM ε σ α) : EStateM ε σ β := fun s => match x s with
  | Result.ok a s => Result.ok (f a) s
  | Result.error e s => Result.error e s
@[always_inline, inline] protected def seqRight (x : EStateM ε σ α) (y : Unit → EStateM ε σ β) : EStateM ε σ β := fun s => match x s with
  | Result.ok _ s => y Unit.unit s
  | Result.error e s => Result.error e s
@[always_inline] instance instMonad : Monad (EStateM ε σ) where
  bind := EStateM.bind
  pure := EStateM.pure
  map := EStateM.map
  seqRight := EStateM.seqRight
instance instOrElseOfBacktrackable {δ : Type u} [Backtrackable δ σ] : OrElse (EStateM ε σ α) := ⟨EStateM.orElse⟩
instance instMonadStateOf : MonadStateOf σ (EStateM ε σ) where
  set := EStateM.set
  get := EStateM.get
  modifyGet := EStateM.modifyGet
instance instMonadExceptOfOfBacktrackable {δ : Type u} [Backtrackable δ σ] : MonadExceptOf ε (EStateM ε σ) where
  throw := EStateM.throw
  tryCatch := EStateM.tryCatch
@[always_inline, inline] def run (x : EStateM ε σ α) (s : σ) : Result ε σ α := x s
@[always_inline, inline] def run' (x : EStateM ε σ α) (s : σ) : Option α := match run x s with
  | Result.ok v _ => some v
  | Result.error _ _ => none
instance nonBacktrackable : Backtrackable PUnit σ := ⟨fun _ => PUnit.unit, fun s _ => s⟩
end EStateM
