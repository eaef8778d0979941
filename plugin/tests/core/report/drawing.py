"""What a chart draws, read from its SVG as a browser reads it."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as ET


def marks(svg: str, *tags: str) -> list[ET.Element]:
    """The marks of these kinds, all without any, in the order in which they are drawn."""
    return [mark for mark in ET.fromstring(svg) if not tags or mark.tag in tags]  # noqa: S314


def texts(svg: str) -> list[str]:
    """The words in a chart."""
    return [mark.text or "" for mark in marks(svg, "text")]


def box(svg: str) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of what is shown."""
    left, top, width, height = map(float, ET.fromstring(svg).attrib["viewBox"].split())  # noqa: S314
    return left, top, left + width, top + height


def number(mark: ET.Element, name: str) -> float:
    """An attribute as a number."""
    return float(mark.attrib[name])


def filled(svg: str, colour: str) -> list[Mapping[str, str]]:
    """The attributes of all marks whose fill begins so."""
    return [m.attrib for m in marks(svg) if m.attrib.get("fill", "").startswith(colour)]
