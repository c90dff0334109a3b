prelude
import Pocket.Unexpanders
import Pocket.Collections
import Pocket.Function
import Pocket.Subtype
import Pocket.Prod
import Pocket.Nat.Simproc
import Pocket.Bool
import Pocket.Nat.Div
import Pocket.List.Take
import Pocket.List.Zip
import Pocket.AC
import Pocket.Int.Linear
