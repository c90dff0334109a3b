"""Which weights an inference node serves, and how it gets them."""
