"""The network that learner and inference nodes share: tokenizer, transformer with policy and value, loss, batches,
optimizer and files."""
