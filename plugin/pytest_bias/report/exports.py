"""What an experiment publishes of itself: its declared exports as files, without pytest.

``--bias-exports`` and whoever has records go through :func:`exported_files` and
:func:`write_exports`. The function that gives the files is the author's code: whatever it raises
is one sentence of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from struct import pack
from textwrap import shorten
from xml.sax.saxutils import escape
from zlib import crc32

from ..cassettes.files import write_atomically
from ..errors import BiasError, MissingPackage, NotExported, ReportNotWritten
from ..experiments.charts import VegaChart
from ..experiments.experiment import Experiment
from ..experiments.fields import author_line
from ..experiments.records import Records
from ..providers.base import is_simulated
from .view import simulated_words

_SCALE = 1.5
_PNG_HEAD = 33
"""Bytes of a PNG's signature and first chunk, which others must follow."""
_IDS = re.compile(r'(id="|url\(#)((gradient_|clip)\d+)')
_LONGEST = 300
_UNPORTABLE = frozenset('\\:*?"<>|')


def exported_files(
    experiment: Experiment, records: Mapping[str, Records], *, plots: bool = True
) -> dict[str, bytes]:
    """The files ``experiment`` declares, as bytes by their names; none where it declares none.

    ``records`` has every trial of the design of each model, by model. A chart becomes two files,
    its name with ``.png`` and ``.svg``; without ``plots`` none. Raises NotExported for what
    is no mapping from file names to contents, for names that would leave the folder, and for
    whatever the author's function raises but KeyboardInterrupt; MissingPackage where there is a
    chart and nothing to draw it with.
    """
    if experiment.exports is None:
        return {}
    try:
        given = experiment.exports(records)
    except KeyboardInterrupt:
        raise
    except BiasError as error:
        raise NotExported(experiment=experiment.id, problem=str(error)) from error
    except BaseException as error:
        # The author's code: sys.exit() and all.
        raise NotExported(experiment=experiment.id, problem=_raised(error)) from error
    programs = [*filter(is_simulated, records)]
    note = simulated_words(programs) if programs else ""
    if isinstance(given, Mapping):
        charts = {name: each for name, each in given.items() if isinstance(each, VegaChart)}
        others = {name: each for name, each in given.items() if name not in charts}
        drawn: dict[str, bytes] = {}
        for name, chart in charts.items() if plots else ():
            try:
                drawn |= {f"{name}{end}": data for end, data in _drawn(chart, note).items()}
            except ValueError as error:
                words = shorten(str(error), _LONGEST, placeholder="…")
                problem = f"{name} cannot be drawn: {words}"
                raise NotExported(experiment=experiment.id, problem=problem) from error
        given = {**others, **drawn}
    return checked_files(experiment.id, given)


def _drawn(chart: VegaChart, note: str) -> dict[str, bytes]:
    """A chart as its two files, by their ending."""
    try:
        import vl_convert  # noqa: PLC0415  (90 MB of library, needed only to draw)
    except ModuleNotFoundError:
        raise MissingPackage(package="vl-convert-python", extra="suite") from None
    spec, licence = chart.spec(note), chart.licence
    png: bytes = vl_convert.vegalite_to_png(
        spec, vl_version="6.1", scale=_SCALE, allowed_base_urls=[]
    )
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version="6.1", allowed_base_urls=[])
    # The library counts on from chart to chart; equal charts are to be equal bytes.
    ids: dict[str, str] = {}
    svg = _IDS.sub(lambda m: m[1] + ids.setdefault(m[2], f"{m[3]}{len(ids)}"), svg)
    if licence:
        # Both formats' own places for it: iTXt (PNG, third edition, 11.3.3.4) and <metadata>.
        chunk = b"iTXt" + b"Copyright\0\0\0\0\0" + licence.encode()
        made = pack(">I", len(chunk) - 4) + chunk + pack(">I", crc32(chunk))
        png = png[:_PNG_HEAD] + made + png[_PNG_HEAD:]
        head, end, rest = svg.partition(">")
        svg = f"{head}{end}<metadata>{escape(licence)}</metadata>{rest}"
    return {".png": png, ".svg": svg.encode()}


def write_exports(
    folder: Path, files: Mapping[str, bytes], shown: Callable[[Path], str] = str
) -> list[Path]:
    """Write each file below ``folder``, whole or not at all, and return their paths.

    ``shown`` gives a path as the user would write it. Raises ReportNotWritten for the first that
    cannot be written.
    """
    written = []
    for name, data in files.items():
        path = folder / name
        try:
            write_atomically(path, data)
        except OSError as error:
            problem = error.strerror or str(error)
            raise ReportNotWritten(path=shown(path), problem=problem) from error
        written.append(path)
    return written


def checked_files(experiment: str, given: object) -> dict[str, bytes]:
    """The files an export gives, in the order of their names, as bytes.

    Raises NotExported for what is no mapping from file names to contents, and for names that would
    leave the folder or that not every system can write.
    """
    if not isinstance(given, Mapping):
        problem = f"a {type(given).__name__} is no mapping from file names to contents"
        raise NotExported(experiment=experiment, problem=problem)
    files: dict[str, bytes] = {}
    for name, content in given.items():
        if not isinstance(name, str) or not _stays_inside(name):
            problem = f"{name!r} is no name of a file inside their folder"
            raise NotExported(experiment=experiment, problem=problem)
        if not isinstance(content, str | bytes):
            problem = f"the content of {name} is a {type(content).__name__}, not str or bytes"
            raise NotExported(experiment=experiment, problem=problem)
        try:
            files[name] = content if isinstance(content, bytes) else content.encode()
        except UnicodeEncodeError:
            problem = f"{name} cannot be written as UTF-8"
            raise NotExported(experiment=experiment, problem=problem) from None
    return dict(sorted(files.items()))


def _stays_inside(name: str) -> bool:
    """Return true where ``name`` is a plain relative path, with ``/`` between folders."""
    plain = name.isprintable() and not _UNPORTABLE & set(name)
    # Some systems drop what stands at the end here: the file would have another's name.
    return plain and all(part and part == part.rstrip(". ") for part in name.split("/"))


def _raised(error: BaseException) -> str:
    """An error in the author's code: what, and where, without the folders of this machine."""
    file, _, line = author_line(error).rpartition(":")
    try:
        words = str(error)
    except Exception:  # noqa: BLE001  (its own __str__ is the author's code, too)
        words = "it has no words for itself"
    said = shorten(f"{type(error).__name__}: {words}", _LONGEST, placeholder="…")
    return f"{said} ({Path(file).name}, line {line})"
