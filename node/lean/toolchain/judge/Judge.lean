/-!
Reads declarations as data, gives each one to Lean's kernel in an environment that has only the imported library, and reports which of them
the kernel accepts and which axioms constants use. Run as `lean --run PROGRAM`, where the program is a preface for this kind of Lean, followed
by this file (see `__init__.py`).

Standard input has documents, each as a line `LENGTH NONCE` and so many bytes. Each gets an answer of the same form. All documents of a process
have the same imports, which it loads once.

Nothing from the data is elaborated or evaluated. An answer is printed at its end, at once: a process that dies has not answered.
-/

namespace Judge
open Lean

/-! ## Reading tokens -/

inductive Read (α : Type) where
  /-- What was read, and the position behind it. -/
  | ok (value : α) (next : Nat)
  | bad (position : Nat)

@[inline] def byte (b : ByteArray) (i : Nat) : Nat := (b.get! i).toNat
/-- A blank or a line break. -/
@[inline] def isBreak (c : Nat) : Bool := if c = 32 then true else if c = 10 then true else false
/-- One letter and a separator. -/
@[inline] def isLetter (b : ByteArray) (i letter : Nat) : Bool := if byte b i = letter then isBreak (byte b (i + 1)) else false

/-- Numbers are packed with the position behind them, which avoids an object for each: `number * packed + position`. -/
@[inline] def packed : Nat := 4294967296

/-- The digits from `i` to a byte `stop`, or to a separator if `stop` is 0. -/
unsafe def digits (b : ByteArray) (stop : Nat) (i acc : Nat) : Nat :=
  let c := byte b i
  if c < 48 then if stop = 0 then if isBreak c then acc * packed + (i + 1) else 0 else 0
  else if c < 58 then
    let acc := acc * 10 + (c - 48)
    if acc < 2147483648 then digits b stop (i + 1) acc else 0
  else if c = stop then acc * packed + (i + 1)
  else 0
/-- A number below 2^31 without superfluous zeros, packed; 0 if there is none. -/
unsafe def numberTo (b : ByteArray) (stop i : Nat) : Nat :=
  let c := byte b i
  if c < 48 then 0
  else if c = 48 then
    let c := byte b (i + 1)
    if stop = 0 then if isBreak c then i + 2 else 0 else if c = stop then i + 2 else 0
  else if c < 58 then digits b stop i 0
  else 0
@[inline] unsafe def number (b : ByteArray) (i : Nat) : Nat := numberTo b 0 i

/-- A number of any size. -/
unsafe def largeNumber (b : ByteArray) (start i acc : Nat) : Read Nat :=
  let c := byte b i
  if c < 48 then if isBreak c then if start < i then .ok acc (i + 1) else .bad i else .bad i
  else if c < 58 then
    if start < i then if byte b start = 48 then .bad i else largeNumber b start (i + 1) (acc * 10 + (c - 48))
    else largeNumber b start (i + 1) (acc * 10 + (c - 48))
  else .bad i

/-- A number in lower-case hexadecimal digits. Up to 15 digits fit into a machine word, `high` has those before them. -/
unsafe def hexadecimal (b : ByteArray) (start i scale low high : Nat) : Read Nat :=
  let c := byte b i
  let digit := if c < 48 then 16 else if c < 58 then c - 48 else if c < 97 then 16 else if c < 103 then c - 87 else 16
  if digit = 16 then if isBreak c then if start < i then .ok (high * scale + low) (i + 1) else .bad i else .bad i
  else if start < i then
    if byte b start = 48 then .bad i
    else if scale = 1152921504606846976 then hexadecimal b start (i + 1) 16 digit (high * scale + low)
    else hexadecimal b start (i + 1) (scale * 16) (low * 16 + digit) high
  else hexadecimal b start (i + 1) (scale * 16) (low * 16 + digit) high

/-- A text: its length in bytes, a colon, the bytes, a separator. -/
unsafe def text (b : ByteArray) (i : Nat) : Read String :=
  let r := numberTo b 58 i
  if r = 0 then .bad i else
  let start := r % packed
  let stop := start + r / packed
  if b.size < stop + 2 then .bad i else
  if isBreak (byte b stop) then
    match String.fromUTF8? (b.extract start stop) with
    | some s => .ok s (stop + 1)
    | none => .bad start
  else .bad stop

/-- The position behind these bytes and a separator; 0 if they are not there. -/
unsafe def wordFrom (b word : ByteArray) (i k : Nat) : Nat :=
  if k < word.size then if byte b i = byte word k then wordFrom b word (i + 1) (k + 1) else 0
  else if isBreak (byte b i) then i + 1 else 0

/-- `count` numbers of entries of a table, as these entries. -/
unsafe def entries {α : Type} [Inhabited α] (b : ByteArray) (table : Array α) (count i : Nat) (acc : List α) : Read (List α) :=
  if count = 0 then .ok acc.reverse i else
  let r := number b i
  if r = 0 then .bad i else
  let k := r / packed
  if k < table.size then entries b table (count - 1) (r % packed) (table[k]! :: acc) else .bad i
