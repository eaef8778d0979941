"""Modules of a suite: the files that declare cases, what was imported, and how a process ends."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

from ..contrasts.register import ATTRIBUTE, DECORATORS, REGISTER

_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta/history")
_NAMES = "|".join(sorted(DECORATORS)).encode()
_PACKAGE = b"pytest_bias"
_DECORATED = re.compile(rb"^[ \t]*@(?:\w+\.)*(?:%b)\b" % _NAMES, re.MULTILINE)
_RENAMED = re.compile(
    rb"\b(?:%b) as \w+\s*(?:[,)#\n]|\Z)|^\w+[ \t]*=[ \t]*(?:\w+\.)*(?:%b)[ \t]*(?:#|$)"
    % (_NAMES, _NAMES),
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Files and folders that are passed over: by path, by glob, and folders by pattern."""

    folders: Sequence[str]
    paths: Collection[Path] = ()
    globs: Sequence[str] = ()

    def __contains__(self, path: Path) -> bool:
        return (
            path in self.paths
            or any(fnmatch(str(path), each) for each in self.globs)
            or (path.suffix != ".py" and any(path.match(each) for each in self.folders))
        )


def python_files(paths: Iterable[Path], left_out: LeftOut) -> Iterator[Path]:
    """Yield the Python files that are ``paths`` or lie below, in no virtual environment."""
    for top in paths:
        if not top.is_dir():
            yield top
            continue
        entered: set[Path] = set()
        for name, below, files in os.walk(top, followlinks=True):
            folder = Path(name)
            real = folder.resolve()
            if real in entered:  # a link that leads back
                below.clear()
                continue
            entered.add(real)
            below[:] = [
                each
                for each in below
                if folder / each not in left_out
                and not any((folder / each / mark).exists() for mark in _ENVIRONMENTS)
            ]
            below_it = (folder / each for each in files)
            yield from (path for path in below_it if _may_declare(path) and path not in left_out)


def _may_declare(path: Path) -> bool:
    """True for Python, and for a link of a folder that leads nowhere."""
    return path.suffix == ".py" or (not path.suffix and _is_broken_link(path))


def _is_broken_link(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def modules() -> Iterator[ModuleType]:
    """Yield the modules that were imported; None and other values may stand among them."""
    known: tuple[object, ...] = tuple(sys.modules.values())
    return (module for module in known if isinstance(module, ModuleType))


def imported(files: Iterable[Path]) -> dict[Path, ModuleType]:
    """The modules that were imported from some of ``files``, by file, through any links."""
    loaded: dict[tuple[int, int], ModuleType] = {}
    for module in modules():
        file = getattr(module, "__file__", None)
        identity = _identity(file) if isinstance(file, str) else None
        if identity and (identity not in loaded or REGISTER in vars(module)):
            loaded[identity] = module
    return {path: loaded[each] for path in files if (each := _identity(path)) in loaded}


def _identity(file: str | Path) -> tuple[int, int] | None:
    """Device and inode of a file; None where there is no file."""
    try:
        status = os.stat(file)  # noqa: PTH116  (to make a path of it takes longer)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def declares(path: Path, *, directly: bool = False) -> bool:
    """True if a line of a file begins with a bias decorator, or renames one; nothing is imported.

    ``directly`` leaves out files that do not name pytest_bias. A link that leads nowhere counts:
    its content is unknown.
    """
    try:
        source = path.read_bytes()
    except OSError:
        return _is_broken_link(path)
    if _PACKAGE not in source:
        return not directly and _DECORATED.search(source) is not None
    return (_DECORATED.search(source) or _RENAMED.search(source)) is not None


def undeclared(path: Path, module: ModuleType) -> Iterator[tuple[int, str]]:
    """Line and name of each function with a bias decorator in a file that declared nothing.

    ``module`` was imported from it. Functions within functions are left out, as nobody knows
    whether they are called.
    """
    if not declares(path, directly=True):
        return
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    declared = vars(module).get(REGISTER, ())
    made = {each.name for each in declared} | {each.line for each in declared}
    names = set(DECORATORS)
    waiting: list[tuple[ast.AST, str]] = [(node, "") for node in tree.body]
    while waiting:
        node, within = waiting.pop(0)
        if isinstance(node, ast.ImportFrom):
            names |= {each.asname for each in node.names if each.asname and each.name in names}
        elif isinstance(node, ast.Assign) and _mentions(node.value, names):
            names |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min((each.lineno for each in node.decorator_list), default=node.lineno)
            # Of a call the arguments are none of its name.
            marks = [getattr(each, "func", each) for each in node.decorator_list]
            marked = any(_mentions(each, names) for each in marks)
            # Another decorator may have put a function of its own in its place.
            found = {within + node.name, *range(first, node.lineno + 1)} & made
            if marked and not found and not _is_declared(module, within + node.name):
                yield first, node.name
        else:
            inner = f"{within}{node.name}." if isinstance(node, ast.ClassDef) else within
            children = [each for each in ast.iter_child_nodes(node) if _holds(each)]
            waiting[:0] = [(each, inner) for each in children]


def _is_declared(module: object, name: str) -> bool:
    """True if the name of a function leads to one that declared something."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return hasattr(module, ATTRIBUTE)


def _mentions(node: ast.expr, names: Collection[str]) -> bool:
    """True if one of ``names`` stands in an expression, as in one of two branches."""
    return any(_last_name(each) in names for each in ast.walk(node))


def _last_name(node: ast.AST) -> str:
    """``hypotheses`` of the name itself and of ``pytest_bias.hypotheses``; '' of anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _holds(node: ast.AST) -> bool:
    """True if statements may stand in ``node``: it is one, or a branch of one."""
    return isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)


def hold_exit(due: Callable[[], int]) -> Callable[[], None]:
    """Have ``os._exit(0)`` in this process exit with the pending status, and print that.

    Nothing can run after ``os._exit``, so a test that calls it would end a session with success.
    Forked processes are left alone. Returns the function that undoes it.
    """
    original, process = os._exit, os.getpid()

    def exit_with_status(status: int) -> None:
        if os.getpid() == process and status == 0 and (instead := due()):
            sys.stderr.write(f"the process was ended with os._exit(0): exit status {instead}\n")
            sys.stderr.flush()
            status = instead
        original(status)

    def restore() -> None:
        os._exit = original

    os._exit = exit_with_status  # type: ignore[assignment]
    return restore
