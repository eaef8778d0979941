"""Findings to verdicts: the three-valued rule, families, positive controls, and words for them."""
