"""Published language models as provers: their prompts, their completions, and the servers that run them."""
