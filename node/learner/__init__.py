"""The learner: matchmaker, run database, replay buffer, training, weights, evaluation. Only `rank` imports torch."""
