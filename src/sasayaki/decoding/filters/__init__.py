"""Logit filters: what may not be sampled next."""
