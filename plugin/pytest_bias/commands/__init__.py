"""The commands of ``pytest-bias``: each adds itself to the parser and runs what it is for."""

from __future__ import annotations

import argparse

Commands = argparse._SubParsersAction  # noqa: SLF001  (argparse has no public name for it)
