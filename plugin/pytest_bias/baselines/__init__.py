"""Accepted verdicts of a model, as values and as text.

A baseline holds, for each hypothesis of a model, the verdict somebody accepted, what it rests on,
what was accepted before it, and the fingerprint of the design it was reached with: verdicts of
different designs are never compared.
"""