/-- A count and as many entries of a table. -/
@[inline] unsafe def counted {α : Type} [Inhabited α] (b : ByteArray) (table : Array α) (i : Nat) : Read (List α) :=
  let r := number b i
  if r = 0 then .bad i else entries b table (r / packed) (r % packed) []

/-! ## Names, levels, expressions -/

unsafe def readNames (b : ByteArray) (left i : Nat) (out : Array Name) : Read (Array Name) :=
  if left = 0 then .ok out i else
  let r := number b (i + 2)
  if r = 0 then .bad i else
  let parent := r / packed
  if parent < out.size then
    if isLetter b i 115 then
      match text b (r % packed) with
      | .ok s next => readNames b (left - 1) next (out.push (.str out[parent]! s))
      | .bad j => .bad j
    else if isLetter b i 110 then
      match largeNumber b (r % packed) (r % packed) 0 with
      | .ok n next => readNames b (left - 1) next (out.push (.num out[parent]! n))
      | .bad j => .bad j
    else .bad i
  else .bad i

unsafe def readLevels (b : ByteArray) (names : Array Name) (left i : Nat) (out : Array Level) : Read (Array Level) :=
  if left = 0 then .ok out i else
  let r := number b (i + 2)
  if r = 0 then .bad i else
  let first := r / packed
  let next := r % packed
  if isLetter b i 112 then
    if first < names.size then readLevels b names (left - 1) next (out.push (mkLevelParam names[first]!)) else .bad i
  else if first < out.size then
    if isLetter b i 115 then readLevels b names (left - 1) next (out.push (mkLevelSucc out[first]!))
    else
      let r := number b next
      if r = 0 then .bad i else
      let second := r / packed
      let next := r % packed
      if second < out.size then
        if isLetter b i 109 then readLevels b names (left - 1) next (out.push (mkLevelMax out[first]! out[second]!))
        else if isLetter b i 105 then readLevels b names (left - 1) next (out.push (mkLevelIMax out[first]! out[second]!))
        else .bad i
      else .bad i
  else .bad i

/-- Lean keeps the largest loose bound variable of a term in 20 bits, and panics if it does not fit. -/
def largestIndex : Nat := 1000000
/-- Lean keeps the depth of a level in 24 bits, and panics if it does not fit. -/
def mostLevels : Nat := 10000000
/-- Binder names mean nothing to the kernel. -/
def binder : Name := .mkSimple "x"

unsafe def readExpressions (b : ByteArray) (names : Array Name) (levels : Array Level) (left i : Nat) (out : Array Expr) : Read (Array Expr) :=
  if left = 0 then .ok out i else
  if isBreak (byte b (i + 1)) then
    let kind := byte b i
    if kind = 97 then -- a: application
      let r := number b (i + 2)
      if r = 0 then .bad i else
      let s := number b (r % packed)
      if s = 0 then .bad i else
      let f := r / packed
      let x := s / packed
      if f < out.size then
        if x < out.size then readExpressions b names levels (left - 1) (s % packed) (out.push (mkApp out[f]! out[x]!)) else .bad i
      else .bad i
    else if kind = 99 then -- c: constant
      let r := number b (i + 2)
      if r = 0 then .bad i else
      let name := r / packed
      if name < names.size then
        match counted b levels (r % packed) with
        | .ok us next => readExpressions b names levels (left - 1) next (out.push (mkConst names[name]! us))
        | .bad j => .bad j
      else .bad i
    else if kind = 98 then -- b: bound variable
      let r := number b (i + 2)
      if r = 0 then .bad i else
      let index := r / packed
      if largestIndex < index then .bad i else
      readExpressions b names levels (left - 1) (r % packed) (out.push (mkBVar index))
    else if kind = 108 then -- l: function
      let r := number b (i + 2)
      if r = 0 then .bad i else
      let s := number b (r % packed)
      if s = 0 then .bad i else
      let type := r / packed
      let body := s / packed
      if type < out.size then
        if body < out.size then
          readExpressions b names levels (left - 1) (s % packed) (out.push (mkLambda binder .default out[type]! out[body]!))
        else .bad i
      else .bad i
    else if kind = 112 then -- p: type of functions
      let r := number b (i + 2)
      if r = 0 then .bad i else
      let s := number b (r % packed)
      if s = 0 then .bad i else
      let type := r / packed
      let body := s / packed
      if type < out.size then
        if body < out.size then
          readExpressions b names levels (left - 1) (s % packed) (out.push (mkForall binder .default out[type]! out[body]!))
        else .bad i
      else .bad i
    else if kind = 115 then -- s: sort
      let r := number b (i + 2)
      if r = 0 then .bad i else
      let level := r / packed
      if level < levels.size then readExpressions b names levels (left - 1) (r % packed) (out.push (mkSort levels[level]!)) else .bad i
    else if kind = 106 then -- j: projection
      let r := number b (i + 2)
      if r = 0 then .bad i else
      let s := number b (r % packed)
      if s = 0 then .bad i else
      let t := number b (s % packed)
      if t = 0 then .bad i else
      let name := r / packed
      let struct := t / packed
      if name < names.size then
        if struct < out.size then
          readExpressions b names levels (left - 1) (t % packed) (out.push (mkProj names[name]! (s / packed) out[struct]!))
        else .bad i
      else .bad i
    else if kind = 116 then -- t: let
      let r := number b (i + 2)
      if r = 0 then .bad i else
      let s := number b (r % packed)
      if s = 0 then .bad i else
      let t := number b (s % packed)
      if t = 0 then .bad i else
      let type := r / packed
      let value := s / packed
      let body := t / packed
      if type < out.size then
        if value < out.size then
          if body < out.size then
            readExpressions b names levels (left - 1) (t % packed) (out.push (mkLet binder out[type]! out[value]! out[body]!))
          else .bad i
        else .bad i
      else .bad i
    else if kind = 110 then -- n: number
      match hexadecimal b (i + 2) (i + 2) 1 0 0 with
      | .ok n next => readExpressions b names levels (left - 1) next (out.push (mkRawNatLit n))
      | .bad j => .bad j
    else if kind = 113 then -- q: string
      match text b (i + 2) with
      | .ok s next => readExpressions b names levels (left - 1) next (out.push (mkStrLit s))
      | .bad j => .bad j
    else .bad i
  else .bad i

