"""Models that predict the remaining steps of a proof: data, training, and use in search."""
