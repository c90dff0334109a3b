"""The learner: matchmaker, records, replay buffer, training, weights and evaluation. Only `rank` imports torch."""