unsafe def readImports (b : ByteArray) (names : Array Name) (left i : Nat) (out : Array Import) : Read (Array Import) :=
  if left = 0 then .ok out i else
  let r := number b i
  if r = 0 then .bad i else
  let name := r / packed
  if name < names.size then readImports b names (left - 1) (r % packed) (out.push { module := names[name]! }) else .bad i

/-! ## Declarations -/

structure Tables where
  bytes : ByteArray
  names : Array Name
  expressions : Array Expr

inductive Step where
  /-- Continue from the library alone. -/
  | fresh
  | declare (declaration : Declaration)

unsafe def readConstructors (t : Tables) (left i : Nat) (acc : List Constructor) : Read (List Constructor) :=
  if left = 0 then .ok acc.reverse i else
  let r := number t.bytes i
  if r = 0 then .bad i else
  let s := number t.bytes (r % packed)
  if s = 0 then .bad i else
  let name := r / packed
  let type := s / packed
  if name < t.names.size then
    if type < t.expressions.size then
      readConstructors t (left - 1) (s % packed) ({ name := t.names[name]!, type := t.expressions[type]! } :: acc)
    else .bad i
  else .bad i

unsafe def readTypes (t : Tables) (left i : Nat) (acc : List InductiveType) : Read (List InductiveType) :=
  if left = 0 then .ok acc.reverse i else
  let r := number t.bytes i
  if r = 0 then .bad i else
  let s := number t.bytes (r % packed)
  if s = 0 then .bad i else
  let n := number t.bytes (s % packed)
  if n = 0 then .bad i else
  let name := r / packed
  let type := s / packed
  if name < t.names.size then
    if type < t.expressions.size then
      match readConstructors t (n / packed) (n % packed) [] with
      | .ok ctors next =>
        readTypes t (left - 1) next ({ name := t.names[name]!, type := t.expressions[type]!, ctors := ctors } :: acc)
      | .bad j => .bad j
    else .bad i
  else .bad i

unsafe def readInductive (t : Tables) (i : Nat) : Read Step :=
  match counted t.bytes t.names i with
  | .bad j => .bad j
  | .ok params next =>
    let r := number t.bytes next
    if r = 0 then .bad next else
    let s := number t.bytes (r % packed)
    if s = 0 then .bad next else
    if s / packed = 0 then .bad next else
    match readTypes t (s / packed) (s % packed) [] with
    | .ok types next => .ok (.declare (.inductDecl params (r / packed) types false)) next
    | .bad j => .bad j

/-- The kernel's hints are 32-bit numbers. -/
def hints? (n : Nat) : Option ReducibilityHints :=
  if n = 0 then some .opaque
  else if n = 1 then some .abbrev
  else if n - 2 < 4294967296 then some (.regular (.ofNat (n - 2)))
  else none

