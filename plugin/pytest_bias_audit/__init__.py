"""A record of each model's bias tests to file, by a plugin on the hook ``pytest_bias_results``."""

from __future__ import annotations

from .impact import Impact as Impact
from .impact import declare_impacts as declare_impacts
