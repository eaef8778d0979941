"""The commands ``pytest-bias init`` and ``new``: experiments put into a project."""

from __future__ import annotations

import argparse
import json
import keyword
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from ..cassettes.store import SUFFIX, packed_path, place_of
from ..errors import BadSetting, FileProblem, NotWritten, UnknownName
from ..experiments.design import LABEL
from ..settings.options import OPTIONS
from ..workbench import SUITE
from ..workbench.suite import TESTS, pytest_configuration
from . import tell

SUBJECT = "simulated/even"
"""Model that is tested by default: its recordings travel with the package."""

_RECORDING = f"{SUBJECT.replace('/', '--')}{SUFFIX}"
_ROSTER, _CASSETTES = (Path(str(OPTIONS[name].default)) for name in ("roster", "cassettes"))
_NOT_SHIPPED = shutil.ignore_patterns("tests", "__pycache__")
_ID = re.compile(r'^    id="([^"]+)"', re.MULTILINE)
_KEYS = {"testpaths": [SUITE], "bias_models": [SUBJECT]}
"""Keys that pytest needs of a project."""

_TEMPLATES = Path(__file__).with_name("templates")
_ENDING = ".txt"
_TAKEN = (TESTS, "baselines", "labels")


@contextmanager
def _written(target: Path) -> Iterator[None]:
    """Name the file that could not be written."""
    try:
        yield
    except OSError as error:
        path = error.filename2 or error.filename or target
        raise NotWritten(path=path, problem=error.strerror or str(error)) from None


# --- init ----------------------------------------------------------------------------------------


def shipped_suite() -> Path:
    """The folder with the suite: in an installed wheel that of the package, else the checkout.

    Raises FileProblem where neither has one.
    """
    package = Path(__file__).parents[1]
    folders = (package / "suite", package.parents[1])
    for folder in folders:
        if (folder / SUITE).is_dir() and (folder / _ROSTER).exists():
            return folder
    problem = "has no experiments. Install pytest-bias from its wheel, or a checkout with pip -e"
    raise FileProblem(path=folders[0], problem=problem)


def shipped_experiments() -> dict[Path, list[str]]:
    """The shipped packages of experiments, with the ids each declares; none is imported."""
    return {
        module.parent: _ID.findall(module.read_text(encoding="utf-8"))
        for module in sorted((shipped_suite() / SUITE).glob("*/experiment.py"))
    }


def _init(given: argparse.Namespace) -> int:
    suite, into = shipped_suite(), given.into
    chosen = _chosen(given.experiments)
    paths = [*chosen]
    if given.recordings:
        recordings = (suite / _CASSETTES / id_ / _RECORDING for i in chosen.values() for id_ in i)
        paths += [path for of in recordings for path in (of, packed_path(of)) if path.exists()]
    paths += [*sorted((suite / SUITE).glob("*.py")), suite / _ROSTER]
    with _written(into):
        _copy(suite, into, [path.relative_to(suite) for path in paths])
        configured = configure(into)
    workers = " -n 2" if find_spec("xdist") else ""
    typed = f"pytest{workers}" if configured else f"pytest {SUITE}{workers} --bias-model {SUBJECT}"
    if not given.recordings:
        typed = f"pytest {SUITE} --bias-model PROVIDER/MODEL --bias-plan"
    inside = f"cd {shlex.quote(str(into))} && " if into.resolve() != Path.cwd() else ""
    tell(f"next: {inside}{typed}")
    return 0


def _chosen(named: Sequence[str]) -> dict[Path, list[str]]:
    """The packages ``named`` by their names or by an id in them; all where none is named."""
    shipped = shipped_experiments()
    by_name = {name: package for package, ids in shipped.items() for name in (package.name, *ids)}
    for name in named:
        if name not in by_name:
            raise UnknownName(kind="experiment", name=name, known=by_name)
    wanted = {by_name[name] for name in named} or {*shipped}
    return {package: ids for package, ids in shipped.items() if package in wanted}


def _copy(suite: Path, into: Path, paths: Sequence[Path]) -> None:
    """Copy what is not there, each folder or file whole or not at all, and print what was done."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".bias-init-") as made:
        for path in paths:
            source, copy, target = suite / path, Path(made, path.name), into / path
            forms = (target, place_of(target), packed_path(place_of(target)))
            there = next((form for form in forms if form.is_symlink() or form.exists()), None)
            if there is not None:
                tell(f"kept: {there}; to have the one shipped, move it away and run this again")
                continue
            if source.is_dir():
                shutil.copytree(source, copy, ignore=_NOT_SHIPPED)
            else:
                shutil.copyfile(source, copy)
            target.parent.mkdir(parents=True, exist_ok=True)
            copy.rename(target)
            tell(f"written: {target}")


def configure(into: Path) -> bool:
    """Configure pytest where nothing does; False where something does, which is kept.

    Raises BadSetting where pytest cannot read a file.
    """
    _, path, keys = pytest_configuration(into)
    # pytest takes a pyproject.toml without keys of its own for a rootdir.
    there = path is not None and path.parent == into.absolute()
    if path is None or not there or (path.name == "pyproject.toml" and not keys):
        path = into / "pytest.toml"
        text = "".join(f"{key} = {json.dumps(values)}\n" for key, values in _KEYS.items())
        path.write_text(f"[pytest]\n{text}", encoding="utf-8")
        tell(f"written: {path}")
        return True
    if keys.keys() >= _KEYS.keys():
        return True
    tell(f"kept: {into / path.name}, which configures pytest")
    return False


# --- new -----------------------------------------------------------------------------------------


def _new(given: argparse.Namespace) -> int:
    name = given.name
    target = Path(SUITE, name)
    _check(name, target)
    title = name.replace("_", " ")
    texts = {
        "name": name,
        "NAME": name.upper(),
        "id": name.replace("_", "-"),
        "title": f"{title[0].upper()}{title[1:]}",
    }
    with _written(target):
        _fill_templates(target, texts)
        configured = configure(Path())
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


def _fill_templates(target: Path, texts: Mapping[str, str]) -> None:
    """Write the experiment, whole or not at all, and its suite's package where there is none."""
    target.parent.mkdir(exist_ok=True)
    package = target.parent / "__init__.py"
    if not package.exists():
        package.write_text('"""The experiments: one sub-package each."""\n', encoding="utf-8")
        tell(f"written: {package}")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".bias-new-") as made:
        copy = Path(made, target.name)
        for source in sorted(_TEMPLATES.rglob(f"*{_ENDING}")):
            path = source.relative_to(_TEMPLATES).as_posix()
            text = source.read_text(encoding="utf-8")
            if path.endswith((".py.txt", ".md.txt")):
                path = path.removesuffix(_ENDING)
            for token, value in texts.items():
                path, text = (each.replace(f"@{token}@", value) for each in (path, text))
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_text(text, encoding="utf-8")
        copy.rename(target)
    tell(f"written: {target}")