unsafe def readConstant (t : Tables) (kind i : Nat) : Read Step :=
  let r := number t.bytes i
  if r = 0 then .bad i else
  if r / packed < t.names.size then
    let name := t.names[r / packed]!
    match counted t.bytes t.names (r % packed) with
    | .bad j => .bad j
    | .ok params next =>
      let r := number t.bytes next
      if r = 0 then .bad next else
      if r / packed < t.expressions.size then
        let type := t.expressions[r / packed]!
        if kind = 97 then -- a: axiom
          .ok (.declare (.axiomDecl { name := name, levelParams := params, type := type, isUnsafe := false })) (r % packed)
        else
          let r := number t.bytes (r % packed)
          if r = 0 then .bad next else
          if r / packed < t.expressions.size then
            let value := t.expressions[r / packed]!
            if kind = 116 then -- t: theorem
              .ok (.declare (.thmDecl { name := name, levelParams := params, type := type, value := value })) (r % packed)
            else if kind = 111 then -- o: opaque
              .ok (.declare (.opaqueDecl { name := name, levelParams := params, type := type, value := value, isUnsafe := false })) (r % packed)
            else -- d: definition
              match largeNumber t.bytes (r % packed) (r % packed) 0 with
              | .bad j => .bad j
              | .ok n next =>
                match hints? n with
                | none => .bad next
                | some hints => .ok (.declare (.defnDecl {
                    name := name, levelParams := params, type := type, value := value, hints := hints, safety := .safe })) next
          else .bad next
      else .bad next
  else .bad i

unsafe def readStep (t : Tables) (i : Nat) : Read Step :=
  if isBreak (byte t.bytes (i + 1)) then
    let letter := byte t.bytes i
    -- A D T O: accepted before by such a process; here they are checked again.
    let kind := if letter = 65 then 97 else if letter = 68 then 100 else if letter = 84 then 116 else if letter = 79 then 111 else letter
    if kind = 101 then .ok .fresh (i + 2)
    else if kind = 105 then readInductive t (i + 2)
    else if kind = 97 then readConstant t kind (i + 2)
    else if kind = 100 then readConstant t kind (i + 2)
    else if kind = 116 then readConstant t kind (i + 2)
    else if kind = 111 then readConstant t kind (i + 2)
    else .bad i
  else .bad i

/-! ## Names that mean something to the kernel -/

def dotted (parts : List String) : Name := parts.foldl (fun name part => Name.str name part) Name.anonymous

/-- With these the kernel runs compiled code. -/
def runsCode : List Name := [dotted ["Lean", "reduceBool"], dotted ["Lean", "reduceNat"]]

/-- Names that the kernel computes with, or that a report trusts, by name alone: a definition of a user's would not be what they stand for. -/
def reserved : List Name :=
  runsCode ++ [
    dotted ["Nat"], dotted ["Nat", "zero"], dotted ["Nat", "succ"], dotted ["Nat", "rec"], dotted ["Nat", "pred"], dotted ["Nat", "add"],
    dotted ["Nat", "sub"], dotted ["Nat", "mul"], dotted ["Nat", "div"], dotted ["Nat", "mod"], dotted ["Nat", "gcd"], dotted ["Nat", "beq"],
    dotted ["Nat", "ble"], dotted ["Nat", "land"], dotted ["Nat", "lor"], dotted ["Nat", "xor"], dotted ["Nat", "shiftLeft"],
    dotted ["Nat", "shiftRight"], dotted ["Nat", "pow"], dotted ["Nat", "log2"], dotted ["Nat", "bitwise"], dotted ["Bool"],
    dotted ["Bool", "true"], dotted ["Bool", "false"], dotted ["Bool", "rec"], dotted ["String"], dotted ["String", "mk"],
    dotted ["String", "ofList"], dotted ["String", "ofByteArray"], dotted ["Char"], dotted ["Char", "mk"], dotted ["Char", "ofNat"],
    dotted ["List"], dotted ["List", "nil"], dotted ["List", "cons"], dotted ["Quot"], dotted ["Quot", "mk"], dotted ["Quot", "lift"],
    dotted ["Quot", "ind"], dotted ["Quot", "sound"], dotted ["Eq"], dotted ["Eq", "refl"], dotted ["Eq", "rec"], dotted ["propext"],
    dotted ["Classical", "choice"], dotted ["sorryAx"], dotted ["eagerReduce"], dotted ["Lean", "ofReduceBool"],
    dotted ["Lean", "ofReduceNat"], dotted ["Lean", "trustCompiler"]]

/-- The kernel makes names that begin like this itself. -/
def internal : List String := ["_kernel_fresh", "_nested", "_nested_fresh", "_ind_fresh"]

def begins (name : Name) : List String → Bool
  | [] => false
  | part :: rest => if name == Name.mkSimple part then true else begins name rest
def isInternal : Name → Bool
  | .str p s => if begins (.str p s) internal then true else isInternal p
  | .num p _ => isInternal p
  | .anonymous => false
def isOneOf (name : Name) : List Name → Bool
  | [] => false
  | other :: rest => if name == other then true else isOneOf name rest

def isFree (name : Name) : Bool :=
  if name == Name.anonymous then false
  else if isInternal name then false
  else if isOneOf name reserved then false
  else true

/-! ## Axioms -/

structure Axioms where
  /-- Axiom k has bit k + 1 in the masks. Bit 0 marks constants whose visit has not ended. -/
  found : Array Name
  /-- The axioms that a constant uses, as bits. -/
  masks : NameMap Nat

structure Visit where
  name : Name
  /-- What it uses, and has not been looked at. -/
  rest : List Name
  mask : Nat

