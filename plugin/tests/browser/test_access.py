"""The page for everybody: axe-core, wide and narrow, light and dark, keyboard."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from .pages import ROOT, ROUTES, TRIAL, Opened, Run, Show

WIDTHS = (320, 800, 1440)
"""One of each layout: the style sheet has two limits, 704 and 896 pixels."""
EVERY = (*ROUTES, "#/upgrade", "#/replies", "#/nowhere/at/all")

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
