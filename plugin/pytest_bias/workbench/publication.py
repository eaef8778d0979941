"""Data sets to publish: the file of an experiment with a model, and a README beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

from ..cassettes.files import write_atomically
from ..cassettes.staleness import dated
from ..contrasts.cases import Case
from ..errors import Diagnostics, MissingPackage, NotWritten
from ..settings.model_names import file_stem
from .recordings import Recordings

README = "README.md"
_BELOW = b"<!-- pytest-bias writes what is above this line, and keeps what is below. -->"


def dataset_file(recordings: Recordings, case: Case) -> tuple[str, bytes]:
    """Return the name and bytes of the data set of a case's experiment and model: all trials.

    Raises NotRecorded where one of them is not there, BadDesign or MissingPackage where it cannot
    be made.
    """
    from ..report.dataset import dataset_of, parquet_bytes  # noqa: PLC0415  (where one is written)

    source = recordings.source_of(case)
    recording = source.recording
    if recording.published:
        recording = dated(recording, [*source.exchanges])
    theirs = recording.published.licence if recording.published else ""
    data = dataset_of(
        *(case.experiment, case.design, case.model, source.outcomes_of(case.design)),
        recording=recording,
        version=version("pytest-bias"),
        licence=theirs or recordings.settings.dataset_license,
    )
    return f"{case.experiment.id}/{file_stem(case.model)}.parquet", parquet_bytes(data)


def write_datasets(
    folder: Path, files: Mapping[str, bytes], shown: Callable[[Path], str]
) -> Diagnostics:
    """Write the files of data sets, and a README of all that stand in a folder of theirs.

    A README of others is left alone, and in ours what the user added below its last line.
    """
    from ..report.dataset import about_file, readme_text  # noqa: PLC0415

    written: list[Path] = []
    notes: list[str] = []
    path = folder
    try:
        for name, data in sorted(files.items()):
            path = folder / name
            write_atomically(path, data)
            written.append(path)
        for place in sorted({path.parent for path in written}):
            path, known = place / README, {}
            for each in sorted(place.glob("*.parquet")):
                about = about_file(each.read_bytes())
                if about is not None and about.experiment == place.name:
                    known[each.name] = about
                else:
                    notes.append(f"{shown(each)} is no data set of ours; {README} omits it")
            before = path.read_bytes() if path.exists() else _BELOW + b"\n"
            _, ours, added = before.partition(_BELOW)
            if ours:
                write_atomically(path, readme_text(known).encode() + b"\n" + _BELOW + added)
                written.append(path)
            else:
                what = "has no mark of ours and stays, and may describe older files"
                notes.append(f"{shown(path)} {what}; without it one is written")
    except (OSError, MissingPackage) as error:
        problem = getattr(error, "strerror", None) or str(error)
        words = str(NotWritten(path=shown(path), problem=problem))
        return Diagnostics(tuple(written), tuple(notes), (words,))
    return Diagnostics(tuple(written), tuple(notes))
