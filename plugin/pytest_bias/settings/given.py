"""Raw values of options, environment and ini files, as they were given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Raw values: ``options`` of the command line (None where not given), ``ini`` of files."""

    options: Mapping[str, object]
    ini: Mapping[str, object]
    environ: Mapping[str, str] = field(repr=False)
    rootdir: Path
    invocation_dir: Path
    today: str = ""
