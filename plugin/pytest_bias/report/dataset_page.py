"""The README beside the data sets of an experiment: dictionary, provenance, licence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from .dataset import About, DataColumn
from .published import NOT_KNOWN, published_facts
from .view import SIMULATED_WARNING

LICENCES: Mapping[str, tuple[str, str]] = {
    "CC-BY-4.0": (
        "Creative Commons Attribution 4.0 International",
        "https://creativecommons.org/licenses/by/4.0/",
    ),
    "CC0-1.0": (
        "CC0 1.0 Universal",
        "https://creativecommons.org/publicdomain/zero/1.0/",
    ),
}
"""Names and links of licences that a notice can name; of any other it gives the identifier."""

_STORED = {
    "category": "string, dictionary-encoded",
    "integer": "int64",
    "number": "double",
    "boolean": "boolean",
    "unknown": "null: no trial has a value",
}
_ROWS = (
    "One row per planned trial. There is no prompt and no reply in the files: labels, exemplars, "
    "measures of replies (empty where a trial has none), and the reason why it has none."
)
_MARKS = re.compile(r"([\\`*_|<>\[\]])")


def readme_text(files: Mapping[str, About]) -> str:
    """The text of ``README.md`` for ``files``, each by its name: data sets of one experiment.

    It depends on what is said of them alone, and not on the order in which they were written.
    """
    named = dict(sorted(files.items()))
    first = next(iter(named.values()))
    parts = [f"# {_plain(first.name)}: data", f"Experiment `{first.experiment}`."]
    simulated = [about.model for about in named.values() if about.recording.simulated]
    if simulated:
        parts.append(f"**{SIMULATED_WARNING.format(', '.join(sorted(set(simulated))))}**")
    parts += [
        _ROWS,
        "## Files",
        _files(named),
        *_dictionaries(named),
        "## Provenance",
        _provenance(named),
        "## Source",
        *_said(named, lambda about: _plain(about.source) or "None is declared."),
        "## Licence",
        *_said(named, lambda about: licence_notice(about.licence)),
    ]
    return "\n\n".join(parts) + "\n"


def licence_notice(licence: str) -> str:
    """The notice of a licence, by its name and with its link where both are known."""
    if licence not in LICENCES:
        return f"This data set is licensed under `{licence}`."
    name, link = LICENCES[licence]
    return f"This data set is licensed under [{name}]({link}) (`{licence}`)."


def _files(named: Mapping[str, About]) -> str:
    rows = [
        (
            f"`{name}`",
            _plain(about.model),
            _subject(about).partition(":")[0],
            _plain(about.design),
            about.trials,
            about.trials - sum(about.missing.values()),
            _counts(about.missing),
            NOT_KNOWN if about.interactions is None else _counts(about.invalid),
            NOT_KNOWN if about.interactions is None else about.interactions,
        )
        for name, about in named.items()
    ]
    head = ("file", "model", "subject", "design", "rows", "valid", "missing, by reason")
    return _table((*head, "invalid replies, by reason", "calls"), rows)


def _dictionaries(named: Mapping[str, About]) -> list[str]:
    """A dictionary per set of columns: files of other versions may have others."""
    groups: dict[tuple[DataColumn, ...], list[str]] = {}
    found: dict[tuple[DataColumn, ...], list[tuple[DataColumn, ...]]] = {}
    for name, about in named.items():
        key = tuple(replace(column, levels=()) for column in about.columns)
        groups.setdefault(key, []).append(name)
        found.setdefault(key, []).append(about.columns)
    parts: list[str] = []
    for key, names in groups.items():
        of = f" of {', '.join(f'`{name}`' for name in names)}" if len(groups) > 1 else ""
        together = [_together(columns) for columns in zip(*found[key], strict=True)]
        parts += [f"## Columns{of}", _table(_HEAD, map(_entry, together))]
    return parts


_HEAD = ("column", "type", "unit", "bounds", "meaning", "levels")


def _together(columns: Sequence[DataColumn]) -> DataColumn:
    """One entry for the same column of several files: the levels of all of them."""
    levels = dict.fromkeys(level for column in columns for level in column.levels)
    return replace(columns[0], levels=tuple(levels))


def _entry(column: DataColumn) -> tuple[object, ...]:
    bounds = "" if column.bounds is None else " to ".join(f"{x:.12g}" for x in column.bounds)
    kind = f"{column.kind} ({_STORED[column.kind]})"
    levels = ", ".join(_plain(level) for level in column.levels)
    return f"`{column.name}`", kind, _plain(column.unit), bounds, _meant(column), levels


def _meant(column: DataColumn) -> str:
    return " ".join(column.meaning.split()).replace("|", r"\|")


def _provenance(named: Mapping[str, About]) -> str:
    return "\n".join(_origin(name, about) for name, about in named.items())


def _origin(name: str, about: About) -> str:
    recording = about.recording
    facts: list[tuple[str, object]] = [
        ("subject", _subject(about)),
        ("wire", recording.wire),
        ("recorded with", recording.recorded_with),
        ("judge", recording.judge or "none"),
        ("recording", f"{recording.cassette}, SHA-256 {recording.checksum}"),
        ("recording keeps", recording.retention),
        ("calls in the recording", recording.interactions),
        ("calls of a recording that has not ended", recording.interrupted),
        ("parameters not sent", ", ".join(recording.dropped) or "none"),
        ("replicates", about.replicates),
        ("versions of measures", ", ".join(f"{m} {v}" for m, v in about.measures.items())),
        ("written by", f"pytest-bias {about.version}"),
    ]
    if recording.published is not None:
        known = published_facts(recording, recording.published)
        facts = [("subject", _subject(about)), *known, *facts[-2:]]
    lines = [f"  - {what}: {_plain(str(value))}" for what, value in facts]
    return "\n".join([f"- `{name}`", *lines])


def _subject(about: About) -> str:
    if about.recording.published is not None:
        return "model, as others recorded it"
    return "simulated: a program" if about.recording.simulated else "model"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{_plain(reason)} {n}" for reason, n in counts.items()) or "none"


def _said(named: Mapping[str, About], say: Callable[[About], str]) -> list[str]:
    """Word what holds of all files, or of which of them where it is not the same of all."""
    of: dict[str, list[str]] = {}
    for name, about in named.items():
        of.setdefault(say(about), []).append(f"`{name}`")
    return list(of) if len(of) == 1 else [f"{', '.join(of[text])}: {text}" for text in of]


def _plain(text: str) -> str:
    """Text as one line in which nothing is taken for Markdown."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
