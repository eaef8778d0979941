"""Scope of a run: why it covers a part of its suite, and what in it no case judges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from types import ModuleType
from typing import TYPE_CHECKING

from ..contrasts.register import REGISTER
from ..workbench.files import declares, imported, modules

if TYPE_CHECKING:
    from ..contrasts.cases import Declaration
    from ..report.run import Scope
    from .state import State

_SILENT = (
    "has a bias decorator, but pytest collects no case from it. Its name must begin with test_, "
    "that of its class with Test (with no __init__, no __test__ = False and no TestCase), and "
    "nothing after it may take its name or delete it"
)
_OUTSIDE = (
    "has a bias decorator and stands outside the test paths, from where pytest collects nothing: "
    "import it into the test module that has the other cases of its experiment"
)


def scope_of(state: State) -> Scope:
    """Return the settings of this run."""
    from ..report.run import Scope  # noqa: PLC0415  (the other rules cost every run)

    settings = state.settings
    return Scope(
        models=tuple(sorted(settings.models)),
        design=settings.design,
        replicates=settings.replicates,
        gate=settings.gate,
        inconclusive=settings.inconclusive,
        varied=tuple(state.suite.varied(settings.models)),
    )


def partial_words(state: State) -> tuple[str, ...]:
    """Say why this run is not the whole suite as its ini file configures it."""
    suite, ledger = state.suite, state.ledger
    # Of these modules and packages nobody knows the cases; workers run the others all the same.
    failed = sum(why == "" for why in state.unfinished.values())
    return (
        *suite.narrowed,
        *(f"only {part} was asked for" for part in suite.parts),
        *_counted(failed, "error", "during collection"),
        *_counted(len(ledger.unselected), "case", "not selected"),
        *_counted(len(ledger.lost), "case", "without a verdict"),
        *(("recording was interrupted",) if state.interrupted else ()),
        *suite.varied(state.settings.models),
    )


def unjudged_words(state: State, collected: Iterable[Declaration]) -> Iterator[str]:
    """Yield what files that were asked for as a whole declare and no case judges, and why.

    ``collected`` are the declarations that became cases. A file that was not imported to its end
    is read: what it would have declared, nobody knows.
    """
    for pattern in state.config.getini("testpaths") if state.has_cases else ():
        if not state.suite.matching(pattern):
            yield f"testpaths names {pattern}, where nothing is: mend or remove it in the ini file"
    files = state.suite.whole_files()
    known = imported(files)
    for path in files:
        place = state.suite.place(path)
        reason = _unfinished(state, place)
        if reason == "":
            continue  # the run has failed for it
        directly = not state.has_cases
        if (reason or path not in known) and declares(path, directly=directly):
            yield f"{place} {reason or 'was not collected'}: what it declares is not judged"
    yield from silent_words(state, collected, known)


def silent_words(
    state: State,
    collected: Iterable[Declaration],
    known: Mapping[Path, ModuleType] | None = None,
) -> Iterator[str]:
    """The functions that decorators listed in files asked for as a whole, and that are no case.

    After collection, and once more at the end: what is declared while a test runs comes too late.
    ``known`` is what was imported of those files, where that has just been looked for.
    """
    declared_here = tuple(collected)
    made = {each.key for each in declared_here}
    tested = {each.experiment.id for each in declared_here}
    suite = state.suite
    files = suite.whole_files()
    whole = files and not any("::" in argument for argument in suite.arguments)
    if whole and (state.has_cases or suite.is_all):  # other tests have the same conftest.py
        yield from _outside(state, made, tested)
    for path, module in (imported(files) if known is None else known).items():
        place = suite.place(path)
        if REGISTER in vars(module) and _unfinished(state, place) is None:
            from ..contrasts.cases import (  # noqa: PLC0415  (nothing is imported without cases)
                declared_in,
            )

            for declared in declared_in(module):
                if declared.key not in made:
                    yield f"{place}:{declared.line}: {declared.name} {_SILENT}"


def _outside(state: State, made: Collection[object], tested: set[str]) -> Iterator[str]:
    """The hypotheses of modules that pytest collects nothing from but by import, and did not.

    Those on experiments that are tested, and all that plugins and ``conftest.py`` declare.
    """
    suite = state.suite
    for module in modules():
        if REGISTER not in vars(module):
            continue
        path = Path(module.__file__ or "").resolve()
        if any(place == path or place in path.parents for place in suite.places):
            continue
        from ..contrasts.cases import (  # noqa: PLC0415  (nothing is imported without cases)
            declared_in,
        )

        is_plugin = state.config.pluginmanager.is_registered(module)
        for declared in declared_in(module):
            known = declared.experiment.id in tested or is_plugin
            if known and declared.kind == "hypothesis" and declared.key not in made:
                yield f"{suite.place(path)}:{declared.line}: {declared.name} {_OUTSIDE}"


def _unfinished(state: State, place: str) -> str | None:
    """Return why a file, or a folder above it, was not imported to its end; None where it was."""
    above = [place, *(folder.as_posix() for folder in PurePath(place).parents)]
    return next((state.unfinished[each] for each in above if each in state.unfinished), None)


def _counted(number: int, noun: str, words: str) -> tuple[str, ...]:
    return (f"{number} {noun}{'s' * (number > 1)} {words}",) if number else ()
