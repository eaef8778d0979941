"""Damage done to everything that is read: whatever it is, nothing fails open.

``mutations`` does damage, ``harness`` does it many times and holds what comes of it against a
target's oracle, ``stored`` are the targets, ``games`` writes the corpus they begin
with. ``plugin/benchmarks/fuzz.py`` runs the same for longer.
"""
