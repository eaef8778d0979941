"""Definitions of the statistics that nothing a user can run reaches.

    python plugin/benchmarks/unreached.py

Reached is what the plugin outside its statistics, the suite or a Python example of the documents
names, and what those definitions name in turn; benchmarks and tests do not count. Prints each
definition that is not reached, with its number of lines; any: exit status 1.

Names are resolved from the source alone: imports at any depth, attributes of modules, and local
names that hide global ones. What ``x.name`` means where ``x`` is no module is not known: a method
counts as reached when its class is and any reached code has an attribute of that name. So a
namesake may keep a method. Names in strings are seen in annotations and casts only.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATISTICS = "pytest_bias.statistics"

DOCUMENTS = ("README.md", "docs/**/*.md", "bias_tests/**/*.md")
FENCED = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"[\w., |\[\]]+")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class, constant or method, and what it mentions: full names, and attributes."""

    lines: int
    names: set[str]
    attributes: set[str]
    of_class: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A module: its full name and its syntax."""

    name: str
    tree: ast.Module
    package: bool = False
    imported: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note what the module's own imports mean."""
        self.imported.update(self.imports(self.tree))

    def imports(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        """Give the names that imports right in `node` bind, with the full names they stand for."""
        parts = self.name.split(".")
        for child in own(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield alias.asname or alias.name, alias.name
            elif isinstance(child, ast.ImportFrom):
                above = parts[: len(parts) - child.level + self.package] if child.level else []
                base = ".".join([*above, *filter(None, [child.module])])
                for alias in child.names:
                    yield alias.asname or alias.name, f"{base}.{alias.name}"


class Reader(ast.NodeVisitor):
    """Collects what code of a module mentions."""

    def __init__(self, source: Source, owned: Mapping[str, str]) -> None:
        self.source = source
        #: what names mean, innermost last; of a function's own names nothing is known
        self.scopes: list[Mapping[str, str | None]] = [{**owned, **source.imported}]
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def _full_name(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            known = (scope[node.id] for scope in reversed(self.scopes) if node.id in scope)
            return next(known, None)
        if isinstance(node, ast.Attribute) and (base := self._full_name(node.value)):
            return f"{base}.{node.attr}"
        return None

    def visit(self, node: ast.AST) -> None:
        """Note what a node mentions, in the scope of the functions around it."""
        if isinstance(node, ast.Attribute):
            self.attributes.add(node.attr)
        if isinstance(node, ast.Name | ast.Attribute) and (name := self._full_name(node)):
            self.names.add(name)
        if isinstance(node, ast.Constant) and TYPE.fullmatch(str(node.value)):
            with contextlib.suppress(SyntaxError):  # most strings are no types
                inner = ast.parse(str(node.value), mode="eval").body
                if not isinstance(inner, ast.Constant):
                    self.visit(inner)
        if not isinstance(node, Function | ast.Lambda):
            self.generic_visit(node)
            return
        bound = [n.arg for n in own(node) if isinstance(n, ast.arg)]
        bound += [n.name for n in own(node) if isinstance(n, Function | ast.ClassDef)]
        bound += [
            n.id for n in own(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
        self.scopes.append({**dict.fromkeys(bound), **dict(self.source.imports(node))})
        self.generic_visit(node)
        self.scopes.pop()


def own(node: ast.AST) -> Iterator[ast.AST]:
    """Give the nodes within a node, but not those within functions in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, Function | ast.Lambda):
            yield from own(child)


def defined(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    match node:
        case (
            ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name)
        ):
            return [name]
        case ast.Assign(targets=targets):
            return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def length(node: ast.stmt) -> int:
    """Return the lines of a definition, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return (node.end_lineno or first) - first + 1


def definitions(source: Source) -> Iterator[tuple[str, Definition]]:
    """Give what a module defines, by full name; methods apart from their classes."""
    owned = {name: f"{source.name}.{name}" for node in source.tree.body for name in defined(node)}

    def read(node: ast.stmt, lines: int, of_class: str | None = None) -> Definition:
        reader = Reader(source, owned)
        reader.visit(node)
        return Definition(lines, reader.names, reader.attributes, of_class)

    for node in source.tree.body:
        lines = length(node)
        if isinstance(node, ast.ClassDef):
            methods = [m for m in node.body if isinstance(m, Function) and m.name[:2] != "__"]
            for method in methods:
                name = f"{owned[node.name]}.{method.name}"
                yield name, read(method, length(method), owned[node.name])
            node.body = [part for part in node.body if part not in methods]
            lines -= sum(map(length, methods))
        for name in defined(node):
            yield owned[name], read(node, lines)


def sources(root: Path) -> Iterator[Source]:
    """Give the modules of the plugin and of the suite."""
    for top, folder in ((root / "plugin", "pytest_bias"), (root, "bias_tests")):
        for path in sorted((top / folder).rglob("*.py")):
            parts = path.relative_to(top).with_suffix("").parts
            if "tests" in parts:  # an experiment's own
                continue
            if "tests" in parts:
                continue
            package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if package else parts)
            yield Source(name, ast.parse(path.read_text(encoding="utf-8")), package)


def examples(root: Path) -> Iterator[Source]:
    """Give the Python examples of the documents that are whole."""
    for path in (path for pattern in DOCUMENTS for path in sorted(root.glob(pattern))):
        for example in FENCED.findall(path.read_text(encoding="utf-8")):
            with contextlib.suppress(SyntaxError):  # some show a part of a call
                yield Source(path.stem, ast.parse(example))


def unreached(root: Path = ROOT) -> dict[str, int]:
    """Return the lines of each definition that is not reached, by its name within statistics."""
    known: dict[str, Definition] = {}
    names: set[str] = set()
    attributes: set[str] = set()
    for source in (*sources(root), *examples(root)):
        if f"{source.name}.".startswith(f"{STATISTICS}."):
            known |= definitions(source)
        else:
            reader = Reader(source, {})
            reader.visit(source.tree)
            # what a package imports it hands on
            names |= reader.names | set(source.imported.values() if source.package else ())
            attributes |= reader.attributes
    reached: set[str] = set()
    while (
        fresh := {
            name
            for name, found in known.items()
            if name in names or (found.of_class in reached and name.split(".")[-1] in attributes)
        }
        - reached
    ):
        reached |= fresh
        names.update(*(known[name].names for name in fresh))
        attributes.update(*(known[name].attributes for name in fresh))
    left = sorted(known.keys() - reached)
    return {name.removeprefix(f"{STATISTICS}."): known[name].lines for name in left}


def main() -> int:
    """Print what is not reached; return 1 where there is any."""
    found = unreached()
    for name, lines in found.items():
        sys.stdout.write(f"{name}: {lines} lines\n")
    if found:
        sys.stdout.write(f"{sum(found.values())} lines of {STATISTICS} are reached by nothing\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
