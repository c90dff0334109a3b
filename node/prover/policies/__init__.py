"""Where a prover's tactics come from."""