def firstOf (names : List Name) (default : Name) : Name := match names with
  | [] => default
  | name :: _ => name

/-- A type, its constructors and its recursor use each other. The first type that is declared with them stands for all of them. -/
def standsFor (env : KernelEnvironment) (name : Name) : Name := match env.find? name with
  | some (.inductInfo v) => firstOf v.all name
  | some (.recInfo v) => firstOf v.all name
  | some (.ctorInfo v) => match env.find? v.induct with
    | some (.inductInfo w) => firstOf w.all name
    | _ => name
  | _ => name

def usedBy (e : Expr) (others : List Name) : List Name := e.getUsedConstants.foldl (fun names name => name :: names) others

def usedByConstructors (env : KernelEnvironment) : List Name → List Name → List Name
  | [], others => others
  | name :: names, others => match env.find? name with
    | some (.ctorInfo v) => usedByConstructors env names (usedBy v.type others)
    | _ => usedByConstructors env names (name :: others)
def usedByTypes (env : KernelEnvironment) : List Name → List Name → List Name
  | [], others => others
  | name :: names, others => match env.find? name with
    | some (.inductInfo v) => usedByTypes env names (usedBy v.type (usedByConstructors env v.ctors others))
    | _ => usedByTypes env names (name :: others)

/-- The axiom that a constant itself is, if any, and the constants that it uses. A constant that is not found counts as an axiom. -/
def direct (env : KernelEnvironment) (name : Name) : Bool × List Name :=
  if isOneOf name runsCode then (true, []) else
  match env.find? name with
  | none => (true, [])
  | some (.axiomInfo v) => (true, usedBy v.type [])
  | some (.defnInfo v) => (false, usedBy v.type (usedBy v.value []))
  | some (.thmInfo v) => (false, usedBy v.type (usedBy v.value []))
  | some (.opaqueInfo v) => (false, usedBy v.type (usedBy v.value []))
  | some (.quotInfo v) => (false, usedBy v.type [])
  | some (.inductInfo v) => (false, usedByTypes env v.all [])
  | some (.ctorInfo v) => (false, v.induct :: usedBy v.type [])
  | some (.recInfo v) => (false, usedBy v.type v.all)

/-- The visits that remain end with the masks of all constants that are visited. An explicit stack, because libraries are deep. -/
unsafe def visitAll (env : KernelEnvironment) : List Visit → Axioms → Axioms
  | [], axioms => axioms
  | ⟨name, [], mask⟩ :: stack, axioms =>
    let axioms : Axioms := { axioms with masks := axioms.masks.insert name mask }
    match stack with
    | [] => axioms
    | ⟨above, rest, others⟩ :: stack => visitAll env (⟨above, rest, Nat.lor others mask⟩ :: stack) axioms
  | ⟨name, next :: rest, mask⟩ :: stack, axioms =>
    if next == name then visitAll env (⟨name, rest, mask⟩ :: stack) axioms else
    match axioms.masks.find? next with
    | some other => visitAll env (⟨name, rest, Nat.lor mask other⟩ :: stack) axioms
    | none =>
      let other := standsFor env next
      if other == name then visitAll env (⟨name, rest, mask⟩ :: stack) axioms else
      match axioms.masks.find? other with
      | some others =>
        -- Remember it under this name too, unless a visit is under way: then the mask is not known yet.
        let axioms := if others % 2 = 0 then { axioms with masks := axioms.masks.insert next others } else axioms
        visitAll env (⟨name, rest, Nat.lor mask others⟩ :: stack) axioms
      | none =>
        let (isAxiom, uses) := direct env other
        let started := if isAxiom then 2 ^ (axioms.found.size + 1) else 0
        let found := if isAxiom then axioms.found.push other else axioms.found
        visitAll env (⟨other, uses, started⟩ :: ⟨name, rest, mask⟩ :: stack) { found := found, masks := axioms.masks.insert other 1 }

/-- The mask of a constant. The visit begins at a name that no constant has. -/
unsafe def visit (env : KernelEnvironment) (name : Name) (axioms : Axioms) : Nat × Axioms :=
  let axioms := visitAll env [⟨.anonymous, [name], 0⟩] axioms
  match axioms.masks.find? .anonymous with
  | some mask => (mask, axioms)
  | none => (1, axioms)

/-- True if one of these axioms has its bit in the mask. -/
unsafe def uses (axioms : Axioms) (names : List Name) (mask k : Nat) : Bool :=
  if k < axioms.found.size then
    if mask / 2 ^ (k + 1) % 2 = 1 then if isOneOf axioms.found[k]! names then true else uses axioms names mask (k + 1)
    else uses axioms names mask (k + 1)
  else false

/-! ## Giving declarations to the kernel -/

