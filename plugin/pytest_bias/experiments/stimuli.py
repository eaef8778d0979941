"""The files of stimuli beside an experiment: texts, templates, JSON and CSV, each read whole.

Variables of templates are checked when these are made, not when they are sent.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import TypeVar

from ..errors import BadData, BadJSON
from .canonical import TwiceNamed, once_each, parsed_as
from .fields import need_text, shortened

Content = TypeVar("Content")


class Stimuli:
    """The files in the folder ``stimuli`` beside a module, or in any other folder.

    Parameters
    ----------
    where
        A module's ``__file__``, beside which the folder stands, or the folder itself.

    Files are UTF-8, with or without a byte order mark. A name without an ending gets that of the
    method that reads it. All methods raise BadData for a file that is not there or is not what
    its name says, with the line where one is at fault.
    """

    __slots__ = ("folder",)

    def __init__(self, where: str | Path) -> None:
        path = Path(where)
        self.folder = path if path.is_dir() else path.with_name("stimuli")

    def text(self, name: str) -> str:
        """Return the text of ``name.txt``, without white space around it."""
        return _text(self._path(name, ".txt")).strip()

    def template(self, name: str, *variables: str) -> PromptTemplate:
        """Return ``name.txt`` as a template; BadData unless it uses exactly ``variables``."""
        return PromptTemplate(name, self.text(name), variables)

    def json(self, name: str, of: type[Content]) -> Content:
        """Return ``name.json`` as a value of the type ``of``, strictly.

        ``of`` is anything pydantic can validate (``dict[str, str]``, a model, a tuple of models).
        A key that stands twice in one object is refused: one of its values would be lost.
        """
        path = self._path(name, ".json")
        text = _text(path)
        try:
            json.loads(text, object_pairs_hook=once_each)
            return parsed_as(of, text, strict=True)
        except json.JSONDecodeError as error:
            problem = f"is no JSON: {error.msg}"
            raise BadData(source=path.name, line=error.lineno, problem=problem) from None
        except TwiceNamed as twice:
            problem = f"{str(twice)!r} stands twice in one object"
            raise BadData(source=path.name, problem=problem) from None
        except BadJSON as error:
            raise BadData(source=path.name, problem=str(error)) from None

    def csv(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """Return the rows of ``name.csv``: the line each begins in → column → value.

        Lines count from 1, the header's included. Empty lines are passed over: many programs end a
        file with one.
        """
        path = self._path(name, ".csv")
        header: list[str] = []
        rows: dict[int, Mapping[str, str]] = {}
        line = 0
        try:
            for line, cells in csv_lines(_text(path)):
                problem = ""
                if not header:
                    header = cells
                    twice = [name for name in header if header.count(name) > 1]
                    problem = f"two columns have one name, {twice[0]!r}" if twice else ""
                elif len(cells) != len(header):
                    problem = f"has {len(cells)} values for {len(header)} columns"
                else:
                    rows[line] = dict(zip(header, cells, strict=True))
                if problem:
                    raise BadData(source=path.name, line=line, problem=problem)
        except csv.Error as error:
            problem = (
                f"{error} (a value with commas, quotes or lines stands in quotes, each quote in "
                f"it is doubled, and none is longer than {csv.field_size_limit():,} characters)"
            )
            raise BadData(source=path.name, line=line + 1, problem=problem) from None
        return rows

    def _path(self, name: str, suffix: str) -> Path:
        return self.folder / (name if name.lower().endswith(suffix) else f"{name}{suffix}")


def csv_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV that hold anything, each with the number (from 1) on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins = 1
    for cells in reader:
        if any(map(str.strip, cells)):
            yield begins, cells
        begins = reader.line_num + 1


_LFS = b"version https://git-lfs.github.com/spec/"


def _text(path: Path) -> str:
    try:
        given = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except FileNotFoundError:
        raise BadData(source=path.name, problem=f"there is no such file: {path}") from None
    except OSError as error:
        raise BadData(source=path.name, problem=f"cannot be read: {error}") from None
    if given.startswith(_LFS):
        problem = "is what Git LFS left in its place; git lfs pull fetches it"
        raise BadData(source=path.name, problem=problem)
    try:
        # A prompt is the same whatever Git made of its line ends (core.autocrlf).
        return given.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = given.count(b"\n", 0, error.start) + 1
        problem = "is not UTF-8; save the file in that encoding"
        raise BadData(source=path.name, line=line, problem=problem) from None


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """Text with ``$variables`` (``string.Template`` syntax; ``$$`` is a dollar sign).

    Raises BadData when the text uses a variable that is not given, or does not use one that
    is.

    Parameters
    ----------
    name
        Name of the template for messages, usually its file.
    text
        The text.
    variables
        Exactly the variables the text must use.
    """

    name: str
    text: str = field(repr=False)
    variables: Collection[str] = ()
    _form: str = field(init=False, repr=False, compare=False)
    """The text as ``%`` fills it, in a tenth of the time: prompts are made for every replay."""

    def __post_init__(self) -> None:
        need_text(f"PromptTemplate({shortened(self.name)})", text=self.text)
        template = Template(self.text)
        used = set(template.get_identifiers())
        if not template.is_valid():
            used.add("$ (a lone dollar sign: write $$)")
        object.__setattr__(self, "variables", frozenset(self.variables))
        self._check(unknown=used - set(self.variables), unused=set(self.variables) - used)
        form = Template(self.text.replace("%", "%%"))
        filled = form.substitute({name: f"%({name})s" for name in used})
        object.__setattr__(self, "_form", filled)

    def fill(self, /, **values: object) -> str:
        """The text with every variable replaced.

        Raises BadData when the names of ``values`` are not exactly the variables.
        """
        if values.keys() != self.variables:
            given, known = set(values), set(self.variables)
            self._check(unknown=known - given, unused=given - known)
        return self._form % values

    def _check(self, *, unknown: Collection[str], unused: Collection[str]) -> None:
        problems = [f"uses unknown variable(s) {', '.join(sorted(unknown))}"] * bool(unknown)
        problems += [f"does not use variable(s) {', '.join(sorted(unused))}"] * bool(unused)
        if problems:
            source = f"template {self.name!r}"
            raise BadData(source=source, problem=" and ".join(problems))
