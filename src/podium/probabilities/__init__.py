"""Probabilities as answers: what a model with a distribution over rankings says of one list."""
