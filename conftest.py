"""Root of the test sessions of this repository."""
