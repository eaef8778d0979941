"""The page's script in one piece, minified, of its parts in ``report/assets``.

    python plugin/benchmarks/page_script.py

Writes ``report/assets/app.min.js``; a test holds what is committed against its parts.
"""

from __future__ import annotations

from pathlib import Path

ASSETS = Path(__file__).parents[1] / "pytest_bias" / "report" / "assets"
SCRIPT = ASSETS / "app.min.js"
PARTS = ("dom", "data", "charts", "hypotheses", "upgrade", "replies", "trial", "labels", "app")
"""The parts in the order in which they are put together: they share one scope."""


def minified() -> str:
    """Return the script as tdewolff/minify makes it of the parts."""
    import minify  # noqa: PLC0415  (no wheel for Macs of ARM)

    parts = "".join((ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in PARTS)
    return minify.string("text/javascript", f'(() => {{ "use strict";\n{parts}}})();') + "\n"


if __name__ == "__main__":
    SCRIPT.write_text(minified(), encoding="utf-8")
