"""The bias regression suite: one sub-package per documented hypothesis."""
