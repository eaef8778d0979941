"""Checks of an experiment's prompts before anything is recorded."""
