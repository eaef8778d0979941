"""The recommendation experiment."""
