"""The narrative study."""