def reason (problem : KernelException) : String := match problem with
  | .unknownConstant _ name => "it uses a constant that is not declared: " ++ toString name
  | .alreadyDeclared _ name => "its name is declared already: " ++ toString name
  | .declTypeMismatch .. => "its value does not have its stated type"
  | .declHasMVars .. => "it contains metavariables"
  | .declHasFVars .. => "it contains free variables"
  | .funExpected .. => "it applies a term that is not a function"
  | .typeExpected .. => "it contains a term where a type is expected"
  | .letTypeMismatch .. => "it contains a `let` whose value does not have its stated type"
  | .exprTypeMismatch .. => "it contains a term that does not have its stated type"
  | .appTypeMismatch .. => "it contains an argument that does not have the type that the function takes"
  | .invalidProj .. => "it contains an invalid projection"
  | .other message => "the kernel rejects it: " ++ message
  | .deterministicTimeout => "it takes too many steps"
  | .excessiveMemory => "it takes too much memory"
  | .deepRecursion => "it nests too deeply"
  | problem => if isNotProposition problem then "it is a theorem, but its type is not a proposition" else "the kernel rejects it"

def constructorNames : List Constructor → List Name → List Name
  | [], others => others
  | ctor :: ctors, others => ctor.name :: constructorNames ctors others
def typeNames : List InductiveType → List Name
  | [] => []
  | type :: types => type.name :: constructorNames type.ctors (typeNames types)
/-- The names that a declaration states; of inductive types, those of the constructors too. -/
def namesOf : Declaration → List Name
  | .axiomDecl v => [v.name]
  | .defnDecl v => [v.name]
  | .thmDecl v => [v.name]
  | .opaqueDecl v => [v.name]
  | .inductDecl _ _ types _ => typeNames types
  | _ => [Name.anonymous]

def constructorTerms : List Constructor → List Expr → List Expr
  | [], others => others
  | ctor :: ctors, others => ctor.type :: constructorTerms ctors others
def typeTerms : List InductiveType → List Expr
  | [] => []
  | type :: types => type.type :: constructorTerms type.ctors (typeTerms types)
/-- The types and the value of a declaration. -/
def termsOf : Declaration → List Expr
  | .axiomDecl v => [v.type]
  | .defnDecl v => [v.type, v.value]
  | .thmDecl v => [v.type, v.value]
  | .opaqueDecl v => [v.type, v.value]
  | .inductDecl _ _ types _ => typeTerms types
  | _ => []

unsafe def isVeryExpr (a b : Expr) : Bool := if (ptrAddrUnsafe a).toNat = (ptrAddrUnsafe b).toNat then true else false
unsafe def areVeryNames (a b : List Name) : Bool := if (ptrAddrUnsafe a).toNat = (ptrAddrUnsafe b).toNat then true else false

def holdsConstructors (env : KernelEnvironment) : List Constructor → Bool
  | [] => true
  | ctor :: ctors => match env.find? ctor.name with
    | some (.ctorInfo v) => if v.type == ctor.type then holdsConstructors env ctors else false
    | _ => false
def holdsTypes (env : KernelEnvironment) : List InductiveType → Bool
  | [] => true
  | type :: types => match env.find? type.name with
    | some (.inductInfo v) => if v.type == type.type then if holdsConstructors env type.ctors then holdsTypes env types else false else false
    | _ => false

/-- The environment has what was declared: the very objects, except for inductive types, which the kernel builds anew. -/
unsafe def holds (env : KernelEnvironment) (declaration : Declaration) : Bool := match declaration with
  | .axiomDecl v => match env.find? v.name with
    | some (.axiomInfo w) => isVeryExpr v.type w.type && areVeryNames v.levelParams w.levelParams
    | _ => false
  | .defnDecl v => match env.find? v.name with
    | some (.defnInfo w) => isVeryExpr v.type w.type && isVeryExpr v.value w.value && areVeryNames v.levelParams w.levelParams
    | _ => false
  | .thmDecl v => match env.find? v.name with
    | some (.thmInfo w) => isVeryExpr v.type w.type && isVeryExpr v.value w.value && areVeryNames v.levelParams w.levelParams
    | _ => false
  | .opaqueDecl v => match env.find? v.name with
    | some (.opaqueInfo w) => isVeryExpr v.type w.type && isVeryExpr v.value w.value && areVeryNames v.levelParams w.levelParams
    | _ => false
  | .inductDecl _ _ types _ => holdsTypes env types
  | _ => false

def firstReserved : List Name → Option Name
  | [] => none
  | name :: names => if isFree name then firstReserved names else some name
def hasLoose : List Expr → Bool
  | [] => false
  | e :: es => if e.hasLooseBVars then true else hasLoose es
def isMarked (marked : NameMap Nat) : List Name → Bool
  | [] => false
  | name :: names => match marked.find? name with
    | some _ => true
    | none => isMarked marked names
def hasMarked (marked : NameMap Nat) : List Expr → Bool
  | [] => false
  | e :: es => if isMarked marked (usedBy e []) then true else hasMarked marked es

