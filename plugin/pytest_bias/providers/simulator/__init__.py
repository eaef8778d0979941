"""Simulated subjects with planted bias, and the server through which they are reached."""
