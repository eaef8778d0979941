"""Charts that the documents' experiments draw: two files each, with note and licence."""

from __future__ import annotations

import struct
import sys
from zlib import crc32

import pytest

from ...charts import Drawn, Panel, Shades, Tile, VegaChart, tile_chart

GREYS = Shades(low=-1, high=1, colours=["#000000", "#808080", "#ffffff"], meaning=["points"])
TILES = [
    Tile(row="a", column="x\ny", value=0.5, said="0.50", bold=True),
    Tile(row="b", column="z", value=None, said="none", below="no reply"),
]
CHART = tile_chart("Greys", [Panel(title="p", tiles=TILES, shades=GREYS)], licence="CC-BY-4.0 <")
GIVEN: dict[str, str | VegaChart] = {"figures/c": CHART, "a.csv": "a"}


@pytest.mark.requirement("AUDIT-32", "CV-33")
def test_a_chart_is_two_files_with_its_note_and_its_licence() -> None:
    files = Drawn(GIVEN, ["openai/a", "simulated/even"])
    assert sorted(files) == ["a.csv", "figures/c.png", "figures/c.svg"]
    svg, png = files["figures/c.svg"], files["figures/c.png"]
    assert isinstance(svg, str)
    assert isinstance(png, bytes)
    for words in (
        "<metadata>CC-BY-4.0 &lt;</metadata>",
        "Simulated subjects, programs that stand in for models: simulated/even.",
        "Licence: CC-BY-4.0",
        "Greys",
    ):
        assert words in svg
    place, chunks = 8, {}
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        body = png[place + 4 : place + 8 + length]
        assert png[place + 8 + length : place + 12 + length] == struct.pack(">I", crc32(body))
        chunks[body[:4]] = body[4:]
        place += 12 + length
    assert chunks[b"iTXt"] == b"Copyright\0\0\0\0\0CC-BY-4.0 <"
    assert set(chunks) >= {b"IHDR", b"IDAT", b"IEND"}
    assert files["figures/c.svg"] == svg


def test_models_are_not_called_programs_and_a_tile_without_a_value_is_grey() -> None:
    svg = Drawn(GIVEN, ["openai/a"])["figures/c.svg"]
    assert isinstance(svg, str)
    assert "Simulated" not in svg
    assert svg.count('fill="#d0d0d0"') == svg.count("#d0d0d0") == 1
    (panel,) = CHART.spec()["concat"]
    said = [(v["row"], v["value"], v["ink"]) for v in panel["data"]["values"]]
    assert said == [("a", 0.5, "#222222"), ("b", None, "#222222")]
    assert panel["encoding"]["x"]["sort"] == ["x\ny", "z"]
    assert panel["layer"][0]["encoding"]["fill"]["scale"]["domain"] == [-1, 0, 1]


@pytest.mark.parametrize(
    ("value", "ink"),
    [(-7, "white"), (-1, "white"), (0.05, "white"), (0.5, "#222222"), (1, "#222222")],
)
def test_ink_is_read_on_its_shade(value: float, ink: str) -> None:
    assert GREYS.ink(value) == ink


def test_without_the_library_texts_are_there_and_the_package_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    files = Drawn(GIVEN, [])
    assert files["a.csv"] == "a"
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pytest-bias\[suite\]'"):
        files["figures/c.png"]
