"""Exports without pytest: charts drawn as two files, their note and licence, and where they go."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

from pytest_bias import BadDesign, Experiment, Panel, Records, Shades, Tile, VegaChart, tile_chart
from pytest_bias.errors import MissingPackage, NotExported, ReportNotWritten
from pytest_bias.report.exports import exported_files, write_exports

from ..factories import ask_once, experiment

EXPERIMENT = experiment(ask_once)
GREYS = Shades(low=-1, high=1, colours=["#000000", "#808080", "#ffffff"], meaning=["points"])
SUBJECTS = {"openai/a": Records(()), "simulated/even": Records(())}
TILES = [
    Tile(row="a", column="x\ny", value=0.5, said="0.50", bold=True),
    Tile(row="b", column="z", value=None, said="none", below="no reply"),
]
CHART = tile_chart("Greys", [Panel(title="p", tiles=TILES, shades=GREYS)], licence="CC-BY-4.0 <")


def giving(given: object) -> Experiment:
    return replace(EXPERIMENT, exports=lambda _: given)  # type: ignore[arg-type, return-value]


@pytest.mark.requirement("AUDIT-32", "CV-33")
def test_a_chart_is_two_files_with_its_note_and_its_licence() -> None:
    files = exported_files(giving({"figures/c": CHART, "a.csv": "a"}), SUBJECTS)
    assert list(files) == ["a.csv", "figures/c.png", "figures/c.svg"]
    svg = files["figures/c.svg"].decode()
    assert "<metadata>CC-BY-4.0 &lt;</metadata>" in svg
    for words in (
        "Simulated subjects, programs that stand in for models: simulated/even.",
        "Licence: CC-BY-4.0",
        "Greys",
    ):
        assert words in svg
    png, place = files["figures/c.png"], 8
    chunks = {}
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        body = png[place + 4 : place + 8 + length]
        assert png[place + 8 + length : place + 12 + length] == struct.pack(">I", crc32(body))
        chunks[body[:4]] = body[4:]
        place += 12 + length
    assert chunks[b"iTXt"] == b"Copyright\0\0\0\0\0CC-BY-4.0 <"
    assert set(chunks) >= {b"IHDR", b"IDAT", b"IEND"}
    again = exported_files(giving({"figures/c": CHART}), SUBJECTS)
    assert again.items() <= files.items()


@pytest.mark.requirement("CV-40")
def test_without_plots_no_chart_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    experiment = giving({"c": CHART, "a.csv": "a"})
    assert exported_files(experiment, {}, plots=False) == {"a.csv": b"a"}
    assert exported_files(EXPERIMENT, {}) == {}
    with pytest.raises(MissingPackage, match=r"pip install 'pytest-bias\[suite\]'"):
        exported_files(experiment, {})


def test_an_error_of_ours_in_the_authors_function_is_said_once() -> None:
    def tell(_: object) -> dict[str, str]:
        raise BadDesign(what="it", problem="is bad")

    with pytest.raises(NotExported, match=r"no exports of .* were written: it: is bad"):
        exported_files(replace(EXPERIMENT, exports=tell), {})


def test_specifications_nobody_can_draw_are_named() -> None:
    chart = VegaChart(title="t", body={"mark": 3})
    unwritable = VegaChart(title="\ud800", body=CHART.body)
    for each in (chart, unwritable):
        with pytest.raises(NotExported, match="charts/t cannot be drawn: "):
            exported_files(giving({"charts/t": each}), {})


@pytest.mark.requirement("CV-33")
def test_what_is_written_and_where(tmp_path: Path) -> None:
    assert write_exports(tmp_path, {"a/b.txt": b"b"}) == [tmp_path / "a" / "b.txt"]
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"b"
    with pytest.raises(ReportNotWritten, match="shown"):
        write_exports(tmp_path / "a" / "b.txt", {"c": b""}, lambda _: "shown")


def test_models_are_not_called_programs_and_a_tile_without_a_value_is_grey() -> None:
    svg = exported_files(giving({"c": CHART}), {"openai/a": Records(())})["c.svg"]
    assert b"Simulated" not in svg
    assert svg.count(b'fill="#d0d0d0"') == svg.count(b"#d0d0d0") == 1
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


@pytest.mark.parametrize(("low", "high", "colours"), [(0, 1, ["#000000"]), (1, 1, ["#0", "#1"])])
def test_shades_from_nowhere_are_refused(low: float, high: float, colours: list[str]) -> None:
    with pytest.raises(BadDesign, match="two colours or more, and low below high"):
        Shades(low=low, high=high, colours=colours, meaning=["points"])
