"""Linguistic audit: a learner's English, missing articles or a name must not change a reply."""
