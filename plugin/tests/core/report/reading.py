"""A page as its reader gets it: text, headings, links, data inflated; no browser needed."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

_BLOCK = re.compile(r'<script type="application/octet-stream" id="([^"]+)">([^<]*)</script>')


def blocks(page: str) -> dict[str, Any]:
    """The page's data, by the ids of their elements."""
    return {
        name: json.loads(zlib.decompress(b64decode(found))) for name, found in _BLOCK.findall(page)
    }


def inflated(page: str) -> str:
    """The page's text with all that its data hold: what may not be in it is not there either."""
    return page + json.dumps(blocks(page), ensure_ascii=False)


def rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Columns as rows."""
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from (str(key), *_texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)


VOID = {"meta", "link", "br", "img", "input", "hr"}
LINES = {
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "li",
    "tr",
    "dt",
    "caption",
    "figcaption",
    "summary",
    "strong",
}
UNSEEN = {"style", "text", "title", "script"}


class Reader(HTMLParser):
    """The page's text, ids, links, headings and tags; tags that do not match are an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.charts: list[str] = []
        self.parts: list[str] = []
        self.data = blocks(page)
        self.feed(page)
        self.close()
        assert not self.open

    @property
    def text(self) -> str:
        """All text, single-spaced."""
        return " ".join(self._plain("".join(self.parts)).split())

    @property
    def hypotheses(self) -> list[dict[str, Any]]:
        """What the script is given of every hypothesis."""
        return rows(self.data["d-run"]["hypotheses"])

    @property
    def told(self) -> str:
        """All text, and all that the data say, single-spaced: the page with its script run."""
        return " ".join([self.text, *" ".join(_texts(self.data)).split()])

    @property
    def lines(self) -> str:
        """The text, a paragraph, item or table row a line; charts as the words they state."""
        charts = iter(self.charts)
        text = "".join(f"\n[chart] {next(charts)}" if p == "\0" else p for p in self.parts)
        lines = (" ".join(line.split()) for line in self._plain(text).splitlines())
        return "".join(f"{line}\n" for line in lines if line)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if (identity := found.get("id")) is not None:
            self.ids.append(identity)
        if tag == "a":
            self.links.append(found["href"] or "")
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.parts.append("\n" if tag in LINES else " ")
        if found.get("role") == "img":
            self.charts.append(found["aria-label"] or "")
            self.parts.append("\0")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in UNSEEN:
            self.parts.append(data.replace("\n", " "))

    @staticmethod
    def _plain(text: str) -> str:
        return text.replace("\0", " ").replace("\xa0", " ")
