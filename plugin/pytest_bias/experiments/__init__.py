"""Experiments as data: design, protocol, messages, replies, measures and records."""
