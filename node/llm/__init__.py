"""Language models of other people as provers: their prompts, their outputs, and the servers that run them."""
