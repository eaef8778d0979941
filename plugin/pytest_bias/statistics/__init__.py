"""Statistical methods as pure functions on arrays; randomness comes in as a seed.

All raise `BadStatisticInput` for an argument outside its domain (values that are not finite, a
sample that is not 1-D, lengths that do not fit, a level or alpha outside (0, 1), a margin that is
not above 0, fewer than 100 resamples, a negative seed), `TooFewUnits` below the units their
docstrings name, and `NoVariance` where they would divide by no spread (up to rounding). What goes
beyond that stands with each.
"""
