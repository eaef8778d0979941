"""An experiment and replies to it: found, recorded, planned and analysed without pytest."""

SUITE = "bias_tests"
"""Package of a suite where none is named."""
