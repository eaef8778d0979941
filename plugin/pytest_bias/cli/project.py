"""``pytest-bias init``: the experiments that travel with the package, put into a project."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from ..cassettes.store import SUFFIX, packed_path, place_of
from ..errors import FileProblem, NotWritten, UnknownName
from ..settings.options import OPTIONS
from ..workbench import SUITE
from ..workbench.configuration import pytest_configuration
from . import tell

SUBJECT = "simulated/even"
"""Model that is judged where nobody names another: its recordings travel with the package."""

_RECORDING = f"{SUBJECT.replace('/', '--')}{SUFFIX}"
_ROSTER, _CASSETTES = (Path(str(OPTIONS[name].default)) for name in ("roster", "cassettes"))
_NOT_SHIPPED = shutil.ignore_patterns("tests", "__pycache__")
_ID = re.compile(r'^    id="([^"]+)"', re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)#\s]+)(?:#[^)]*)?\)")
_KEYS = {"testpaths": [SUITE], "bias_models": [SUBJECT]}
"""Keys that pytest needs of a project."""


def shipped_suite() -> Path:
    """The folder with the suite: in an installed wheel that of the package, else the checkout.

    Raises FileProblem where neither has one.
    """
    package = Path(__file__).parents[1]
    places = (package / "suite", package.parents[1])
    for place in places:
        if (place / SUITE).is_dir() and (place / _ROSTER).exists():
            return place
    problem = "has no experiments. Install pytest-bias from its wheel, or a checkout with pip -e"
    raise FileProblem(path=places[0], problem=problem)


def shipped_experiments() -> dict[Path, list[str]]:
    """The shipped packages of experiments, with the ids each declares; none is imported."""
    return {
        module.parent: _ID.findall(module.read_text(encoding="utf-8"))
        for module in sorted((shipped_suite() / SUITE).glob("*/experiment.py"))
    }


def _init(given: argparse.Namespace) -> int:
    suite, into = shipped_suite(), given.into
    chosen = _chosen(given.experiments)
    units = [package.relative_to(suite) for package in chosen]
    if given.recordings:
        recorded = (
            path for ids in chosen.values() for id_ in ids for path in _recorded(suite, id_)
        )
        units += [path.relative_to(suite) for path in recorded]
    units += [path.relative_to(suite) for path in sorted((suite / SUITE).glob("*.py"))]
    try:
        _copy(suite, into, [*units, _ROSTER])
        configured = configure(into)
    except OSError as error:
        raise NotWritten(
            path=error.filename2 or error.filename or into, problem=error.strerror or str(error)
        ) from None
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


def _recorded(suite: Path, experiment: str) -> Iterator[Path]:
    """The recording of the simulated subject, plain or packed."""
    place = suite / _CASSETTES / experiment / _RECORDING
    yield from (path for path in (place, packed_path(place)) if path.exists())


def _copy(suite: Path, into: Path, units: Sequence[Path]) -> None:
    """Copy what is not there, each folder or file whole or not at all, and say what was done."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".bias-init-") as made:
        for unit in units:
            source, copy, target = suite / unit, Path(made, unit.name), into / unit
            if standing := _standing(target):
                tell(f"kept: {standing}; to have the one shipped, move it away and run this again")
                continue
            if source.is_dir():
                shutil.copytree(source, copy, ignore=_NOT_SHIPPED, copy_function=_copy_file)
            else:
                shutil.copyfile(source, copy)
            target.parent.mkdir(parents=True, exist_ok=True)
            copy.rename(target)
            tell(f"written: {target}")


def _copy_file(source: str, target: str) -> None:
    """Copy a file; in a README, links to what a project does not have become plain words."""
    data, home = Path(source).read_bytes(), (shipped_suite() / SUITE).resolve()

    def plain(link: re.Match[str]) -> str:
        page = (Path(source).parent / link[2]).resolve()
        return link[0] if page.is_relative_to(home) else f"{link[1]} (pytest-bias)"

    if source.endswith("README.md"):
        data = _LINK.sub(plain, data.decode()).encode()
    Path(target).write_bytes(data)


def _standing(target: Path) -> Path | None:
    """The file or folder that is in the place of ``target``; of a recording, packed or not."""
    place = place_of(target)
    forms = (target, place, packed_path(place))
    return next((form for form in forms if form.is_symlink() or form.exists()), None)


def configure(into: Path) -> bool:
    """Configure pytest where nothing does, or print what to add; False where keys are to be added.

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
    named = keys.get("testpaths", [])
    paths = named if isinstance(named, list) else shlex.split(str(named))
    missing: dict[str, list[str]] = {}
    if not any(SUITE in Path(str(each)).parts for each in paths):
        missing["testpaths"] = [*paths, SUITE]
    if "bias_models" not in keys:
        missing["bias_models"] = [SUBJECT]
    if not missing:
        return True
    tell(f"{into / path.name} configures pytest and is kept; set among its keys for pytest:")
    for key, values in missing.items():
        text = json.dumps(values) if path.suffix == ".toml" else shlex.join(values)
        tell(f"  {key} = {text}")
    return False
