from __future__ import annotations

import json
import os
from pathlib import Path

from pytest_bias.report.page import report_html

from ..core.report.factory import usual
from ..core.report.reading import Reader

GOLDEN = Path(__file__).with_name("report_page.txt")


def test_the_page_reads_as_accepted() -> None:
    """After a wanted change: UPDATE_GOLDEN=1, run this test, read the difference.

    What the script draws stands as the data it draws it from; versions are nobody's.
    """
    page = Reader(report_html(usual()))
    data = json.dumps(page.data["d-run"], ensure_ascii=False, indent=1)
    text = f"{page.lines}\n{data}\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
