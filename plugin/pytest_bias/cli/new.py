"""``pytest-bias new``: an experiment that runs, to be made one's own."""

from __future__ import annotations

import argparse
import keyword
import tempfile
from pathlib import Path

from ..errors import BadSetting, NotWritten
from ..experiments.design import LABEL
from ..workbench import SUITE
from ..workbench.suite import TESTS
from . import tell
from .project import SUBJECT, configure

_TEMPLATES = Path(__file__).with_name("templates")
_ENDING = ".txt"
_TAKEN = (TESTS, "baselines", "labels")


def _new(given: argparse.Namespace) -> int:
    name = given.name
    target = Path(SUITE, name)
    _check(name, target)
    id_ = name.replace("_", "-")
    try:
        _write(target, {"name": name, "NAME": name.upper(), "id": id_, "title": _title(name)})
        configured = configure(Path())
    except OSError as error:
        path = error.filename2 or error.filename or target
        raise NotWritten(path=path, problem=error.strerror or str(error)) from None
    model = f" --bias-model {SUBJECT}"
    tell("to record a simulated subject, a program that stands in for a model, once:")
    tell(f"  pytest {target}{model} --bias-record=missing")
    tell(f"then, offline:\n  pytest {target}{'' if configured else model}")
    return 0


def _check(name: str, target: Path) -> None:
    """Refuse a name that no package can have, or another has."""
    problem = ""
    if not LABEL.fullmatch(name) or not name.isidentifier():
        problem = "must be lower-case words and digits joined by _, beginning with a letter"
    elif keyword.iskeyword(name):
        problem = "is a word of Python's own, and can name no package"
    elif name in _TAKEN:
        problem = f"is a folder's name that means something else in {SUITE}"
    elif target.exists() or target.is_symlink():
        problem = f"{target} is there and is kept; choose another name, or move it away"
    if problem:
        raise BadSetting(option="NAME", value=name, problem=problem)


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return f"{words[0].upper()}{words[1:]}"


def _write(target: Path, words: dict[str, str]) -> None:
    """Write the experiment, whole or not at all, and its suite's package where there is none."""
    target.parent.mkdir(exist_ok=True)
    package = target.parent / "__init__.py"
    if not package.exists():
        package.write_text('"""The experiments: one sub-package each."""\n', encoding="utf-8")
        tell(f"written: {package}")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".bias-new-") as made:
        copy = Path(made, target.name)
        for source in sorted(_TEMPLATES.rglob(f"*{_ENDING}")):
            place = source.relative_to(_TEMPLATES).as_posix()
            text = source.read_text(encoding="utf-8")
            if place.endswith((".py.txt", ".md.txt")):
                place = place.removesuffix(_ENDING)
            for token, word in words.items():
                place, text = (each.replace(f"@{token}@", word) for each in (place, text))
            (copy / place).parent.mkdir(parents=True, exist_ok=True)
            (copy / place).write_text(text, encoding="utf-8")
        copy.rename(target)
    tell(f"written: {target}")
