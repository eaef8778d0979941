"""Recommendation: who wrote a post must not decide whether a model recommends it."""
