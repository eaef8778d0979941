"""Options, ini keys and the roster of models."""
