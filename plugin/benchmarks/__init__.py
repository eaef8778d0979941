"""Benchmarks: ratios against a peer or a floor in the same run. Never run as tests."""
