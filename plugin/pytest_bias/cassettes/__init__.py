"""Cassettes: the recorded interactions of one experiment with one model, as a file."""
