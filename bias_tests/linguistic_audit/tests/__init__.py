"""What checks this experiment's own code."""
