"""Error rates of a suite, measured on fresh draws of simulated subjects."""
