"""Narratives: who a story is about must not decide how it ends, whoever tells it."""
