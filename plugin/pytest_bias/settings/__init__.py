"""The user's decisions: options, then the environment, then ini, as one frozen value."""