/-- The environment with a declaration, or the reason why it is refused. `marked`: constants that make the kernel run code, if any is used. -/
unsafe def check (env : KernelEnvironment) (marked : Option (NameMap Nat)) (declaration : Declaration) : Except String KernelEnvironment :=
  let terms := termsOf declaration
  match firstReserved (namesOf declaration) with
  | some name => .error ("the kernel or the report knows this name, so only the library may declare it: " ++ toString name)
  | none =>
    if hasLoose terms then .error "it contains a bound variable without its binder" else
    let runs := match marked with
      | some marked => hasMarked marked terms
      | none => false
    if runs then .error "it can make the kernel run compiled code (Lean.reduceBool), which is not evidence" else
    match declare env declaration with
    | .error problem => .error (reason problem)
    | .ok next => if holds next declaration then .ok next else .error "the environment has not what was declared"

/-! ## The answer -/

def textToken (s : String) : String := toString s.utf8ByteSize ++ ":" ++ s
def nameParts : Name → List String → List String
  | .anonymous, acc => acc
  | .str p s, acc => nameParts p ((" s " ++ textToken s) :: acc)
  | .num p n, acc => nameParts p ((" n " ++ toString n) :: acc)
def nameToken (name : Name) : String :=
  let parts := nameParts name []
  parts.foldl (fun out part => out ++ part) (toString parts.length)

unsafe def axiomTokens (axioms : Axioms) (mask k count : Nat) (out : String) : Nat × String :=
  if k < axioms.found.size then
    if mask / 2 ^ (k + 1) % 2 = 1 then axiomTokens axioms mask (k + 1) (count + 1) (out ++ " " ++ nameToken axioms.found[k]!)
    else axiomTokens axioms mask (k + 1) count out
  else (count, out)

unsafe def runSteps (t : Tables) (library : KernelEnvironment) (marked : Option (NameMap Nat)) (left i : Nat) (env : KernelEnvironment)
    (out : String) : Read (KernelEnvironment × String) :=
  if left = 0 then .ok (env, out) i else
  match readStep t i with
  | .bad j => .bad j
  | .ok .fresh next => runSteps t library marked (left - 1) next library (out ++ "y\n")
  | .ok (.declare declaration) next => match check env marked declaration with
    | .ok env => runSteps t library marked (left - 1) next env (out ++ "y\n")
    | .error why => runSteps t library marked (left - 1) next env (out ++ "n " ++ textToken why ++ "\n")

/-- The axioms of each constant that is asked for. Position 0: constants depend on each other in a circle. -/
unsafe def runQueries (t : Tables) (env : KernelEnvironment) (left i : Nat) (axioms : Axioms) (out : String) : Read String :=
  if left = 0 then .ok out i else
  let r := number t.bytes i
  if r = 0 then .bad i else
  if r / packed < t.names.size then
    let name := t.names[r / packed]!
    match env.find? name with
    | none => runQueries t env (left - 1) (r % packed) axioms (out ++ "u\n")
    | some _ =>
      let (mask, axioms) := visit env name axioms
      if mask % 2 = 1 then .bad 0 else
      let (count, tokens) := axiomTokens axioms mask 0 0 ""
      runQueries t env (left - 1) (r % packed) axioms (out ++ "k " ++ toString count ++ tokens ++ "\n")
  else .bad i

/-- Constants of the library in this table with which the kernel could run compiled code. -/
unsafe def markAll (library : KernelEnvironment) (names : Array Name) (k : Nat) (marked : NameMap Nat) (any : Bool) (axioms : Axioms) :
    Option (NameMap Nat) × Axioms :=
  if k < names.size then
    match library.find? names[k]! with
    | none => markAll library names (k + 1) marked any axioms
    | some _ =>
      let (mask, axioms) := visit library names[k]! axioms
      if uses axioms runsCode mask 0 then markAll library names (k + 1) (marked.insert names[k]! 1) true axioms
      else markAll library names (k + 1) marked any axioms
  else (if any then some marked else none, axioms)
def hasAny (library : KernelEnvironment) : List Name → Bool
  | [] => false
  | name :: names => match library.find? name with
    | some _ => true
    | none => hasAny library names

/-! ## The program -/

def refuse {α : Type} (why : String) : IO α := do
  let errors ← IO.getStderr
  errors.write ("judge: " ++ why ++ "\n").toUTF8
  errors.flush
  IO.Process.exit (.ofNat 2)
def demand {α : Type} (section_ : String) : Read α → IO (α × Nat)
  | .ok value next => pure (value, next)
  | .bad position =>
    if position = 0 then refuse "constants use each other in a circle, so their axioms are not known"
    else refuse ("the declarations are malformed (" ++ section_ ++ ") at byte " ++ toString position)
/-- The heading of a section: its word and the number of its entries. -/
unsafe def heading (b : ByteArray) (word : String) (i : Nat) : IO (Nat × Nat) :=
  let j := wordFrom b word.toUTF8 i 0
  let r := if j = 0 then 0 else number b j
  if r = 0 then refuse ("the declarations are malformed: no heading " ++ word ++ " at byte " ++ toString i) else pure (r / packed, r % packed)

