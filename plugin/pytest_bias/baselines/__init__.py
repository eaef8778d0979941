"""Accepted verdicts of a model, with the design they were reached with."""
