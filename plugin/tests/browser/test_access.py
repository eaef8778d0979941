"""The page for everybody: axe-core, wide and narrow, light and dark, forced colours, keyboard."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import FloatRect, Locator, Page

from ..helpers import there
from .pages import NARRATIVE, ROOT, ROUTES, TRIAL, Opened, Run, Show

WIDTHS = (320, 800, 1440)
"""One of each layout: the style sheet has two limits, 704 and 896 pixels."""
EVERY = (*ROUTES, "#/upgrade", "#/replies", "#/nowhere/at/all")

# Every piece of text with its colour, and the nearest background that is not transparent.
CONTRASTS = """() => {
  const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const part = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => .2126 * part(c[0]) + .7152 * part(c[1]) + .0722 * part(c[2]);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility() || element.tagName === "OPTION") continue;
    const style = getComputedStyle(element);
    const ink = rgb(element.tagName === "text" ? style.fill : style.color);
    let at = element, paper = [];
    for (; at; at = at.parentElement) {
      paper = rgb(getComputedStyle(at).backgroundColor);
      if (paper.length === 3 || paper[3] > 0) break;
    }
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    found.push([Math.round(100 * (a + .05) / (b + .05)) / 100, text.slice(0, 40)]);
  }
  return found;
}"""

# Text over text, letters that are cut, edges that should be in line and are not.
LAYOUT = """() => {
  const found = [], wide = document.documentElement.clientWidth;
  const said = node => node.textContent.trim().replace(/\\s+/g, " ").slice(0, 40);
  if (document.documentElement.scrollWidth > wide) found.push(["the page scrolls sideways"]);
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, of = node.parentElement;
    if (!node.textContent.trim() || !of.checkVisibility() || of.closest(".unseen, .skip, option"))
      continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const svg = of.closest("svg")?.getBoundingClientRect();
    for (let box of range.getClientRects()) {
      if (svg && (box.left < svg.left - 1 || box.right > svg.right + 1))
        found.push(["leaves its picture", said(node)]);
      let kept = {left: box.left, right: box.right, top: box.top + 2, bottom: box.bottom - 2};
      for (let at = of; at && at !== document.body; at = at.parentElement) {
        const style = getComputedStyle(at), edge = at.getBoundingClientRect();
        const [x, y] = [style.overflowX, style.overflowY];
        if (x === "visible" && y === "visible") continue;
        // What scrolls can be reached; an excerpt says that it is one.
        if (x === "hidden" && !at.matches(".excerpt, svg") &&
            (kept.right > edge.right + 1 || kept.left < edge.left - 1))
          found.push(["is cut", said(node)]);
        kept = {left: Math.max(kept.left, edge.left), right: Math.min(kept.right, edge.right),
          top: Math.max(kept.top, edge.top), bottom: Math.min(kept.bottom, edge.bottom)};
      }
      if (kept.right > kept.left && kept.bottom > kept.top) texts.push([kept, node]);
    }
  }
  texts.sort((a, b) => a[0].top - b[0].top);
  texts.forEach(([one, a], i) => {
    for (let j = i + 1; j < texts.length && texts[j][0].top < one.bottom; j++) {
      const [other, b] = texts[j];
      if (a !== b && Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 &&
          Math.min(one.bottom, other.bottom) - other.top > 1 && !a.parentElement.closest(".head"))
        found.push(["lie over each other", said(a), said(b)]);
    }
  });
  const boxes = (...names) => [...document.querySelectorAll(names.join())]
    .filter(e => e.checkVisibility())
    .map(e => [e.className || e.tagName, e.getBoundingClientRect()]);
  const lefts = boxes(".bar strong", "h1", "#summary .cards", "#view > div > .scroll",
    "#summary > .scroll", ".virtual", "footer > :first-child");
  const rights = boxes(".bar form", "#summary .cards", "#summary > .scroll", ".virtual");
  for (const [name, box] of lefts)
    if (Math.abs(box.left - lefts[0][1].left) > 1) found.push(["begins out of line", name]);
  for (const [name, box] of rights)
    if (Math.abs(box.right - rights[0][1].right) > 1) found.push(["ends out of line", name]);
  const columns = [...document.querySelectorAll("#summary table.rows")].map(each =>
    [...each.querySelectorAll("thead th")].map(th => Math.round(th.getBoundingClientRect().left)));
  if (new Set(columns.map(String)).size > 1) found.push(["columns out of line", String(columns)]);
  return {found, texts: texts.length};
}"""

AXE = """async runOnly => {
  const {violations} = await axe.run({runOnly, resultTypes: ["violations"], preload: false});
  return violations.flatMap(each => each.nodes.map(node => [each.id, node.html.slice(0, 120)]));
}"""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    folders = os.environ.get("PYTEST_BIAS_AXE"), ROOT / ".node-tools", ROOT
    places = [Path(each, "node_modules/axe-core/axe.min.js") for each in folders if each]
    for place in places:
        if place.exists():
            return place.read_text("utf-8")
    reason = "no axe-core: npm install --prefix .node-tools axe-core, or PYTEST_BIAS_AXE=PREFIX"
    if os.environ.get("PYTEST_BIAS_REQUIRE_AXE") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def test_axe_finds_nothing(show: Show, up: Run, axe: str) -> None:
    opened = show(up.page)
    opened.page.evaluate(axe)
    for route in EVERY:
        page = opened.at(route)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme="light")
            assert page.evaluate(AXE, TAGS) == [], (route, width)
            page.emulate_media(color_scheme="dark")
            # No other rule reads a colour.
            assert page.evaluate(AXE, COLOURS) == [], (route, width)
    assert opened.complaints == []


def test_all_text_stands_out_between_few_landmarks_and_the_heading_has_the_focus(
    show: Show, up: Run
) -> None:
    """What axe leaves open as well: text in pictures, and text that is scrolled away."""
    opened = show(up.page)
    landmarks = "main, nav, header, footer, section[aria-label], [role=region], [role=search]"
    opened.at("#/hypotheses")
    for route in EVERY:
        page = opened.at(route)
        page.wait_for_selector("h1:focus")
        assert page.evaluate("document.activeElement.checkVisibility()"), route
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            contrasts = page.evaluate(CONTRASTS)
            assert len(contrasts) > 10
            assert [found for found in contrasts if found[0] < 4.5] == [], (route, scheme)
        assert 4 <= page.locator(landmarks).locator("visible=true").count() <= 12, route
        labels = page.locator("[aria-label]").all()
        assert max(len(label.get_attribute("aria-label") or "") for label in labels) <= 300


def check_layout(opened: Opened, routes: Iterable[str]) -> None:
    for width in (320, 400, 720, 1024, 1440):
        opened.page.set_viewport_size({"width": width, "height": 800})
        for route in routes:
            # Some pictures are drawn for the width there is: what stands is drawn anew.
            opened.at("#/nowhere")
            layout = opened.at(route).evaluate(LAYOUT)
            assert layout["texts"] > 5
            assert layout["found"] == [], (route, width)


def test_nothing_is_cut_or_lies_over_another_or_out_of_line(show: Show, up: Run) -> None:
    """At 720 pixels as well, which is what 200 % leave of 1440."""
    check_layout(show(up.page, device_scale_factor=2), EVERY)


# --- by keyboard ------------------------------------------------------------------------------


def walk(page: Page, selector: str) -> None:
    """Press Tab until the focus is on what is looked for."""
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"Tab does not lead to {selector}")


def test_a_reply_is_four_actions_away_by_mouse_and_by_keyboard_alone(opened_up: Opened) -> None:
    page = opened_up.at("#/")
    page.get_by_role("link", name="Replies", exact=True).click()
    page.locator("#view").get_by_role("link", name="Narratives").first.click()
    page.locator("input[name=q]").fill(TRIAL)
    page.get_by_role("link", name=TRIAL).click()
    page.wait_for_selector("#view .subject")
    assert page.locator("h1:visible").inner_text() == TRIAL
    reply = page.locator(".subject .text").first.inner_text()
    assert "Juan" in reply
    page = opened_up.at("#/")
    walk(page, "#summary a[href$='pro_social-hispanic_male-rest']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#view td.heat")
    walk(page, "td.heat a[href*='group=hispanic_male'][href*='noir']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#view .virtual")
    walk(page, "input[name=q]")
    page.keyboard.type("neutral-wallet/Juan#1")
    walk(page, "a[href$='wallet%2FJuan%231']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#view .subject")
    assert page.locator(".subject .text").first.inner_text() == reply


def test_the_number_of_rows_is_said_and_slash_goes_to_the_search(opened_up: Opened) -> None:
    page = opened_up.at("#/hypotheses")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    said = page.locator("[role=status][aria-live=polite]")
    page.locator("select[name=verdict]").select_option("stops")
    assert said.inner_text() == "11 hypotheses"
    opened_up.at(f"#/replies/{NARRATIVE}")
    assert said.inner_text() == "5,760 trials"
    page.locator("input[name=q]").fill(TRIAL)
    assert said.inner_text() == "1 trial"
    opened_up.at("#/upgrade?outcome=stops")
    assert said.inner_text() == "11 rows"
    opened_up.at("#/")
    assert said.inner_text() == ""


# --- colours that are not ours, and colours that are not seen ------------------------------------

SCHEMES: tuple[Any, ...] = ("light", "dark")
TONES = ("clear", "biased", "open", "described")
EVERY_TONE = f"#/hypotheses?e={NARRATIVE}"


def colours(of: Locator) -> list[tuple[int, int, int]]:
    """The colours of a part of the page, the commonest first: what it stands on."""
    # A line has no height, of which Playwright takes no picture by itself.
    of.evaluate("each => each.scrollIntoView({block: 'center'})")
    box = there(of.bounding_box())
    wide, high = box["width"] + 2, box["height"] + 2
    clip = FloatRect(x=box["x"] - 1, y=box["y"] - 1, width=wide, height=high)
    image = Image.open(BytesIO(of.page.screenshot(clip=clip))).convert("RGB")
    pixels = np.asarray(image).reshape(-1, 3)
    found, counts = np.unique(pixels, axis=0, return_counts=True)
    return [(int(r), int(g), int(b)) for r, g, b in found[np.argsort(-counts)]]


def luminance(colour: tuple[int, int, int]) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [v / 255 / 12.92 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in colour]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(a: tuple[int, int, int], b: tuple[int, int, int]) -> float:
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def farthest(found: Sequence[tuple[int, int, int]]) -> tuple[int, int, int]:
    """The ink of a picture: the colour that stands out most from what it stands on."""
    return max(found, key=lambda colour: contrast(colour, found[0]))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_verdicts_are_seen_in_forced_colours_and_told_apart_without_green_cones(
    show: Show, up: Run, scheme: Any
) -> None:
    opened = show(up.page, viewport={"width": 1440, "height": 1000}, color_scheme=scheme)
    page = opened.at(EVERY_TONE)
    check_deuteranopia(page)
    page.emulate_media(forced_colors="active")
    for tone in TONES:
        strip = page.locator(f".strip:has(.mark.t-{tone})").first
        paper = colours(page.locator("#view h1"))[0]
        for part in (f".mark.t-{tone}", f".thick.t-{tone}"):
            found = colours(strip.locator(part))
            assert max(contrast(colour, paper) for colour in found) >= 4.5, (tone, part)
        badge = page.locator(f".badge.t-{tone}").first
        assert contrast(farthest(colours(badge)), paper) >= 4.5
        assert badge.evaluate("each => getComputedStyle(each).borderStyle") == "solid"
    here = page.locator("nav [aria-current]")
    assert here.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"
    opened.at(ROUTES[2])
    texts = "each => [...each.querySelectorAll('text')].map(t => getComputedStyle(t).fill)"
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert set(page.locator(".chart svg").first.evaluate(texts)) == {ink}


def lab(colour: tuple[int, int, int]) -> tuple[float, float, float]:
    """CIE 1976 L*a*b* under D65 of an sRGB colour."""
    r, g, b = (v / 255 / 12.92 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in colour)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
    )
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def check_deuteranopia(page: Page) -> None:
    """In the browser's simulation of deuteranopia, and by shape without any colour.

    2.3 is a difference that is just noticed; the colours are five times as far apart.
    """
    devtools = page.context.new_cdp_session(page)
    emulate = "Emulation.setEmulatedVisionDeficiency"
    devtools.send(emulate, {"type": "deuteranopia"})
    inks = {t: farthest(colours(page.locator(f".badge.t-{t}").first)) for t in TONES}
    devtools.send(emulate, {"type": "none"})
    for one, other in combinations(TONES, 2):
        assert math.dist(lab(inks[one]), lab(inks[other])) > 11, (one, other)
    # What a shape is made of, wherever it lies.
    shapes = page.evaluate(
        """tones => tones.map(tone => {
          const d = document.querySelector(`.strip .mark.t-${tone}`).getAttribute("d");
          const [[x, y], ...corners] = [...d.matchAll(/[ML](-?[\\d.]+) (-?[\\d.]+)/g)]
            .map(([, ...at]) => at.map(Number));
          const sides = corners.map(([a, b]) => [a - x, b - y].map(Math.round));
          return String([d.includes("a"), ...sides]);
        })""",
        list(TONES),
    )
    assert len(set(shapes)) == len(TONES)
