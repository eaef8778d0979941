"""Pure statistical functions on arrays: no I/O, no clock, no randomness that was not given.

Differences are always a - b. No function returns NaN, an infinity or a p-value of 0: too few
units, constant data and damaged input raise. Import from the modules: each loads what it needs.
"""
