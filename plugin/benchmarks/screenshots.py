"""Takes pictures of every route of a report, to be looked at.

    pytest bias_tests -n 2 --bias-model simulated/drifted --bias-baseline simulated/biased
    python plugin/benchmarks/screenshots.py bias-report.html pictures

Each at 1440 and 400 pixels, light, and the summary in the dark. With ``--docs`` also the two of
the documentation, in docs/images.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from playwright.sync_api import FloatRect, Page, sync_playwright

from benchmarks.common import chromium

IMAGES = Path(__file__).parents[2] / "docs" / "images"
_E, _M = "narrative-personas", "simulated%2Fdrifted"
_TRIAL = "noir-hispanic_male-neutral-wallet%2FJuan%231"
ROUTES = {
    "summary": "#/",
    "hypotheses": "#/hypotheses",
    "hypothesis": f"#/h/{_E}/{_M}/pro_social-hispanic_male-rest",
    "upgrade": "#/upgrade",
    "experiments": "#/replies",
    "replies": f"#/replies/{_E}",
    "trial": f"#/t/{_E}/{_M}/{_TRIAL}",
    "experiment": f"#/e/{_E}/{_M}",
    "unknown": "#/nowhere",
}
HIGHEST = 2600
"""Pixels of a page that are taken; what follows looks alike."""
SHOWN, HIGH = {"report": "summary", "report-hypothesis": "hypothesis"}, 900
"""Pictures of the documentation: their names, routes and height."""


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for width in (1440, 400):
            for name, route in ROUTES.items():
                with browser.new_page(viewport={"width": width, "height": 1000}) as page:
                    _take(page, given.report, route, given.folder / f"{name}-{width}.png")
                    if name == "summary":
                        page.emulate_media(color_scheme="dark")
                        page.screenshot(path=given.folder / f"{name}-dark-{width}.png")
        for name, route in SHOWN.items() if given.docs else ():
            with browser.new_page(viewport={"width": 1280, "height": HIGH}) as page:
                file = IMAGES / f"{name}.png"
                _take(page, given.report, ROUTES[route], file, highest=HIGH)


def _take(page: Page, report: Path, route: str, file: Path, *, highest: int = HIGHEST) -> None:
    page.goto(report.resolve().as_uri() + route)
    page.wait_for_selector("h1:visible")
    if "#/h/" in route:
        page.wait_for_selector("#view .more")
    high = min(highest, page.evaluate("document.documentElement.scrollHeight"))
    width = (page.viewport_size or {"width": 0})["width"]
    clip = FloatRect(x=0, y=0, width=width, height=high)
    page.screenshot(path=file, full_page=True, clip=clip)


if __name__ == "__main__":
    main()
