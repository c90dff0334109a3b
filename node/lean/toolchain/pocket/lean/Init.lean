prelude
import Pocket.Unexpanders
import Pocket.Show
import Pocket.WF
import Pocket.Function
import Pocket.Subtype
import Pocket.Prod
import Pocket.Nat.Simproc
import Pocket.Bool
import Pocket.Nat.Div
import Pocket.List.Take
import Pocket.List.Zip
import Pocket.List.Ends
import Pocket.Omega.Facts
