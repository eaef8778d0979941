"""The mutants that code has, drawn by chance or found again in code that has moved.

A mutant is known by what it changes: its definition, the statement as it parses, the operator,
and the how manieth such place. Where names in the statement have changed, its shape does within
the same definition; where the definition has another name, the statement does, if no other reads
like it.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import importlib
import keyword
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugin/pytest_bias"
SEED = 20_261_122
PER_PACKAGE = 300
PACKAGES = ("verdicts", "baselines", "stats")

ALIKE = (
    "(Add|Sub|Mul|Div|FloorDiv|Mod)",
    "(BitOr|BitAnd|BitXor)",
    "(Eq|NotEq|Lt|LtE|Gt|GtE)",
    "(Is|IsNot)",
)
"""Operators that are swapped for one another; others would mostly end in a ``TypeError``."""
USED = re.compile(
    "|".join(f"Replace(Binary|Comparison)Operator_{same}_{same}" for same in ALIKE)
    + "|ReplaceUnaryOperator_Delete_.*|Replace(True|False|And|Or|Break|Continue)With.*"
    "|AddNot|NumberReplacer|ZeroIterationForLoop"
)

Place = tuple[int, int]


class Key(NamedTuple):
    """What a mutant is known by; ``number`` counts those that agree in all before it."""

    definition: str
    operator: str
    statement: str
    shape: str
    number: int


class Mutant(NamedTuple):
    """One change: the ``occurrence``-th that its operator can make in its module."""

    key: Key
    package: str
    path: Path
    occurrence: int
    start: Place
    lines: range
    text: str

    def __str__(self) -> str:
        """Return where it is and what it changes."""
        where = f"{self.path.relative_to(ROOT)}:{self.start[0]}:{self.start[1]}"
        operator = self.key.operator.removeprefix("Replace")
        text = " ".join(self.text.removesuffix("\n    pass").split())
        return f"{where} {self.key.definition} {operator}: {text[:100]}"

    def source(self) -> str:
        """Return the module with the change."""
        mutating = importlib.import_module("cosmic_ray.mutating")
        operator = operators()[self.key.operator]
        code: str = mutating.mutate_code(self.path.read_text("utf-8"), operator, self.occurrence)
        return code


@functools.cache
def operators() -> dict[str, Any]:
    """Return the operators in use by name."""
    # Not among the tools for development: it brings a database and a web client.
    provider = importlib.import_module("cosmic_ray.operators.provider").OperatorProvider()
    return {name: provider[name]() for name in provider if USED.fullmatch(name)}


def digest(text: str) -> str:
    """Return what tells texts apart, in short."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def shape(text: str) -> str:
    """Return a statement with one name for all names."""
    return re.sub(r"\b[^\W\d][\w.]*", lambda m: m[0] if keyword.iskeyword(m[0]) else "_", text)


def statements(
    node: ast.AST, names: tuple[str, ...] = (), *, inside: bool = False
) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the statements in functions with their definition, inner ones after outer ones."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            function = not isinstance(child, ast.ClassDef)
            yield from statements(child, (*names, child.name), inside=function)
        else:
            if inside and isinstance(child, ast.stmt):
                yield ".".join(names), child
            yield from statements(child, names, inside=inside)


def head(statement: ast.stmt) -> tuple[str, int, int]:
    """Return a statement without those in it, and where that ends, in line and byte."""
    alone = copy.copy(statement)
    end = (statement.end_lineno or 0, statement.end_col_offset or 0)
    for name in ("cases", "finalbody", "orelse", "handlers", "body"):
        if block := getattr(statement, name, None):
            first = block[0].pattern if name == "cases" else block[0]
            end = (first.lineno, first.col_offset)
            setattr(alone, name, [ast.Pass()] if name in {"body", "finalbody"} else [])
    return ast.unparse(alone), *end


def in_module(path: Path, package: str) -> list[Mutant]:
    """Return all mutants of the functions in a module."""
    source = path.read_text(encoding="utf-8")
    rows = source.splitlines()

    def place(line: int, byte: int) -> Place:
        # Python's parser counts bytes, that of cosmic-ray characters.
        return line, len(rows[line - 1].encode()[:byte].decode())

    spans = []
    for definition, statement in statements(ast.parse(source)):
        text, *end = head(statement)
        start = place(statement.lineno, statement.col_offset)
        hint = getattr(statement, "annotation", None)
        after_hint = place(hint.end_lineno, hint.end_col_offset) if hint else start
        spans.append((start, after_hint, place(*end), definition, text))
    parsed = importlib.import_module("cosmic_ray.ast")
    nodes = list(parsed.ast_nodes(parsed.get_ast(source)))
    alike: Counter[tuple[str, ...]] = Counter()
    found = []
    for name, operator in operators().items():
        places = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, start in enumerate(places):
            around = [span for span in spans if span[0] <= start < span[2]]
            if around and start >= around[-1][1]:
                first, _, last, definition, text = around[-1]
                named = (definition, name, digest(text), digest(shape(text)))
                key = Key(*named, alike[named])
                alike[named] += 1
                lines = range(first[0], last[0] + 1)
                found.append(Mutant(key, package, path, occurrence, start, lines, text))
    return found


def drawn() -> list[Mutant]:
    """Draw places in each package, and one mutant of each place; return them in a drawn order."""
    chance = random.Random(SEED)  # noqa: S311  (a sample)
    chosen: list[Mutant] = []
    for package in PACKAGES:
        places: dict[tuple[Path, Place], list[Mutant]] = defaultdict(list)
        for path in sorted((PLUGIN / package).rglob("*.py")):
            for mutant in in_module(path, package):
                places[path, mutant.start].append(mutant)
        some = chance.sample(list(places.values()), min(PER_PACKAGE, len(places)))
        chosen += [chance.choice(place) for place in some]
    chance.shuffle(chosen)
    return chosen


ALIKENESS: tuple[tuple[Callable[[Key], object], int], ...] = (
    (lambda key: key, 0),
    (lambda key: (key.definition, key.operator, key.shape, key.number), 0),
    (lambda key: (key.operator, key.statement, key.number), 60),
)
"""What a mutant is found again by, in turn, in statements so long.

From the second on one place alone must agree. Short statements read alike by chance.
"""


def found_again(keys: Sequence[Key]) -> dict[Key, Mutant]:
    """Return the mutants that the plugin has of those with the keys."""
    now = [
        mutant
        for path in sorted(PLUGIN.rglob("*.py"))
        for mutant in in_module(path, path.relative_to(PLUGIN).parts[0])
    ]
    # Where equal functions stand in several modules: those of the measured packages first.
    now.sort(key=lambda mutant: mutant.package not in PACKAGES)
    found: dict[Key, Mutant] = {}
    for turn, (alike, length) in enumerate(ALIKENESS):
        taken = {
            (mutant.path, mutant.key.operator, mutant.occurrence) for mutant in found.values()
        }
        places: dict[object, list[Mutant]] = defaultdict(list)
        for mutant in now:
            if (mutant.path, mutant.key.operator, mutant.occurrence) not in taken:
                places[alike(mutant.key)].append(mutant)
        for key in keys:
            same = places[alike(key)]
            if key in found or not same or (turn and len(same) > 1):
                continue
            if len(same[0].text) >= length:
                found[key] = same.pop(0)
    return {key: found[key] for key in keys if key in found}
