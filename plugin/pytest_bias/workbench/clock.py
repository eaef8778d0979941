"""The clock."""

from __future__ import annotations

from datetime import datetime, timezone


def today() -> str:
    """The day as YYYY-MM-DD, the same everywhere: acceptances end with a day of UTC."""
    return datetime.now(tz=timezone.utc).date().isoformat()
