"""`proofmesh bank import`: statements of other people's datasets as a theorem bank, with those that elaborate marked.

Not in `common`: it reads parquet and Hugging Face datasets and runs Lean, and only a person starts it.
"""
