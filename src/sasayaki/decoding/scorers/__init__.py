"""Scorers: what steers the search beside the model's own log-probabilities."""
