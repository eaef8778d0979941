"""A record of each model's bias tests to file, by a plugin on the hook ``pytest_bias_results``."""