/-- The last word, with or without a separator behind it, and nothing else. -/
def isEnd (b : ByteArray) (size i : Nat) : Bool :=
  if byte b i = 101 then if byte b (i + 1) = 110 then if byte b (i + 2) = 100 then
    if i + 3 = size then true else if i + 4 = size then isBreak (byte b (i + 3)) else false
  else false else false else false

/-- The library that a process has loaded, and the names of its modules. -/
structure Library where
  modules : List Name
  env : KernelEnvironment

def moduleNames (imports : Array Import) : List Name := imports.foldr (fun each names => each.module :: names) []

def areEqualNames : List Name → List Name → Bool
  | [], [] => true
  | a :: as, b :: bs => if a == b then areEqualNames as bs else false
  | _, _ => false

/-- The answer to a document, and the library for the next one. -/
unsafe def judge (bytes : ByteArray) (loaded : Option Library) : IO (ByteArray × Library) := do
  -- 1. The bytes. Zeros behind them stop every reader, since no token has a zero.
  let size := bytes.size
  let b := (((bytes.push (.ofNat 0)).push (.ofNat 0)).push (.ofNat 0)).push (.ofNat 0)
  if packed ≤ size + 4 then refuse "the declarations have more than 4 GB"
  -- 2. Names, levels, expressions.
  let (version, i) ← heading b "proofmesh-declarations" 0
  if version ≠ 1 then refuse "only version 1 of proofmesh-declarations is known"
  let (count, i) ← heading b "names" i
  let (names, i) ← demand "names" (readNames b count i (Array.empty.push .anonymous))
  let (count, i) ← heading b "levels" i
  if mostLevels < count then refuse "too many levels"
  let (levels, i) ← demand "levels" (readLevels b names count i (Array.empty.push levelZero))
  let (count, i) ← heading b "expressions" i
  let (expressions, i) ← demand "expressions" (readExpressions b names levels count i Array.empty)
  -- 3. The library, and which of its constants could make the kernel run code.
  let (count, i) ← heading b "imports" i
  let (imports, i) ← demand "imports" (readImports b names count i Array.empty)
  let modules := moduleNames imports
  let library ← match loaded with
    | some before => if areEqualNames modules before.modules then pure before.env else refuse "this document has other imports than the one before"
    | none => importLibrary imports
  let nothing : Axioms := { found := Array.empty, masks := mkNameMap Nat }
  let (marked, axioms) : Option (NameMap Nat) × Axioms :=
    if hasAny library runsCode then markAll library names 0 (mkNameMap Nat) false nothing else (Option.none, nothing)
  -- 4. The declarations, one after the other.
  let (steps, i) ← heading b "steps" i
  let t : Tables := { bytes := b, names := names, expressions := expressions }
  let ((env, verdicts), i) ← demand "steps" (runSteps t library marked steps i library "")
  -- 5. The axioms. What a constant of the library uses is the same in every environment.
  let (queries, i) ← heading b "queries" i
  let (answers, i) ← demand "queries" (runQueries t env queries i axioms "")
  if isEnd b size i then pure () else refuse ("the declarations are malformed: no end, or more behind it, at byte " ++ toString i)
  -- 6. The answer.
  let answer := "proofmesh-verdicts 1\nsteps " ++ toString steps ++ "\n" ++ verdicts ++ "queries " ++ toString queries ++ "\n" ++ answers ++ "end\n"
  pure (answer.toUTF8, { modules := modules, env := library })

/-- The bytes that are there already, and so many more of the stream as are missing. -/
unsafe def readBytes (input : IO.FS.Stream) (missing : Nat) (got : ByteArray) : IO ByteArray := do
  if missing = 0 then pure got else
  let more ← input.read (.ofNat missing)
  if more.size = 0 then refuse "a document is shorter than its length" else
  readBytes input (missing - more.size) (got.append more)

/-- Judge the documents of standard input. -/
unsafe def serve (input output : IO.FS.Stream) (loaded : Option Library) : IO Unit := do
  let line := (← input.getLine).toUTF8
  if line.size = 0 then pure () else
  let r := number (line.push (.ofNat 0)) 0
  if r = 0 then refuse "a line LENGTH NONCE is expected" else
  let (answer, library) ← judge (← readBytes input (r / packed) ByteArray.empty) loaded
  let nonce := line.extract (r % packed) line.size
  output.write (((toString answer.size ++ " ").toUTF8.append nonce).append answer)
  output.flush
  serve input output (some library)

end Judge

unsafe def main (arguments : List String) : IO UInt32 := do
  -- A panic would go on with a wrong value.
  match ← IO.getEnv "LEAN_ABORT_ON_PANIC" with
  | none => Judge.refuse "set LEAN_ABORT_ON_PANIC=1, so that a panic ends the process"
  | some _ => match arguments with
    | [] => do
      Judge.serve (← IO.getStdin) (← IO.getStdout) none
      IO.Process.exit (.ofNat 0)
    | _ => Judge.refuse "usage: lean --run PROGRAM"
