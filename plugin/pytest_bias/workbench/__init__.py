"""Experiments and replies without pytest: imported, planned, recorded and analysed."""

SUITE = "bias_tests"
"""Package of a suite where none is named."""
