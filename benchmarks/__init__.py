"""Benchmarks that users can run; docs/speed.md describes them."""
