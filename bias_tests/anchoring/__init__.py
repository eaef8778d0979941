"""Anchoring: a randomly determined demand must not move a judge's sentence."""
