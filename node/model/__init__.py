"""The network that learner and inference share: tokenizer, transformer with policy and value, loss, batches,
optimizer, files."""
