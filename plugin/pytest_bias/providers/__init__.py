"""Providers: from a request to a completion, over each vendor's own SDK."""
