prelude
import Pocket.Nat
