"""What the user decided: options, then the environment, then ini, as one frozen value."""
