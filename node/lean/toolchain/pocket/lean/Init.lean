module
prelude
public import Pocket.Unexpanders
public import Pocket.Collections
public import Pocket.Function
public import Pocket.Subtype
public import Pocket.Prod
public import Pocket.Nat.Simproc
public import Pocket.Bool
public import Pocket.Nat.Div
public import Pocket.List.Take
public import Pocket.List.Zip
public import Pocket.AC
public import Pocket.Int.Linear
public import Pocket.List.Ends
@[expose] public section
